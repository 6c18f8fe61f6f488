"""A trained predictor with its labels: what a user takes home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from seqtruth import archive
from seqtruth.data.corpus import Corpus
from seqtruth.data.labelling import Labelling
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, InputError
from seqtruth.kernels.arrays import F32
from seqtruth.kernels.chain import Chain, viterbi
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.registry import as_storable, stored_kind


@dataclass(frozen=True)
class Tagger:
    """Labels new text with the legal path of largest probability.

    Parameters
    ----------
    predictor : trained; gives probabilities.
    scheme : what its columns mean.
    """

    predictor: Predictor
    scheme: Scheme

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """Labels of one sentence."""
        return [self.scheme.labels[t] for t in self.label(Corpus.of([list(tokens)])).tags]

    def label(self, corpus: Corpus) -> Labelling:
        """Labels of a corpus."""
        return self.label_with_confidence(corpus)[0]

    def label_with_confidence(self, corpus: Corpus) -> tuple[Labelling, F32]:
        """Labels of a corpus and the probability of each, float32[T]."""
        probabilities = self.predictor.predict_proba(corpus)
        scores = np.log(np.maximum(probabilities, 1e-12))
        tags = viterbi(scores, corpus.token_offsets, Chain.legal(self.scheme.grammar))
        chosen = probabilities[np.arange(len(tags)), tags]
        return Labelling(corpus, self.scheme, tags), chosen

    def state(self) -> tuple[dict[str, Any], archive.Arrays]:
        """JSON values and arrays for a file; raises where the predictor cannot be saved."""
        predictor = as_storable(self.predictor, "this predictor")
        settings, arrays = predictor.state()
        return {
            "predictor": predictor.name,
            "settings": settings,
            "scheme": self.scheme.kind,
            "labels": list(self.scheme.labels),
        }, arrays

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: archive.Arrays, where: str) -> Tagger:
        """Inverse of :meth:`state`, for content read from the file ``where``.

        Parameters
        ----------
        meta, arrays : what :meth:`state` gave.
        where : the file's name, for messages.
        """
        try:
            scheme = Scheme.of(meta["scheme"], meta["labels"])
            kind = stored_kind(meta["predictor"])
            predictor = kind.from_state(meta["settings"], arrays, scheme)
            if list(scheme.labels) != meta["labels"]:
                raise ValueError("labels out of order")
            if getattr(predictor, "scheme", scheme) is None:
                raise ValueError("its parameters are missing")
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
            DataError,
        ) as error:
            raise InputError(f"the saved tagger is damaged ({error!r})", where=where) from error
        return cls(cast(Predictor, predictor), scheme)

    def save(self, path: str | Path) -> None:
        """Write to a file that :meth:`load` reads."""
        meta, arrays = self.state()
        archive.save(path, "tagger", meta, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Tagger:
        """Read a saved tagger, or the tagger inside a saved result."""
        if archive.kind_of(path) != "result":
            return cls.from_state(*archive.load(path, "tagger"), where=str(path))
        meta, arrays = archive.load(path, "result")
        if meta.get("tagger") is None:
            raise InputError(
                "the saved result has no tagger", where=str(path),
                fix="aggregate with a predictor",
            )  # fmt: skip
        return cls.from_state(meta["tagger"], archive.within(arrays, "tagger"), where=str(path))
