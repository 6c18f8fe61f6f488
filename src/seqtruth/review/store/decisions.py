"""Decisions: written whole in one transaction, never overwritten, undone by new events.

Every sentence has a version. A decision names the versions it was made on; where one of them has moved on,
nothing is written and the reviewer is told. The name of a batch is the reviewer's own: sent twice (an answer
got lost), it is written once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from seqtruth.errors import InputError, SeqTruthError
from seqtruth.review.marks import Marks
from seqtruth.review.outlook import Found
from seqtruth.review.store import double
from seqtruth.review.store.database import Database
from seqtruth.review.store.log import CHUNK, Log, now, stands
from seqtruth.review.store.schema import events, leases, project, skips, states

#: Seconds for which a sentence is kept for the reviewer who is looking at it.
LEASE = 300.0


class ConflictError(SeqTruthError):
    """Somebody else decided, or is deciding, meanwhile."""


class State(NamedTuple):
    """What is decided about a sentence. ``status``: open, settled, once (by one of two) or disputed."""

    version: int = 0
    marks: Marks = Marks()
    status: str = "open"


class Decision(NamedTuple):
    """What a reviewer decided about a sentence, made on its ``version``.

    ``past``: the errors that were foreseen there, and those found.
    """

    sentence: int
    version: int
    marks: Marks
    past: Found = Found()


class Written(NamedTuple):
    """What a batch did: its name, and the new state of each sentence. ``again``: it was there already."""

    batch: str
    states: dict[int, State]
    again: bool = False


class Store(Log):
    """The decisions of one desk.

    Parameters
    ----------
    database : where they are.
    corpus, name : digest of what is reviewed, and what it is called; checked against the database, or
        written into a new one.
    double : whether every sentence takes two reviewers; for a new database.
    """

    def __init__(
        self, database: Database, corpus: str, name: str = "", double: bool = False
    ) -> None:
        super().__init__(database)
        with database.writing() as db:
            row = db.execute(sa.select(project)).first()
            if row is None:
                made = {"id": 1, "name": name, "corpus": corpus, "double": double, "made": now()}
                db.execute(sa.insert(project).values(made))
                row = db.execute(sa.select(project)).one()
        if row.corpus != corpus:
            raise InputError(
                "this database holds decisions about other sentences",
                where=database.url.render_as_string(), got=f"decisions about {row.name!r}",
                fix="name another database, or review what it was made for",
            )  # fmt: skip
        self.name, self.double = str(row.name), bool(row.double)

    def states(self, sentences: Sequence[int] | None = None) -> dict[int, State]:
        """What is decided, about all sentences or some."""
        with self.database.reading() as db:
            return _states(db, sentences)

    def decide(
        self, user: str, batch: str, question: str, decisions: Sequence[Decision],
        comment: str = "", final: bool = False,
    ) -> Written:  # fmt: skip
        """Write decisions, all or none.

        Parameters
        ----------
        user, batch, question : who, the batch's own name, and what was asked.
        decisions : at most one a sentence.
        comment : kept with each.
        final : where two reviewers are asked, settle it without a second one.
        """
        with self.database.writing() as db:
            if (done := _batch(db, batch)) is not None:
                return done
            here = [one.sentence for one in decisions]
            _check_leases(db, user, here)
            before = _states(db, here)
            rows, after = [], {}
            for one in decisions:
                old = before.get(one.sentence, State())
                if old.version != one.version:
                    raise ConflictError(
                        "somebody decided this meanwhile", where=f"sentence {one.sentence}",
                        got=f"version {one.version}; it is {old.version} now",
                    )  # fmt: skip
                marks, status = old.marks.with_(one.marks), "settled"
                if self.double and not final:
                    marks, status = double.heard(db, one.sentence, user, one.marks)
                new = State(old.version + 1, marks, status)
                after[one.sentence] = new
                row = _event(user, batch, "decide", question, one.sentence, old, new, comment)
                said = json.dumps(one.marks.to_dict())
                rows.append(row | one.past._asdict() | {"said": said})
            _write(db, before, after)
            db.execute(sa.insert(events), rows)
            db.execute(sa.delete(leases).where(leases.c.sentence.in_(here), leases.c.user == user))
        return Written(batch, after)

    def undo(self, user: str, batch: str, undoes: str | None = None) -> Written:
        """Take back a batch of this user (the last one not taken back yet) by new events.

        Parameters
        ----------
        user, batch : who, and the name of the new batch.
        undoes : the batch to take back.
        """
        with self.database.writing() as db:
            if (done := _batch(db, batch)) is not None:
                return done
            target = undoes or _last(db, user)
            if target is None:
                raise ConflictError("there is nothing to undo")
            rows = db.execute(sa.select(events).where(events.c.batch == target)).all()
            if not rows or any(row.user != user for row in rows):
                raise ConflictError("no such batch of yours", got=target)
            if db.execute(sa.select(events.c.id).where(events.c.undoes == target)).first():
                raise ConflictError("it is undone already", got=target)
            if rows[0].kind == "undo":
                raise ConflictError("an undo stands", got=target, fix="decide anew")
            before = _states(db, [row.sentence for row in rows])
            after, written = {}, []
            for row in rows:
                old = before.get(row.sentence, State())
                if row.kind in ("skip", "comment"):
                    db.execute(
                        sa.delete(skips).where(
                            skips.c.sentence == row.sentence, skips.c.user == user
                        )
                    )
                    new = old
                else:
                    if _decided_since(db, row) or _kept(old) != row.after:
                        raise ConflictError(
                            "somebody decided this since", where=f"sentence {row.sentence}",
                            fix="open the sentence and decide anew",
                        )  # fmt: skip
                    back = _read(row.before)
                    if self.double:
                        double.recall(db, row.sentence, user, _said_before(db, row))
                    new = State(old.version + 1, back.marks, back.status)
                    after[row.sentence] = new
                entry = _event(user, batch, "undo", row.question, row.sentence, old, new)
                written.append(entry | {"undoes": target})
            _write(db, before, after)
            db.execute(sa.insert(events), written)
        return Written(batch, after)

    def skip(
        self, user: str, batch: str, question: str, sentences: Sequence[int], comment: str = ""
    ) -> Written:
        """Note that the user passed these sentences over; the queue shows them to others only."""
        return self._aside(user, batch, "skip", question, sentences, comment)

    def comment(
        self, user: str, batch: str, question: str, sentences: Sequence[int], comment: str
    ) -> Written:
        """Note what the user said about these sentences."""
        return self._aside(user, batch, "comment", question, sentences, comment)

    def _aside(
        self,
        user: str,
        batch: str,
        kind: str,
        question: str,
        sentences: Sequence[int],
        comment: str,
    ) -> Written:
        with self.database.writing() as db:
            if (done := _batch(db, batch)) is not None:
                return done
            before = _states(db, sentences)
            old = [(s, before.get(s, State())) for s in sentences]
            db.execute(
                sa.insert(events),
                [_event(user, batch, kind, question, s, one, one, comment) for s, one in old],
            )
            if kind == "skip":
                mine = sa.and_(skips.c.user == user, skips.c.sentence.in_(list(sentences)))
                db.execute(sa.delete(skips).where(mine))
                db.execute(sa.insert(skips), [{"sentence": s, "user": user} for s in sentences])
            held = sa.and_(leases.c.user == user, leases.c.sentence.in_(list(sentences)))
            db.execute(sa.delete(leases).where(held))
        return Written(batch, {})

    def skipped(self, user: str) -> set[int]:
        """Sentences this user passed over."""
        with self.database.reading() as db:
            return set(db.scalars(sa.select(skips.c.sentence).where(skips.c.user == user)))

    def ask_again(self, user: str) -> int:
        """Forget what this user passed over, so that it is asked again; how many sentences."""
        with self.database.writing() as db:
            return int(db.execute(sa.delete(skips).where(skips.c.user == user)).rowcount)

    def lease(self, user: str, question: str, sentences: Sequence[int]) -> bool:
        """Keep sentences for a user, instead of those kept before; False where another user has one."""
        moment = time.time()
        with self.database.writing() as db:
            db.execute(sa.delete(leases).where((leases.c.until < moment) | (leases.c.user == user)))
            if _held(db, user, sentences, moment):
                return False
            rows = [
                {"sentence": s, "user": user, "question": question, "until": moment + LEASE}
                for s in sentences
            ]
            if rows:
                try:
                    with db.begin_nested():
                        db.execute(sa.insert(leases), rows)
                except sa.exc.IntegrityError:  # another server was faster
                    return False
        return True

    def release(self, user: str) -> None:
        """Give back what is kept for a user."""
        with self.database.writing() as db:
            db.execute(sa.delete(leases).where(leases.c.user == user))

    def held(self) -> dict[int, str]:
        """Who is working on which sentence now."""
        query = sa.select(leases.c.sentence, leases.c.user).where(leases.c.until >= time.time())
        with self.database.reading() as db:
            return {int(row.sentence): str(row.user) for row in db.execute(query)}


def _states(db: sa.Connection, sentences: Sequence[int] | None = None) -> dict[int, State]:
    if sentences is None:
        rows: Iterable[Any] = db.execute(sa.select(states)).all()
    else:
        wanted = list(sentences)
        rows = [
            row
            for at in range(0, len(wanted), CHUNK)
            for row in db.execute(
                sa.select(states).where(states.c.sentence.in_(wanted[at : at + CHUNK]))
            )
        ]
    return {
        int(row.sentence): State(row.version, Marks.from_dict(json.loads(row.marks)), row.status)
        for row in rows
    }


def _write(db: sa.Connection, before: Mapping[int, State], after: Mapping[int, State]) -> None:
    """New states, each only where the old version is still there."""
    try:
        for sentence, new in after.items():
            row = {
                "version": new.version,
                "marks": json.dumps(new.marks.to_dict()),
                "status": new.status,
            }
            if sentence not in before:
                db.execute(sa.insert(states).values(sentence=sentence, **row))
                continue
            same = (states.c.sentence == sentence) & (states.c.version == before[sentence].version)
            if db.execute(sa.update(states).where(same).values(row)).rowcount != 1:
                raise ConflictError("somebody decided this meanwhile", where=f"sentence {sentence}")
    except sa.exc.IntegrityError as error:
        raise ConflictError("somebody decided this meanwhile") from error


def _batch(db: sa.Connection, batch: str) -> Written | None:
    """What a batch of this name did, where it is written already."""
    rows = db.execute(sa.select(events).where(events.c.batch == batch)).all()
    if not rows:
        return None
    changed = {
        r.sentence: State(r.version, *_read(r.after)[1:]) for r in rows if r.after != r.before
    }
    return Written(batch, changed, again=True)


def _decided_since(db: sa.Connection, row: Any) -> bool:
    """Whether a later decision about the same sentence stands."""
    later = (events.c.sentence == row.sentence) & (events.c.id > row.id)
    query = sa.select(events.c.id).where(later, events.c.kind == "decide", stands())
    return db.execute(query).first() is not None


def _said_before(db: sa.Connection, row: Any) -> list[Marks]:
    """What the user of a decision had said about its sentence before, oldest first."""
    mine = (
        (events.c.sentence == row.sentence) & (events.c.user == row.user) & (events.c.id < row.id)
    )
    query = sa.select(events.c.said).where(mine, events.c.said.is_not(None), stands())
    rows = db.scalars(query.order_by(events.c.id))
    return [Marks.from_dict(json.loads(said)) for said in rows]


def _last(db: sa.Connection, user: str) -> str | None:
    """The user's newest batch that stands."""
    query = (
        sa.select(events.c.batch)
        .where(events.c.user == user, events.c.kind.in_(("decide", "skip")), stands())
        .order_by(events.c.id.desc())
        .limit(1)
    )
    found = db.scalar(query)
    return None if found is None else str(found)


def _held(db: sa.Connection, user: str, sentences: Sequence[int], moment: float) -> Any:
    wanted = list(sentences)
    query = sa.select(leases.c.sentence, leases.c.user).where(
        leases.c.user != user, leases.c.until >= moment
    )
    for at in range(0, len(wanted), CHUNK):
        hit = db.execute(query.where(leases.c.sentence.in_(wanted[at : at + CHUNK]))).first()
        if hit is not None:
            return hit
    return None


def _check_leases(db: sa.Connection, user: str, sentences: Sequence[int]) -> None:
    hit = _held(db, user, sentences, time.time())
    if hit is not None:
        raise ConflictError(
            "somebody else is working on this", where=f"sentence {hit.sentence}", got=hit.user
        )


def _event(
    user: str, batch: str, kind: str, question: str, sentence: int, old: State, new: State, comment: str = ""
) -> dict[str, Any]:  # fmt: skip
    return {
        "at": now(), "user": user, "batch": batch, "kind": kind, "question": question,
        "sentence": sentence, "version": new.version, "before": _kept(old), "after": _kept(new),
        "comment": comment, "undoes": None, "said": None,
        **Found()._asdict(),
    }  # fmt: skip


def _kept(state: State) -> str:
    return json.dumps({**state.marks.to_dict(), "status": state.status})


def _read(text: str) -> State:
    found = json.loads(text)
    return State(0, Marks.from_dict(found), found["status"])
