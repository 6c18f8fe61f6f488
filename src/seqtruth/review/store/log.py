"""What happened at a desk, as it is read: events, comments, rounds and counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from seqtruth.review.outlook import Found
from seqtruth.review.store.database import Database
from seqtruth.review.store.schema import events, rounds, states

#: Sentences named in one statement.
CHUNK = 500


def now() -> str:
    """The time as it is kept: UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Log:
    """Everything that was ever written about the sentences of a desk.

    Parameters
    ----------
    database : where it is.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def history(
        self, user: str | None = None, sentence: int | None = None, most: int = 100
    ) -> list[dict[str, Any]]:
        """The newest events first, of a user or about a sentence."""
        query = sa.select(events).order_by(events.c.id.desc()).limit(most)
        if user is not None:
            query = query.where(events.c.user == user)
        if sentence is not None:
            query = query.where(events.c.sentence == sentence)
        with self.database.reading() as db:
            return [_told(row) for row in db.execute(query)]

    def comments(
        self, sentences: Sequence[int], user: str | None = None
    ) -> dict[int, list[dict[str, str]]]:
        """What reviewers (or one of them) said about sentences, oldest first."""
        said = sa.select(events.c.sentence, events.c.user, events.c.at, events.c.comment)
        said = said.where(events.c.comment != "").order_by(events.c.id)
        if user is not None:
            said = said.where(events.c.user == user)
        out: dict[int, list[dict[str, str]]] = {}
        with self.database.reading() as db:
            for at in range(0, len(sentences), CHUNK):
                chosen = events.c.sentence.in_(list(sentences[at : at + CHUNK]))
                for row in db.execute(said.where(chosen)):
                    one = {"user": row.user, "at": row.at, "text": row.comment}
                    out.setdefault(int(row.sentence), []).append(one)
        return out

    def audit(self) -> Iterator[dict[str, Any]]:
        """Every event, oldest first."""
        last = 0
        while True:
            query = sa.select(events).where(events.c.id > last).order_by(events.c.id).limit(1000)
            with self.database.reading() as db:
                rows = db.execute(query).all()
            yield from map(_told, rows)
            if not rows:
                return
            last = rows[-1].id

    def counts(self) -> dict[str, int]:
        """Events so far and the number of the newest; decided batches, and sentences by status."""
        live = live_batches()
        with self.database.reading() as db:
            last = db.scalar(sa.select(sa.func.max(events.c.id))) or 0
            batches = db.scalar(sa.select(sa.func.count()).select_from(live.subquery())) or 0
            by_status = db.execute(
                sa.select(states.c.status, sa.func.count()).group_by(states.c.status)
            )
            return {"last": int(last), "decisions": int(batches)} | {
                str(status): int(n) for status, n in by_status
            }

    def past(self) -> Found:
        """Errors foreseen and found in all decisions that stand."""
        sums = (sa.func.sum(events.c[name]) for name in Found._fields)
        query = sa.select(*sums).where(events.c.batch.in_(live_batches()))
        with self.database.reading() as db:
            row = db.execute(query).one()
        return Found(float(row[0] or 0), int(row[1] or 0), int(row[2] or 0))

    def add_round(self, event: int, facts: Mapping[str, Any]) -> int:
        """Note that the labels learnt from everything up to an event."""
        with self.database.writing() as db:
            row = {"at": now(), "event": event, "facts": json.dumps(facts)}
            made = db.execute(sa.insert(rounds).values(row).returning(rounds.c.id))
            return int(made.scalar_one())

    def rounds(self) -> list[dict[str, Any]]:
        """The rounds, oldest first."""
        with self.database.reading() as db:
            rows = db.execute(sa.select(rounds).order_by(rounds.c.id)).all()
        return [{"round": r.id, "at": r.at, "event": r.event, **json.loads(r.facts)} for r in rows]


def live_batches() -> Any:
    """Batches of decisions that stand."""
    return sa.select(events.c.batch).where(events.c.kind == "decide", stands()).distinct()


def stands() -> Any:
    """Whether an event was not taken back."""
    taken_back = sa.select(events.c.undoes).where(events.c.undoes.is_not(None))
    return events.c.batch.not_in(taken_back)


def _told(row: Any) -> dict[str, Any]:
    found = dict(row._mapping)
    said = None if row.said is None else json.loads(row.said)
    return found | {"before": json.loads(row.before), "after": json.loads(row.after), "said": said}
