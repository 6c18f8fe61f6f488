"""What a report needs to know of a result, and how it lays the crowd beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError
from seqtruth.history import History
from seqtruth.kernels.arrays import F32, F64, I8, I64, Bool


class SpanLike(Protocol):
    """One aggregated span, as :class:`seqtruth.result.Span`."""

    @property
    def label(self) -> str: ...
    @property
    def confidence(self) -> float: ...


class AnnotatorsLike(Protocol):
    """The table of annotators, as :class:`seqtruth.result.Annotators`."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def weight(self) -> F64: ...
    @property
    def sentences(self) -> I64: ...
    @property
    def agreement(self) -> F64: ...


class Subject(Protocol):
    """What is reported on: the parts of :class:`seqtruth.result.Result` that a report reads."""

    @property
    def corpus(self) -> Corpus: ...
    @property
    def scheme(self) -> Scheme: ...
    @property
    def tags(self) -> I8: ...
    @property
    def probabilities(self) -> F32: ...
    @property
    def annotators(self) -> AnnotatorsLike: ...
    @property
    def history(self) -> History: ...
    @property
    def provenance(self) -> Mapping[str, Any]: ...
    @property
    def labelled(self) -> Bool: ...
    @property
    def token_confidence(self) -> F32: ...
    @property
    def sentence_confidence(self) -> F64: ...
    @property
    def of_span(self) -> F32 | None: ...
    @property
    def of_sentence(self) -> F64 | None: ...
    def span_confidence(self) -> F64: ...
    def spans(self) -> Sequence[SpanLike]: ...


def beside(crowd: Crowd, result: Subject) -> Crowd:
    """The crowd on the result's sentences, in their order and in the result's scheme."""
    places = crowd.corpus.find(result.corpus.sentence_ids)
    lengths = np.diff(result.corpus.token_offsets)
    if (places < 0).any() or (np.diff(crowd.corpus.token_offsets)[places] != lengths).any():
        raise DataError(
            "the crowd does not have the result's sentences",
            fix="give the crowd that the result was made from",
        )
    crowd = crowd[places]
    kind = result.scheme.kind
    if crowd.scheme.kind != kind:
        if "plain" in (kind, crowd.scheme.kind):
            raise DataError(
                "the crowd and the result do not speak of the same labels",
                got=f"{crowd.scheme.kind} and {kind}",
                fix="give the crowd that the result was made from",
            )
        crowd = crowd.respell(kind)
    union = Scheme.of(kind, {*crowd.scheme.labels, *result.scheme.labels})
    return crowd.with_labels(union)
