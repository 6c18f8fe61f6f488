"""Cross-fitting: every sentence is judged by a model that has not seen its document."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import F32, I64, Bool, Tags
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.memory import give_back
from seqtruth.kernels.threads import threads
from seqtruth.methods.folds import Folds, folds_of
from seqtruth.predictors.base import Potentials, Predictor, potentials_of
from seqtruth.predictors.crf.crf import CRF
from seqtruth.predictors.ensemble import Ensemble
from seqtruth.stopping import together

log = logging.getLogger("seqtruth")

#: Texts of more tokens than this are learnt one model after the other, since each takes much memory, and
#: to the end: 20 steps and 15 more cost a point of F1 on 400,000 tokens, where names are many.
LARGE = 200_000
#: Steps of a CRF that judges beside annotators and is heard as far as it can be trusted. Strict F1 of the
#: labels with 20 and with all 50: ``nguyen_val`` 83.1 and 83.4; even PICO documents, seeds 0 to 3, 57.4 to
#: 58.6 and 53.8 to 58.4 (a tagger of its own needs all).
STEPS = 20


def usable(crowd: Crowd, known: Tags | None) -> Bool:
    """bool[S]: is there anything to learn from in the sentence?"""
    if known is None:
        return crowd.covered
    count = np.concatenate([[0], np.cumsum(known >= 0)])[crowd.corpus.token_offsets]
    return np.asarray(crowd.covered | (np.diff(count) > 0))


class FoldModels(NamedTuple):
    """Trained copies of predictors; each judges a fold of documents that it has not seen.

    What nobody learnt from, as it was not in the sample, is judged by all of them: the mean of what they say.
    How labels follow each other is each member's mean over its copies.

    folds : which fold a sentence is in.
    models : by member and fold; None where there was nothing to learn from.
    chains : by member.
    allowed : bool[L, L], pairs of labels that may follow each other.
    """

    folds: Folds
    models: tuple[tuple[Predictor | None, ...], ...]
    chains: tuple[Chain, ...]
    allowed: Bool

    def opinions(self, corpus: Corpus) -> list[Potentials]:
        """Each member's opinion on every sentence of any part of the corpus."""
        fold, unseen = self.folds.of(corpus), self.folds.unseen(corpus)
        asked = [np.flatnonzero(unseen | (fold == k)) for k in range(self.folds.count)]
        return [
            self._opinion(copies, chain, corpus, asked)
            for copies, chain in zip(self.models, self.chains, strict=True)
        ]

    def _opinion(
        self, copies: Sequence[Predictor | None], chain: Chain, corpus: Corpus, asked: Sequence[I64]
    ) -> Potentials:
        """The mean of what those say who were asked about a sentence."""
        n_labels = len(self.allowed)
        total = np.zeros((corpus.n_tokens, n_labels), np.float32)
        voices = np.zeros((corpus.n_tokens, 1), np.float32)
        for model, ask in zip(copies, asked, strict=True):
            if model is not None and len(ask):
                at = gather(corpus.token_offsets, ask)[1]
                total[at] += potentials_of(model, corpus[ask]).centred(self.allowed).scores
                voices[at] += 1
        scores = np.where(voices > 0, total / np.maximum(voices, 1), _nothing(corpus, n_labels))
        return Potentials(scores, chain)


class CrossFitted(NamedTuple):
    """Each member's opinion on every sentence it was asked about, and the models behind them."""

    opinions: list[Potentials]
    models: FoldModels


def _nothing(corpus: Corpus, n_labels: int) -> F32:
    """float32[T, L]: the log opinion of who has learnt nothing."""
    return np.full((corpus.n_tokens, n_labels), np.float32(-np.log(n_labels)))


def _mean_chain(chains: Sequence[Chain], n_labels: int) -> Chain:
    """Their geometric mean."""
    found = Chain.free(n_labels)
    for chain in chains:
        found = found.times(chain.power(1.0 / len(chains)))
    return found


def cross_fit(
    members: Sequence[Predictor],
    corpus: Corpus,
    scheme: Scheme,
    targets: F32,
    usable: Bool,
    folds: int,
    seed: int,
    number: int,
) -> CrossFitted:
    """Each member's opinion on every sentence, from copies that have not seen its document.

    A CRF makes :data:`STEPS` steps; where the text is :data:`LARGE`, it learns to the end.

    Parameters
    ----------
    members : what to copy.
    targets : float32[T, L], soft labels to learn.
    usable : bool[S], sentences to learn from.
    folds, seed : how documents are dealt out.
    number : of the round, so that each trains from other random values.
    """
    dealt, large = folds_of(corpus, folds, seed), corpus.n_tokens > LARGE
    fold = dealt.of(corpus)
    n_labels = len(scheme.labels)
    opinions = [_nothing(corpus, n_labels) for _ in members]
    models: list[list[Predictor | None]] = [[None] * folds for _ in members]
    chains: list[list[Chain | None]] = [[None] * folds for _ in members]

    load(members, corpus)

    def job(m: int, k: int) -> None:
        learn, ask = np.flatnonzero(usable & (fold != k)), np.flatnonzero(fold == k)
        if not len(learn) or not len(ask):
            return
        log.info(
            "round %d: %s learns, part %d of %d",
            number + 1,
            predictor_name(members[m]),
            k + 1,
            folds,
        )
        model = _seeded(members[m], [seed, number, m, k])
        model = model if large else _hurried(model)
        _teach(model, corpus, scheme, targets, learn)
        said = potentials_of(model, corpus[ask])
        places = gather(corpus.token_offsets, ask)[1]
        fits = said.scores.shape == (len(places), n_labels)
        if not fits or not np.isfinite(said.scores).all():
            raise DataError(
                f"predictor {predictor_name(model)} must give every token a probability of every label"
            )
        said = said.centred(scheme.allowed)
        opinions[m][places] = said.scores
        models[m][k], chains[m][k] = model, said.chain

    jobs = [partial(job, m, k) for m in _slow_first(members) for k in range(folds)]
    if large:
        for one in jobs:
            one()
            give_back()
    else:
        together(jobs, threads())
    follow = tuple(
        _mean_chain([chain for chain in own if chain is not None], n_labels) for own in chains
    )
    said = [Potentials(*one) for one in zip(opinions, follow, strict=True)]
    return CrossFitted(said, FoldModels(dealt, tuple(map(tuple, models)), follow, scheme.allowed))


def load(members: Sequence[Predictor], corpus: Corpus) -> None:
    """Let members open what they need, and read the text once: in the main thread, where Ctrl-C is heard."""
    for member in members:
        if (own := getattr(member, "load", None)) is not None:
            own(corpus)


def _hurried(model: Predictor) -> Predictor:
    """A copy that judges in company need not learn to the end."""
    if isinstance(model, CRF):
        return replace(model, max_iter=min(model.max_iter, STEPS))
    return model


def train_on_all(
    members: Sequence[Predictor],
    corpus: Corpus,
    scheme: Scheme,
    targets: Tags | F32,
    usable: Bool,
    seed: int,
) -> list[Predictor]:
    """Copies of all members trained on all usable sentences, to hand back to the user."""
    load(members, corpus)
    models = [_seeded(member, [seed, m]) for m, member in enumerate(members)]

    def job(m: int) -> None:
        log.info("the tagger: %s learns from everything", predictor_name(members[m]))
        _teach(models[m], corpus, scheme, targets, np.flatnonzero(usable))

    together([partial(job, m) for m in _slow_first(members)], threads())
    return models


def _teach(
    model: Predictor, corpus: Corpus, scheme: Scheme, targets: Tags | F32, chosen: I64
) -> None:
    places = gather(corpus.token_offsets, chosen)[1]
    model.fit(corpus[chosen], targets[places], scheme=scheme)


def _slow_first(members: Sequence[Predictor]) -> list[int]:
    """Networks before the CRF, so that no core waits at the end."""
    return sorted(range(len(members)), key=lambda m: (predictor_name(members[m]) == "crf", m))


def members_of(predictor: Predictor | None) -> tuple[Predictor, ...]:
    """Those that are trained and heard each for itself."""
    if isinstance(predictor, Ensemble):
        return tuple(predictor.members)
    return () if predictor is None else (predictor,)


def predictor_name(predictor: Predictor) -> str:
    """What to call it in messages."""
    return getattr(predictor, "name", type(predictor).__name__)


def _seeded(predictor: Predictor, numbers: list[int]) -> Predictor:
    """An untrained copy; where it takes a seed, with one of its own."""
    own = getattr(predictor, "seed", None)
    copy = predictor.clone()
    if not is_dataclass(copy) or "seed" not in {f.name for f in fields(copy) if f.init}:
        return copy
    seed = int(np.random.default_rng([int(own or 0), *numbers]).integers(2**31))
    return replace(copy, seed=seed)
