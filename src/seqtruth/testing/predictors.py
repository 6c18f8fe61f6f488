"""What every predictor must do, as checks that any of them, also a user's own, can be put through."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.labelling import Labelling
from seqtruth.kernels.arrays import F32
from seqtruth.predictors.base import Predictor
from seqtruth.testing.material import ConformanceError, small_crowd

#: Rounding that two runs of the same training may differ by, on another number of threads.
CLOSE = 1e-4


def check_predictor(predictor: Predictor | Callable[[], Predictor]) -> None:
    """Put a predictor through all checks.

    Parameters
    ----------
    predictor : a class that needs no settings, or an untrained predictor.

    Raises
    ------
    ConformanceError
        At the first rule that is broken.

    Examples
    --------
    >>> from seqtruth.predictors import CRF
    >>> check_predictor(CRF(max_iter=20))
    """
    ready: Any = predictor() if isinstance(predictor, type) else predictor
    for check in CHECKS:
        check(ready)


def _truth() -> Labelling:
    """Small sentences with names in telling places, by somebody who knows."""
    return small_crowd(n_sentences=60).select_annotators(["w0"]).labelling()


def _demand(condition: object, what: str, predictor: Any) -> None:
    if not condition:
        raise ConformanceError(what, where=type(predictor).__name__)


def _trained(predictor: Any, **more: Any) -> Any:
    truth = _truth()
    return predictor.clone().fit(truth.corpus, truth.tags, scheme=truth.scheme, **more)


def _sound(found: F32, truth: Labelling, predictor: Any) -> None:
    shape = (truth.corpus.n_tokens, len(truth.scheme.labels))
    _demand(np.shape(found) == shape, f"probabilities must have shape {shape}", predictor)
    _demand(np.isfinite(found).all() and (found >= 0).all(), "gave no probabilities", predictor)
    near = np.allclose(np.sum(found, axis=1), 1, atol=1e-3)
    _demand(near, "probabilities of a token must add up to 1", predictor)


def check_learns_and_tells(predictor: Any) -> None:
    truth, model = _truth(), predictor.clone()
    back = model.fit(truth.corpus, truth.tags, scheme=truth.scheme)
    _demand(back is model, "fit must return the predictor itself", predictor)
    found = model.predict_proba(truth.corpus)
    _sound(found, truth, predictor)
    chance = np.bincount(truth.tags).max() / len(truth.tags)
    share = float(np.mean(found.argmax(axis=1) == truth.tags))
    _demand(share >= chance, "is worse than the most frequent label on what it learnt", predictor)


def check_lists_are_as_good_as_a_corpus(predictor: Any) -> None:
    truth, model = _truth(), _trained(predictor)
    lists = [truth.corpus.words(s) for s in range(truth.corpus.n_sentences)]
    same = np.allclose(model.predict_proba(lists), model.predict_proba(truth.corpus), atol=CLOSE)
    _demand(same, "lists of tokens and a corpus gave different answers", predictor)


def check_soft_and_missing_labels(predictor: Any) -> None:
    truth = _truth()
    soft = np.full((len(truth.tags), len(truth.scheme.labels)), 0.05)
    soft[np.arange(len(truth.tags)), truth.tags] += 1 - soft.sum(axis=1)
    model = predictor.clone().fit(truth.corpus, soft, scheme=truth.scheme)
    _sound(model.predict_proba(truth.corpus), truth, predictor)
    holes = truth.tags.copy()
    holes[::5] = -1
    model = predictor.clone().fit(truth.corpus, holes, scheme=truth.scheme)
    _sound(model.predict_proba(truth.corpus), truth, predictor)


def check_weights_of_sentences(predictor: Any) -> None:
    truth = _truth()
    model = _trained(predictor, weights=np.linspace(0.1, 1, truth.corpus.n_sentences))
    _sound(model.predict_proba(truth.corpus), truth, predictor)


def check_learning_goes_on(predictor: Any) -> None:
    truth, model = _truth(), _trained(predictor)
    model.fit(truth.corpus, truth.tags, scheme=truth.scheme)
    _sound(model.predict_proba(truth.corpus), truth, predictor)


def check_input_untouched(predictor: Any) -> None:
    truth = _truth()
    soft = np.eye(len(truth.scheme.labels), dtype=np.float32)[truth.tags]
    before = soft.copy()
    predictor.clone().fit(truth.corpus, soft, scheme=truth.scheme)
    _demand(np.array_equal(soft, before), "changed the labels it was given", predictor)


def check_clones_are_untrained_and_apart(predictor: Any) -> None:
    same = type(predictor.clone()) is type(predictor)
    _demand(same, "clone gave another kind of predictor", predictor)
    truth, model = _truth(), _trained(predictor)
    found = model.predict_proba(truth.corpus)
    twin = model.clone()
    other = np.zeros_like(truth.tags)
    twin.fit(truth.corpus, other, scheme=truth.scheme)
    same = np.array_equal(model.predict_proba(truth.corpus), found)
    _demand(same, "training a clone changed the original", predictor)
    again = model.clone().fit(truth.corpus, truth.tags, scheme=truth.scheme)
    near = np.allclose(again.predict_proba(truth.corpus), found, atol=CLOSE)
    _demand(near, "a clone that learns the same must come to the same", predictor)


def check_several_threads(predictor: Any) -> None:
    corpus, alone = _truth().corpus, _trained(predictor).predict_proba(_truth().corpus)
    with ThreadPoolExecutor(3) as pool:
        models = list(pool.map(lambda _: _trained(predictor), range(3)))
        found = list(pool.map(lambda model: model.predict_proba(corpus), models))
    near = all(np.allclose(one, alone, atol=CLOSE) for one in found)
    _demand(near, "clones trained in several threads at once disturb each other", predictor)


def check_nothing_to_label(predictor: Any) -> None:
    truth, model = _truth(), _trained(predictor)
    shape = np.shape(model.predict_proba(Corpus.of([])))
    _demand(shape == (0, len(truth.scheme.labels)), "failed on an empty corpus", predictor)
    unseen = model.predict_proba(Corpus.of([["zzyzx", "Ω≈ç", "😀"], []]))
    fine = np.shape(unseen)[0] == 3 and np.allclose(np.sum(unseen, axis=1), 1, atol=1e-3)
    _demand(fine, "failed on words it has never seen", predictor)


def check_what_is_saved_comes_back(predictor: Any) -> None:
    """Only where the predictor can be saved: it has ``state``."""
    if not hasattr(predictor, "state"):
        return
    _demand(
        isinstance(getattr(predictor, "name", None), str), "has no name to be saved by", predictor
    )
    truth, model = _truth(), _trained(predictor)
    settings, arrays = model.state()
    plain = all(isinstance(one, np.ndarray) and one.dtype != object for one in arrays.values())
    _demand(plain, "its state must be JSON values and plain arrays", predictor)
    try:
        settings = json.loads(json.dumps(settings))
    except TypeError as error:
        raise ConformanceError(
            "its settings cannot be written as JSON", where=type(predictor).__name__, got=str(error)
        ) from error
    again = type(model).from_state(settings, arrays, truth.scheme)
    same = np.allclose(
        again.predict_proba(truth.corpus), model.predict_proba(truth.corpus), atol=1e-6
    )
    _demand(same, "a saved predictor came back different", predictor)


CHECKS: tuple[Callable[[Any], None], ...] = (
    check_learns_and_tells,
    check_lists_are_as_good_as_a_corpus,
    check_soft_and_missing_labels,
    check_weights_of_sentences,
    check_learning_goes_on,
    check_input_untouched,
    check_clones_are_untrained_and_apart,
    check_several_threads,
    check_nothing_to_label,
    check_what_is_saved_comes_back,
)
