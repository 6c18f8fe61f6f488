"""A knowledge base behind an address: DBpedia Spotlight, for those who have one running."""

from __future__ import annotations

import http.client
import json
import urllib.parse
import urllib.request
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.base import Mention, bio, sentences, version_of
from seqtruth.errors import InputError, MissingToolError, ParameterError

#: Classes of the three ontologies in Spotlight's answers -> CoNLL-2003; the first that fits counts.
ONTOLOGIES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "DBpedia": {
            "Person": "PER", "Place": "LOC", "Location": "LOC", "Organisation": "ORG",
            "EthnicGroup": "MISC", "Language": "MISC", "Event": "MISC", "Work": "MISC",
            "Award": "MISC",
        },
        "Schema": {
            "Person": "PER", "Place": "LOC", "Organization": "ORG", "Language": "MISC",
            "Event": "MISC", "CreativeWork": "MISC", "Product": "MISC",
        },
        "Wikidata": {
            "Q5": "PER", "Q215627": "PER", "Q2221906": "LOC", "Q486972": "LOC", "Q6256": "LOC",
            "Q515": "LOC", "Q43229": "ORG", "Q41710": "MISC", "Q34770": "MISC", "Q1656682": "MISC",
            "Q386724": "MISC",
        },
    }
)  # fmt: skip


@dataclass(frozen=True)
class Spotlight:
    """Marks what Spotlight links to an entity, typed by one of the three ontologies it answers in.

    The paper's three knowledge bases are these three readings.

    Parameters
    ----------
    endpoint : address of the service, to which ``/annotate`` is added.
    ontology : ``"DBpedia"``, ``"Schema"`` or ``"Wikidata"``.
    confidence : of the links, from 0 to 1, as Spotlight understands it.
    timeout : seconds to wait for each sentence.

    References
    ----------
    Mendes, Jakob, García-Silva & Bizer (2011), DBpedia Spotlight: shedding light on the web of
    documents, I-Semantics. doi:10.1145/2063518.2063519
    """

    kind: ClassVar[str] = "knowledge base"
    needs: ClassVar[str] = "a DBpedia Spotlight server"
    source: ClassVar[str] = "DBpedia (CC BY-SA), by way of DBpedia Spotlight (Apache-2.0)"

    endpoint: str
    ontology: str = "DBpedia"
    confidence: float = 0.5
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if self.ontology not in ONTOLOGIES:
            known = ", ".join(ONTOLOGIES)
            raise ParameterError(f"ontology must be one of {known}", got=repr(self.ontology))
        if urllib.parse.urlsplit(self.endpoint).scheme not in ("http", "https"):
            raise ParameterError("endpoint must be an http address", got=repr(self.endpoint))
        if not 0 <= self.confidence <= 1:
            raise ParameterError("confidence must be from 0 to 1", got=str(self.confidence))

    @property
    def name(self) -> str:
        return f"spotlight-{self.ontology.lower()}"

    def version(self) -> str:
        return f"{self.endpoint}, {self.confidence}, {version_of()}"

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        return [bio(len(words), self._spans(words)) for words in sentences(corpus)]

    def _spans(self, words: list[str]) -> list[Mention]:
        if not words:
            return []
        resources = self._ask(" ".join(words)).get("Resources", [])
        try:
            return [span for one in resources for span in self._read(words, one)]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("not an answer of Spotlight", where=self.endpoint) from error

    def _ask(self, text: str) -> dict[str, Any]:
        form = urllib.parse.urlencode({"text": text, "confidence": self.confidence}).encode()
        request = urllib.request.Request(
            f"{self.endpoint.rstrip('/')}/annotate", form, {"Accept": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                found = json.load(answer)
        except (OSError, http.client.HTTPException) as error:
            raise MissingToolError(
                f"Spotlight does not answer: {error}", where=self.endpoint,
                fix="see that the server runs and the address is right",
            ) from error  # fmt: skip
        except ValueError as error:
            raise InputError("Spotlight's answer is not JSON", where=self.endpoint) from error
        if not isinstance(found, dict):
            raise InputError("not an answer of Spotlight", where=self.endpoint)
        return found

    def _read(self, words: list[str], resource: Mapping[str, str]) -> list[Mention]:
        """A linked entity in CoNLL's terms, as a list of one or none."""
        kind = type_of(resource.get("@types", ""), self.ontology)
        if kind is None:
            return []
        # Java counts characters in units of UTF-16
        starts = [0]
        for word in words:
            starts.append(starts[-1] + _units(word) + 1)
        first = int(resource["@offset"])
        start = bisect_left(starts, first + 1) - 1
        end = bisect_left(starts, first + _units(resource["@surfaceForm"]))
        return [Mention(start, min(end, len(words)), kind)]


def type_of(classes: str, ontology: str) -> str | None:
    """CoNLL's type for Spotlight's list of classes, by one ontology.

    >>> type_of("Wikidata:Q515,Schema:City,Schema:Place,DBpedia:Place", "Schema")
    'LOC'
    """
    found = [one.partition(":")[2] for one in classes.split(",") if one.startswith(f"{ontology}:")]
    for name, kind in ONTOLOGIES[ontology].items():
        if name in found:
            return kind
    return None


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
