"""A trained predictor with its labels: what a user takes home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from seqtruth import archive
from seqtruth.data.corpus import Corpus
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, InputError
from seqtruth.kernels.arrays import F32
from seqtruth.kernels.chain import Chain
from seqtruth.predictors.base import Predictor, potentials_of
from seqtruth.predictors.decoding import Decoded, best_spans
from seqtruth.predictors.registry import as_storable, stored_kind


@dataclass(frozen=True)
class Tagger:
    """Labels new text with the spans worth naming, or with the legal path of largest probability.

    Parameters
    ----------
    predictor : trained; gives probabilities.
    scheme : what its columns mean.
    layers : names and taggers of further layers, where spans overlap: each marks the same text on its own.
    threshold : θ of :mod:`seqtruth.kernels.span_decoding`: half of the F1 that can be expected; None: the
        likeliest path.
    """

    predictor: Predictor
    scheme: Scheme
    layers: tuple[tuple[str, Tagger], ...] = ()
    threshold: float | None = None

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """Labels of one sentence, on the first layer."""
        if self.layers:
            return replace(self, layers=()).tag(tokens)
        return [self.scheme.labels[t] for t in self.label(Corpus.of([list(tokens)])).tags]

    def label(self, corpus: Corpus) -> Labelling:
        """Labels of a corpus; where this tagger has layers, of every sentence once per layer."""
        return self.label_with_confidence(corpus)[0]

    def label_with_confidence(self, corpus: Corpus) -> tuple[Labelling, F32]:
        """Labels as :meth:`label` gives them and the probability of each, float32[T]."""
        return self._label_layers(corpus) if self.layers else self._label(corpus)

    def _label_layers(self, corpus: Corpus) -> tuple[Labelling, F32]:
        if len(corpus.layers) > 1:
            raise DataError(
                "a tagger of several layers makes them itself", got=f"text on {len(corpus.layers)}",
                fix="give it the text without its marks",
            )  # fmt: skip
        names, taggers = zip(("", self), *self.layers, strict=True)
        labels = [label for tagger in taggers for label in tagger.scheme.labels]
        scheme = Scheme.of(self.scheme.kind, labels)
        layered = corpus.on_layers(names)
        tags = np.zeros(layered.n_tokens, scheme.tag_dtype)
        confidence = np.zeros(layered.n_tokens, np.float32)
        for number, tagger in enumerate(taggers):
            places = np.flatnonzero(layered.sentence_layer == number)
            flat = gather(layered.token_offsets, places)[1]
            found, sure = tagger._label(corpus)
            tags[flat] = np.array([scheme.index(label) for label in found.scheme.labels])[
                found.tags
            ]
            confidence[flat] = sure
        return Labelling(layered, scheme, tags), confidence

    def _label(self, corpus: Corpus) -> tuple[Labelling, F32]:
        found = self.decode(corpus)
        chosen = found.marginals[np.arange(len(found.tags)), found.tags]
        return Labelling(corpus, self.scheme, found.tags), chosen

    def decode(self, corpus: Corpus) -> Decoded:
        """Tags of a corpus, with the probabilities of labels and spans; of the first layer only."""
        said = potentials_of(self.predictor, corpus)
        chain = said.chain.times(Chain.legal(self.scheme.grammar))
        scores = said.scores.astype(np.float64)
        return best_spans(scores, corpus.token_offsets, chain, self.scheme, self.threshold)

    def state(self) -> tuple[dict[str, Any], archive.Arrays]:
        """JSON values and arrays for a file; raises where the predictor cannot be saved."""
        predictor = as_storable(self.predictor, "this predictor")
        settings, arrays = predictor.state()
        further = []
        for number, (name, tagger) in enumerate(self.layers):
            meta, parts = tagger.state()
            further.append({"name": name, **meta})
            arrays = {**arrays, **archive.under(parts, _folder(number))}
        return {
            "predictor": predictor.name,
            "settings": settings,
            "scheme": self.scheme.kind,
            "labels": list(self.scheme.labels),
            **({} if self.threshold is None else {"threshold": self.threshold}),
            **({"layers": further} if further else {}),
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
            own, layers = _further(meta.get("layers", []), arrays, where)
            predictor = kind.from_state(meta["settings"], own, scheme)
            threshold = meta.get("threshold")
            if threshold is not None and not 0 <= float(threshold) < 1:
                raise ValueError("threshold must be from 0 to below 1")
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
        return cls(cast(Predictor, predictor), scheme, layers, threshold)

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


def _folder(number: int) -> str:
    return f"layer {number}"


def _further(
    metas: list[dict[str, Any]], arrays: archive.Arrays, where: str
) -> tuple[archive.Arrays, tuple[tuple[str, Tagger], ...]]:
    """The arrays of the first layer, and the taggers of the others."""
    layers = []
    for number, meta in enumerate(metas):
        if not isinstance(meta["name"], str) or "layers" in meta:
            raise ValueError("a layer must have a name and no layers of its own")
        parts = archive.within(arrays, _folder(number))
        layers.append((meta["name"], Tagger.from_state(meta, parts, where)))
    names = {_folder(number) for number in range(len(metas))}
    own = {name: array for name, array in arrays.items() if name.partition("/")[0] not in names}
    return own, tuple(layers)
