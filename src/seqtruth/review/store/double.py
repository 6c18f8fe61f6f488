"""Two reviewers for every sentence: what they agree on is settled, what they differ about is disputed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from seqtruth.review.marks import Marks
from seqtruth.review.store.schema import opinions


def heard(db: sa.Connection, sentence: int, user: str, said: Marks) -> tuple[Marks, str]:
    """Note what a user said, and what follows from what all have said: the marks and their status."""
    here = opinions.c.sentence == sentence
    rows = db.execute(sa.select(opinions).where(here)).all()
    by_user = {row.user: Marks.from_dict(json.loads(row.marks)) for row in rows}
    mine = by_user.get(user, Marks()).with_(said)
    db.execute(sa.delete(opinions).where(here, opinions.c.user == user))
    _keep(db, sentence, user, mine)
    return settled_by({**by_user, user: mine})


def recall(db: sa.Connection, sentence: int, user: str, said: Iterable[Marks]) -> None:
    """Go back to what a user said of a sentence earlier, oldest first; nothing where that was nothing."""
    mine = (opinions.c.sentence == sentence) & (opinions.c.user == user)
    db.execute(sa.delete(opinions).where(mine))
    whole = Marks()
    for one in said:
        whole = whole.with_(one)
    if not whole.empty:
        _keep(db, sentence, user, whole)


def _keep(db: sa.Connection, sentence: int, user: str, said: Marks) -> None:
    row = {"sentence": sentence, "user": user, "marks": json.dumps(said.to_dict())}
    db.execute(sa.insert(opinions).values(row))


def settled_by(said: Mapping[str, Marks]) -> tuple[Marks, str]:
    """What at least two said alike, and whether that is all.

    >>> same = Marks(((0, 3),), ((0, 1, "LOC"),))
    >>> settled_by({"ann": same, "bob": same})[1]
    'settled'
    >>> settled_by({"ann": same, "bob": Marks(((0, 3),), ((0, 1, "ORG"),))})
    (Marks(settled=((1, 3),), spans=()), 'disputed')
    """
    if len(said) < 2:
        return Marks(), "once"
    longest = max((b for marks in said.values() for _, b in marks.settled), default=0)
    columns = [_by_token(marks, longest) for marks in said.values()]
    known: list[Any] = []
    disputed = False
    for answers in zip(*columns, strict=True):
        given = [one for one in answers if one is not None]
        agreed = len(given) >= 2 and len(set(given)) == 1
        disputed |= len(given) >= 2 and not agreed
        known.append(given[0] if agreed else None)
    found = _from_tokens(known)
    return found, "disputed" if disputed else "settled" if found.settled else "once"


def all_opinions(db: sa.Connection, user: str | None = None) -> dict[int, dict[str, Marks]]:
    """Who said what, by sentence; of all, or of one user."""
    out: dict[int, dict[str, Marks]] = {}
    mine = sa.true() if user is None else opinions.c.user == user
    for row in db.execute(sa.select(opinions).where(mine)):
        out.setdefault(row.sentence, {})[row.user] = Marks.from_dict(json.loads(row.marks))
    return out


def opinions_on(db: sa.Connection, sentence: int) -> list[dict[str, Any]]:
    """What the reviewers said about a sentence, those who said the same together."""
    by_marks: dict[Marks, list[str]] = {}
    for row in db.execute(sa.select(opinions).where(opinions.c.sentence == sentence)):
        by_marks.setdefault(Marks.from_dict(json.loads(row.marks)), []).append(row.user)
    return [{"names": sorted(names), **marks.to_dict()} for marks, names in by_marks.items()]


def agreement(said: Mapping[int, Mapping[str, Marks]]) -> dict[str, Any]:
    """How far reviewers agree on what two of them judged: sentences alike, and F1 of their spans."""
    both = alike = shared = total = 0
    for by_user in said.values():
        if len(by_user) < 2:
            continue
        one, two = list(by_user.values())[:2]
        longest = max((b for marks in (one, two) for _, b in marks.settled), default=0)
        columns = zip(_by_token(one, longest), _by_token(two, longest), strict=True)
        judged = [(x, y) for x, y in columns if x is not None and y is not None]
        if not judged:
            continue
        both += 1
        alike += all(x == y for x, y in judged)
        first = {span for span in one.spans if two.covers(*span[:2])}
        second = {span for span in two.spans if one.covers(*span[:2])}
        shared += 2 * len(first & second)
        total += len(first) + len(second)
    return {
        "sentences": both,
        "alike": alike / both if both else None,
        "span_f1": shared / total if total else None,
    }


def _by_token(marks: Marks, n: int) -> list[Any]:
    """For each token the span it is in, ``()`` where it is outside, None where it is not settled."""
    column: list[Any] = [None] * n
    for a, b in marks.settled:
        column[a:b] = [()] * (b - a)
    for span in marks.spans:
        column[span[0] : span[1]] = [span] * (span[1] - span[0])
    return column


def _from_tokens(column: list[Any]) -> Marks:
    spans = {one for one in column if one}
    whole = {s for s in spans if all(column[i] == s for i in range(s[0], s[1]))}
    ranges = [
        (i, i + 1)
        for i, one in enumerate(column)
        if one is not None and (one == () or one in whole)
    ]
    joined = Marks((), ()).with_(Marks(tuple(ranges), ()))
    return Marks(joined.settled, tuple(sorted(whole)))
