"""What a predictor is: anything that learns tags from tokens and gives back probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.archive import Arrays
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.chain import Chain, forward_backward

Tokens = Corpus | Sequence[Sequence[str]]
#: A probability of nothing.
TINY = 1e-12
#: The logarithm of no weight, where an average needs one.
LEAST = -60.0
Targets = Tags | F32 | F64 | Sequence[Sequence[str]]


@runtime_checkable
class Predictor(Protocol):
    """The prediction module's side of the bargain.

    ``fit`` again continues from the last parameters (incremental training). An aggregator never
    trains the object it was given: it works on ``clone()``.
    """

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Scheme | None = None,
        weights: F64 | None = None,
    ) -> Self:
        """Learn from flat tags tag[T], soft tags float[T, L], or lists of label strings.

        Parameters
        ----------
        tokens : the sentences.
        tags : what to learn, as said above.
        scheme : what the numbers mean; found from strings where not given.
        weights : float64[S], how much each sentence counts.
        """

    def predict_proba(self, tokens: Tokens) -> F32:
        """float32[T, L]: probability of each label of the scheme at each token."""

    def clone(self) -> Self:
        """An untrained copy with the same settings."""


class Potentials(NamedTuple):
    """What a predictor says of whole sequences: p(y | x) ∝ chain(y) · Π_i exp scores[i, y_i].

    scores : float32[T, L], logarithms; the exponentials of a token's sum to one.
    chain : weights of label pairs; all one where it says nothing of them.
    """

    scores: F32
    chain: Chain

    def probabilities(self, offsets: I64) -> F32:
        """float32[T, L]: of each label at each token.

        Parameters
        ----------
        offsets : int64[S+1], where sentences begin.
        """
        return forward_backward(self.scores, offsets, self.chain).marginals

    def centred(self, allowed: Bool) -> Potentials:
        """The same, with all that is said of single labels in the scores, so that several can be averaged.

        Weights of pairs can say that a label is likely as well as scores can: what each label adds to its
        pairs, as one that is followed and as one that follows (least squares over pairs that may be), is
        moved from the chain to the scores.

        Parameters
        ----------
        allowed : bool[L, L], pairs that may follow each other.
        """
        start, transition, end = self.chain.logs()
        n, (before, after) = len(start), np.nonzero(allowed)
        parts = np.zeros((len(before), 2 * n))
        parts[np.arange(len(before)), before] = 1.0
        parts[np.arange(len(before)), n + after] = 1.0
        usual = np.maximum(transition[before, after], LEAST)
        found = np.linalg.lstsq(parts, usual, rcond=None)[0]
        leaves, enters = found[:n], found[n:]
        chain = Chain(start - enters, transition - leaves[:, None] - enters, end - leaves)
        return normalised(self.scores + (leaves + enters), Chain(*map(np.exp, chain)))

    def apart(self, offsets: I64) -> Potentials:
        """Each token's labels for themselves."""
        return apart(self.probabilities(offsets))


def apart(probabilities: F32) -> Potentials:
    """Of who says nothing of pairs of labels.

    Parameters
    ----------
    probabilities : float32[T, L].
    """
    scores = np.log(np.maximum(probabilities, TINY, dtype=np.float64)).astype(np.float32)
    return Potentials(scores, Chain.free(probabilities.shape[1]))


def normalised(scores: F32 | F64, chain: Chain) -> Potentials:
    """Scores of which each token's exponentials sum to one; that says the same of sequences.

    Parameters
    ----------
    scores : float[T, L].
    """
    top = scores.max(axis=1, keepdims=True)
    total = np.log(np.exp(scores - top).sum(axis=1, keepdims=True)) + top
    return Potentials(np.asarray(scores - total, np.float32), chain)


def potentials_of(predictor: Predictor, tokens: Tokens) -> Potentials:
    """What a trained predictor says of whole sequences; of one that only knows tokens (it has no
    ``potentials``), what it says of each.

    Parameters
    ----------
    predictor : trained.
    tokens : the sentences.
    """
    own = getattr(predictor, "potentials", None)
    if own is None:
        return apart(np.asarray(predictor.predict_proba(tokens)))
    return normalised(*own(tokens))


class Storable(Protocol):
    """A predictor that can be saved: settings and parameters as JSON values and plain arrays."""

    name: str

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Settings as JSON values, parameters as plain arrays."""

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, scheme: Scheme) -> Self:
        """Inverse of ``state``; ValueError, KeyError or TypeError where it is not one."""


def as_corpus(tokens: Tokens) -> Corpus:
    """Lists of tokens or a corpus, as a corpus with text."""
    corpus = tokens if isinstance(tokens, Corpus) else Corpus.of(tokens)
    if corpus.tokens is None:
        raise DataError(
            "a predictor needs the words", got="a table without tokens",
            fix="give the token text, or switch the predictor off",
        )  # fmt: skip
    return corpus


def own_order(corpus: Corpus) -> tuple[I64, I64]:
    """Sentences by their words (then by id), and the tokens in that order: int64[S], int64[T].

    Networks learn from batches, and which sentences come together must not depend on where they stand
    in a file: those that shuffle it get the same labels.
    """
    assert corpus.tokens is not None
    text = pa.large_string()
    words = pa.LargeListArray.from_arrays(
        pa.array(corpus.token_offsets, pa.int64()), corpus.tokens.cast(text)
    )
    sentences = pc.binary_join(words, pa.scalar("\0", text))
    table = pa.table({"words": sentences, "id": corpus.sentence_ids})
    keys = [("words", "ascending"), ("id", "ascending")]
    order = pc.sort_indices(table, sort_keys=keys).to_numpy().astype(np.int64)
    return order, gather(corpus.token_offsets, order)[1]


def rounded(targets: F64) -> F32:
    """Soft targets to 14 binary digits: those that were summed up in another order are the same again.

    >>> bool(rounded(np.array(0.3)) == rounded(np.array(0.3, np.float32).astype(np.float64)))
    True
    """
    return (np.round(targets * 2.0**14) * 2.0**-14).astype(np.float32)


def as_targets(corpus: Corpus, tags: Targets, scheme: Scheme | None) -> tuple[F64, Scheme]:
    """Soft targets float64[T, L] (rows of zeros where a tag is missing) and what they mean."""
    if not isinstance(tags, np.ndarray):
        crowd = Crowd.of({"tags": tags}, [corpus.words(s) for s in range(corpus.n_sentences)])
        if scheme is not None:
            crowd = crowd.recode(scheme)
        return as_targets(corpus, crowd.labelling().tags, crowd.scheme)
    if scheme is None:
        raise DataError("numbered tags need a scheme that says what they mean")
    if len(tags) != corpus.n_tokens:
        raise DataError(f"need one tag per token ({corpus.n_tokens})", got=str(len(tags)))
    if tags.ndim == 2:
        if tags.shape[1] != len(scheme.labels):
            raise DataError(f"soft tags need {len(scheme.labels)} columns", got=str(tags.shape[1]))
        return tags.astype(np.float64), scheme
    soft = np.zeros((corpus.n_tokens, len(scheme.labels)))
    labelled = np.flatnonzero(tags >= 0)
    soft[labelled, tags[labelled]] = 1.0
    return soft, scheme
