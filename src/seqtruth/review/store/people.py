"""Users with hashed passwords and roles, and their sessions."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import NamedTuple

import sqlalchemy as sa

from seqtruth.errors import ParameterError
from seqtruth.review.store.database import Database
from seqtruth.review.store.log import now
from seqtruth.review.store.schema import sessions, users

ROLES = ("reviewer", "lead")
#: Days for which a browser stays signed in.
DAYS = 14
#: Work factors of scrypt: 16 MiB and some 50 ms a guess.
_N, _R, _P = 2**14, 8, 1
SHORTEST = 8


class Person(NamedTuple):
    """Somebody who is signed in; ``csrf`` must come back with whatever changes something."""

    name: str
    role: str
    csrf: str = ""


class People:
    """The users of a desk.

    Parameters
    ----------
    database : where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, name: str, password: str, role: str = "reviewer") -> None:
        """Add a user, or give one a new password and role."""
        if not name.strip() or len(name) > 100 or not name.isprintable():
            raise ParameterError("a user's name has 1 to 100 printable characters", got=repr(name))
        if role not in ROLES:
            raise ParameterError(f"a role is one of {', '.join(ROLES)}", got=repr(role))
        if len(password) < SHORTEST:
            raise ParameterError(
                f"a password has at least {SHORTEST} characters", got=str(len(password))
            )
        row = {"role": role, "password": hashed(password), "made": now()}
        with self.database.writing() as db:
            if db.execute(sa.update(users).where(users.c.name == name).values(row)).rowcount == 0:
                db.execute(sa.insert(users).values(name=name, **row))
            db.execute(sa.delete(sessions).where(sessions.c.user == name))

    def everybody(self) -> dict[str, str]:
        """Names and roles."""
        with self.database.reading() as db:
            rows = db.execute(sa.select(users.c.name, users.c.role).order_by(users.c.name))
            return {str(row.name): str(row.role) for row in rows}

    def sign_in(self, name: str, password: str) -> str | None:
        """A new session's cookie, or None for a wrong name or password (which take the same time)."""
        with self.database.reading() as db:
            kept = db.scalar(sa.select(users.c.password).where(users.c.name == name))
        right = matches(password, kept or _NOBODY)
        return self.open_session(name) if right and kept else None

    def open_session(self, name: str) -> str:
        """A session for a user: the cookie."""
        cookie = secrets.token_urlsafe(32)
        row = {
            "digest": _digest(cookie), "user": name, "csrf": secrets.token_urlsafe(24),
            "until": time.time() + DAYS * 86400,
        }  # fmt: skip
        with self.database.writing() as db:
            db.execute(sa.delete(sessions).where(sessions.c.until < time.time()))
            db.execute(sa.insert(sessions).values(row))
        return cookie

    def who(self, cookie: str) -> Person | None:
        """Whose session it is; the role is empty where there is no such user (any more)."""
        both = sessions.outerjoin(users, users.c.name == sessions.c.user)
        query = sa.select(sessions.c.user, users.c.role, sessions.c.csrf).select_from(both)
        mine = (sessions.c.digest == _digest(cookie)) & (sessions.c.until >= time.time())
        with self.database.reading() as db:
            row = db.execute(query.where(mine)).first()
        return None if row is None else Person(str(row.user), row.role or "", str(row.csrf))

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        with self.database.writing() as db:
            db.execute(sa.delete(sessions).where(sessions.c.digest == _digest(cookie)))


def hashed(password: str) -> str:
    """A password as it is kept: scrypt with its own salt.

    >>> matches("correct horse", hashed("correct horse")), matches("wrong", hashed("correct horse"))
    (True, False)
    """
    salt = secrets.token_bytes(16)
    return f"scrypt${_N}${_R}${_P}${salt.hex()}${_scrypt(password, salt, _N, _R, _P).hex()}"


def matches(password: str, kept: str) -> bool:
    """Whether a password is the one kept, in constant time."""
    _, n, r, p, salt, wanted = kept.split("$")
    found = _scrypt(password, bytes.fromhex(salt), int(n), int(r), int(p))
    return hmac.compare_digest(found, bytes.fromhex(wanted))


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    text = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(text, salt=salt, n=n, r=r, p=p, maxmem=64 << 20, dklen=32)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()


_NOBODY = hashed("nobody has this password")
