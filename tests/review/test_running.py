"""The server as a process: killed, asked anything, learning, and as the command line starts it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import seqtruth as st
from review.conftest import small_crowd
from review.kills import kill_and_count
from review.running import running
from seqtruth.cli import main
from seqtruth.errors import InputError, ParameterError
from seqtruth.result import Result
from seqtruth.review.app import make_app
from seqtruth.review.background import Learner
from seqtruth.review.desk import Desk
from seqtruth.review.doors import Doors
from seqtruth.review.replay import Replay, prepared
from seqtruth.review.server import Address, known_labels, open_desk, serve
from seqtruth.review.store.people import People
from seqtruth.review.store.schema import users


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    target = tmp_path / "result.seqtruth"
    st.aggregate(small_crowd(), "mv").save(target, crowd=True)
    return target


@pytest.mark.slow
def test_kill_9_loses_nothing_that_was_confirmed() -> None:
    found = kill_and_count(20)
    assert found.confirmed >= 20
    assert found.lost == 0


@pytest.mark.slow
def test_the_api_never_answers_500(desk: Desk) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings

    app = make_app(desk, Doors(People(desk.store.database), "token-for-tests"), ["*"])
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    seen: dict[int, int] = {}

    for operation in schema.get_all_operations():
        strategy = operation.ok().as_strategy()

        @settings(
            max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None
        )
        @given(one=strategy)
        def each(one: Any) -> None:
            one.headers = {**(one.headers or {}), "authorization": "Bearer token-for-tests"}
            answer = one.call()
            with desk.store.database.writing() as db:  # with users the token opens nothing any more
                db.execute(users.delete())
            seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
            assert answer.status_code < 500, (one.method, one.path, answer.text)

        each()
    assert seen.get(200, 0) > 50


def test_learning_beside_the_server(tmp_path: Path) -> None:
    target = tmp_path / "result.seqtruth"
    st.aggregate(small_crowd(), "ds", max_iter=20).save(target, crowd=True)
    opened = open_desk(target)
    learner = Learner(opened, every=1)
    spans = [[0, 1, "ORG"], [2, 4, "PER"]]
    opened.desk.decide("ann", "batch-01", "s-0", [{"sentence": 0, "version": 0, "spans": spans}])
    learner.decided()
    learner.wait()
    status = learner.status()
    assert status["error"] is None and not status["running"]
    rounds = opened.desk.store.rounds()
    assert [one["decisions"] for one in rounds] == [1]
    assert opened.desk.snapshot.number == 1
    labels = opened.desk.labels().labels[0]
    assert labels == ["B-ORG", "O", "B-PER", "I-PER"]
    again = open_desk(target)
    assert again.desk.snapshot.number == 1 and again.desk.labels().labels[0] == labels
    learner.ask(refit=True)
    learner.wait()
    assert [one["how"] for one in opened.desk.store.rounds()] == ["update", "refit"]
    assert set(opened.desk.store.rounds()[0]["trial"]) == {"better", "worse", "how", "helps"}


def test_learning_that_fails_says_so(saved: Path) -> None:
    opened = open_desk(saved)
    learner = Learner(opened, every=0, refit_every=0)
    learner.decided()  # never by itself
    assert not learner.status()["running"]
    learner.source = saved.with_name("gone")
    learner.ask()
    learner.wait()
    assert "Learning failed" in str(learner.status()["error"])


def test_decisions_are_known_to_another_run(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = open_desk(saved)
    item = {"sentence": 1, "version": 0, "spans": [[0, 1, "PER"]]}
    opened.desk.decide("ann", "batch-01", "s-1", [item])
    known = known_labels(opened.folder)
    assert known.labelled.tolist() == [False, True, False, False]
    crowd = saved.with_name("crowd.jsonl")
    st.write(small_crowd(), crowd)
    target = saved.with_name("truth.conll")
    assert (
        main(
            ["aggregate", str(crowd), "-m", "mv", "--known", str(opened.folder), "-o", str(target)]
        )
        == 0
    )
    assert "York\tB-PER" in target.read_text()
    with pytest.raises(InputError, match="no desk here"):
        known_labels(saved.parent)


def test_an_export_is_aggregated_first(tmp_path: Path) -> None:
    st.write(small_crowd(), tmp_path / "export.jsonl")
    opened = open_desk(tmp_path / "export.jsonl", method="mv")
    assert (opened.folder / "result.seqtruth").is_file() and opened.folder.name == "export.review"
    assert opened.desk.next("ann", _anything()) is not None


def test_an_export_is_aggregated_as_before_unless_something_else_is_asked_for(
    tmp_path: Path,
) -> None:
    st.write(small_crowd(), tmp_path / "export.jsonl")
    first = open_desk(tmp_path / "export.jsonl", method="mv", reading={"scheme": "iob2"})
    assert open_desk(tmp_path / "export.jsonl").desk.result.provenance["method"] == "mv"
    made = first.source.stat().st_mtime_ns
    assert open_desk(tmp_path / "export.jsonl", method="mv").source.stat().st_mtime_ns == made
    other = open_desk(tmp_path / "export.jsonl", method="ds").desk.result.provenance
    assert other["method"] == "ds" and other["opened"]["reading"] == {"scheme": "iob2"}


def test_a_result_made_anew_takes_the_place_of_what_was_learnt(tmp_path: Path) -> None:
    target = tmp_path / "result.seqtruth"
    st.aggregate(small_crowd(), "ds", max_iter=20).save(target, crowd=True)
    opened = open_desk(target)
    item = {"sentence": 0, "version": 0, "spans": []}
    opened.desk.decide("ann", "batch-01", "s-0", [item])
    learner = Learner(opened, every=1)
    learner.decided()
    learner.wait()
    assert open_desk(target).desk.result.provenance["method"] == "ds"
    st.aggregate(small_crowd(), "mv").save(target, crowd=True)
    again = open_desk(target).desk
    assert again.result.provenance["method"] == "mv" and again.decided().keys() == {0}


def test_a_desk_keeps_its_files_where_it_is_told(saved: Path, tmp_path: Path) -> None:
    (saved.with_name("result.review")).write_text("in the way")
    with pytest.raises(InputError, match="cannot make the desk's folder"):
        open_desk(saved)
    opened = open_desk(saved, folder=tmp_path / "elsewhere")
    item = {"sentence": 1, "version": 0, "spans": [[0, 1, "PER"]]}
    opened.desk.decide("ann", "batch-01", "s-1", [item])
    assert known_labels(tmp_path / "elsewhere").labelled.sum() == 1


def test_an_export_of_a_tool_is_read_as_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = {"text": "Ann ran. Bob sat.", "label": [[0, 3, "PER"]]}
    for name in ("ann", "bob"):
        (tmp_path / "export").mkdir(exist_ok=True)
        (tmp_path / "export" / f"{name}.jsonl").write_text(json.dumps(marks) + "\n")
    arguments = ["review", str(tmp_path / "export"), "-m", "mv", "--split", "none", "--quiet"]
    monkeypatch.setattr("sys.stdin", io.StringIO("a long password\n"))
    assert main([*arguments, "--from", "doccano", "--add-user", "ann"]) == 0
    assert Result.load(tmp_path / "export.review" / "result.seqtruth").corpus.n_sentences == 1


def _anything() -> Any:
    from seqtruth.review.wanted import Wanted

    return Wanted()


def test_others_may_only_come_where_there_are_users(saved: Path) -> None:
    with pytest.raises(ParameterError, match="needs users"):
        serve(open_desk(saved), Address("0.0.0.0", 0))


def test_the_command_line_serves_and_adds_users(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(saved) as server, server.client() as client:
        assert client.get("/api/project").json()["user"] == "reviewer"
        assert client.get("/api/project", headers={"host": "evil.example"}).status_code == 400
    monkeypatch.setattr("sys.stdin", io.StringIO("a long password\n"))
    assert main(["review", str(saved), "--add-user", "ann", "--role", "lead"]) == 0
    assert open_desk(saved).people.everybody() == {"ann": "lead"}
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert main(["review", str(saved), "--add-user", "bob"]) == 2


def test_a_replay_reaches_the_gold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = st.datasets.load("demo")
    result = st.aggregate(data.crowd, "mv")
    gold, chosen = prepared(result, data.gold)
    curves = {}
    for strategy in ("ours", "sentences", "worst", "random"):
        replay = Replay(result, data.crowd, gold, chosen, strategy, every=0)
        curves[strategy] = [point.f1 for point in replay.run(60, 20)]
    assert curves["ours"][-1] > curves["random"][-1] + 2
    assert all(curve == sorted(curve) for curve in curves.values())
    everything = Replay(result, data.crowd, gold, chosen, "random", every=0)
    assert list(everything.run(600, 600))[-1].f1 == 100.0
    result.save(tmp_path / "r.seqtruth", crowd=True)
    st.write(data.gold, tmp_path / "gold.conll")
    command = ["review", str(tmp_path / "r.seqtruth"), "--replay", str(tmp_path / "gold.conll")]
    assert main([*command, "-n", "5", "--every", "5", "--strategies", "ours", "--json"]) == 0
    assert '"decisions": 5' in capsys.readouterr().out
    assert main([*command, "--strategies", "best"]) == 2
