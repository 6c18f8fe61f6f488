"""Methods with a prediction module: which predictor it is, by its word or as an object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from seqtruth.methods.base import Aggregator
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.choice import AUTO, best_predictor, choose_predictor


@dataclass(frozen=True, kw_only=True)
class Predicting(Aggregator):
    """Base of methods that may hear a predictor.

    Parameters
    ----------
    predictor : anything with ``fit`` and ``predict_proba``, or its word (``"crf"``, ``"bilstm"``,
        ``"crf+bilstm"``, ``"transformer(FOLDER)"``, ``"best"``: the best that is installed). ``"auto"``
        is the method's :attr:`usual_predictor` where there is text to learn from, and none where there
        is not; None or ``"none"`` switches the prediction module off.
    """

    #: What ``"auto"`` means where there is text.
    usual_predictor: ClassVar[str] = "crf"

    predictor: Predictor | str | None = AUTO

    def __post_init__(self) -> None:
        if isinstance(self.predictor, str) and self.predictor != AUTO:
            object.__setattr__(self, "predictor", choose_predictor(self.predictor))

    def resolved(self, has_text: bool, n_sentences: int | None = None) -> Self:
        """The method with its predictor chosen.

        Parameters
        ----------
        has_text : whether there are tokens to learn from.
        n_sentences : how many sentences there are, where that is known.
        """
        if self.predictor != AUTO:
            return self
        if not has_text:
            return replace(self, predictor=None)
        if self.usual_predictor == "best":
            return replace(self, predictor=best_predictor(n_sentences))
        return replace(self, predictor=self.usual_predictor)

    @property
    def chosen_predictor(self) -> Predictor | None:
        """The predictor of a resolved method, which is what :meth:`fit` works with."""
        assert not isinstance(self.predictor, str), "fit resolves the predictor first"
        return self.predictor

    @property
    def trains_tagger(self) -> bool:
        return self.predictor is not None
