"""A seeded crowd of any size as a long Parquet table, made in blocks that never pile up in memory.

Sentences of about 20 tokens with spans of four types, labelled by 5 of 200 annotators who miss
spans, misplace their ends, mistake their type, see some where there are none, and sometimes begin a
span with I-. The true labels are a table of their own. Block ``b`` depends on the seed and ``b``
only: a smaller crowd is the beginning of a larger one.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TYPES = ("LOC", "MISC", "ORG", "PER")
#: In the order in which our schemes number them, so that ties are alphabetical everywhere.
LABELS = (*(f"B-{t}" for t in TYPES), *(f"I-{t}" for t in TYPES), "O")
OUTSIDE = 8
N_ANNOTATORS = 200
PER_SENTENCE = 5
SHORTEST, LONGEST = 8, 32
SENTENCES_PER_BLOCK = 10_000
SENTENCES_PER_DOCUMENT = 25
#: Share of tokens outside spans at which one begins, and of spans with 1, 2, 3, 4 tokens.
BEGINS = 0.075
LENGTHS = (0.5, 0.3, 0.15, 0.05)
#: Part of the files' names: raise it when the data change.
VERSION = 1


class Habits(NamedTuple):
    """float64[W], probabilities: per true span (miss, shift of each end, wrong type, I- for B-), and
    of a false span per token."""

    miss: np.ndarray
    shift: np.ndarray
    mistype: np.ndarray
    inside: np.ndarray
    invent: np.ndarray


class Block(NamedTuple):
    """Some sentences: ``lengths[S]``, ``annotators[S, 5]``, ``gold[T]`` and the tags of each of the
    five, ``tags[5, T]``."""

    lengths: np.ndarray
    annotators: np.ndarray
    gold: np.ndarray
    tags: np.ndarray


@dataclass(frozen=True)
class Files:
    """Where a crowd and its truth are, and how large it is."""

    crowd: Path
    gold: Path
    n_annotations: int
    n_tokens: int
    n_sentences: int


def habits(seed: int) -> Habits:
    """All annotators' habits: from nearly perfect to careless."""
    rng = np.random.default_rng([seed, 2**31])
    care = rng.beta(1.3, 2.0, N_ANNOTATORS)  # 0: perfect, 1: careless
    vary = rng.uniform(0.6, 1.4, (5, N_ANNOTATORS))
    most = np.array([0.7, 0.25, 0.45, 0.15, 0.03])
    return Habits(*np.clip(most[:, None] * care * vary, 0.001, 0.95))


def block(seed: int, number: int, n_sentences: int, who: Habits) -> Block:
    """Block ``number``, or its first ``n_sentences`` sentences."""
    rng = np.random.default_rng([seed, number])
    full = SENTENCES_PER_BLOCK
    lengths = rng.integers(SHORTEST, LONGEST + 1, full)
    annotators = np.sort(
        np.argpartition(rng.random((full, N_ANNOTATORS)), PER_SENTENCE, axis=1)[:, :PER_SENTENCE],
        axis=1,
    )
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    gold, (sentence, start, size, kind) = _truth(rng, offsets)
    tags = np.stack(
        [
            _reading(rng, offsets, sentence, start, size, kind, annotators[:, k], who)
            for k in range(PER_SENTENCE)
        ]
    )
    end = offsets[n_sentences]
    return Block(lengths[:n_sentences], annotators[:n_sentences], gold[:end], tags[:, :end])


def _truth(
    rng: np.random.Generator, offsets: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """True tags, and spans as columns: sentence, first token, number of tokens, type."""
    lengths = np.diff(offsets)
    n = len(lengths)
    gold = np.full(offsets[-1], OUTSIDE, np.int8)
    left = np.zeros(n, np.int64)
    now = np.zeros(n, np.int64)
    found: list[tuple[np.ndarray, ...]] = []
    for i in range(LONGEST):
        there = i < lengths
        begin = there & (left == 0) & (rng.random(n) < BEGINS)
        size = np.minimum(rng.choice(4, n, p=LENGTHS) + 1, lengths - i)
        kind = rng.integers(0, len(TYPES), n)
        going = there & (left > 0)
        gold[offsets[:-1][going] + i] = len(TYPES) + now[going]
        left[going] -= 1
        gold[offsets[:-1][begin] + i] = kind[begin]
        now[begin], left[begin] = kind[begin], size[begin] - 1
        which = np.flatnonzero(begin)
        found.append((which, offsets[:-1][which] + i, size[which], kind[which]))
    return gold, tuple(np.concatenate(column) for column in zip(*found, strict=True))


def _reading(
    rng: np.random.Generator, offsets: np.ndarray, sentence: np.ndarray, start: np.ndarray,
    size: np.ndarray, kind: np.ndarray, annotator: np.ndarray, who: Habits,
) -> np.ndarray:  # fmt: skip
    """What one annotator per sentence (``annotator[S]``) makes of the true spans."""
    tags = np.full(offsets[-1], OUTSIDE, np.int8)
    owner = np.repeat(annotator, np.diff(offsets))
    false = np.flatnonzero(rng.random(len(owner)) < who.invent[owner])
    _paint(tags, false, np.ones(len(false), np.int64), rng.integers(0, 4, len(false)), 0)
    by = annotator[sentence]
    seen = rng.random(len(by)) >= who.miss[by]
    wrong = rng.random(len(by)) < who.mistype[by]
    kind = np.where(wrong, (kind + rng.integers(1, 4, len(by))) % 4, kind)
    moves = [
        np.where(rng.random(len(by)) < who.shift[by], rng.choice((-1, 1), len(by)), 0)
        for _ in range(2)
    ]
    first = np.clip(start + moves[0], offsets[sentence], offsets[sentence + 1] - 1)
    last = np.clip(start + size - 1 + moves[1], first, offsets[sentence + 1] - 1)
    inside = (rng.random(len(by)) < who.inside[by]).astype(np.int64)
    _paint(tags, first[seen], (last - first + 1)[seen], kind[seen], inside[seen])
    return tags


def _paint(
    tags: np.ndarray,
    first: np.ndarray,
    size: np.ndarray,
    kind: np.ndarray,
    inside: np.ndarray | int,
) -> None:
    """Write spans into ``tags``; those ``inside`` begin with I-."""
    for k in range(int(size.max(initial=0))):
        here = size > k
        begins = kind + len(TYPES) * inside if k == 0 else kind + len(TYPES)
        tags[first[here] + k] = np.broadcast_to(begins, kind.shape)[here]


def write(folder: Path, n_annotations: int, seed: int = 0) -> Files:
    """The crowd and its truth as Parquet files in ``folder``, made if not there yet."""
    name = f"{n_annotations}-{seed}-v{VERSION}"
    crowd, gold = folder / f"crowd-{name}.parquet", folder / f"gold-{name}.parquet"
    if not (crowd.exists() and gold.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            parts = Path(scratch) / "crowd", Path(scratch) / "gold"
            _write_blocks(*parts, n_annotations, seed)
            os.replace(parts[1], gold)
            os.replace(parts[0], crowd)
    rows, tokens = pq.read_metadata(crowd).num_rows, pq.read_metadata(gold).num_rows
    return Files(crowd, gold, rows, tokens, n_sentences(n_annotations))


def n_sentences(n_annotations: int) -> int:
    """So many sentences have about so many token annotations."""
    return max(1, round(n_annotations / ((SHORTEST + LONGEST) / 2 * PER_SENTENCE)))


def _write_blocks(crowd: Path, gold: Path, n_annotations: int, seed: int) -> None:
    sentences = n_sentences(n_annotations)
    text = pa.dictionary(pa.int32(), pa.string())
    coded = pa.schema(
        [("task", text), ("worker", text), ("token_index", pa.int32()), ("label", text)]
    )
    # Without Arrow's own schema the file says "text", as other programs' files do.
    settings = {"store_schema": False, "compression": "zstd", "compression_level": 1}
    who = habits(seed)
    with (
        pq.ParquetWriter(crowd, coded, **settings) as ours,
        pq.ParquetWriter(gold, coded, **settings) as true,
    ):
        for number in range(-(-sentences // SENTENCES_PER_BLOCK)):
            before = number * SENTENCES_PER_BLOCK
            part = block(seed, number, min(SENTENCES_PER_BLOCK, sentences - before), who)
            ours.write_table(crowd_table(part, before, coded))
            true.write_table(gold_table(part, before, coded))


def task_names(first: int, n: int) -> pa.Array:
    """Sentence ids such as ``d12-3``."""
    number = np.arange(first, first + n)
    return pa.array(
        [
            f"d{a}-{b}"
            for a, b in zip(
                *(x.tolist() for x in np.divmod(number, SENTENCES_PER_DOCUMENT)), strict=True
            )
        ]
    )


def crowd_table(part: Block, first: int, schema: pa.Schema) -> pa.Table:
    """Rows by sentence, annotator, token."""
    n = len(part.lengths)
    lengths = np.repeat(part.lengths, PER_SENTENCE)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    index = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    offsets = np.concatenate([[0], np.cumsum(part.lengths)])
    row = np.repeat(np.arange(n * PER_SENTENCE), lengths)
    tag = part.tags[row % PER_SENTENCE, offsets[row // PER_SENTENCE] + index]
    names = pa.array([f"w{k:03d}" for k in range(N_ANNOTATORS)])
    return _table(
        schema,
        row // PER_SENTENCE,
        task_names(first, n),
        part.annotators.reshape(-1)[row],
        names,
        index,
        tag,
    )


def gold_table(part: Block, first: int, schema: pa.Schema) -> pa.Table:
    """Rows by sentence and token."""
    offsets = np.concatenate([[0], np.cumsum(part.lengths)])
    sentence = np.repeat(np.arange(len(part.lengths)), part.lengths)
    index = np.arange(offsets[-1]) - offsets[:-1][sentence]
    names = task_names(first, len(part.lengths))
    return _table(
        schema, sentence, names, np.zeros(len(index)), pa.array(["gold"]), index, part.gold
    )


def _table(
    schema: pa.Schema, task: np.ndarray, tasks: pa.Array, annotator: np.ndarray, annotators: pa.Array,
    index: np.ndarray, tag: np.ndarray,
) -> pa.Table:  # fmt: skip
    def coded(codes: np.ndarray, values: pa.Array) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), values)

    columns = [
        coded(task, tasks), coded(annotator, annotators), pa.array(index.astype(np.int32)),
        coded(tag, pa.array(LABELS)),
    ]  # fmt: skip
    return pa.table(columns, schema=schema)
