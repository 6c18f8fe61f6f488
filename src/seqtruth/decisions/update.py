"""``result.update``: labels, annotators, documents and decisions that are new, without a refit."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.decisions.merging import (
    Merged,
    in_scheme,
    known_on,
    merge,
    model_crowd,
    without_annotators,
)
from seqtruth.decisions.model import is_vote, who_kept_none
from seqtruth.decisions.returned import on_own_tokens
from seqtruth.engine import MemoryParts
from seqtruth.errors import DataError, ParameterError
from seqtruth.fitted import AGREED, SUMS, Fitted
from seqtruth.io import read
from seqtruth.kernels.arrays import I64, Bool, Tags
from seqtruth.methods import Accord, make_method
from seqtruth.methods.accord import updating as accord
from seqtruth.methods.base import Aggregator
from seqtruth.methods.bayes import updating as bayes
from seqtruth.methods.bayes.sequence_model import CrowdHMM
from seqtruth.methods.task import Task
from seqtruth.methods.updating import Change, Updated
from seqtruth.metrics.align import Source
from seqtruth.metrics.annotators import (
    COUNTS,
    AnnotatorScores,
    annotator_counts,
    counts_table,
)
from seqtruth.predictors.choice import choose_predictor
from seqtruth.result import Annotators, Result

#: What is known of an annotator who is new, where it is not nothing.
NEW_ROWS = {"accuracy": np.nan, "reliability": np.nan, "witness": 1.0}
_ANEW = "aggregate the old labels and the new ones together; a withdrawal works with retrain=True"


def check_updatable(result: Result) -> None:
    """Raise, before any work, where a result cannot be updated.

    Parameters
    ----------
    result : with the labels it was made from.
    """
    method = result.provenance.get("method", "this result")
    again = "aggregate everything again (retrain=True)"
    if result.crowd is None:
        raise DataError(
            "the result does not know the labels it was made from",
            fix="save it with crowd=True",
        )
    if len(result.corpus.layers) > 1:
        raise ParameterError("marks that overlap lie on layers, which are not updated", fix=_ANEW)
    if result.fitted is None:
        raise ParameterError(
            f"{who_kept_none(result)} keeps no model that could be updated", got=method,
            fix=f"{again}, or use {'' if is_vote(result) else 'accord, '}bsc-seq, ds or mace",
        )  # fmt: skip
    if result.fitted.settings.get("words"):
        raise ParameterError(
            f"{method} learns its words from the whole text and is not updated", got=method,
            fix=again,
        )  # fmt: skip


def update(
    result: Result,
    new: Any = None,
    *,
    known: Source | None = None,
    remove: Any = None,
    withdraw: Iterable[str] = (),
    reach: str = "auto",
    retrain: bool = False,
    method: Any = None,
) -> Result:
    """The result with what is new, in time proportional to that; the old one is left as it is.

    Parameters
    ----------
    result : of Accord, Dawid-Skene, MACE or BSC, with the labels it was made from.
    new : labels, as a crowd or anything :func:`seqtruth.read` reads: of sentences that are there or not,
        by annotators who are there or not. A label given again takes the old one's place.
    known : decisions: true labels of some sentences (or of some of their tokens). They are kept, judge
        the annotators, and correct the confidences. Decisions made before stay; a sentence decided again
        gets the new one.
    remove : labels to take back: rows of these sentences and annotators; what they say does not matter.
    withdraw : annotators whose labels are all taken back.
    reach : ``"near"``: labels of the sentences that change and the rest of their documents; ``"all"``:
        labels of all sentences, under what is now known of the annotators; ``"settle"``: everything but
        training the predictor; ``"auto"``: near, and settle where a fifth of the sentences has changed
        since that was last done.
    retrain : fit everything anew, predictor included.
    method : for ``retrain``, another method than the result's own.
    """
    if not retrain:
        check_updatable(result)
    old = model_crowd(result)
    came, gone = (_crowd(given, result, retrain) for given in (new, remove))
    merged = merge(old, came, gone, withdraw)
    if old.n_rows and not merged.after.n_rows:
        raise DataError(
            "nobody is left who labelled anything", got=f"{merged.went:,} labels taken back",
            fix="name new labels as well, or aggregate others",
        )  # fmt: skip
    before = _known_before(result, merged)
    after = before
    if known is not None:
        given = known_on(merged.after.corpus, on_own_tokens(result, known), result)
        after = np.where(given >= 0, given, before)
    if retrain:
        return _refitted(result, merged, after, method)
    new_here = merged.touched
    if after is not before:
        changed = np.concatenate([[0], np.cumsum(after != before)])
        new_here = new_here | (np.diff(changed[merged.after.corpus.token_offsets]) > 0)
    touched = np.flatnonzero(new_here)
    if not len(touched) and merged.stays.all() and len(merged.stays) == old.n_annotators:
        return result
    change = Change(
        merged.before, merged.after, old.n_sentences, touched, before, after, result.tagger
    )
    assert result.fitted is not None
    fitted = _widened(result.fitted, change)
    if fitted.family == "accord":
        found = accord.update(accord.extended(fitted, change), change, reach, _settings_of(result))
    else:
        found = bayes.update(_extended(fitted, change), change, _model_on(result, fitted), reach)
    return _result(result, merged, change, found)


def _crowd(given: Any, result: Result, retrain: bool) -> Crowd | None:
    if given is None:
        return None
    crowd = given if isinstance(given, Crowd) else read(given)
    if len(crowd.corpus.layers) > 1:
        raise ParameterError("marks that overlap lie on layers, which are not updated", fix=_ANEW)
    return (
        crowd if retrain and crowd.scheme.kind == result.scheme.kind else in_scheme(crowd, result)
    )


def _known_before(result: Result, merged: Merged) -> Tags:
    known = result.scheme.unlabelled(merged.after.n_tokens)
    if result.fitted is not None and result.fitted.known is not None:
        known[: len(result.fitted.known)] = result.fitted.known
    return known


def _widened(fitted: Fitted, change: Change) -> Fitted:
    """The model with rows for annotators who are new: they know nothing beforehand."""
    had = fitted.table.shape[0]
    number = np.arange(change.after.n_annotators)
    number[had:] = -1
    fill = dict.fromkeys(_by_annotator(fitted), 0.0)
    fill |= {name: value for name, value in NEW_ROWS.items() if name in fill}
    return fitted.with_annotators(number, fill)


def _by_annotator(fitted: Fitted) -> list[str]:
    columns = SUMS[fitted.family]
    return [name for name in fitted.sums if columns[name].shape[0] == "annotators"]


def _extended(fitted: Fitted, change: Change) -> Fitted:
    """The model with evidence of its own that can be written to, and room for that on new sentences."""
    more = change.after.n_tokens
    sources = []
    for source in fitted.sources:
        sources.append(source._replace(evidence=_longer(source.evidence, more, 0.0)))
    return replace(fitted, sources=tuple(sources))


def _model_on(result: Result, fitted: Fitted) -> bayes.ModelOn:
    """The method's model on parts of the crowd."""
    method: Any = method_of(result)
    silent = fitted.sums.get("silent")
    silent = None if silent is None else silent.astype(np.bool_)

    def on(crowd: Crowd, known: Tags) -> CrowdHMM:
        model: CrowdHMM = method.model(Task(MemoryParts(crowd), known, silent=silent))
        return replace(model, accuracy=fitted.sums["accuracy"])

    return on


def method_of(result: Result) -> Aggregator:
    """The method that made a result, with its settings.

    Parameters
    ----------
    result : as :meth:`~seqtruth.methods.Aggregator.fit` gave it.
    """
    name = result.provenance.get("method")
    if not isinstance(name, str):
        raise ParameterError(
            "the result does not say what made it", fix="name the method (method=)"
        )
    settings: Mapping[str, Any] = result.provenance.get("parameters") or {}
    ready: dict[str, Any] = {}
    for key, value in settings.items():
        if key == "predictor" and isinstance(value, str):
            ready[key] = _predictor(value, result)
        elif key == "reliability" and isinstance(value, str):
            ready[key] = ast.literal_eval(value)
        else:
            ready[key] = value
    return make_method(name, ready)


def _settings_of(result: Result) -> Accord:
    """Accord with the settings of the fit, its predictor apart."""
    settings = {**(result.provenance.get("parameters") or {}), "predictor": None}
    method = method_of(replace(result, provenance={**result.provenance, "parameters": settings}))
    assert isinstance(method, Accord)
    return method


def _predictor(text: str, result: Result) -> Any:
    """The predictor that a result was made with, from its name; its settings must be the usual ones."""
    if result.tagger is not None:
        members = getattr(result.tagger.predictor, "members", (result.tagger.predictor,))
        word = "+".join(getattr(member, "name", "") for member in members)
        found = choose_predictor(word) if all(word.split("+")) else None
        if found is not None and (repr(found) == text or len(members) > 1):
            return found
    raise ParameterError(
        "the predictor cannot be made anew from what the result says of it", got=text,
        fix="name the method with its predictor (method=)",
    )  # fmt: skip


def _refitted(result: Result, merged: Merged, known: Tags, method: Any) -> Result:
    crowd = without_annotators(merged.after, merged.stays)
    chosen = method_of(result) if method is None else make_method(method)
    gold = None
    if (known >= 0).any():
        from seqtruth.data.labelling import Labelling

        gold = Labelling(crowd.corpus, crowd.scheme, known)
    return chosen.fit(crowd, gold)


def _result(result: Result, merged: Merged, change: Change, found: Updated) -> Result:
    """The old result with what was decided anew laid over it."""
    crowd, corpus = merged.after, merged.after.corpus
    n, n_labels = corpus.n_tokens, len(result.scheme.labels)
    at = change.tokens(found.sentences)
    decision = found.decision
    tags = _longer(result.tags, n, -1)
    tags[at] = np.where(_labelled(change, found), decision.tags, -1)
    probabilities = _longer(result.probabilities, n, 1.0 / n_labels)
    probabilities[at] = decision.probabilities
    of_span = of_sentence = None
    if result.of_span is not None and decision.span_confidence is not None:
        of_span = _longer(result.of_span, n, 0.0)
        of_span[at] = decision.span_confidence
    if result.of_sentence is not None and decision.sentence_confidence is not None:
        of_sentence = _longer(result.of_sentence, corpus.n_sentences, 0.0)
        of_sentence[found.sentences] = decision.sentence_confidence
    agreed = _agreed(result, change, found.sentences, tags)
    fitted = replace(found.fitted, sums={**found.fitted.sums, AGREED: agreed})
    if not merged.stays.all():
        number = np.flatnonzero(merged.stays)
        fitted = fitted.with_annotators(number, dict.fromkeys(_by_annotator(fitted), 0.0))
        crowd = without_annotators(crowd, merged.stays)
    counts = dict(zip(COUNTS, fitted.sums[AGREED].T, strict=True))
    annotators = Annotators(
        crowd.annotators, found.weight[merged.stays], crowd.annotator_sentences,
        crowd.annotator_tokens, AnnotatorScores.of(crowd.annotators, counts).f1,
        found.confusion[merged.stays],
    )  # fmt: skip
    return replace(
        result, corpus=corpus, tags=tags, probabilities=probabilities, annotators=annotators,
        of_span=of_span, of_sentence=of_sentence, crowd=crowd, fitted=fitted,
        provenance=_provenance(result, merged, change, found, crowd.digest()),
    )  # fmt: skip


def _agreed(result: Result, change: Change, sentences: I64, tags: Tags) -> I64:
    """int64[W, 4]: what annotators' agreement is made of, counted anew where something was decided."""
    before = None if result.fitted is None else result.fitted.sums.get(AGREED)
    if before is None or len(sentences) == change.after.n_sentences:
        return counts_table(annotator_counts(change.after, tags))
    old = change.old_part(sentences)[0]
    was = result.tags[change.tokens(sentences[sentences < change.n_before])]
    now = change.new_part(sentences)[0]
    more = counts_table(annotator_counts(now, tags[change.tokens(sentences)]))
    more[: len(before)] += before
    return more - counts_table(annotator_counts(old, was))


def _longer(column: np.ndarray, n: int, value: Any) -> np.ndarray:
    if len(column) == n:
        return column.copy()
    out = np.full((n, *column.shape[1:]), value, column.dtype)
    out[: len(column)] = column
    return out


def _labelled(change: Change, found: Updated) -> Bool:
    """bool[tokens decided anew]: in sentences that somebody labelled, knew or the tagger judged."""
    part, known = change.new_part(found.sentences)
    offsets: I64 = gather(change.after.corpus.token_offsets, found.sentences)[0]
    has = part.covered | (np.diff(np.concatenate([[0], np.cumsum(known >= 0)])[offsets]) > 0)
    if found.decision.judged is not None:
        has = has | found.decision.judged
    return np.repeat(has, np.diff(offsets))


def _provenance(
    result: Result, merged: Merged, change: Change, found: Updated, digest: str
) -> dict[str, Any]:
    step = {
        "rows": merged.came,
        "removed": merged.went,
        "decided": int((change.known_after != change.known_before).sum()),
        "sentences": len(change.touched),
        "decided_anew": len(found.sentences),
    }
    earlier = result.provenance.get("updates", [])
    return {**result.provenance, **found.notes, "input": digest, "updates": [*earlier, step]}
