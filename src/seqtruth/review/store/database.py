"""Opening the database, and bringing it to the newest schema."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, MissingExtraError

try:
    import alembic.command
    import alembic.config
    import sqlalchemy as sa
    from alembic.util import CommandError
    from sqlalchemy import event
except ImportError as error:  # pragma: no cover - the extra is there or it is not
    raise MissingExtraError(error.name or "sqlalchemy", "review", "the review desk") from error

MIGRATIONS = Path(__file__).parents[1] / "migrations"
#: Seconds to wait for another writer of the same SQLite file.
PATIENCE = 30


class Database:
    """A database at the newest schema, with one way to read and one way to write.

    Parameters
    ----------
    url : ``sqlite:///FILE`` or ``postgresql://…``.
    """

    def __init__(self, url: str) -> None:
        self.url = sa.engine.make_url(url)
        if self.url.drivername in ("postgresql", "postgres"):
            self.url = self.url.set(drivername="postgresql+psycopg")
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        try:
            self.engine = sa.create_engine(self.url, **self._settings())
        except ModuleNotFoundError as error:
            raise MissingExtraError(error.name or "psycopg", "postgres", "PostgreSQL") from error
        if self.is_sqlite:
            event.listen(self.engine, "connect", _sqlite_connection)
            event.listen(self.engine, "begin", _sqlite_begin)
        # one writer at a time is SQLite's rule; waiting here costs less than its busy loop
        self._turn: Any = threading.Lock() if self.is_sqlite else nullcontext()
        try:
            self._migrate()
        except sa.exc.OperationalError as error:
            raise InputError(
                "cannot open the database", where=self.url.render_as_string(), got=str(error.orig)
            ) from error
        except sa.exc.DatabaseError as error:
            raise InputError(
                "not a database of ours", where=self.url.render_as_string(), got=str(error.orig)
            ) from error

    def _settings(self) -> dict[str, Any]:
        if self.is_sqlite:
            return {
                "connect_args": {"timeout": PATIENCE, "check_same_thread": False},
                "pool_size": 20,
            }
        return {"pool_size": 20, "max_overflow": 20, "pool_pre_ping": True}

    def _migrate(self) -> None:
        settings = alembic.config.Config()
        settings.set_main_option("script_location", str(MIGRATIONS))
        with self._turn, self.engine.begin() as connection:
            if not self.is_sqlite:  # two servers that start at once take turns
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7361)"))
            settings.attributes["connection"] = connection
            try:
                alembic.command.upgrade(settings, "head")
            except CommandError as error:
                raise InputError(
                    "the database is newer than this program", where=self.url.render_as_string(),
                    got=str(error), fix="upgrade seqtruth",
                ) from error  # fmt: skip

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that sees one state of things."""
        with self.engine.connect().execution_options(reading=True) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction: all that is written, or nothing, and on the disk when the block ends."""
        with self._turn, self.engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


def _sqlite_connection(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _sqlite_begin(connection: sa.Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
