"""Token scores: each tag counts for itself, ``O`` is not a thing to be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.errors import ParameterError
from seqtruth.metrics.align import check_aligned
from seqtruth.metrics.score import Averages, Score, ratio
from seqtruth.metrics.sentences import Sentences, choose


@dataclass(frozen=True)
class TokenScores:
    """Token scores without ``O``.

    Parameters
    ----------
    micro : all tokens together.
    macro : mean over the labels that occur in the result or the gold.
    per_label : scores of each of these labels.
    """

    micro: Score
    macro: Averages
    per_label: dict[str, Score]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "micro": self.micro.to_dict(),
            "macro": self.macro.to_dict(),
            "per_label": {name: score.to_dict() for name, score in self.per_label.items()},
        }


def token_scores(
    result: Labelling,
    gold: Labelling,
    sentences: Sentences | None = None,
    by: str = "label",
) -> TokenScores:
    """Micro and macro precision, recall and F1 over tokens, ``O`` left out.

    Tokens without a gold label are not scored; a token the result left unlabelled is a miss.
    Plain tags have no ``O``: every tag counts.

    Parameters
    ----------
    result, gold : aligned labellings.
    sentences : score these only.
    by : ``"label"``: B-PER and I-PER are different; ``"type"``: both are PER.

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> both = Crowd.of(
    ...     {"result": [["B-PER", "O", "O"]], "gold": [["B-PER", "I-PER", "O"]]},
    ...     tokens=[["Ann", "Lee", "ran"]],
    ... )
    >>> scores = token_scores(both.labelling(0), both.labelling(1))
    >>> scores.micro.precision, scores.micro.recall, scores.macro.recall
    (1.0, 0.5, 0.5)
    """
    check_aligned(result, gold)
    if by not in ("label", "type"):
        raise ParameterError("by must be label or type", got=repr(by))
    ours, theirs = result.tags, gold.tags
    if sentences is not None:
        _, flat = gather(gold.corpus.token_offsets, choose(gold.corpus, sentences))
        ours, theirs = ours[flat], theirs[flat]
    scheme = gold.scheme
    names = scheme.labels if by == "label" else scheme.types
    code = np.arange(len(names), dtype=np.int16) if by == "label" else scheme.type_of
    if by == "label":
        code = np.where(scheme.is_entity, code, np.int16(-1))
    code = np.append(code, np.int16(-1))
    known = theirs >= 0
    a, b = code[ours[known]], code[theirs[known]]
    counts = np.stack(
        [np.bincount(column[column >= 0], minlength=len(names)) for column in (a[a == b], a, b)],
        axis=1,
    )
    occurs = counts[:, 1:].sum(axis=1) > 0
    correct, predicted, wanted = counts[occurs].T
    macro = Averages(
        *(
            float(values.mean()) if occurs.any() else 0.0
            for values in (
                ratio(correct, predicted),
                ratio(correct, wanted),
                ratio(2 * correct, predicted + wanted),
            )
        )
    )
    per_label = {
        name: Score(*row)
        for name, row, here in zip(names, counts.tolist(), occurs, strict=True)
        if here
    }
    return TokenScores(Score(*counts.sum(axis=0).tolist()), macro, per_label)
