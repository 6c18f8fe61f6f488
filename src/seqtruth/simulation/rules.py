"""Labelling rules with known habits: each speaks of one type, by the names it knows, and is silent else."""

from __future__ import annotations

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.data.spans import extract, paint
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import Tags
from seqtruth.kernels.spans import Spans
from seqtruth.simulation.reading import number

#: Share of longer names of which a rule knows all but the first word.
CUT = 0.12
#: A rule knows names of other types by mistake, this much more seldom than its own.
STRAY = 0.02


def simulate_rules(
    gold: Crowd | Labelling,
    per_type: int = 2,
    *,
    seed: int = 0,
    recall: tuple[float, float] = (0.3, 0.9),
    precision: tuple[float, float] = (0.75, 0.98),
) -> Crowd:
    """Let dictionaries label what the gold standard labels, ``per_type`` of them for every type.

    A dictionary knows a name or does not, everywhere alike; it also holds words that are no names.
    Where it has nothing to say it says ``O``.

    Parameters
    ----------
    gold : true labels, by one hand, with text; sentences without any are left alone.
    per_type : rules of each type.
    seed : the same seed gives the same labels.
    recall, precision : each rule draws its own between these.

    Examples
    --------
    >>> gold = Crowd.of({"gold": [["B-PER", "O", "B-LOC"]]}, [["Ann", "likes", "Ames"]])
    >>> simulate_rules(gold).annotators
    ('LOC rule 1', 'LOC rule 2', 'PER rule 1', 'PER rule 2')
    """
    labelling = gold.labelling() if isinstance(gold, Crowd) else gold
    if per_type < 1:
        raise ParameterError("per_type must be a whole number from 1", got=str(per_type))
    if labelling.corpus.tokens is None or labelling.scheme.kind == "plain":
        raise DataError("dictionaries need names: text, and a scheme of spans")
    texts = _texts(labelling)
    work: dict[str, Tags] = {}
    for kind, name in enumerate(labelling.scheme.types):
        for n in range(per_type):
            rule = f"{name} rule {n + 1}"
            rng = np.random.default_rng(number(seed, rule))
            ranges = rng.uniform(*recall), rng.uniform(*precision)
            work[rule] = _labelled(labelling, texts, kind, ranges, rng)
    rows = np.flatnonzero(labelling.labelled)
    flat = gather(labelling.corpus.token_offsets, rows)[1]
    crowd = Crowd.build(
        labelling.corpus,
        labelling.scheme.labels,
        list(work),
        np.tile(rows, len(work)),
        np.repeat(np.arange(len(work)), len(rows)),
        np.concatenate([tags[flat] for tags in work.values()]),
        labelling.scheme.kind,
    )
    return crowd.recode(labelling.scheme)


def _spans(labelling: Labelling) -> Spans:
    return extract(labelling.tags, labelling.corpus.token_offsets, labelling.scheme)


def _texts(labelling: Labelling) -> list[str]:
    """The words of every true span."""
    spans, corpus = _spans(labelling), labelling.corpus
    return [
        " ".join(corpus.words(int(s))[a:b])
        for s, a, b in zip(spans.sequence, spans.start, spans.end, strict=True)
    ]


def _labelled(
    labelling: Labelling,
    texts: list[str],
    kind: int,
    quality: tuple[float, float],
    rng: np.random.Generator,
) -> Tags:
    """What a rule of one type says everywhere."""
    spans, offsets = _spans(labelling), labelling.corpus.token_offsets
    recall, precision = quality
    names = sorted(set(zip(texts, spans.type.tolist(), strict=True)))
    luck = rng.random(len(names)) < np.array(
        [recall if own == kind else recall * STRAY for _, own in names]
    )
    knows = dict(zip(names, luck.tolist(), strict=True))
    found = np.array([knows[name] for name in zip(texts, spans.type.tolist(), strict=True)], bool)
    cut = (rng.random(len(texts)) < CUT) & (spans.end - spans.start > 1)
    mine = Spans(
        spans.sequence[found],
        (spans.start + cut)[found].astype(spans.start.dtype),
        spans.end[found],
        np.full(int(found.sum()), kind, spans.type.dtype),
    )
    tags = paint(mine, offsets, labelling.scheme)
    return _with_strays(
        tags, labelling, kind, int(len(mine.start) * (1 - precision) / precision), rng
    )


def _with_strays(
    tags: Tags, labelling: Labelling, kind: int, n: int, rng: np.random.Generator
) -> Tags:
    """The tags with ``n`` single words marked where there is nothing, never beside another span."""
    scheme, offsets = labelling.scheme, labelling.corpus.token_offsets
    taken = np.pad((tags != scheme.outside) | (labelling.tags != scheme.outside), 1)
    free = np.flatnonzero(~taken[1:-1] & ~taken[:-2] & ~taken[2:])
    at = np.sort(rng.choice(free, min(n, len(free)), replace=False))
    sentence = np.searchsorted(offsets, at, side="right") - 1
    start = (at - offsets[sentence]).astype(np.int32)
    strays = Spans(sentence, start, start + np.int32(1), np.full(len(at), kind, np.int16))
    return np.where(tags == scheme.outside, paint(strays, offsets, scheme), tags)
