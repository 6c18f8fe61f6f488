"""The prediction module: train on confident sentences, predict the others, count as one more annotator.

:class:`PredictionModule` keeps models through the rounds of AggSLC; :func:`cross_fit` and
:func:`train_on_all` train afresh, several models at a time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa

from seqtruth import archive
from seqtruth.data.corpus import Corpus
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import F32, F64, I8, I64, Bool
from seqtruth.kernels.random import sentence_keys
from seqtruth.kernels.threads import threads
from seqtruth.methods.loop import State
from seqtruth.predictors.base import Predictor, Storable
from seqtruth.predictors.registry import as_storable, stored_kind

SPLITS = ("cross-fit", "low-confidence")
log = logging.getLogger("seqtruth")


@dataclass
class PredictionModule:
    """Trains copies of a predictor as the aggregate changes.

    ``low-confidence`` is the paper's split: one model, trained on sentences with ξ above the
    threshold, predicts the others. ``cross-fit`` keeps K models; each is trained on the confident
    sentences outside its fold and predicts all of its fold, so that every sentence gets a
    prediction from a model that has not seen its (noisy) labels. Folds are made of whole documents.
    Training is incremental: a model goes on from its parameters of the round before.

    Parameters
    ----------
    predictor : what to copy.
    corpus, scheme : the text and its labels.
    split : ``"cross-fit"`` or ``"low-confidence"``.
    threshold : ξ above which a sentence is used for training.
    folds : K.
    seed : shuffles the folds.
    """

    predictor: Predictor
    corpus: Corpus
    scheme: Scheme
    split: str
    threshold: float
    folds: int
    seed: int

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ParameterError(
                f"prediction must be one of {', '.join(SPLITS)}", got=repr(self.split)
            )
        if self.folds < 2:
            raise ParameterError("folds must be at least 2", got=str(self.folds))
        count = self.folds if self.split == "cross-fit" else 1
        self.models: list[Predictor] = [self.predictor.clone() for _ in range(count)]
        self.fold = document_folds(self.corpus, self.folds, self.seed)

    def update(self, targets: I8 | F32, confidence: F64, usable: Bool) -> tuple[F32, Bool, int]:
        """Train on the confident sentences, predict; returns ŷ[T, L], where given[S], how many were
        confident enough."""
        confident = usable & (confidence > self.threshold)
        predicted = np.zeros((self.corpus.n_tokens, len(self.scheme.labels)), np.float32)
        given = np.zeros(self.corpus.n_sentences, np.bool_)
        for number, model in enumerate(self.models):
            if self.split == "cross-fit":
                learn, ask = confident & (self.fold != number), self.fold == number
            else:
                learn, ask = confident, ~confident
            if learn.any() and ask.any():
                self._train(model, learn, targets)
                chosen = np.flatnonzero(ask)
                places = gather(self.corpus.token_offsets, chosen)[1]
                predicted[places] = model.predict_proba(self.corpus[chosen])
                given |= ask
        return predicted, given, int(confident.sum())

    def final(self, targets: I8 | F32, confidence: F64, usable: Bool) -> Predictor | None:
        """One model trained on all confident sentences, to hand back to the user."""
        learn = usable & (confidence > self.threshold)
        if not learn.any():
            return None
        model = self.models[0] if self.split == "low-confidence" else self.predictor.clone()
        self._train(model, learn, targets)
        return model

    def _train(self, model: Predictor, learn: Bool, targets: I8 | F32) -> None:
        _teach(model, self.corpus, self.scheme, targets, np.flatnonzero(learn))

    def state(self) -> State:
        """All models as arrays, for a checkpoint."""
        arrays: State = {}
        for number, model in enumerate(self.models):
            settings, parts = as_storable(model, "a run with this predictor").state()
            text = json.dumps(settings).encode()
            arrays |= archive.under(parts, f"model{number}")
            arrays[f"model{number}/settings"] = np.frombuffer(text, np.uint8)
        return arrays

    def restore(self, arrays: State) -> None:
        """Take the models out of a checkpoint's state."""
        for number, model in enumerate(self.models):
            parts = archive.within(arrays, f"model{number}")
            if parts:
                settings: dict[str, Any] = json.loads(parts.pop("settings").tobytes())
                kind = stored_kind(cast(Storable, model).name)
                self.models[number] = cast(Predictor, kind.from_state(settings, parts, self.scheme))


def document_folds(corpus: Corpus, folds: int, seed: int) -> I64:
    """Fold of every sentence: whole documents (or sentences where documents are too few), dealt out
    in an order that depends on their names and the seed, not on their places."""
    present, group = np.unique(corpus.sentence_document, return_inverse=True)
    names: Sequence[str] = [corpus.documents[number] for number in present]
    if len(names) < 2 * folds:
        names, group = corpus.sentence_ids.to_pylist(), np.arange(corpus.n_sentences)
    order = np.argsort(sentence_keys(pa.array(names, pa.large_string()), seed), kind="stable")
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names)) % folds
    return rank[group]


def cross_fit(
    members: Sequence[Predictor],
    corpus: Corpus,
    scheme: Scheme,
    targets: F32,
    usable: Bool,
    folds: int,
    seed: int,
    number: int,
) -> list[F32]:
    """Each member's opinion on every sentence, from copies that have not seen its document.

    Parameters
    ----------
    members : what to copy.
    targets : float32[T, L], soft labels to learn.
    usable : bool[S], sentences to learn from.
    folds, seed : how documents are dealt out.
    number : of the round, so that each trains from other random values.
    """
    fold = document_folds(corpus, folds, seed)
    even = np.float32(1.0 / len(scheme.labels))
    opinions = [np.full((corpus.n_tokens, len(scheme.labels)), even) for _ in members]

    def job(m: int, k: int) -> None:
        learn, ask = np.flatnonzero(usable & (fold != k)), np.flatnonzero(fold == k)
        if not len(learn) or not len(ask):
            return
        log.info("round %d: %s learns, part %d of %d", number + 1, _name(members[m]), k + 1, folds)
        model = _seeded(members[m], [seed, number, m, k])
        _teach(model, corpus, scheme, targets, learn)
        said = model.predict_proba(corpus[ask])
        places = gather(corpus.token_offsets, ask)[1]
        if np.shape(said) != (len(places), len(scheme.labels)) or not np.isfinite(said).all():
            raise DataError(
                f"predictor {_name(model)} must give every token a probability of every label"
            )
        opinions[m][places] = said

    together([partial(job, m, k) for m in _slow_first(members) for k in range(folds)])
    return opinions


def train_on_all(
    members: Sequence[Predictor],
    corpus: Corpus,
    scheme: Scheme,
    targets: I8 | F32,
    usable: Bool,
    seed: int,
) -> list[Predictor]:
    """Copies of all members trained on all usable sentences, to hand back to the user."""
    models = [_seeded(member, [seed, m]) for m, member in enumerate(members)]

    def job(m: int) -> None:
        log.info("the tagger: %s learns from everything", _name(members[m]))
        _teach(models[m], corpus, scheme, targets, np.flatnonzero(usable))

    together([partial(job, m) for m in _slow_first(members)])
    return models


def _teach(
    model: Predictor, corpus: Corpus, scheme: Scheme, targets: I8 | F32, chosen: I64
) -> None:
    places = gather(corpus.token_offsets, chosen)[1]
    model.fit(corpus[chosen], targets[places], scheme=scheme)


def together(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run jobs at the same time, one on each core (small networks are fastest on one thread each);
    what they give, in their order."""
    with ThreadPoolExecutor(max(1, min(threads(), len(jobs)))) as pool:
        running = [pool.submit(job) for job in jobs]
        try:
            return [one.result() for one in running]
        except BaseException:  # also Ctrl-C: what has not begun never will
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _slow_first(members: Sequence[Predictor]) -> list[int]:
    """Networks before the CRF, so that no core waits at the end."""
    return sorted(range(len(members)), key=lambda m: (_name(members[m]) == "crf", m))


def _name(predictor: Predictor) -> str:
    return getattr(predictor, "name", type(predictor).__name__)


def _seeded(predictor: Predictor, numbers: list[int]) -> Predictor:
    """An untrained copy; where it takes a seed, with one of its own."""
    own = getattr(predictor, "seed", None)
    copy = predictor.clone()
    if not is_dataclass(copy) or "seed" not in {f.name for f in fields(copy) if f.init}:
        return copy
    seed = int(np.random.default_rng([int(own or 0), *numbers]).integers(2**31))
    return replace(copy, seed=seed)
