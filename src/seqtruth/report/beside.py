"""How a report lays the crowd beside the result."""

from __future__ import annotations

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError
from seqtruth.result import Result


def beside(crowd: Crowd, result: Result) -> Crowd:
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
    return crowd.recode(union)
