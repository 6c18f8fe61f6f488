"""Token sequences without labels, in flat columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.origin import Origin
from seqtruth.data.ragged import Selection, gather, places
from seqtruth.errors import DataError
from seqtruth.kernels.random import sentence_keys


@dataclass(frozen=True, eq=False)
class Corpus:
    """Token sequences, without labels.

    Parameters
    ----------
    token_offsets : int64[S+1], start of each sentence in the flat token array.
    sentence_ids : S unique names.
    tokens : T strings, or None where the source had none (crowd-kit tables).
    documents, sentence_document : names of documents and, per sentence, the number of its own.
        Where the source knows no documents, every sentence is in document 0, ``""``.
    texts : original text of each sentence, where the source had character offsets.
    char_starts, char_ends : int32[T], offsets of each token in its sentence's text (uint16[T] where they came
        so: readers of large files save half of the room).
    text_starts : int64[S], offset of each sentence's text in its document's, where the texts of a
        document's sentences, one after the other, are the whole of it.
    layers, sentence_layer : names of layers and, per sentence, the number of its own. Where marks
        overlap, a sentence stands here once per layer, with the same text and tokens; the ids of all
        but the first layer (named ``""``) end in ``@`` and the layer's name.
    origin : what is remembered of the file.
    """

    token_offsets: npt.NDArray[np.int64]
    sentence_ids: pa.Array
    tokens: pa.Array | None
    documents: tuple[str, ...] = ("",)
    sentence_document: npt.NDArray[np.int32] = field(default=cast(Any, None))
    texts: pa.Array | None = None
    char_starts: npt.NDArray[np.int32] | npt.NDArray[np.uint16] | None = None
    char_ends: npt.NDArray[np.int32] | npt.NDArray[np.uint16] | None = None
    text_starts: npt.NDArray[np.int64] | None = None
    layers: tuple[str, ...] = ("",)
    sentence_layer: npt.NDArray[np.int32] = field(default=cast(Any, None))
    origin: Origin = field(default_factory=Origin)

    def __post_init__(self) -> None:
        offsets = np.ascontiguousarray(self.token_offsets, np.int64)
        ids = _strings(self.sentence_ids)
        n_sentences = len(offsets) - 1
        if n_sentences < 0 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
            raise DataError("token_offsets must start at 0 and never decrease")
        if len(ids) != n_sentences:
            raise DataError(f"{n_sentences} sentences need as many ids", got=str(len(ids)))
        if _has_repeats(ids):
            raise DataError("sentence ids must be unique", got=repr(_first_repeat(ids)))
        document: Any = self.sentence_document
        if document is None:
            document = np.zeros(n_sentences, np.int32)
        if len(document) != n_sentences:
            raise DataError("every sentence needs its document's number", got=str(len(document)))
        layer: Any = self.sentence_layer
        if layer is None:
            layer = np.zeros(n_sentences, np.int32)
        if len(layer) != n_sentences:
            raise DataError("every sentence needs its layer's number", got=str(len(layer)))
        values = {
            "token_offsets": offsets,
            "sentence_ids": ids,
            "sentence_document": np.ascontiguousarray(document, np.int32),
            "sentence_layer": np.ascontiguousarray(layer, np.int32),
            "tokens": None if self.tokens is None else _strings(self.tokens),
            "texts": None if self.texts is None else _strings(self.texts),
        }
        for name in ("char_starts", "char_ends"):
            column = getattr(self, name)
            kind = np.uint16 if getattr(column, "dtype", None) == np.uint16 else np.int32
            values[name] = None if column is None else np.ascontiguousarray(column, kind)
        if self.text_starts is not None:
            values["text_starts"] = np.ascontiguousarray(self.text_starts, np.int64)
            if len(self.text_starts) != n_sentences:
                got = str(len(self.text_starts))
                raise DataError("every sentence needs its place in its document", got=got)
        for name in ("tokens", "char_starts", "char_ends"):
            column = values[name]
            if column is not None and len(column) != offsets[-1]:
                raise DataError(f"{name} must have {offsets[-1]} entries", got=str(len(column)))
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        sentences: Iterable[Sequence[str]],
        ids: Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
    ) -> Corpus:
        """Make a corpus from lists of tokens.

        Parameters
        ----------
        sentences : the tokens of each sentence.
        ids : names of the sentences; their places, counted from 0, where not given.
        documents : for each sentence the document it is in.

        Examples
        --------
        >>> Corpus.of([["Obama", "visited", "Ames"], ["Yes"]]).n_tokens
        4
        """
        lists = [list(sentence) for sentence in sentences]
        lengths = np.array([len(sentence) for sentence in lists], np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        names, numbers = _number(documents) if documents is not None else (("",), cast(Any, None))
        return cls(
            offsets,
            pa.array(ids if ids is not None else [str(i) for i in range(len(lists))], pa.string()),
            pa.array([token for sentence in lists for token in sentence], pa.large_string()),
            names,
            numbers,
        )

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.token_offsets) - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.token_offsets[-1])

    def __len__(self) -> int:
        """Number of sentences."""
        return self.n_sentences

    def __iter__(self) -> Iterator[list[str]]:
        """The tokens of each sentence.

        >>> list(Corpus.of([["Ada", "ran"], ["Yes"]]))
        [['Ada', 'ran'], ['Yes']]
        """
        return map(self.words, range(self.n_sentences))

    def words(self, sentence: int) -> list[str]:
        """Tokens of one sentence."""
        if self.tokens is None:
            return ["_"] * int(self.token_offsets[sentence + 1] - self.token_offsets[sentence])
        a, b = self.token_offsets[sentence : sentence + 2]
        words: list[str] = self.tokens[a:b].to_pylist()
        return words

    def written(
        self, sentence: int, first: int, last: int
    ) -> tuple[str, tuple[int | None, int | None]]:
        """Tokens ``first`` to ``last`` (of all) as they are written, and their place in the document.

        Where there is no text, the tokens with blanks between, and no place.

        Parameters
        ----------
        sentence : number of the sentence.
        first, last : numbers of the first token and of the one behind the last, counted over the corpus.
        """
        text = None if self.texts is None else self.texts[sentence].as_py()
        if text is None or self.char_starts is None or self.char_ends is None or first >= last:
            words = [] if self.tokens is None else self.tokens[first:last].to_pylist()
            return " ".join(words), (None, None)
        start, end = int(self.char_starts[first]), int(self.char_ends[last - 1])
        shift = 0 if self.text_starts is None else int(self.text_starts[sentence])
        return text[start:end], (start + shift, end + shift)

    def glued(self, sentence: int) -> list[str]:
        """Tokens of one sentence, each with the blanks after it as they are written (else one blank)."""
        words = self.words(sentence)
        text = None if self.texts is None else self.texts[sentence].as_py()
        if text is None or self.char_starts is None:
            return [f"{word} " for word in words]
        a, b = self.token_offsets[sentence : sentence + 2]
        starts = self.char_starts[a:b].tolist()
        return [text[x:y] for x, y in zip(starts, [*starts[1:], len(text)], strict=True)]

    def __getitem__(self, selection: Selection) -> Corpus:
        """The sentences at these places (mask, numbers or slice), in that order."""
        return self.take(places(selection, self.n_sentences))

    def take(self, chosen: npt.NDArray[np.int64]) -> Corpus:
        """The sentences with these numbers."""
        ids = self.sentence_ids.take(chosen)
        return self._taken(chosen, ids, self.layers, self.sentence_layer[chosen])

    def _taken(
        self,
        chosen: npt.NDArray[np.int64],
        ids: pa.Array,
        layers: tuple[str, ...],
        sentence_layer: npt.NDArray[np.int32],
    ) -> Corpus:
        offsets, flat = gather(self.token_offsets, chosen)
        return Corpus(
            offsets,
            ids,
            None if self.tokens is None else self.tokens.take(flat),
            self.documents,
            self.sentence_document[chosen],
            None if self.texts is None else self.texts.take(chosen),
            None if self.char_starts is None else self.char_starts[flat],
            None if self.char_ends is None else self.char_ends[flat],
            None if self.text_starts is None else self.text_starts[chosen],
            layers,
            sentence_layer,
            self.origin,
        )

    def on_layers(self, layers: tuple[str, ...]) -> Corpus:
        """Every sentence of a corpus with one layer once per layer, its layers following each other."""
        chosen = np.repeat(np.arange(self.n_sentences), len(layers))
        endings = [f"@{name}" if number else "" for number, name in enumerate(layers)]
        names = [name + end for name in self.sentence_ids.to_pylist() for end in endings]
        layer = np.tile(np.arange(len(layers), dtype=np.int32), self.n_sentences)
        return self._taken(chosen, pa.array(names, pa.large_string()), layers, layer)

    @property
    def n_base_sentences(self) -> int:
        """Sentences, each counted once whatever its layers."""
        return self.n_sentences if len(self.layers) == 1 else len(self.base_ids.unique())

    @property
    def base_ids(self) -> pa.Array:
        """S ids without the names of layers: the same for one sentence on all its layers."""
        if len(self.layers) == 1:
            return self.sentence_ids
        endings = [f"@{name}" if number else "" for number, name in enumerate(self.layers)]
        pairs = zip(self.sentence_ids.to_pylist(), self.sentence_layer.tolist(), strict=True)
        return pa.array([name.removesuffix(endings[k]) for name, k in pairs], pa.large_string())

    def find(self, ids: pa.Array) -> npt.NDArray[np.int64]:
        """Place of each id here, -1 for those not here."""
        found = pc.index_in(_strings(ids), value_set=self.sentence_ids)
        return np.asarray(found.fill_null(-1)).astype(np.int64)


def concat_corpora(corpora: Sequence[Corpus]) -> Corpus:
    """Corpora one after the other; documents of one name are one document."""

    def joined(name: str) -> Any:
        columns = [getattr(corpus, name) for corpus in corpora]
        if any(column is None for column in columns):
            return None
        if isinstance(columns[0], np.ndarray):
            return np.concatenate(columns)
        return pa.concat_arrays(columns)

    lengths = np.concatenate([np.diff(corpus.token_offsets) for corpus in corpora])
    documents, document = _joined_names(
        [(corpus.documents, corpus.sentence_document) for corpus in corpora]
    )
    layers, layer = _joined_names([(corpus.layers, corpus.sentence_layer) for corpus in corpora])
    return Corpus(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        joined("sentence_ids"),
        joined("tokens"),
        documents,
        document,
        joined("texts"),
        joined("char_starts"),
        joined("char_ends"),
        joined("text_starts"),
        layers,
        layer,
        Origin.together([corpus.origin for corpus in corpora]),
    )


def _joined_names(
    columns: Sequence[tuple[tuple[str, ...], npt.NDArray[np.int32]]],
) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Names of all columns, each once, and the columns one after the other by these names."""
    numbers: dict[str, int] = {}
    parts = []
    for names, column in columns:
        mine = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
        parts.append(mine[column])
    return tuple(numbers), np.concatenate(parts)


def _strings(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous large_string array."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column if column.type == pa.large_string() else column.cast(pa.large_string())


def _has_repeats(ids: pa.Array) -> bool:
    """Whether an id stands twice; by numbers made from them, which are compared faster than texts."""
    keys = np.sort(sentence_keys(ids, 0))
    return bool((keys[1:] == keys[:-1]).any()) and len(ids.unique()) != len(ids)


def _first_repeat(ids: pa.Array) -> str:
    seen: set[str] = set()
    for name in ids.to_pylist():
        if name in seen:
            return str(name)
        seen.add(name)
    return ""


def _number(names: Sequence[str]) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    numbers: dict[str, int] = {}
    column = [numbers.setdefault(name, len(numbers)) for name in names]
    return tuple(numbers), np.array(column, np.int32)
