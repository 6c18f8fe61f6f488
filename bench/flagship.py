"""The default method on a table of any size, streamed: seconds, memory, and what the sample costs.

    python -m bench.flagship --annotations 1e5,1e6,1e7,1e8   # what is there of this code is not run again
    python -m bench.flagship --annotations 1e7 --everything  # learning from all tokens, not from a sample
    python -m bench.flagship --annotations 1e6 --tokens 40000 --no-page

Each size runs in a process of its own. Rows go to ``bench/results.json`` and ``docs/benchmarks.md``.

The crowd is that of :mod:`bench.data` (5 of 200 annotators on each sentence, four types) with text: words of
Zipf's law, names of their own for each type and some that all types share, a word before some names that
tells their type. New names keep coming, so that a tagger never knows them all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import data, kept
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


@dataclass(frozen=True)
class Asked:
    """How to run it.

    Parameters
    ----------
    threads : and cores.
    folder : for the data.
    engine : ``stream`` or ``memory``.
    tokens : the sample's size; 0: as usual.
    predictor : what Accord learns.
    seed : of the data.
    """

    threads: int = 2
    folder: Path = Path("bench-data")
    engine: str = "stream"
    tokens: int = 0
    predictor: str = "crf"
    seed: int = 0


#: More tokens than any table here has.
EVERYTHING = 10**12


def run(n_annotations: int, asked: Asked) -> dict[str, Any]:
    """Aggregate and score, in this process."""
    crowd, gold = write(asked.folder, n_annotations, asked.seed)
    import seqtruth as st
    from seqtruth.engine import sample

    if asked.tokens:
        sample.TOKENS, sample.ANNOTATIONS = asked.tokens, EVERYTHING
    truth = asked.folder / f"text-truth-{os.getpid()}.parquet"
    began, before = time.perf_counter(), _cpu()
    source: Any = st.read(crowd) if asked.engine == "memory" else st.stream(crowd)
    result = st.Accord(predictor=asked.predictor).fit(source)
    result.write(truth)
    found = {
        "annotations": n_annotations, "engine": asked.engine, "predictor": asked.predictor,
        "threads": asked.threads, "learnt_from": min(sample.TOKENS, pq.read_metadata(gold).num_rows),
        "everything_learnt": asked.tokens == EVERYTHING,
        "seconds": round(time.perf_counter() - began, 1), "cpu_seconds": round(_cpu() - before, 1),
        "peak_gib": round(peak_bytes() / 2**30, 3), "chosen": result.provenance["chosen"],
    }  # fmt: skip
    found["f1"] = round(100 * st.evaluate(truth, gold).f1, 2)
    truth.unlink()
    return found


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(results: dict[str, Any], sizes: list[int], asked: Asked, keep: bool = True) -> None:
    """Rows for these sizes into the results, each in a process of its own; those of the same code stay."""
    rows, code = results.setdefault("flagship", []), kept.code()
    for size in sizes:
        row = next((row for row in rows if _same(row, size, asked) and row["code"] == code), None)
        if row is None:
            write(asked.folder, size, asked.seed)
            load = kept.load_now()
            spec = json.dumps({**asdict(asked), "folder": str(asked.folder), "annotations": size})
            command = [sys.executable, "-m", "bench.flagship", "--child", spec]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            row = json.loads(done.stdout.splitlines()[-1]) | {"code": code, "load": load}
            rows[:] = [old for old in rows if not _same(old, size, asked)] + [row]
            rows.sort(key=lambda row: (row["everything_learnt"], row["annotations"]))
            if keep:
                kept.keep(results)
        print(json.dumps(row), flush=True)


def _same(row: dict[str, Any], size: int, asked: Asked) -> bool:
    """Whether a row is of such a run; one on another number of threads takes its place."""
    mine = (size, asked.engine, asked.predictor, asked.tokens == EVERYTHING)
    names = ("annotations", "engine", "predictor", "everything_learnt")
    return tuple(row[name] for name in names) == mine


def slopes(rows: list[dict[str, Any]]) -> dict[str, float | None]:
    """Exponents of the growth of seconds and of CPU seconds, over the usual rows."""
    from bench.targets import slope

    usual = [row for row in rows if not row["everything_learnt"] and row["engine"] == "stream"]
    return {
        name: slope([(row["annotations"], row[name]) for row in usual])
        for name in ("seconds", "cpu_seconds")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--annotations", default="1e6", help="1e5,1e6,1e7,1e8")
    parser.add_argument("--engine", choices=("memory", "stream"), default="stream")
    parser.add_argument("--tokens", type=int, default=0, help="the sample's size; 0: as usual")
    parser.add_argument("--everything", action="store_true", help="the sample is everything")
    parser.add_argument("--predictor", default="crf")
    parser.add_argument("--folder", type=Path, default=Path("bench-data"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="also what this code has measured")
    parser.add_argument("--no-page", action="store_true", help="print the rows only")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        spec = json.loads(args.child)
        size, spec["folder"] = spec.pop("annotations"), Path(spec["folder"])
        limit_threads(spec["threads"])
        warnings.simplefilter("ignore")
        print(json.dumps(run(size, Asked(**spec))))
        return
    tokens = EVERYTHING if args.everything else args.tokens
    asked = Asked(args.threads, args.folder, args.engine, tokens, args.predictor, args.seed)
    sizes = sorted(int(float(size)) for size in args.annotations.split(","))
    results = kept.load()
    if args.again or args.no_page:
        old = results.get("flagship", [])
        results["flagship"] = [
            row for row in old if not any(_same(row, size, asked) for size in sizes)
        ]
    measure(results, sizes, asked, keep=not args.no_page)
    print(json.dumps({"slopes": slopes(results["flagship"])}))
    if not args.no_page:
        from bench import page

        page.write(results, kept.HERE.parent / "docs")


if __name__ == "__main__":
    main()
