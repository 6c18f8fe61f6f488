"""Looking up names of one or several words, the longest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.base import Mention, bio, is_capital, ordinary_words, sentences


@dataclass(frozen=True)
class Gazetteer:
    """Names and their types.

    Parameters
    ----------
    types : words of a name in lower case -> its type.
    longest : words of the longest name.
    """

    types: Mapping[tuple[str, ...], str]
    longest: int

    @classmethod
    def of(cls, names: Iterable[tuple[str, str]]) -> Gazetteer:
        """From pairs (name, type); of a name given twice, the first type is kept.

        >>> Gazetteer.of([("New York", "LOC"), ("York", "LOC")]).longest
        2
        """
        types: dict[tuple[str, ...], str] = {}
        for name, kind in names:
            key = tuple(name.lower().split())
            if key:
                types.setdefault(key, kind)
        return cls(types, max(map(len, types), default=0))

    def find(self, words: list[str], ordinary: frozenset[str] = frozenset()) -> list[Mention]:
        """Names in a sentence, from left to right, the longest at each place.

        A name begins and ends with a capital, and a single word is none where it is an ordinary one.
        """
        found: list[Mention] = []
        lower = [word.lower() for word in words]
        start = 0
        while start < len(words):
            end = self._match(words, lower, start, ordinary)
            if end:
                found.append(Mention(start, end, self.types[tuple(lower[start:end])]))
            start = max(end, start + 1)
        return found

    def _match(
        self, words: list[str], lower: list[str], start: int, ordinary: frozenset[str]
    ) -> int:
        """Where the longest name from here ends; 0 where there is none."""
        if not is_capital(words[start]):
            return 0
        for end in range(min(len(words), start + self.longest), start, -1):
            if tuple(lower[start:end]) in self.types and is_capital(words[end - 1]):
                if end - start > 1 or lower[start] not in ordinary:
                    return end
        return 0

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        """Tags of every sentence by :meth:`find`, the corpus telling which words are ordinary."""
        text = sentences(corpus)
        ordinary = ordinary_words(text)
        return [bio(len(words), self.find(words, ordinary)) for words in text]
