"""Words as emissions: each true tag has its own distribution over the words it stands on ("IF").

p(x_i = v | t_i = t) = ρ[t, v]  with  ρ[t] ~ Dirichlet(prior).  Several features of a token (the word,
its shape) are emitted independently of each other, each from a ρ of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.corpus import Corpus
from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import F32, F64, I32
from seqtruth.methods.loop import State

_RUNS = (("[A-ZÀ-ÞΑ-ΩА-Я]+", "X"), ("[a-zß-ÿα-ωа-я]+", "x"), ("[0-9]+", "0"))


#: Why words need the crowd in memory, and what to do without.
NO_WORDS = "its words would be a table of all words", "set text_features=False"


def shape(word: str) -> str:
    """What a word looks like: runs of capitals, small letters and digits.

    >>> [shape(word) for word in ("Ames", "U.S.", "1996-08-22", "iPod")]
    ['Xx', 'X.X.', '0-0-0', 'xXx']
    """
    for pattern, letter in _RUNS:
        word = re.sub(pattern, letter, word)
    return word[:12]


FEATURES: dict[str, Callable[[str], str]] = {
    "word": str,
    "lower": str.lower,
    "shape": shape,
    "suffix": lambda word: word[-3:].lower(),
    "prefix": lambda word: word[:3].lower(),
}


@dataclass(frozen=True, eq=False)
class WordFeatures:
    """The tokens' features as numbers.

    Parameters
    ----------
    codes : for each feature, int32[T].
    sizes : for each feature, the number of its values.
    """

    names: tuple[str, ...]
    codes: tuple[I32, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, corpus: Corpus, names: tuple[str, ...] = ("word",)) -> WordFeatures:
        """Number the features, alphabetically, so that the order of sentences does not matter."""
        if corpus.tokens is None:
            raise DataError(
                "text features need the tokens, and this crowd has none",
                fix="use the method without text features",
            )
        unknown = [name for name in names if name not in FEATURES]
        if unknown:
            raise ParameterError(
                f"text features must be among {', '.join(FEATURES)}", got=repr(unknown[0])
            )
        coded = corpus.tokens.dictionary_encode()
        words = coded.dictionary.to_pylist()
        place = np.asarray(coded.indices).astype(np.int32)
        codes, sizes = [], []
        for name in names:
            values = pa.array([FEATURES[name](word) for word in words], pa.large_string())
            distinct = values.unique()
            distinct = distinct.take(pc.array_sort_indices(distinct))
            number = np.asarray(pc.index_in(values, value_set=distinct)).astype(np.int32)
            codes.append(number[place] if len(number) else place)
            sizes.append(len(distinct))
        return cls(names, tuple(codes), tuple(sizes))

    def prior(self, n_labels: int, count: float) -> State:
        """The same pseudo-count for every value of every feature."""
        return {
            f"words/{name}": np.full((n_labels, size), float(count))
            for name, size in zip(self.names, self.sizes, strict=True)
        }

    def counts(self, posterior: F32) -> State:
        """Expected number of times each tag stands on each value."""
        found: State = {}
        for name, code, size in zip(self.names, self.codes, self.sizes, strict=True):
            columns = [np.bincount(code, column, size) for column in posterior.T]
            found[f"words/{name}"] = np.stack(columns)
        return found

    def evidence(self, logs: State) -> F32:
        """[T, L]: what the words say of each token's tag."""
        total: F64 | None = None
        for name, code in zip(self.names, self.codes, strict=True):
            part = logs[f"words/{name}"].T[code]
            total = part if total is None else total + part
        assert total is not None
        return total.astype(np.float32)
