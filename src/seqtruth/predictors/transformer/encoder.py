"""What a pretrained transformer makes of a document: vectors for a smaller network (needs transformers).

The transformer is not trained any further. It reads sentences of a document together, as many as it can read
at once, so that a word's vectors know more than its sentence; where nobody knows what documents there are,
sentence by sentence. A word is the last four layers at its first piece (Devlin et al. found these to be
nearly as good as a transformer that is trained with the rest), of which a few directions are kept
(:mod:`seqtruth.predictors.torch.directions`). Reading a text once and training a small network on it takes
minutes where training the transformer takes hours.

References
----------
Devlin et al. (2019), BERT: pre-training of deep bidirectional transformers for language understanding,
NAACL, section 5.3. doi:10.18653/v1/N19-1423
"""

from __future__ import annotations

import logging
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from seqtruth.archive import Arrays
from seqtruth.data.corpus import Corpus
from seqtruth.data.ragged import gather
from seqtruth.errors import InputError, MissingExtraError
from seqtruth.kernels.arrays import F32, I64
from seqtruth.kernels.threads import threads
from seqtruth.plural import count
from seqtruth.predictors.torch.directions import principal_directions, usual_lines
from seqtruth.predictors.torch.lexicon import batches
from seqtruth.predictors.torch.network import single_thread
from seqtruth.predictors.torch.remembered import Remembered, Words
from seqtruth.predictors.transformer.checkpoint import load
from seqtruth.predictors.transformer.stored import BODY, TEXTS, Numbers, model_arrays, model_of
from seqtruth.predictors.transformer.text import PieceCorpus, Reader
from seqtruth.schema import Column, Schema
from seqtruth.stopping import check_stop, together

try:
    import torch
except ImportError as error:
    raise MissingExtraError("transformers", "transformers", "a transformer that reads") from error

log = logging.getLogger("seqtruth")

#: Layers whose states a word is, counted from the last.
LAYERS = 4
#: Texts that are read side by side.
BATCH = 16
#: Vectors are rounded to so many binary digits behind the point: what else is read in the same batch must
#: not show.
DIGITS = 10
#: What the arrays of a saved reader are.
SCHEMA = Schema(
    {
        **TEXTS,
        "numbers": Column("int", (3,), 0),
        "mean": Column("float32", ("states",)),
        "directions": Column("float32", ("states", "width")),
    },
    folders=(BODY,),
)


class Encoder:
    """Reads documents by a transformer that stays as it is.

    Parameters
    ----------
    model, reader : as :func:`~seqtruth.predictors.transformer.checkpoint.load` gives them.
    mean, directions : float32[H] and float32[H, D], from states to vectors; found where not given.
    """

    def __init__(
        self, model: Any, reader: Reader, mean: F32 | None = None, directions: F32 | None = None
    ) -> None:
        self.model, self.reader = model, reader
        model.eval()
        self._seen = Remembered(self._read)
        if mean is None or directions is None:
            states = self._states(Corpus.of(usual_lines()))
            mean, directions = principal_directions(states)
        self.mean, self.directions = mean, directions

    @property
    def width(self) -> int:
        """Numbers in a vector."""
        return int(self.directions.shape[-1])

    def vectors(self, corpus: Corpus) -> F32:
        """float32[T, D]: every token in its document."""
        assert corpus.tokens is not None
        order, bounds = self._passages(corpus)
        words = corpus.tokens.to_pylist()
        texts = [tuple(words[n] for n in order[a:b]) for a, b in pairwise(bounds)]
        out = np.zeros((corpus.n_tokens, self.width), np.float32)
        found = self._seen.vectors(texts)
        if found:
            out[order] = np.concatenate(found)
        return out

    def _passages(self, corpus: Corpus) -> tuple[I64, list[int]]:
        """Tokens in an order in which those of a document stand together, int64[T], and where passages
        begin in it: as many sentences of a document as can be read at once, of about equal length."""
        layers = len(corpus.layers)
        document = corpus.sentence_document.astype(np.int64) * layers + corpus.sentence_layer
        named = np.array([bool(name) for name in corpus.documents])[corpus.sentence_document]
        document[~named] = -1 - np.flatnonzero(~named)
        sentences = np.argsort(document, kind="stable")
        offsets, order = gather(corpus.token_offsets, sentences)
        pieces = self.reader.encode(corpus).lengths[sentences]
        begins = np.flatnonzero(np.diff(document[sentences])) + 1
        bounds = [0]
        for a, b in pairwise([0, *begins.tolist(), len(sentences)]):
            cuts = a + _cuts(pieces[a:b], self.reader.room)
            bounds += offsets[cuts].tolist()
        return order, bounds

    def _read(self, texts: list[Words]) -> list[F32]:
        """float32[n, D] of each text."""
        log.info("an encoder reads %s", count(len(texts), "text"))
        corpus = Corpus.of(texts)
        seen = (self._states(corpus) - self.mean) @ self.directions
        seen = np.round(seen * 2.0**DIGITS) * np.float32(2.0**-DIGITS)
        return np.split(seen, corpus.token_offsets[1:-1])

    def _states(self, corpus: Corpus) -> F32:
        """float32[T, H]: the states of the last layers at each word's first piece."""
        coded = self.reader.encode(corpus)
        with torch.no_grad(), single_thread():
            jobs = [partial(self._batch, coded, at) for at in batches(coded.lengths, BATCH, None)]
            found = together(jobs, threads())
        out = np.zeros((corpus.n_tokens, found[0][1].shape[1] if found else 1), np.float32)
        for token, states in found:
            out[token] = states
        return out

    def _batch(self, coded: PieceCorpus, places: I64) -> tuple[I64, F32]:
        check_stop()
        rows = coded.rows(places)
        pieces, inside = torch.from_numpy(rows.pieces), torch.from_numpy(rows.inside)
        with torch.no_grad():
            torch.set_num_threads(1)
            read = self.model(
                input_ids=pieces, attention_mask=inside.long(), output_hidden_states=True
            )
            layers = read.hidden_states[1:][-LAYERS:]
            at = torch.from_numpy(rows.at[rows.mask])
            states = torch.cat([layer.flatten(0, 1)[at] for layer in layers], dim=1)
        return rows.token[rows.mask], states.float().numpy()

    def arrays(self) -> Arrays:
        """Everything, as plain arrays."""
        numbers = np.array(Numbers.of(self.reader), np.int64)
        own: Arrays = {"numbers": numbers, "mean": self.mean, "directions": self.directions}
        return own | model_arrays(self.model, self.reader)

    @classmethod
    def restore(cls, arrays: Arrays) -> Encoder:
        """Inverse of :meth:`arrays`; ValueError where they are no such thing."""
        sizes = SCHEMA.check(arrays)
        model, reader = model_of(arrays, Numbers(*map(int, arrays["numbers"])))
        made = cls(model, reader, arrays["mean"], arrays["directions"])
        try:
            states = made._states(Corpus.of([["a"]])).shape[1]
        except Exception as error:  # torch has no family of errors
            raise ValueError(f"the model cannot read ({error})") from error
        if sizes["states"] != states:
            raise ValueError("directions do not fit the model")
        return made


def _cuts(pieces: I64, room: int) -> I64:
    """Where passages of a document end, in sentences counted from its first: as few as there can be if all
    were of equal length, none longer than ``room`` but where a single sentence is.

    >>> _cuts(np.array([3, 3, 3, 3]), 9), _cuts(np.array([2, 2, 30, 2]), 9)
    (array([2, 4]), array([2, 3, 4]))
    """
    total = int(pieces.sum())
    aim = total / max(1, -(-total // room))
    cuts, size = [], 0
    for n, more in enumerate(pieces.tolist()):
        if size and (size + more > room or size + more / 2 > aim):
            cuts.append(n)
            size = 0
        size += more
    return np.array([*cuts, len(pieces)], np.int64)


@lru_cache(2)
def load_encoder(checkpoint: str) -> Encoder:
    """A checkpoint, opened once for all who ask.

    Parameters
    ----------
    checkpoint : its folder, or its name on the Hugging Face hub.
    """
    model, reader = load(checkpoint)
    try:
        return Encoder(model, reader)
    except (RuntimeError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise InputError(
            "this model cannot read for another", where=checkpoint, got=str(error),
            fix="give an encoder with hidden states, such as BERT and its kin",
        ) from error  # fmt: skip
