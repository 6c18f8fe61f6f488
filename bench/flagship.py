"""The default method on a table of any size, streamed: seconds, memory, and what the sample costs.

    python -m bench.flagship --annotations 10000000            # one size, streamed
    python -m bench.flagship --annotations 1000000 --tokens 40000  # learning from so many tokens

The crowd is that of :mod:`bench.data` (5 of 200 annotators on each sentence, four types) with text: words of
Zipf's law, names of their own for each type and some that all types share, a word before some names that
tells their type. New names keep coming, so that a tagger never knows them all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import data
from bench.child import limit_threads, peak_bytes

#: Words in the text, and names of each type.
WORDS, NAMES = 60_000, 200_000
#: Share of names that any type may have, and of spans with a word before them that tells their type.
SHARED, TOLD = 0.25, 0.4
#: Endings that a third of a type's names have.
ENDINGS = ("ton", "ish", "corp", "son")
_SYLLABLES = [a + b for a in "bdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "il")]


def spelled(number: int) -> str:
    """A word for a number: some syllables."""
    out = ""
    while True:
        number, rest = divmod(number, len(_SYLLABLES))
        out += _SYLLABLES[rest]
        if not number:
            return out


def words_of(part: data.Block, seed: int, number: int) -> tuple[np.ndarray, pa.Array]:
    """Codes of a block's words, and all words."""
    rng = np.random.default_rng([seed, number, 7])
    kinds, n = len(data.TYPES), len(part.gold)

    def zipf(size: int, top: int) -> np.ndarray:
        return (top ** rng.random(size)).astype(np.int64) - 1  # P(rank) ∝ 1 / rank

    codes = zipf(n, WORDS)
    inside = part.gold != data.OUTSIDE
    kind = part.gold.astype(np.int64) % kinds
    pool = np.where(rng.random(n) < SHARED, kinds, kind)
    codes[inside] = WORDS + pool[inside] * NAMES + zipf(int(inside.sum()), NAMES)
    begins = np.flatnonzero(part.gold[1:] < kinds)
    told = begins[(rng.random(len(begins)) < TOLD) & ~inside[begins]]
    codes[told] = WORDS + (kinds + 1) * NAMES + kind[told + 1]
    used, codes = np.unique(codes, return_inverse=True)
    return codes, pa.array([_word(int(code)) for code in used])


def _word(code: int) -> str:
    if code < WORDS:
        return spelled(code)
    pool, rank = divmod(code - WORDS, NAMES)
    if pool > len(data.TYPES):
        return f"by{rank}"
    ending = ENDINGS[pool] if pool < len(data.TYPES) and rank % 3 == 0 else ""
    return spelled(rank * 5 + pool).capitalize() + ending


def write(folder: Path, n_annotations: int, seed: int = 0) -> tuple[Path, Path]:
    """The crowd and its truth, with words and documents, made if not there yet."""
    crowd = folder / f"text-crowd-{n_annotations}-{seed}.parquet"
    gold = folder / f"text-gold-{n_annotations}-{seed}.parquet"
    if crowd.exists() and gold.exists():
        return crowd, gold
    folder.mkdir(parents=True, exist_ok=True)
    text = pa.dictionary(pa.int32(), pa.string())
    coded = pa.schema(
        [("task", text), ("worker", text), ("token_index", pa.int32()), ("label", text)]
    )
    whole = coded.append(pa.field("token", text)).append(pa.field("doc", text))
    who, sentences = data.habits(seed), data.n_sentences(n_annotations)
    settings: Any = {"store_schema": False, "compression": "zstd", "compression_level": 1}
    partial = [path.with_suffix(".partial") for path in (crowd, gold)]
    with (
        pq.ParquetWriter(partial[0], whole, **settings) as ours,
        pq.ParquetWriter(partial[1], whole, **settings) as true,
    ):
        for number in range(-(-sentences // data.SENTENCES_PER_BLOCK)):
            before = number * data.SENTENCES_PER_BLOCK
            n = min(data.SENTENCES_PER_BLOCK, sentences - before)
            part = data.block(seed, number, n, who)
            codes, words = words_of(part, seed, number)
            offsets = np.concatenate([[0], np.cumsum(part.lengths)])
            for writer, made in (
                (ours, data.crowd_table(part, before, coded)),
                (true, data.gold_table(part, before, coded)),
            ):
                task = np.asarray(made["task"].combine_chunks().indices)
                place = offsets[task] + np.asarray(made["token_index"])
                documents = [
                    f"d{x}"
                    for x in ((before + np.arange(n)) // data.SENTENCES_PER_DOCUMENT).tolist()
                ]
                columns = {
                    "token": _coded(codes[place], words),
                    "doc": _coded(task, pa.array(documents)),
                }
                for name, column in columns.items():
                    made = made.append_column(pa.field(name, text), column)
                writer.write_table(made)
    for path, done in zip(partial, (crowd, gold), strict=True):
        os.replace(path, done)
    return crowd, gold


def _coded(codes: np.ndarray, values: pa.Array) -> pa.Array:
    """Values by their codes; equal ones once, as Arrow wants a dictionary's."""
    own = values.dictionary_encode()
    numbers = np.asarray(own.indices)[codes].astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(numbers), own.dictionary)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Aggregate and score."""
    crowd, gold = write(args.folder, args.annotations, args.seed)
    import seqtruth as st
    from seqtruth.engine import sample

    if args.tokens:
        sample.TOKENS, sample.ANNOTATIONS = args.tokens, 10**12
    truth = args.folder / f"text-truth-{os.getpid()}.parquet"
    began, before = time.perf_counter(), _cpu()
    source: Any = st.read(crowd) if args.engine == "memory" else st.stream(crowd)
    result = st.Accord(predictor=args.predictor).fit(source)
    result.write(truth)
    found = {
        "annotations": args.annotations, "engine": args.engine, "learnt_from": sample.TOKENS,
        "seconds": round(time.perf_counter() - began, 1), "cpu_seconds": round(_cpu() - before, 1),
        "peak_gib": round(peak_bytes() / 2**30, 3), "chosen": result.provenance["chosen"],
    }  # fmt: skip
    found["f1"] = round(100 * st.evaluate(truth, gold).f1, 2)
    truth.unlink()
    return found


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--annotations", type=int, default=1_000_000)
    parser.add_argument("--engine", choices=("memory", "stream"), default="stream")
    parser.add_argument("--tokens", type=int, default=0, help="the sample's size; 0: as usual")
    parser.add_argument("--predictor", default="crf")
    parser.add_argument("--folder", type=Path, default=Path("bench-data"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    limit_threads(args.threads)
    warnings.simplefilter("ignore")
    print(json.dumps(run(args)))


if __name__ == "__main__":
    main()
