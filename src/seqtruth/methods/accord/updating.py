"""Going on from a fitted Accord (:mod:`seqtruth.methods.updating`).

What was found out about the crowd as a whole stays as it is until the next fit: who copies whom, whose
silence is no vote, which annotator model is believed, how far each source is trusted, how labels follow
each other, and what the tagger learnt. What annotators are like, what the rest of the document says, and
what known labels teach about confidences is kept up to date.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.engine import MemoryParts
from seqtruth.fitted import Fitted, Source
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.chain import Chain, forward_backward
from seqtruth.kernels.span_decoding import ANY
from seqtruth.methods.accord.accord import Accord, outcome
from seqtruth.methods.accord.annotators import (
    Population,
    log_table,
    marked_posterior,
    pseudo_counts,
    slips_of,
)
from seqtruth.methods.accord.by_text import complete, table_of
from seqtruth.methods.accord.calibration import (
    Lines,
    finished,
    known_lines,
    with_confidence,
)
from seqtruth.methods.accord.documents import Documents
from seqtruth.methods.accord.first_state import first_state
from seqtruth.methods.accord.gaps import with_gaps
from seqtruth.methods.accord.opinions import (
    DOCUMENT,
    UNCONTRADICTED,
    annotators_alone,
    blend_tables,
    clamp,
    log_opinion,
)
from seqtruth.methods.accord.options import only_claimed, sequential_weight
from seqtruth.methods.accord.remembering import SEQUENTIAL_SUMS, Remembered, lines_of
from seqtruth.methods.accord.run import Run
from seqtruth.methods.accord.span_choice import claimed_in, keep_known
from seqtruth.methods.accord.state import spoken
from seqtruth.methods.bayes.bsc import BSCSeq
from seqtruth.methods.bayes.sequence_model import CrowdHMM, label_scores
from seqtruth.methods.bayes.updating import exchanged, settled_state
from seqtruth.methods.bayes.worker_models import information
from seqtruth.methods.marked import Marked
from seqtruth.methods.task import Decision, Task
from seqtruth.methods.updating import (
    DEBT,
    ROUNDS,
    Change,
    Updated,
    every_sentence,
    reached,
)
from seqtruth.predictors.base import Potentials, Predictor, apart, potentials_of
from seqtruth.predictors.decoding import Decoded, best_spans
from seqtruth.predictors.ensemble import Ensemble
from seqtruth.predictors.tagger import Tagger

#: Name of the source that says how common labels are, where annotators alone decide.
USUAL = "usual"


def update(fitted: Fitted, change: Change, reach: str, method: Accord) -> Updated:
    """The model after a change, and what it decides.

    Parameters
    ----------
    fitted : with the annotators and tokens of the change.
    reach : how far to go, see :mod:`seqtruth.methods.updating`.
    method : with the settings of the fit.
    """
    reach, debt = reached(fitted, change, reach)
    if reach == "settle":
        return _settled(fitted, change, method)
    told = Remembered.of(fitted, change.scheme)
    sums, table = _tables(fitted, change, told)
    old = replace(fitted, known=change.known_before)
    now = replace(
        fitted, table=table, sums={**fitted.sums, **sums}, known=change.known_after,
        settings={**fitted.settings, "debt": debt},
    )  # fmt: skip
    documents = _documents(now, change)
    region = every_sentence(change) if reach == "all" else _region(change, documents)
    now = _heard(now, change, region, documents)
    chosen, offsets = _decided(now, change, region)
    known = change.known_after[change.tokens(region)]
    now = replace(now, sums={**now.sums, **_final(old, now, change, region, chosen)})
    confidence = finished(chosen, _lines(now, change), offsets, change.scheme, known)
    judged = _judge_unlabelled(change, region, chosen, offsets)
    decision = Decision(
        chosen.tags, with_confidence(chosen.marginals, chosen.tags, confidence.token), judged,
        confidence.span, confidence.sentence,
    )  # fmt: skip
    a = pseudo_counts(now.sums["final/counts"], told)
    confusion = np.asarray(a / a.sum(axis=-1, keepdims=True))
    weight = information(confusion, now.sums["final/prior"])
    if "reliability" in now.sums:
        weight = complete(now.sums["reliability"])
    return Updated(now, region, decision, weight, confusion.astype(np.float32))


def _settled(fitted: Fitted, change: Change, method: Accord) -> Updated:
    """All that a fit does but train the predictors, whose opinions stand."""
    heard = _predictors(fitted)
    predictor = change.tagger.predictor if heard and change.tagger is not None else None
    known = change.known_after if (change.known_after >= 0).any() else None
    task = Task(MemoryParts(change.after), known)
    votes = not fitted.sums["open"].any()
    run = Run(replace(method, predictor=predictor), task, sampled=False, votes=votes)
    state = first_state(run)
    if run.teaches:
        state |= spoken([_opinion(fitted, m) for m in range(len(heard))])
    found = outcome(run, state, change.tagger)
    assert isinstance(found.labels, Decision)
    assert found.confusion is not None
    now = found.fitted
    if now is None:  # too little is left to tell annotators apart
        now = replace(fitted, settings={**fitted.settings, "debt": DEBT})
    return Updated(
        now, every_sentence(change), found.labels, found.weight, found.confusion, found.notes
    )


def _opinion(fitted: Fitted, number: int) -> Potentials:
    """What a predictor said."""
    evidence = _predictors(fitted)[number].evidence
    e = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    said = apart(np.asarray(e / e.sum(axis=1, keepdims=True), np.float32))
    if "follow" not in fitted.sums:  # an older model, which judged tokens one by one
        return said
    return said._replace(chain=Chain.of_rows(fitted.sums["follow"][number]))


# --- annotators ---------------------------------------------------------------------------------------


def _tables(fitted: Fitted, change: Change, told: Remembered) -> tuple[dict[str, np.ndarray], F64]:
    """Sums after the change, and the annotators' log tables that follow from them."""
    if "reliability" in fitted.sums:  # who is reliable was told by the text, which stays
        return {}, table_of(fitted.sums["reliability"], fitted.sums["given"])
    option, sums, tables = str(fitted.settings["option"]), {}, []
    if not option.startswith("sequential"):
        counts = _counts(fitted, change, told)
        sums["counts"] = counts
        tables.append(_table(counts, told))
    if option.startswith(("sequential", "both")):
        found, table = _sequential(fitted, change, told)
        sums |= {f"sequential/{name}": found[name] for name in SEQUENTIAL_SUMS}
        tables.append(table * told.witness[:, None, None, None])
    if len(tables) == 1:
        return sums, tables[0]
    return sums, blend_tables(tables[0], tables[1], sequential_weight(option))


def _table(counts: F64, told: Remembered) -> F64:
    slips = slips_of(told.scheme, told.open, counts, told.voices)
    return log_table(pseudo_counts(counts, told), slips, told.witness)


def _counts(fitted: Fitted, change: Change, told: Remembered) -> F64:
    """Counts behind the confusion matrices: (true label, label given) of each annotator."""
    prior, transition = fitted.sums["prior"], fitted.sums["transition"]

    def said(part: Crowd, known: Tags, table: F64) -> F64:
        marked = Marked(part, known)
        given = known[marked.at].astype(np.int64)
        found = marked_posterior(marked, table, prior, transition, given)
        return marked.counts(found.marginals.astype(np.float64))

    counts: F64 = fitted.sums["counts"]
    table = _table(counts, told)
    rest = counts - said(*change.old_part(change.touched), table)
    now = change.new_part(change.touched)
    for number in range(ROUNDS + 1):
        if number:
            table = _table(counts, told)
        counts = np.maximum(rest + said(*now, table), 0.0)
    return counts


def _sequential(
    fitted: Fitted, change: Change, told: Remembered
) -> tuple[dict[str, np.ndarray], F64]:
    """Sums and log table of the sequential model."""
    sums = {name: fitted.sums[f"sequential/{name}"] for name in SEQUENTIAL_SUMS}
    strength = float(fitted.sums.get("sequential/strength", np.ones(1))[0])
    old, new = (
        _sequential_on(crowd, known, told, strength)
        for crowd, known in (change.old_part(change.touched), change.new_part(change.touched))
    )
    sums, _, tables = exchanged(sums, old, new, settled_state(new, sums))
    return sums, tables.annotators


def _sequential_on(crowd: Crowd, known: Tags | None, told: Remembered, strength: float) -> CrowdHMM:
    method = BSCSeq(strength=strength, reliability_strength=told.strength)
    return CrowdHMM(
        crowd, method.worker_model_of(crowd.n_labels), known, told.accuracy, chain=method.chain
    )


# --- other sources ------------------------------------------------------------------------------------


def _documents(fitted: Fitted, change: Change) -> Documents | None:
    if all(source.name != DOCUMENT for source in fitted.sources):
        return None
    return Documents(change.after.corpus, change.scheme)


def _region(change: Change, documents: Documents | None) -> I64:
    """Sentences to decide anew: the changed ones and, where documents are heard, those beside them."""
    if documents is None:
        return change.touched
    of = change.after.corpus.sentence_document
    return np.flatnonzero(np.isin(of, np.unique(of[change.touched])))


def extended(fitted: Fitted, change: Change) -> Fitted:
    """The model with evidence on sentences that are new: from the tagger, which has not seen them."""
    corpus = change.after.corpus
    new = np.arange(change.n_before, corpus.n_sentences)
    if not len(new):
        return fitted
    n_old, n_labels = int(corpus.token_offsets[change.n_before]), len(change.scheme.labels)
    members = _members(change.tagger)
    heard = {source.name: k for k, source in enumerate(_predictors(fitted)) if k < len(members)}
    sources = []
    for source in fitted.sources:
        more = np.zeros((corpus.n_tokens - n_old, n_labels), np.float32)
        if (number := heard.get(source.name)) is not None:
            said = potentials_of(members[number], corpus[new])
            if "gap_shift" in fitted.sums:
                said = said.apart(corpus[new].token_offsets)
            more = log_opinion(said).astype(np.float32)
        evidence = np.concatenate([source.evidence[:n_old], more])
        sources.append(source._replace(evidence=evidence))
    return replace(fitted, sources=tuple(sources))


def _members(tagger: Tagger | None) -> tuple[Predictor, ...]:
    if tagger is None:
        return ()
    predictor = tagger.predictor
    return tuple(predictor.members) if isinstance(predictor, Ensemble) else (predictor,)


def _heard(fitted: Fitted, change: Change, region: I64, documents: Documents | None) -> Fitted:
    """The model with what follows from the labels themselves heard anew in the region."""
    at = change.tokens(region)
    part, known = change.new_part(region)
    if any(source.name == USUAL for source in fitted.sources):
        return _alone(fitted, at, Marked(part, known), known)
    if documents is None:
        return fitted
    heard = clamp(fitted.share * label_scores(part, fitted.table), known)
    offsets = gather(change.after.corpus.token_offsets, region)[0]
    without = replace(fitted, sources=tuple(s for s in fitted.sources if s.name != DOCUMENT))
    for model in (without, None):  # first without the document, then with what that says
        model = fitted if model is None else model
        found = forward_backward(heard + model.others(at), offsets, fitted.chain)
        fitted = _with(fitted, DOCUMENT, at, documents.evidence(found.marginals, at))
    return fitted


def _alone(fitted: Fitted, at: I64, marked: Marked, known: Tags) -> Fitted:
    """The same, where annotators alone decide, and perhaps a predictor in gaps."""
    opinion = annotators_alone(marked, _population(fitted), fitted.share, True)
    if "gap_shift" in fitted.sums:
        said = [(s.name, s.evidence[at].astype(np.float64)) for s in _predictors(fitted)]
        opinion = opinion._replace(chain=fitted.chain)
        opinion = with_gaps(opinion, marked, said, fitted.sums["gap_shift"], known)
    fitted = _with(fitted, UNCONTRADICTED, at, np.zeros((len(at), 1)))
    for source in opinion.sources:
        fitted = _with(fitted, source.name, at, source.evidence, source.trust)
    return fitted


def _predictors(fitted: Fitted) -> list[Source]:
    """The sources that are taggers."""
    others = (DOCUMENT, USUAL, UNCONTRADICTED)
    return [source for source in fitted.sources if source.name not in others]


def _with(
    fitted: Fitted, name: str, at: I64, evidence: F64 | F32, trust: float | None = None
) -> Fitted:
    """The model with a source's evidence on some tokens set anew; a source it did not have is added where
    its trust is given."""
    sources = []
    for source in fitted.sources:
        if source.name == name:
            column = source.evidence.copy()
            column[at] = evidence
            source = Source(name, source.trust, column)
        sources.append(source)
    if trust is not None and all(source.name != name for source in sources):
        column = np.zeros_like(sources[0].evidence)
        column[at] = evidence
        sources.append(Source(name, trust, column))
    return replace(fitted, sources=tuple(sources))


def _population(fitted: Fitted) -> Population:
    """As much of the population as :func:`annotators_alone` asks for."""
    nothing = np.zeros(0)
    sums = fitted.sums
    return Population(
        fitted.table, nothing, sums["transition"], sums["prior"], nothing, nothing, sums["counts"]
    )


# --- labels -------------------------------------------------------------------------------------------


def scores_on(fitted: Fitted, part: Crowd, tokens: I64) -> F64:
    """float64[N, L]: annotators and all other sources on a part of the crowd; known labels do not matter."""
    return fitted.share * label_scores(part, fitted.table) + fitted.others(tokens)


class _Choice(NamedTuple):
    chosen: Decoded
    offsets: I64


def _decided(fitted: Fitted, change: Change, region: I64) -> _Choice:
    part, known = change.new_part(region)
    offsets = part.corpus.token_offsets
    scores = clamp(scores_on(fitted, part, change.tokens(region)), known)
    threshold = fitted.settings["threshold"]
    claimed = claimed_in(part, known) if only_claimed(str(fitted.settings["option"])) else ANY
    found = best_spans(scores, offsets, fitted.chain, change.scheme, threshold, claimed)
    return _Choice(keep_known(found, scores, offsets, fitted.chain, change.scheme, known), offsets)


def _final(
    old: Fitted, now: Fitted, change: Change, region: I64, chosen: Decoded
) -> dict[str, np.ndarray]:
    """What annotators said under the labels that were chosen, and how common these are."""
    part, known = change.new_part(region)
    counts, prior = _said(part, known, chosen.marginals)
    if len(region) == change.after.n_sentences:
        return {"final/counts": counts, "final/prior": prior}
    was = region[region < change.n_before]
    before, known = change.old_part(region)
    scores = clamp(scores_on(old, before, change.tokens(was)), known)
    found = forward_backward(scores, before.corpus.token_offsets, old.chain)
    less, fewer = _said(before, known, found.marginals)
    return {
        "final/counts": np.maximum(now.sums["final/counts"] - less + counts, 0.0),
        "final/prior": np.maximum(now.sums["final/prior"] - fewer + prior, 0.0),
    }


def _said(part: Crowd, known: Tags, marginals: F32) -> tuple[F64, F64]:
    marked = Marked(part, known)
    soft = marginals[marked.at].astype(np.float64)
    return marked.counts(soft), marginals.sum(axis=0, dtype=np.float64)


def _lines(fitted: Fitted, change: Change) -> Lines | None:
    """How confidences are corrected: by held-out annotators, and by known labels where there are any."""
    lines, known = lines_of(fitted), change.known_after
    offsets = change.after.corpus.token_offsets
    count = np.concatenate([[0], np.cumsum(known >= 0)])[offsets]
    sentences = np.flatnonzero(np.diff(count))
    if lines is None or not len(sentences):
        return lines
    part, given = change.new_part(sentences)
    free = scores_on(fitted, part, change.tokens(sentences))
    chosen = best_spans(
        free, part.corpus.token_offsets, fitted.chain, change.scheme, fitted.settings["threshold"]
    )
    return known_lines(lines, chosen, given, part.corpus.token_offsets, change.scheme)


def _judge_unlabelled(change: Change, region: I64, chosen: Decoded, offsets: I64) -> Bool:
    """Let the tagger label, in ``chosen``, sentences that nobody did; bool[N]: which."""
    part, known = change.new_part(region)
    told = np.diff(np.concatenate([[0], np.cumsum(known >= 0)])[offsets]) > 0
    blank = ~(part.covered | told) & (np.diff(offsets) > 0)
    if change.tagger is None or not blank.any():
        return np.zeros(len(blank), np.bool_)
    places = np.flatnonzero(blank)
    at = gather(offsets, places)[1]
    for mine, theirs in zip(chosen, change.tagger.decode(part.corpus[places]), strict=True):
        mine[at] = theirs
    return blank
