"""What a result's model says of sentences: scores, marginals, expected F1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.spans import Spans, extract
from seqtruth.decisions.merging import model_crowd
from seqtruth.errors import ParameterError
from seqtruth.fitted import Fitted
from seqtruth.kernels.arrays import F32, F64, I64
from seqtruth.kernels.chain import forward_backward
from seqtruth.kernels.spans import BEGIN, SINGLE
from seqtruth.methods.accord.opinions import clamp
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.result import Result


class Asked(NamedTuple):
    """Some sentences as the model sees them.

    crowd : the annotations on them.
    fitted : the model.
    tokens : int64[N], their tokens in the result.
    scores : float64[N, L], annotators and all other sources; the chain apart.
    """

    crowd: Crowd
    fitted: Fitted
    tokens: I64
    scores: F64

    @property
    def offsets(self) -> I64:
        return self.crowd.corpus.token_offsets

    def marginals(self) -> F32:
        """float32[N, L]: what the model says, known labels kept."""
        known = self.fitted.known
        scores = self.scores if known is None else clamp(self.scores, known[self.tokens])
        return forward_backward(scores, self.offsets, self.fitted.chain).marginals


def model_of(result: Result) -> Fitted:
    """The model of a result; an error with a remedy where it keeps none."""
    if result.fitted is None:
        method = result.provenance.get("method", "this result")
        if len(result.corpus.layers) > 1:
            raise ParameterError(
                "marks that overlap lie on layers, whose models are not kept",
                got=f"{len(result.corpus.layers)} layers",
                fix="read the labels with overlap='longest', which makes one layer of them",
            )
        raise ParameterError(
            f"{who_kept_none(result)} keeps no model that could be asked", got=str(method),
            fix="aggregate with bsc-seq, ds or mace" if is_vote(result) else
            "aggregate with accord, bsc-seq, ds or mace, and save the result with its crowd",
        )  # fmt: skip
    return result.fitted


def is_vote(result: Result) -> bool:
    """Whether there was so little to learn from that Accord counted votes."""
    return result.provenance.get("chosen") == "vote"


def who_kept_none(result: Result) -> str:
    """Whose fault it is that a result has no model, in words."""
    method = result.provenance.get("method", "this result")
    return (
        f"the plain vote, which {method} chose on so few labels,"
        if is_vote(result)
        else str(method)
    )


def ask(result: Result, sentences: I64 | None = None) -> Asked:
    """The model on some sentences, or all.

    Parameters
    ----------
    result : with its model and crowd.
    sentences : their numbers.
    """
    fitted, crowd = model_of(result), model_crowd(result)
    chosen = np.arange(crowd.n_sentences) if sentences is None else sentences
    part = crowd[chosen]
    tokens = gather(crowd.corpus.token_offsets, chosen)[1]
    scores = fitted.share * label_scores(part, fitted.table) + fitted.others(tokens)
    return Asked(part, fitted, tokens, scores)


def spans_of(result: Result) -> Spans:
    """The result's spans, in the order of their confidences."""
    return extract(result.tags, result.corpus.token_offsets, result.scheme)


def expected_gold(probabilities: F32 | F64, result: Result) -> float:
    """How many spans there should be: the expected number of tokens at which one begins."""
    begins = np.isin(result.scheme.roles, (BEGIN, SINGLE))
    if (
        not begins.any()
    ):  # schemes without a mark for beginnings: what was found is all that is known
        return float(len(spans_of(result).start))
    return float(np.asarray(probabilities)[:, begins].sum(dtype=np.float64))


def expected_f1(result: Result) -> float:
    """F1 that the result's own confidences promise; nan where it has no spans.

    How many spans there should be is asked of the model itself: probabilities that were corrected tag by
    tag leave a little for a span at every token, which adds up.
    """
    sure, known = result.span_confidence(), result.tags >= 0
    soft = result.probabilities if result.fitted is None else ask(result).marginals()
    right = float(sure.sum())
    total = len(sure) + max(
        expected_gold(soft[known], result), right
    )  # what is right should be there
    return 2.0 * right / total if total else float("nan")


def f1_left(f1: float, share: float) -> float:
    """F1 to be expected where this share of the errors expected now is left.

    >>> f1_left(0.8, 0.5)
    0.9
    """
    return 1.0 - (1.0 - f1) * share
