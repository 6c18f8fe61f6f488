"""Taggers that are ready before AggSLC's first round, as the authors' public code loads one.

What taught them is the point of :mod:`~seqtruth.paper.leak`: **two of the teachers are gold.**
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.kernels.arrays import F32, F64
from seqtruth.methods.base import Seeded
from seqtruth.methods.task import Decision, Outcome, Task
from seqtruth.methods.vote.majority import MajorityVote
from seqtruth.paper.material import Material
from seqtruth.paper.small_bert import EPOCHS, WORD, spelt
from seqtruth.predictors.base import Predictor, Targets, Tokens, as_corpus
from seqtruth.predictors.choice import choose_predictor
from seqtruth.predictors.tagger import Tagger

#: Kinds of taggers, by the words that choose them.
KINDS = {"crf": "crf", "bilstm": "bilstm", "transformer": WORD}
#: Shares of the other text's gold that a teacher has, by the teacher.
SHARES = {"other": 1.0, "third": 1 / 3, "tenth": 0.1}


@dataclass(frozen=True)
class Ready:
    """A tagger that is asked and never trained again; what it has said once it need not work out anew.

    Parameters
    ----------
    kind, teacher, seed : how it was made ready.
    settings : the tagger's.
    make : makes the tagger, once and when it is first asked.
    """

    kind: str
    teacher: str
    seed: int
    settings: str
    make: Callable[[], Predictor] = field(repr=False, compare=False)

    @cached_property
    def model(self) -> Predictor:
        return self.make()

    @cached_property
    def _said(self) -> dict[tuple[str, ...], F32]:
        """By document and words."""
        return {}

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Any = None,
        weights: F64 | None = None,
    ) -> Self:
        return self

    def predict_proba(self, tokens: Tokens) -> F32:
        corpus, said = as_corpus(tokens), self._said
        documents = [corpus.documents[d] for d in corpus.sentence_document]
        names = [(name, *corpus.words(s)) for s, name in enumerate(documents)]
        new = np.array([s for s, name in enumerate(names) if name not in said], np.int64)
        if len(new):
            asked = corpus[new]
            found = self.model.predict_proba(asked)
            parts = np.split(found, asked.token_offsets[1:-1])
            said.update(zip((names[s] for s in new), parts, strict=True))
        return np.concatenate([said[name] for name in names])

    def clone(self) -> Self:
        return self


@dataclass(frozen=True, kw_only=True)
class TaggerAlone(Seeded):
    """A ready tagger's own labels; the crowd is not heard."""

    name: ClassVar[str] = "tagger-alone"

    predictor: Ready

    def _fit(self, task: Task) -> Outcome:
        tagger = Tagger(self.predictor, task.parts.scheme)
        corpus = task.crowd.corpus
        said = Decision(tagger.label(corpus).tags, self.predictor.predict_proba(corpus))
        return Outcome(said, np.ones(task.parts.n_annotators), tagger=tagger)


@dataclass(frozen=True, eq=False)
class Halves:
    """Two models, each for the documents that the other has learnt from."""

    models: tuple[Predictor, Predictor]
    mine: Callable[[str], int]

    def predict_proba(self, tokens: Tokens) -> F32:
        corpus = as_corpus(tokens)
        names = [corpus.documents[d] for d in corpus.sentence_document]
        which = np.array([self.mine(name) for name in names], np.int64)
        width = None
        for k, model in enumerate(self.models):
            chosen = np.flatnonzero(which == k)
            if len(chosen):
                said = model.predict_proba(corpus[chosen])
                if width is None:
                    width = np.zeros((corpus.n_tokens, said.shape[1]), np.float32)
                width[np.repeat(which == k, np.diff(corpus.token_offsets))] = said
        assert width is not None
        return width


def tagger(kind: str, seed: int) -> Predictor:
    """An untrained tagger; raises where what it needs is not installed."""
    chosen = cast(Any, choose_predictor(spelt(KINDS[kind])))
    if kind == "transformer":
        return cast(Predictor, replace(chosen, epochs=EPOCHS, seed=seed))
    return cast(Predictor, replace(chosen, seed=seed) if kind == "bilstm" else chosen)


def teach(material: Material, teacher: str, kind: str, seed: int) -> Predictor:
    """The tagger, made ready.

    Parameters
    ----------
    material : the crowd, its gold, and the other text with gold, where there is such.
    teacher : ``"same"``, one of :data:`SHARES`, or ``"crowd"``.
    kind : one of :data:`KINDS`.
    seed : the tagger's.
    """
    crowd, gold = material.crowd, material.data.gold
    if teacher == "crowd":
        voted = MajorityVote().fit(crowd)
        return tagger(kind, seed).fit(crowd.corpus, voted.tags, scheme=crowd.scheme)
    if teacher == "same":
        return _taught_by(kind, seed, gold, crowd)
    if material.held_out:
        texts = [_part(text.gold, SHARES[teacher]) for text in material.held_out.values()]
        whole = Corpus.of([t.corpus.words(s) for t in texts for s in range(t.n_sentences)])
        tags = np.concatenate([t.recode(crowd.scheme).labelling().tags for t in texts])
        return tagger(kind, seed).fit(whole, tags, scheme=crowd.scheme)
    even = material.data.splits["even"]
    halves = tuple(
        _taught_by(kind, seed, _part(gold[mask], SHARES[teacher]), crowd) for mask in (~even, even)
    )
    names = {crowd.corpus.documents[d] for d in crowd.corpus.sentence_document[even]}
    mine = cast(Callable[[str], int], lambda name: 0 if name in names else 1)
    return cast(Predictor, Halves(cast(Any, halves), mine))


def _part(gold: Crowd, share: float) -> Crowd:
    """The first sentences."""
    return gold[np.arange(gold.n_sentences) < round(share * gold.n_sentences)]


def _taught_by(kind: str, seed: int, gold: Crowd, crowd: Crowd) -> Predictor:
    known = gold[gold.covered].recode(crowd.scheme)
    return tagger(kind, seed).fit(known.corpus, known.labelling().tags, scheme=crowd.scheme)
