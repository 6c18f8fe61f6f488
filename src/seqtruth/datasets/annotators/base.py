"""What all automatic annotators share: their shape, spans to tags, and the look of words."""

from __future__ import annotations

import hashlib
import importlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import metadata, resources
from typing import Any, NamedTuple, Protocol

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.lists import words_of
from seqtruth.errors import MissingExtraError

EXTRA = "annotators"
TYPES = ("LOC", "MISC", "ORG", "PER")


class Mention(NamedTuple):
    """Tokens from ``start`` up to ``end`` (exclusive), of a type among :data:`TYPES`."""

    start: int
    end: int
    type: str


class AutomaticAnnotator(Protocol):
    """A program that labels text.

    name : of the annotator, as in the tables.
    kind : ``"knowledge base"`` or ``"NER system"``.
    needs : what has to be installed.
    source : where its knowledge comes from, and under which licence.
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def needs(self) -> str: ...
    @property
    def source(self) -> str: ...

    def version(self) -> str:
        """Changes whenever the labels may; raises where the annotator cannot run."""
        ...

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        """IOB2 tags of every sentence."""
        ...


def bio(length: int, spans: Iterable[Mention]) -> list[str]:
    """Tags of a sentence; of spans that overlap, the first is kept.

    >>> bio(4, [Mention(0, 2, "PER"), Mention(1, 3, "ORG"), Mention(3, 4, "LOC")])
    ['B-PER', 'I-PER', 'O', 'B-LOC']
    """
    tags = ["O"] * length
    for start, end, kind in spans:
        if start < end and all(tag == "O" for tag in tags[start:end]):
            tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tags


def sentences(corpus: Corpus) -> list[list[str]]:
    """Words of every sentence."""
    return [corpus.words(number) for number in range(corpus.n_sentences)]


def documents(corpus: Corpus) -> list[list[int]]:
    """Numbers of the sentences of each document; a sentence without one stands for itself."""
    groups: dict[str, list[int]] = {}
    for number, document in enumerate(corpus.sentence_document.tolist()):
        name = corpus.documents[document]
        groups.setdefault(f"document {name}" if name else f"sentence {number}", []).append(number)
    return list(groups.values())


def is_capital(word: str) -> bool:
    """Whether the word is written like a name."""
    return word[:1].isupper()


def is_shouted(word: str) -> bool:
    """Whether all its letters, two at least, are capitals."""
    return word.isupper() and sum(map(str.isalpha, word)) > 1


def ordinary_words(text: Iterable[list[str]]) -> frozenset[str]:
    """Words that are no names by themselves, in lower case.

    Those of grammar and the calendar, and those that this text writes in lower case more often than
    with a capital inside a sentence: ``Reading`` and ``Split`` are places only where nobody reads
    or splits.
    """
    balance: Counter[str] = Counter()
    for words in text:
        for place, word in enumerate(words):
            if word.islower():
                balance[word] += 1
            elif place and is_capital(word) and not is_shouted(word):
                balance[word.lower()] -= 1
    seen = {word for word, count in balance.items() if count > 0}
    return frozenset(seen | words_of("grammar") | words_of("calendar"))


def installed(module: str, package: str, purpose: str) -> Any:
    """A module of the extra ``annotators``, imported now and not before."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(package, EXTRA, purpose) from error


def version_of(*packages: str) -> str:
    """Versions of installed packages, and a digest of our own annotators."""
    found = [f"{package} {metadata.version(package)}" for package in packages]
    return ", ".join([*found, f"code {_code()}"])


@cache
def _code() -> str:
    files = sorted(resources.files(__package__).iterdir(), key=lambda file: file.name)
    parts = [file.read_bytes() for file in files if file.name.endswith((".py", ".txt"))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
