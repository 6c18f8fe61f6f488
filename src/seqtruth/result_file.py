"""A result in one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from seqtruth import archive
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.origin import Origin
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError, InputError
from seqtruth.fitted import Fitted, from_state, state_of
from seqtruth.history import History
from seqtruth.predictors.tagger import Tagger
from seqtruth.result import Annotators, Result
from seqtruth.schema import Column, Schema, strings

#: What a saved result holds, see :class:`seqtruth.schema.Column`.
_SAVED = {
    "token_offsets": Column("int", ("sentences+1",), 0, rising=True),
    "tags": Column("int", ("tokens",), -1, "labels"),
    "probabilities": Column("float", ("tokens", "labels"), nan=True),
    "sentence_document": Column("int", ("sentences",), 0, "documents"),
    "annotators/weight": Column("float", ("annotators",), nan=True),
    "annotators/sentences": Column("int", ("annotators",), 0),
    "annotators/tokens": Column("int", ("annotators",), 0),
    "annotators/agreement": Column("float", ("annotators",), nan=True),
    "annotators/confusion": Column(
        "float", ("annotators", "labels", "labels"), nan=True, optional=True
    ),
    "of_span": Column("float", ("tokens",), nan=True, optional=True),
    "of_sentence": Column("float", ("sentences",), nan=True, optional=True),
    "char_starts": Column("int", ("tokens",), 0, optional=True),
    "char_ends": Column("int", ("tokens",), 0, optional=True),
    "text_starts": Column("int", ("sentences",), 0, optional=True),
    "sentence_layer": Column("int", ("sentences",), 0, "layers"),
    **strings("sentence_ids", "sentences"),
    **strings("tokens", "tokens", optional=True),
    **strings("texts", "sentences", optional=True),
}
#: What it holds of the crowd, where that was saved with it.
_SAVED_CROWD = {
    "crowd/row_sentence": Column("int", ("rows",), 0, "sentences"),
    "crowd/row_annotator": Column("int", ("rows",), 0, "annotators"),
    "crowd/tags": Column("int", ("crowd tags",), -1, "crowd labels"),
}
_STRINGS = ("sentence_ids", "tokens", "texts")
_CHARACTERS = ("char_starts", "char_ends", "text_starts")


def save(result: Result, path: str | Path, crowd: bool = False) -> None:
    """Save everything to one file (no pickle), with the crowd where asked for."""
    annotators = result.annotators
    arrays: archive.Arrays = {
        "tags": result.tags,
        "probabilities": result.probabilities,
        **_corpus_arrays(result.corpus),
        "annotators/weight": annotators.weight,
        "annotators/sentences": annotators.sentences,
        "annotators/tokens": annotators.tokens,
        "annotators/agreement": annotators.agreement,
    }
    optional = {
        "annotators/confusion": annotators.confusion,
        "of_span": result.of_span,
        "of_sentence": result.of_sentence,
    }
    arrays |= {name: column for name, column in optional.items() if column is not None}
    tagger = None
    if result.tagger is not None:
        tagger, parts = result.tagger.state()
        arrays |= archive.under(parts, "tagger")
    meta: dict[str, Any] = {
        "scheme": result.scheme.kind,
        "labels": list(result.scheme.labels),
        "documents": list(result.corpus.documents),
        "layers": list(result.corpus.layers),
        "origin": result.corpus.origin.to_dict(),
        "annotators": list(annotators.names),
        "history": result.history.to_dict(),
        "provenance": result.provenance,
        "warnings": list(result.warnings),
        "tagger": tagger,
        "crowd": None,
        "fitted": None,
    }
    if crowd and result.fitted is not None:
        meta["fitted"], parts = state_of(result.fitted)
        arrays |= archive.under(parts, "fitted")
    if crowd:
        meta["crowd"], parts = _crowd_state(result)
        arrays |= archive.under(parts, "crowd")
    archive.save(path, "result", meta, arrays)


def _corpus_arrays(corpus: Corpus) -> archive.Arrays:
    arrays: archive.Arrays = {
        "token_offsets": corpus.token_offsets,
        "sentence_document": corpus.sentence_document,
        "sentence_layer": corpus.sentence_layer,
    }
    for name in _STRINGS:
        column = getattr(corpus, name)
        if column is not None:
            arrays |= archive.pack_strings(name, column)
    for name in _CHARACTERS:
        if getattr(corpus, name) is not None:
            arrays[name] = getattr(corpus, name)
    return arrays


def _crowd_state(result: Result) -> tuple[dict[str, Any], archive.Arrays]:
    crowd = result.crowd
    if crowd is None:
        raise DataError("the result does not know the crowd it was made from")
    if crowd.annotators != result.annotators.names or not np.array_equal(
        crowd.corpus.token_offsets, result.corpus.token_offsets
    ):
        raise DataError("the crowd is not the one that the result was made from")
    names = ("row_sentence", "row_annotator", "tags")
    meta = {"scheme": crowd.scheme.kind, "labels": list(crowd.scheme.labels)}
    return meta, {name: getattr(crowd, name) for name in names}


def load(path: str | Path) -> Result:
    """Read a saved result; a truncated or foreign file is an :class:`InputError`."""
    where = str(path)
    meta, arrays = archive.load(path, "result")
    try:
        scheme = Scheme.of(meta["scheme"], meta["labels"])
        _check(meta, arrays, scheme)
        corpus = _corpus(meta, arrays, where)
        names = ("weight", "sentences", "tokens", "agreement")
        annotators = Annotators(
            tuple(meta["annotators"]),
            **{name: arrays[f"annotators/{name}"] for name in names},
            confusion=arrays.get("annotators/confusion"),
        )
        tagger = None
        if meta["tagger"] is not None:
            tagger = Tagger.from_state(meta["tagger"], archive.within(arrays, "tagger"), where)
        crowd = None
        if meta["crowd"] is not None:
            crowd = Crowd(
                corpus,
                Scheme.of(meta["crowd"]["scheme"], meta["crowd"]["labels"]),
                annotators.names,
                *(arrays[f"crowd/{name}"] for name in ("row_sentence", "row_annotator", "tags")),
            )
        return Result(
            corpus,
            scheme,
            np.ascontiguousarray(arrays["tags"], scheme.tag_dtype),
            np.ascontiguousarray(arrays["probabilities"], np.float32),
            annotators,
            History.from_dict(meta["history"]),
            tagger,
            meta["provenance"],
            arrays.get("of_span"),
            arrays.get("of_sentence"),
            crowd,
            tuple(meta["warnings"]),
            _fitted(meta, arrays, scheme, annotators),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, DataError) as error:
        raise InputError(f"the saved result is damaged ({error!r})", where=where) from error


def _fitted(
    meta: dict[str, Any], arrays: archive.Arrays, scheme: Scheme, annotators: Annotators
) -> Fitted | None:
    if meta.get("fitted") is None:
        return None
    sizes = {
        "tokens": len(arrays["tags"]), "labels": len(scheme.labels), "types": len(scheme.types),
        "annotators": len(annotators),
    }  # fmt: skip
    return from_state(meta["fitted"], archive.within(arrays, "fitted"), sizes)


def _corpus(meta: dict[str, Any], arrays: archive.Arrays, where: str) -> Corpus:
    strings = {
        name: archive.unpack_strings(name, arrays, where)
        for name in _STRINGS
        if f"{name}.bytes" in arrays
    }
    return Corpus(
        arrays["token_offsets"],
        strings["sentence_ids"],
        strings.get("tokens"),
        tuple(meta["documents"]),
        arrays["sentence_document"],
        strings.get("texts"),
        layers=tuple(meta["layers"]),
        sentence_layer=arrays["sentence_layer"],
        origin=Origin.from_dict(meta["origin"]),
        **{name: arrays.get(name) for name in _CHARACTERS},
    )


def _check(meta: dict[str, Any], arrays: archive.Arrays, scheme: Scheme) -> None:
    """Raise ValueError where a file's columns do not fit its lists or each other."""
    if list(scheme.labels) != meta["labels"]:
        raise ValueError("labels out of order")
    sizes = {"labels": len(scheme.labels)}
    for name in ("documents", "annotators", "layers", "warnings"):
        if not isinstance(meta[name], list) or not all(isinstance(one, str) for one in meta[name]):
            raise ValueError(f"{name} must be a list of names")
        sizes[name] = len(meta[name])
    columns: dict[str, Column] = _SAVED
    folders: tuple[str, ...] = ()
    if meta["tagger"] is not None:
        folders = ("tagger",)  # which the predictor looks at
    if meta.get("fitted") is not None:
        folders = (*folders, "fitted")  # looked at in its own file
    if meta["crowd"] is not None:
        labels = meta["crowd"]["labels"]
        if list(Scheme.of(meta["crowd"]["scheme"], labels).labels) != labels:
            raise ValueError("the crowd's labels out of order")
        columns, sizes["crowd labels"] = _SAVED | _SAVED_CROWD, len(labels)
    sizes = Schema(columns, sizes, folders).check(arrays)
    if arrays["token_offsets"][-1] != sizes["tokens"]:
        raise ValueError("tags do not fill the sentences")
    if not isinstance(meta["provenance"], dict):
        raise ValueError("provenance must be an object")
