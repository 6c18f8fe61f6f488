"""Decisions on SQLite and on PostgreSQL: whole, versioned, undone by new events."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from seqtruth.errors import InputError, ParameterError
from seqtruth.review.marks import Marks
from seqtruth.review.store import double
from seqtruth.review.store.database import Database
from seqtruth.review.store.decisions import ConflictError, Decision, Store
from seqtruth.review.store.people import People, hashed, matches
from seqtruth.review.store.schema import metadata

LOC = Marks(((0, 4),), ((0, 1, "LOC"),))
ORG = Marks(((0, 4),), ((0, 1, "ORG"),))


def decide(store: Store, batch: str, version: int, marks: Marks = LOC, user: str = "ann") -> None:
    store.decide(user, batch, "s-0", [Decision(0, version, marks)])


def test_the_migrations_make_the_schema(store: Store) -> None:
    found = sa.inspect(store.database.engine)
    for table in metadata.sorted_tables:
        columns = {one["name"] for one in found.get_columns(table.name)}
        assert columns == {one.name for one in table.columns}


def test_opening_again_keeps_everything(store: Store) -> None:
    decide(store, "batch-01", 0)
    with store.database.reading() as db:
        corpus = db.scalar(sa.text("SELECT corpus FROM project"))
    again = Store(Database(store.database.url.render_as_string(False)), str(corpus))
    assert again.states()[0].marks == LOC
    assert again.name == "small"


def test_another_corpus_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="decisions about other sentences"):
        Store(store.database, "0" * 64)


def test_a_stale_version_is_refused_and_nothing_is_written(store: Store) -> None:
    decide(store, "batch-01", 0)
    with pytest.raises(ConflictError, match="somebody decided this meanwhile"):
        store.decide("bob", "batch-02", "s-0", [Decision(1, 0, LOC), Decision(0, 0, ORG)])
    assert set(store.states()) == {0}
    assert len(list(store.audit())) == 1


def test_a_batch_sent_twice_is_written_once(store: Store) -> None:
    decide(store, "batch-01", 0)
    again = store.decide("ann", "batch-01", "s-0", [Decision(0, 0, LOC)])
    assert again.again
    assert again.states[0].version == 1
    assert len(list(store.audit())) == 1


def test_undo_any_number_of_steps_by_new_events(store: Store) -> None:
    decide(store, "batch-01", 0, LOC)
    decide(store, "batch-02", 1, ORG)
    store.undo("ann", "undo-0001")
    assert store.states()[0].marks == LOC
    store.undo("ann", "undo-0002")
    assert store.states()[0].marks.empty
    assert store.counts()["decisions"] == 0
    with pytest.raises(ConflictError, match="nothing to undo"):
        store.undo("ann", "undo-0003")
    assert [one["kind"] for one in store.audit()] == ["decide", "decide", "undo", "undo"]
    assert [one["undoes"] for one in store.audit()] == [None, None, "batch-02", "batch-01"]


def test_an_undo_stands(store: Store) -> None:
    decide(store, "batch-01", 0, LOC)
    store.undo("ann", "undo-0001")
    with pytest.raises(ConflictError, match="an undo stands"):
        store.undo("ann", "redo-0001", "undo-0001")
    with pytest.raises(ConflictError, match="undone already"):
        store.undo("ann", "undo-0002", "batch-01")
    decide(store, "batch-02", 2, ORG)
    assert store.states()[0].marks == ORG


def test_what_somebody_else_decided_since_is_not_undone(store: Store) -> None:
    decide(store, "batch-01", 0, LOC)
    decide(store, "batch-02", 1, ORG, "bob")
    with pytest.raises(ConflictError, match="somebody decided this since"):
        store.undo("ann", "undo-0001")
    with pytest.raises(ConflictError, match="no such batch of yours"):
        store.undo("ann", "undo-0002", "batch-02")
    assert store.states()[0].marks == ORG


def test_leases_keep_two_reviewers_apart(store: Store) -> None:
    assert store.lease("ann", "s-0", [0, 1])
    assert not store.lease("bob", "s-1", [1, 2])
    assert store.held() == {0: "ann", 1: "ann"}
    with pytest.raises(ConflictError, match="working on this"):
        decide(store, "batch-01", 0, LOC, "bob")
    assert store.lease("ann", "s-3", [3])  # a new lease takes the place of the old one
    assert store.lease("bob", "s-1", [1, 2])
    store.release("bob")
    assert store.held() == {3: "ann"}


def test_skips_and_comments_are_kept_and_undone(store: Store) -> None:
    store.comment("ann", "batch-01", "s-0", [0], "odd")
    store.skip("ann", "batch-02", "s-0", [0, 2])
    assert store.skipped("ann") == {0, 2}
    assert not store.skipped("bob")
    store.undo("ann", "undo-0001")
    assert not store.skipped("ann")
    assert [one["comment"] for one in store.audit()] == ["odd", "", "", "", ""]


def test_of_many_at_once_one_wins_each_version(store: Store) -> None:
    won: list[int] = []

    def work(number: int) -> None:
        try:
            decide(store, f"batch-{number:02}", 0, LOC, f"user{number}")
            won.append(number)
        except ConflictError:
            pass

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(won) == 1
    assert store.states()[0].version == 1
    assert [one["user"] for one in store.audit()] == [f"user{won[0]}"]


def test_two_reviewers_settle_what_they_agree_on(url: str) -> None:
    store = Store(Database(url), "c" * 64, double=True)
    decide(store, "batch-01", 0, LOC, "ann")
    assert store.states()[0].status == "once"
    assert store.states()[0].marks.empty
    decide(store, "batch-02", 1, LOC, "bob")
    assert store.states()[0].status == "settled"
    assert store.states()[0].marks == LOC
    store.decide("ann", "batch-03", "s-1", [Decision(1, 0, LOC)])
    store.decide("bob", "batch-04", "s-1", [Decision(1, 1, ORG)])
    assert store.states()[1].status == "disputed"
    assert store.states()[1].marks == Marks(((1, 4),), ())
    with store.database.reading() as db:
        agreed = double.agreement(double.all_opinions(db))
    assert agreed == {"sentences": 2, "alike": 0.5, "span_f1": 0.5}
    store.decide("lea", "batch-05", "s-1", [Decision(1, 2, ORG)], final=True)
    assert store.states()[1].marks == ORG


def test_undoing_one_of_two_opinions_goes_back_to_the_first(url: str) -> None:
    store = Store(Database(url), "c" * 64, double=True)
    part = Marks(((0, 2),), ((0, 1, "LOC"),))
    decide(store, "batch-01", 0, part, "ann")
    decide(store, "batch-02", 1, ORG, "ann")
    store.undo("ann", "undo-0001")
    with store.database.reading() as db:
        assert double.all_opinions(db) == {0: {"ann": part}}
    store.undo("ann", "undo-0002")
    with store.database.reading() as db:
        assert double.all_opinions(db) == {}
    said = [one["said"] for one in store.audit()]  # also where it settled nothing by itself
    assert said == [part.to_dict(), ORG.to_dict(), None, None]


def test_agreement_is_of_what_both_judged() -> None:
    part = Marks(((0, 2),), ((0, 1, "LOC"),))
    found = double.agreement({0: {"ann": LOC, "bob": part}, 1: {"ann": LOC}})
    assert found == {"sentences": 1, "alike": 1.0, "span_f1": 1.0}


def test_a_database_of_the_first_version_is_brought_up_to_date(url: str) -> None:
    import alembic.command
    import alembic.config

    from seqtruth.review.store.database import MIGRATIONS

    made = url.replace("postgresql://", "postgresql+psycopg://")
    settings = alembic.config.Config()
    settings.set_main_option("script_location", str(MIGRATIONS))
    with sa.create_engine(made).begin() as connection:
        settings.attributes["connection"] = connection
        alembic.command.upgrade(settings, "0001")
        nothing = '{"settled": [], "spans": [], "status": "open"}'
        row = {
            "at": "2026",
            "user": "ann",
            "batch": "batch-01",
            "kind": "decide",
            "question": "s-0",
        }
        row |= {"before": nothing, "after": nothing, "comment": "old"}
        names = ", ".join(f'"{name}"' for name in row)
        values = ", ".join(f":{name}" for name in row)
        connection.execute(
            sa.text(
                f"INSERT INTO events ({names}, sentence, version, foreseen, found, asked)"
                f" VALUES ({values}, 0, 1, 0, 0, 0)"
            ),
            row,
        )
    store = Store(Database(url), "c" * 64)
    (event,) = store.audit()
    assert event["comment"] == "old" and event["said"] is None
    decide(store, "batch-02", 0)
    assert list(store.audit())[-1]["said"] == LOC.to_dict()


def test_passwords_are_hashed_and_sessions_end(store: Store) -> None:
    people = People(store.database)
    people.add("ann", "correct horse", "lead")
    assert people.sign_in("ann", "wrong horse!") is None
    assert people.sign_in("bob", "correct horse") is None
    cookie = people.sign_in("ann", "correct horse")
    assert cookie is not None
    found = people.who(cookie)
    assert found is not None and (found.name, found.role) == ("ann", "lead")
    with store.database.reading() as db:
        kept = db.scalar(sa.text("SELECT password FROM users"))
        digests = db.scalar(sa.text("SELECT digest FROM sessions"))
    assert "correct horse" not in str(kept) and cookie != digests
    people.sign_out(cookie)
    assert people.who(cookie) is None
    people.add("ann", "another horse", "reviewer")
    assert people.everybody() == {"ann": "reviewer"}
    assert matches("x" * 9, hashed("x" * 9)) and hashed("x" * 9) != hashed("x" * 9)


@pytest.mark.parametrize(
    ("name", "password", "role"),
    [("", "long enough", "lead"), ("ann", "short", "lead"), ("ann", "long enough", "king")],
)
def test_bad_users_are_refused(tmp_path: Path, name: str, password: str, role: str) -> None:
    people = People(Database(f"sqlite:///{tmp_path / 'x.sqlite'}"))
    with pytest.raises(ParameterError):
        people.add(name, password, role)


def test_a_file_that_is_no_database_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(InputError, match=r"not a database|cannot open"):
        Database(f"sqlite:///{tmp_path / 'x.sqlite'}")


def test_a_newer_database_is_an_input_error(store: Store) -> None:
    with store.database.writing() as db:
        db.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="newer than this program"):
        Database(store.database.url.render_as_string(False))
