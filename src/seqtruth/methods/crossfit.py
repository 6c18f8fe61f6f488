"""Cross-fitting: every sentence is judged by a model that has not seen its document."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass, replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import F32, I64, Bool, Tags
from seqtruth.kernels.threads import threads
from seqtruth.methods.folds import document_folds
from seqtruth.predictors.base import Predictor
from seqtruth.stopping import stoppable

log = logging.getLogger("seqtruth")


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

    for member in members:
        if (load := getattr(member, "load", None)) is not None:
            load()

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
        _teach(model, corpus, scheme, targets, learn)
        said = model.predict_proba(corpus[ask])
        places = gather(corpus.token_offsets, ask)[1]
        if np.shape(said) != (len(places), len(scheme.labels)) or not np.isfinite(said).all():
            raise DataError(
                f"predictor {predictor_name(model)} must give every token a probability of every label"
            )
        opinions[m][places] = said

    together([partial(job, m, k) for m in _slow_first(members) for k in range(folds)])
    return opinions


def train_on_all(
    members: Sequence[Predictor],
    corpus: Corpus,
    scheme: Scheme,
    targets: Tags | F32,
    usable: Bool,
    seed: int,
) -> list[Predictor]:
    """Copies of all members trained on all usable sentences, to hand back to the user."""
    models = [_seeded(member, [seed, m]) for m, member in enumerate(members)]

    def job(m: int) -> None:
        log.info("the tagger: %s learns from everything", predictor_name(members[m]))
        _teach(models[m], corpus, scheme, targets, np.flatnonzero(usable))

    together([partial(job, m) for m in _slow_first(members)])
    return models


def _teach(
    model: Predictor, corpus: Corpus, scheme: Scheme, targets: Tags | F32, chosen: I64
) -> None:
    places = gather(corpus.token_offsets, chosen)[1]
    model.fit(corpus[chosen], targets[places], scheme=scheme)


def together(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run jobs at the same time, one on each core (small networks are fastest on one thread each);
    what they give, in their order."""
    stop = Event()
    with ThreadPoolExecutor(max(1, min(threads(), len(jobs)))) as pool:
        running = [pool.submit(stoppable(job, stop)) for job in jobs]
        try:
            return [one.result() for one in running]
        except BaseException:  # also Ctrl-C: what has not begun never will, what has ends soon
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _slow_first(members: Sequence[Predictor]) -> list[int]:
    """Networks before the CRF, so that no core waits at the end."""
    return sorted(range(len(members)), key=lambda m: (predictor_name(members[m]) == "crf", m))


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
