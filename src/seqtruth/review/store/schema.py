"""The tables of the desk's database, the same for SQLite and PostgreSQL."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

#: One row: whose desk this is. ``corpus`` is the digest of sentences and labels.
project = Table(
    "project",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("corpus", String(64), nullable=False),
    Column("double", Boolean, nullable=False),
    Column("made", String(40), nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("role", String(20), nullable=False),
    Column("password", String(300), nullable=False),
    Column("made", String(40), nullable=False),
)

#: Digests of the cookies, never the cookies themselves.
sessions = Table(
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("user", String(100), nullable=False),
    Column("csrf", String(64), nullable=False),
    Column("until", Float, nullable=False),
)

#: What is decided about each sentence, as of ``version``.
states = Table(
    "states",
    metadata,
    Column("sentence", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("marks", Text, nullable=False),
    Column("status", String(20), nullable=False),
)

#: Everything that ever happened, in order; only ever added to. ``foreseen``, ``found``, ``asked``: how many
#: errors were expected there, how many the reviewer found, in how many cases. ``said``: what a decision says
#: itself, where ``after`` is what follows from it (with two reviewers, what both said).
events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", String(40), nullable=False),
    Column("user", String(100), nullable=False),
    Column("batch", String(64), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("question", String(40), nullable=False),
    Column("sentence", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("undoes", String(64)),
    Column("foreseen", Float, nullable=False),
    Column("found", Integer, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("said", Text),
    UniqueConstraint("batch", "sentence", name="events_once"),
    Index("events_by_user", "user", "id"),
    Index("events_by_sentence", "sentence", "id"),
)

#: Who is working on which sentence.
leases = Table(
    "leases",
    metadata,
    Column("sentence", Integer, primary_key=True, autoincrement=False),
    Column("user", String(100), nullable=False),
    Column("question", String(40), nullable=False),
    Column("until", Float, nullable=False),
)

#: Where two reviewers judge each sentence: what each of them said.
opinions = Table(
    "opinions",
    metadata,
    Column("sentence", Integer, primary_key=True, autoincrement=False),
    Column("user", String(100), primary_key=True),
    Column("marks", Text, nullable=False),
)

#: What each reviewer passed over.
skips = Table(
    "skips",
    metadata,
    Column("sentence", Integer, primary_key=True, autoincrement=False),
    Column("user", String(100), primary_key=True),
)

#: Each time the labels learnt: after which event, and what was foreseen.
rounds = Table(
    "rounds",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", String(40), nullable=False),
    Column("event", Integer, nullable=False),
    Column("facts", Text, nullable=False),
)
