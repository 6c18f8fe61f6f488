"""A small corpus with disputes, and a database of each kind to keep decisions in."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seqtruth as st
from review.databases import binaries, cluster
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.result import Result
from seqtruth.review.desk import Desk
from seqtruth.review.server import digest
from seqtruth.review.store.database import Database
from seqtruth.review.store.decisions import Store

_number = itertools.count()


def small_crowd() -> Crowd:
    """Two documents; ``York`` is a place or a team, three times in the first."""
    words = [
        ["York", "beat", "Ada", "Lane"],
        ["York", "won"],
        ["In", "York", "<b>rain</b>"],
        ["Yes"],
    ]
    tags = {
        "ann": [["B-LOC", "O", "B-PER", "I-PER"], ["B-LOC", "O"], ["O", "B-LOC", "O"], ["O"]],
        "bob": [["B-ORG", "O", "B-PER", "I-PER"], ["B-ORG", "O"], ["O", "B-LOC", "O"], ["O"]],
        "cat": [["B-LOC", "O", "B-PER", "O"], ["B-LOC", "O"], ["O", "B-ORG", "O"], None],
    }
    crowd = Crowd.of(tags, words)
    corpus = Corpus.of(words, [f"s{k}" for k in range(4)], ["game", "game", "game", "more"])
    return Crowd(
        corpus, crowd.scheme, crowd.annotators, crowd.row_sentence, crowd.row_annotator, crowd.tags
    )


@pytest.fixture
def result() -> Result:
    return st.aggregate(small_crowd(), "mv")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    pytest.importorskip("psycopg")
    if binaries() is None:
        pytest.skip("PostgreSQL is not installed here (Debian's package postgresql)")
    with cluster() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: Any, tmp_path: Path) -> str:
    """URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'decisions.sqlite'}"
    import psycopg

    server = request.getfixturevalue("postgres")
    name = f"desk{next(_number)}"
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    return server.removesuffix("postgres") + name


@pytest.fixture
def store(url: str, result: Result) -> Iterator[Store]:
    database = Database(url)
    yield Store(database, digest(result), "small")
    database.close()


@pytest.fixture
def desk(store: Store, result: Result) -> Desk:
    return Desk(result, store)
