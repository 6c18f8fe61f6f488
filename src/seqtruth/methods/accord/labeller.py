"""Labels of any part of a crowd, once everything has been learnt.

A :class:`Labeller` is a pure function from a part to its labels: it holds the annotators' tables, the
models that were cross-fitted, the trusts of every pass and how confidences are corrected, and goes once
more through what a run does with its sample. Sentences are judged by the model of their document's fold,
which has not seen them, whether they were in the sample or not. A part is taken in slices of whole
documents, so that memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seqtruth.archive import under
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.engine import Sums, add
from seqtruth.kernels.arrays import F64, I64, Bool, Tags
from seqtruth.kernels.span_decoding import ANY
from seqtruth.methods.accord.annotators import Findings, Population
from seqtruth.methods.accord.calibration import Lines, finished, with_confidence
from seqtruth.methods.accord.documents import Documents
from seqtruth.methods.accord.gaps import with_gaps
from seqtruth.methods.accord.notices import against_all
from seqtruth.methods.accord.opinions import (
    Model,
    Opinion,
    Sources,
    annotators_alone,
    clamp,
    log_opinion,
    vote,
)
from seqtruth.methods.accord.options import (
    GAPS,
    HEARD,
    UNCHAINED,
    mixed,
    models_of,
    only_claimed,
    without_sources,
)
from seqtruth.methods.accord.run import Run, threshold_of
from seqtruth.methods.accord.span_choice import claimed_in, judge_unlabelled, worth_naming
from seqtruth.methods.accord.state import population_of
from seqtruth.methods.crossfit import FoldModels, predictor_name, usable
from seqtruth.methods.loop import State
from seqtruth.methods.marked import Marked
from seqtruth.methods.task import Decision, settled
from seqtruth.metrics.annotators import annotator_counts
from seqtruth.predictors.decoding import Decoded
from seqtruth.predictors.tagger import Tagger

if TYPE_CHECKING:
    from seqtruth.methods.accord.accord import Accord

#: Tokens that are labelled at a time.
SLICE_TOKENS = 100_000


@dataclass(frozen=True, eq=False)
class Labeller:
    """From a part of a crowd to its labels.

    Parameters
    ----------
    method : the settings, without their predictor.
    name : the option that was chosen.
    findings, population : what was learnt about the annotators.
    models : the annotators' models that the option listens to, each with the trusts of every pass.
    predictors, names : the cross-fitted predictors, where they are heard, and what they are called.
    share : how much annotators count beside them.
    common : words that say nothing about a document; None where documents are not heard.
    lines : how confidences are corrected.
    tagger : labels sentences that nobody did.
    gap_shift : float64[L], of :data:`~seqtruth.methods.accord.options.GAPS` only.
    """

    method: Accord
    name: str
    findings: Findings
    population: Population
    models: tuple[tuple[Model, tuple[F64, ...]], ...]
    predictors: FoldModels | None
    names: tuple[str, ...]
    share: float
    common: pa.Array | None
    lines: Lines | None
    tagger: Tagger | None
    gap_shift: F64 | None = None

    @classmethod
    def of(
        cls, run: Run, state: State, name: str, lines: Lines | None, tagger: Tagger | None
    ) -> Labeller:
        """What a run has learnt."""
        heard, ending = name.endswith(HEARD), name.removeprefix(without_sources(name))
        models = tuple(
            (Model(state[f"{one}/table"], state[f"{one}/chain"]), run.trusts[one + ending])
            for one in models_of(name)
        )
        population = population_of(state)
        population = population._replace(posterior=population.posterior[:0])  # it is of the sample
        return cls(
            replace(run.method, predictor=None), name, run.findings, population, models,
            run.models(state) if heard else None,
            tuple(predictor_name(one) for one in run.members),
            run.share if models else run.method.evidence or 1.0,
            None if run.documents is None else run.documents.common, lines, tagger,
            run.gap_shift(state) if name == GAPS else None,
        )  # fmt: skip

    @property
    def known(self) -> Tags | None:
        return self.findings.known

    def __call__(self, part: Crowd) -> Decision:
        """The labels of a part."""
        cut = list(_slices(part))
        if len(cut) == 1:
            return self._decision(part)
        order = np.concatenate([np.zeros(0, np.int64), *cut])
        at = np.argsort(gather(part.corpus.token_offsets, order)[1])
        back = np.argsort(order)
        columns = zip(*(self._decision(part[sentences]) for sentences in cut), strict=True)
        tags, soft, judged, span, sentence = (np.concatenate(column) for column in columns)
        return Decision(tags[at], soft[at], judged[back], span[at], sentence[back])

    def _decision(self, part: Crowd) -> Decision:
        found = self.choose(part, self.opinion(part))
        judged = self.judge_unlabelled(part, found)
        return with_confidences(part, found, self.lines, judged, self.known)

    def sums(self, part: Crowd) -> Sums:
        """What is to be known of a part's labels: :func:`final_sums`, and ``judged/…``, what the
        annotators' scores are made of."""
        return add(self._sums(part[sentences]) for sentences in _slices(part))

    def _sums(self, part: Crowd) -> Sums:
        found = self.choose(part, self.opinion(part))
        blank = self.judge_unlabelled(part, found)
        labels = settled(part, Decision(found.tags, found.marginals, blank), None)
        counts = annotator_counts(part, labels.tags)
        return final_sums(Marked(part, self.known), found) | under(counts, "judged")

    def opinion(self, part: Crowd) -> Opinion:
        """The chosen way to score labels, on a part."""
        if self.name == "vote":
            return vote(self.findings.on(part))
        if self.name in ("annotators", GAPS):
            marked = Marked(part, self.known)
            alone = annotators_alone(marked, self.population, self.share, self.method.chain)
            if self.gap_shift is None or self.predictors is None:
                return alone
            offsets = part.corpus.token_offsets
            heard = (said.apart(offsets) for said in self.predictors.opinions(part.corpus))
            opinions = map(log_opinion, heard)
            named = list(zip(self.names, opinions, strict=True))
            return with_gaps(alone, marked, named, self.gap_shift, self.known)
        documents = None
        if self.common is not None:
            documents = Documents(part.corpus, part.scheme, self.common)
        sources = Sources(
            part, self.known, self.names, self.method.chain, documents, False, self.method.seed
        )
        said = [] if self.predictors is None else self.predictors.opinions(part.corpus)
        chained = UNCHAINED not in self.name
        ending = self.name.removeprefix(without_sources(self.name))
        found = {
            one + ending: sources.settle(model, said, self.share, chained, trusts).opinion
            for one, (model, trusts) in zip(models_of(self.name), self.models, strict=True)
        }
        return mixed(self.name, found)

    def choose(self, part: Crowd, opinion: Opinion) -> Decoded:
        """The labels of all sentences that anybody labelled."""
        scores = clamp(opinion.scores(part), self.known)
        threshold = threshold_of(self.method, self.name)
        claimed = claimed_in(part, self.known) if only_claimed(self.name) else ANY
        offsets, scheme = part.corpus.token_offsets, part.scheme
        return worth_naming(scores, offsets, opinion.chain, scheme, threshold, self.known, claimed)

    def judge_unlabelled(self, part: Crowd, found: Decoded) -> Bool:
        """Let the tagger label, in ``found``, sentences that nobody did; bool[S]: which."""
        return judge_unlabelled(self.tagger, part.corpus, usable(part, self.known), found)


def with_confidences(
    part: Crowd, found: Decoded, lines: Lines | None, judged: Bool, known: Tags | None
) -> Decision:
    """A choice with its confidences."""
    sure = finished(found, lines, part.corpus.token_offsets, part.scheme, known)
    soft = with_confidence(found.marginals, found.tags, sure.token)
    return Decision(found.tags, soft, judged, sure.span, sure.sentence)


def final_sums(marked: Marked, found: Decoded) -> Sums:
    """``counts`` and ``prior`` under the labels that were chosen, and how many of these are of tokens that
    no annotator marks (``against``)."""
    return {
        "counts": marked.counts(found.marginals[marked.at].astype(np.float64)),
        "prior": found.marginals.sum(axis=0, dtype=np.float64),
        "against": np.array([against_all(marked, found.tags)]),
    }


def _slices(part: Crowd) -> Iterator[I64]:
    """Sentences of whole documents, about :data:`SLICE_TOKENS` at a time; an empty part is one slice."""
    order = np.argsort(part.corpus.sentence_document, kind="stable")
    document = part.corpus.sentence_document[order]
    tokens = np.cumsum(np.diff(part.corpus.token_offsets)[order])
    first = 0
    if not len(order):
        yield order
    while first < len(order):
        done = tokens[first - 1] if first else 0
        last = int(np.searchsorted(tokens, done + SLICE_TOKENS)) + 1
        if len(part.corpus.documents) > 1 and last < len(order):
            last = int(np.searchsorted(document, document[last - 1], side="right"))
        yield np.sort(order[first:last])
        first = last
