"""What every method must do, as checks that any of them, also a user's own, can be put through."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataWarning
from seqtruth.kernels.grammar import is_legal
from seqtruth.methods.base import Aggregator
from seqtruth.methods.vote.majority import MajorityVote
from seqtruth.result import Result
from seqtruth.testing.material import ConformanceError, small_crowd, trials

Check = Callable[[Aggregator], None]
#: Posteriors are kept in single precision; sums in another order may move the last digits.
CLOSE = 2e-3
#: F1 that may be lost against the majority vote where it is hard to beat.
WORSE = 0.01


def check_method(method: Aggregator | type[Aggregator]) -> None:
    """Put a method through all checks that apply to it.

    Parameters
    ----------
    method : a class, or a method with settings that make it quick.

    Raises
    ------
    ConformanceError
        At the first rule that is broken.

    Examples
    --------
    >>> from seqtruth.methods import MajorityVote
    >>> check_method(MajorityVote)
    """
    ready = method() if isinstance(method, type) else method
    for check in checks_of(ready):
        check(ready)


def checks_of(method: Aggregator) -> Iterator[Check]:
    """The checks that apply: all but those the method declares itself exempt from, with a reason.

    Parameters
    ----------
    method : the method to be checked.
    """
    for check in CHECKS:
        if check.__name__ not in method.exempt:
            yield check


def _fit(method: Aggregator, crowd: Crowd, gold: Crowd | None = None) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.fit(crowd, gold)


def _demand(condition: object, what: str, method: Aggregator) -> None:
    if not condition:
        raise ConformanceError(what, where=type(method).__name__)


def _same(
    a: Result, b: Result, what: str, method: Aggregator, order: np.ndarray | None = None
) -> None:
    """Same labels and, within rounding, the same probabilities; b's sentences are a's in ``order``."""
    tags, probabilities = a.tags, a.probabilities
    if order is not None:
        lengths = np.diff(a.corpus.token_offsets)
        starts = a.corpus.token_offsets[:-1]
        flat = np.concatenate([np.arange(starts[s], starts[s] + lengths[s]) for s in order])
        tags, probabilities = tags[flat], probabilities[flat]
    near = np.allclose(probabilities, b.probabilities, atol=CLOSE)
    _demand(np.array_equal(tags, b.tags) and near, what, method)


def check_input_untouched(method: Aggregator) -> None:
    crowd = small_crowd()
    before = crowd.digest()
    _fit(method, crowd)
    _demand(crowd.digest() == before, "changed its input", method)


def check_same_seed_same_bytes(method: Aggregator) -> None:
    crowd = small_crowd()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a", "b")]
        for path in paths:
            _fit(method, crowd).save(path)
        same = paths[0].read_bytes() == paths[1].read_bytes()
    _demand(same, "the same seed gave different bytes", method)


def check_saved_result_comes_back(method: Aggregator) -> None:
    result = _fit(method, small_crowd())
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "r")
        again = Result.load(Path(folder) / "r")
    _same(result, again, "a saved result came back different", method)
    same = again.annotators.names == result.annotators.names and again.history == result.history
    _demand(same and again.provenance == result.provenance, "lost part of the result", method)


def check_annotators_can_be_renamed(method: Aggregator) -> None:
    crowd = small_crowd()
    renamed = replace(crowd, annotators=tuple(f"new {name}" for name in crowd.annotators))
    a, b = _fit(method, crowd), _fit(method, renamed)
    _same(a, b, "renaming annotators changed the answer", method)
    _demand(
        np.allclose(a.annotators.weight, b.annotators.weight), "renaming changed weights", method
    )


def check_annotators_can_be_reordered(method: Aggregator) -> None:
    crowd = small_crowd()
    turned = crowd.select_annotators(reversed(crowd.annotators))
    a, b = _fit(method, crowd), _fit(method, turned)
    _same(a, b, "the order of annotators changed the answer", method)


def check_sentences_can_be_reordered(method: Aggregator) -> None:
    crowd = small_crowd()
    order = np.random.default_rng(1).permutation(crowd.n_sentences)
    a, b = _fit(method, crowd), _fit(method, crowd[order])
    _same(a, b, "the order of sentences changed the answer", method, order)


def check_unanimous_labels_come_back(method: Aggregator) -> None:
    crowd = small_crowd()
    truth = crowd.select_annotators(["w0"])
    agreed = Crowd.concat([truth])
    rows = np.arange(truth.n_sentences, dtype=np.int32)
    agreed = Crowd(
        truth.corpus, truth.scheme, ("a", "b", "c"), np.repeat(rows, 3),
        np.tile(np.arange(3, dtype=np.int32), len(rows)),
        np.concatenate([np.tile(truth.tags[a:b], 3) for a, b in
                        zip(truth.row_offsets[:-1], truth.row_offsets[1:], strict=True)]),
    )  # fmt: skip
    result = _fit(method, agreed)
    _demand(np.array_equal(result.tags, truth.tags), "overruled a unanimous crowd", method)


def check_output_is_well_formed(method: Aggregator) -> None:
    for kind in ("iob2", "bioes", "io", "iob1", "bilou"):
        crowd = small_crowd(kind=kind)
        result = _fit(method, crowd)
        sums = result.probabilities.sum(axis=1)
        fine = np.allclose(sums, 1, atol=1e-3) and (result.probabilities >= 0).all()
        _demand(fine, f"probabilities do not add up to 1 ({kind})", method)
        _demand(result.tags.min() >= 0, f"left a labelled sentence without labels ({kind})", method)
        _demand(
            np.isfinite(result.annotators.weight).all(), f"weights are not finite ({kind})", method
        )
        if method.promises_legal:
            legal = is_legal(result.tags, crowd.corpus.token_offsets, crowd.scheme.grammar)
            _demand(legal.all(), f"promised legal labels and broke the promise ({kind})", method)


def check_plain_tags(method: Aggregator) -> None:
    votes = {name: [["DET", "NOUN"], ["VERB"]] for name in "abc"}
    result = _fit(method, Crowd.of(votes, [["the", "dog"], ["ran"]]))
    labels = [result.scheme.labels[t] for t in result.tags]
    _demand(labels == ["DET", "NOUN", "VERB"], "failed on plain tags", method)


def check_missing_labels(method: Aggregator) -> None:
    crowd = small_crowd()
    holes = crowd.tags.copy()
    holes[::7] = -1
    result = _fit(method, replace(crowd, tags=holes))
    _demand(result.tags.min() >= 0, "failed on missing labels", method)


def check_unlabelled_sentences_are_kept(method: Aggregator) -> None:
    crowd = small_crowd()
    keep = crowd.row_sentence != 3
    flat = np.repeat(keep, np.diff(crowd.row_offsets))
    part = replace(
        crowd, row_sentence=crowd.row_sentence[keep], row_annotator=crowd.row_annotator[keep],
        tags=crowd.tags[flat],
    )  # fmt: skip
    result = _fit(method, part)
    _demand(result.corpus.n_sentences == crowd.n_sentences, "dropped a sentence", method)
    if result.tagger is None:
        _demand(not result.labelled[3], "labelled a sentence that nobody labelled", method)
    _demand(result.labelled.sum() >= crowd.n_sentences - 1, "lost labelled sentences", method)


def check_one_annotator(method: Aggregator) -> None:
    crowd = small_crowd().select_annotators(["w0"])  # legal throughout
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = method.fit(crowd)
    told = any(issubclass(warning.category, DataWarning) for warning in caught)
    _demand(told, "did not warn of a single annotator", method)
    _demand(result.tags.min() >= 0, "failed on one annotator", method)
    if result.tagger is None:
        _demand(
            np.array_equal(result.tags, crowd.tags), "changed the only labels there are", method
        )


def check_one_token_and_empty(method: Aggregator) -> None:
    votes = {name: [["B-PER"]] for name in "abc"}
    result = _fit(method, Crowd.of(votes, [["Ann"]]))
    _demand(result.scheme.labels[result.tags[0]] == "B-PER", "failed on one token", method)
    empty = Crowd.build(Corpus.of([]), ["O", "B-PER"], ["a", "b"], [], [], np.zeros(0, np.int16))
    _demand(len(_fit(method, empty).tags) == 0, "failed on an empty crowd", method)


def check_known_gold_is_kept(method: Aggregator) -> None:
    crowd = small_crowd()
    words = crowd.corpus.words(0)
    for row in (["O"] * len(words), ["I-PER"] + ["O"] * (len(words) - 1)):  # also an illegal one
        result = _fit(method, crowd, Crowd.of({"gold": [row]}, [words], "iob2", ["s0"]))
        kept = [result.scheme.labels[t] for t in result.tags[: len(words)]]
        _demand(kept == row, "overruled known gold", method)


def check_every_voice_counts_where_it_is_the_only_one(method: Aggregator) -> None:
    crowd = small_crowd()
    worst = crowd.row_annotator == crowd.n_annotators - 1
    alone = crowd.row_sentence == int(crowd.row_sentence[worst][0])
    keep = worst | ~alone
    part = replace(
        crowd, row_sentence=crowd.row_sentence[keep], row_annotator=crowd.row_annotator[keep],
        tags=crowd.tags[np.repeat(keep, np.diff(crowd.row_offsets))],
    )  # fmt: skip
    _demand(_fit(method, part).labelled.all(), "dropped the only labels of a sentence", method)


def check_abstention_is_no_vote(method: Aggregator) -> None:
    votes = {name: [["B-PER", "O"]] * 6 if name == "a" else [["O", "O"]] * 6 for name in "abc"}
    crowd = Crowd.of(votes, [["Ann", "ran"]] * 6, ids=[f"s{i}" for i in range(6)])
    result = _fit(replace(method, abstain="O"), crowd)
    first = result.tags[crowd.corpus.token_offsets[:-1]]
    labels = {result.scheme.labels[t] for t in first}
    _demand(labels == {"B-PER"}, "counted an abstention as a vote", method)
    rest = {result.scheme.labels[t] for t in result.tags[crowd.corpus.token_offsets[:-1] + 1]}
    _demand(rest == {"O"}, "made an entity of what nobody mentions", method)


def check_never_below_the_vote(method: Aggregator) -> None:
    ready = replace(method, abstain="auto")
    for trial in trials():
        vote = _fit(MajorityVote(abstain="auto"), trial.crowd).evaluate(trial.gold).span.f1
        found = _fit(ready, trial.crowd).evaluate(trial.gold).span.f1
        _demand(
            found >= vote - WORSE,
            f"is worse than the vote on {trial.name} ({found:.3f} below {vote:.3f})",
            method,
        )


CHECKS: tuple[Check, ...] = (
    check_input_untouched,
    check_same_seed_same_bytes,
    check_saved_result_comes_back,
    check_annotators_can_be_renamed,
    check_annotators_can_be_reordered,
    check_sentences_can_be_reordered,
    check_unanimous_labels_come_back,
    check_output_is_well_formed,
    check_plain_tags,
    check_missing_labels,
    check_unlabelled_sentences_are_kept,
    check_one_annotator,
    check_one_token_and_empty,
    check_known_gold_is_kept,
    check_every_voice_counts_where_it_is_the_only_one,
    check_abstention_is_no_vote,
    check_never_below_the_vote,
)
