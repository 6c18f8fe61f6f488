"""The built-in corpus: news and biomedical prose of our own writing, and ten simulated annotators.

The texts lie beside this file, one sentence a line, tokens between spaces, entities in brackets
(``[LOC Lisbon]``); ``# doc: name`` opens a document. The labels come from
:func:`seqtruth.simulation.simulate`, the annotators' vices are known: see :data:`CAST`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.datasets.tables import Dataset
from seqtruth.simulation import Annotator, parse, simulate

PARTS = ("news", "biomedical")

#: Places taken for the organisations that bear their name, and the other way round.
_METONYMY = (("ORG", "LOC"), ("LOC", "ORG"))
#: Ten annotators, few of them good, and the good ones with the least time.
CAST: tuple[Annotator, ...] = tuple(
    replace(one, swaps=_METONYMY) if one.name == "confuser-1" else one
    for one in parse(
        "careful:2/coverage=0.7,sloppy:2,misser,boundary,confuser:2,copier/copies=misser,spammer"
    )
)
_ENTITY = re.compile(r"\[(?P<type>[A-Z]+) (?P<words>[^][]+)\]|(?P<word>[^][\s]+)")


def load(seed: int = 0, per_sentence: int = 5, difficulty: float = 0.25) -> Dataset:
    """The demo corpus with labels by the annotators of :data:`CAST`.

    Parameters
    ----------
    seed : of the simulated annotators; the text and the gold stay.
    per_sentence : how many of the ten label each document.
    difficulty : how much of their errors they have in common, see
        :func:`~seqtruth.simulation.simulate`.

    Splits: ``all``, ``news``, ``biomedical``.
    """
    gold, is_news = _gold()
    crowd = simulate(gold, CAST, seed=seed, per_sentence=per_sentence, difficulty=difficulty)
    everything = np.ones(gold.n_sentences, np.bool_)
    splits = {"all": everything, "news": is_news, "biomedical": ~is_news}
    return Dataset("demo", crowd, gold, splits)


@cache
def _gold() -> tuple[Crowd, npt.NDArray[np.bool_]]:
    """The gold standard, and which of its sentences are news."""
    words, tags, ids, documents, news = [], [], [], [], []
    for part in PARTS:
        document, n = "", 0
        text = resources.files(__name__).joinpath(f"{part}.txt").read_text(encoding="utf-8")
        for line in text.splitlines():
            if line.startswith("# doc: "):
                document, n = line.removeprefix("# doc: ").strip(), 0
            elif line.strip():
                n += 1
                sentence, its_tags = _parse(line)
                words.append(sentence)
                tags.append(its_tags)
                ids.append(f"{document}#{n}")
                documents.append(document)
                news.append(part == "news")
    corpus = Corpus.of(words, ids, documents)
    labels = sorted({tag for sentence in tags for tag in sentence})
    numbers = {label: number for number, label in enumerate(labels)}
    flat = np.array([numbers[tag] for sentence in tags for tag in sentence], np.int16)
    rows = np.arange(len(words))
    return Crowd.build(corpus, labels, ["gold"], rows, rows * 0, flat, "iob2"), np.array(news)


def _parse(line: str) -> tuple[list[str], list[str]]:
    """Tokens and IOB2 tags of a line.

    >>> _parse("The [ORG Bank of Norway] waits .")
    (['The', 'Bank', 'of', 'Norway', 'waits', '.'], ['O', 'B-ORG', 'I-ORG', 'I-ORG', 'O', 'O'])
    """
    words: list[str] = []
    tags: list[str] = []
    for match in _ENTITY.finditer(line):
        if match["word"]:
            words.append(match["word"])
            tags.append("O")
        else:
            inside = match["words"].split()
            words += inside
            tags += [f"{'I' if i else 'B'}-{match['type']}" for i in range(len(inside))]
    return words, tags
