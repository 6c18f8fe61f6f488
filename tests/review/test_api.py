"""The JSON API: questions, decisions, doors and files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import seqtruth as st
from seqtruth.io import read, read_gold
from seqtruth.review.app import make_app
from seqtruth.review.desk import Desk
from seqtruth.review.doors import CSRF, LARGEST, Doors
from seqtruth.review.server import digest
from seqtruth.review.store.database import Database
from seqtruth.review.store.decisions import Store
from seqtruth.review.store.people import People
from seqtruth.review.wanted import Wanted

_batches = itertools.count()
TOKEN = "a-token-for-tests"


def batch() -> str:
    return f"batch-{next(_batches):04}"


@pytest.fixture
def doors(desk: Desk) -> Doors:
    return Doors(People(desk.store.database), TOKEN)


@pytest.fixture
def app(desk: Desk, doors: Doors) -> Any:
    return make_app(desk, doors, ["testserver"])


@pytest.fixture
def client(app: Any) -> Iterator[TestClient]:
    with TestClient(app, headers={"authorization": f"Bearer {TOKEN}"}) as found:
        yield found


def answer(question: dict[str, Any], **changes: Any) -> dict[str, Any]:
    items = [
        {"sentence": item["sentence"], "version": item["version"], "spans": item["spans"]}
        for item in question["items"]
    ]
    return {"batch": batch(), "question": question["question"], "items": items, **changes}


def test_a_whole_review(client: TestClient, desk: Desk) -> None:
    asked = 0
    while (question := client.post("/api/next", json={}).json())["question"] is not None:
        assert client.post("/api/decisions", json=answer(question)).status_code == 200
        asked += 1
    assert 0 < asked <= 4
    progress = client.get("/api/progress").json()
    assert progress["counts"]["decisions"] == asked
    assert progress["outlook"]["f1"] == 1.0
    assert "stop" in progress["outlook"]["advice"]
    assert desk.decided()


def test_a_decision_is_in_the_labels_and_in_every_export(
    client: TestClient, tmp_path: Path
) -> None:
    question = client.post("/api/questions/s-0").json()
    item = question["items"][0]
    assert [word for word, _ in item["tokens"]] == ["York", "beat", "Ada", "Lane"]
    items = [{"sentence": 0, "version": 0, "spans": [[0, 1, "ORG"], [2, 3, "PER"]]}]
    told = client.post("/api/decisions", json=answer(question, items=items)).json()
    assert told["states"]["0"] == {"version": 1, "status": "settled"}
    one_document = {"webanno-tsv", "cas-xmi", "cas-json"}  # files of these hold no more
    for format in client.get("/api/formats").json():
        found = client.get(f"/api/export?format={format}")
        assert found.status_code == (422 if format in one_document else 200), (format, found.text)
        assert len(found.content) > 0
    target = tmp_path / "labels.jsonl"
    target.write_bytes(client.get("/api/export?format=jsonl").content)
    labels = read(target).labelling()
    assert (
        labels.take([0]).tags.tolist()
        == labels.scheme.encode(["B-ORG", "O", "B-PER", "O"]).tolist()
    )
    gold = tmp_path / "gold.jsonl"
    gold.write_bytes(client.get("/api/export?format=jsonl&what=decisions").content)
    assert read_gold(gold).labelling().labelled.sum() == 1
    audit = [json.loads(line) for line in client.get("/api/audit").text.splitlines()]
    assert [one["sentence_id"] for one in audit] == ["s0"]
    assert audit[0]["after"]["spans"] == [[0, 1, "ORG"], [2, 3, "PER"]]


def test_what_nobody_judged_is_no_gold_in_any_format(
    client: TestClient, desk: Desk, tmp_path: Path
) -> None:
    part = {"sentence": 0, "version": 0, "spans": [[0, 1, "ORG"]], "settled": [[0, 1]]}
    whole = {"sentence": 1, "version": 0, "spans": [[0, 1, "LOC"]]}
    desk.decide("ann", batch(), "f-0", [part])
    found = client.get("/api/export?format=doccano&what=decisions")
    assert found.status_code == 422 and "still open" in found.json()["detail"]
    desk.decide("ann", batch(), "s-1", [whole])
    for format in client.get("/api/formats").json():
        found = client.get(f"/api/export?format={format}&what=decisions")
        assert found.status_code == 200, (format, found.text)
        name = found.headers["content-disposition"].split('"')[1]
        assert Path(name).suffix, format
        target = tmp_path / name
        target.write_bytes(found.content)
        gold = read_gold(target).labelling()
        known = [gold.scheme.labels[tag] if tag >= 0 else "?" for tag in gold.tags]
        decided = [one for one in known if one != "?"]
        assert decided in (["B-LOC", "O"], ["B-ORG", "B-LOC", "O"]), format


def test_decisions_are_ground_truth_in_label_studio_and_labels_predictions(
    client: TestClient, desk: Desk
) -> None:
    desk.decide("ann", batch(), "s-1", [{"sentence": 1, "version": 0, "spans": [[0, 1, "LOC"]]}])
    (task,) = client.get("/api/export?format=label-studio&what=decisions").json()
    (annotation,) = task["annotations"]
    assert annotation["ground_truth"] is True and task["predictions"] == []
    assert annotation["result"][0]["value"]["labels"] == ["LOC"]
    tasks = client.get("/api/export?format=label-studio&what=labels").json()
    assert len(tasks) == 4 and all(not one["annotations"] for one in tasks)
    assert tasks[1]["predictions"][0]["score"] == 1.0


def test_a_group_settles_many_at_once(client: TestClient, desk: Desk) -> None:
    listed = client.get("/api/questions?kind=form").json()
    assert listed and listed[0]["text"] == "York"
    question = client.post(f"/api/questions/{listed[0]['question']}").json()
    items = [
        {
            "sentence": item["sentence"], "version": item["version"],
            "settled": [one["range"] for one in item["cases"]],
            "spans": [[*one["mark"], "ORG"] for one in item["cases"]],
        }
        for item in question["items"]
    ]  # fmt: skip
    assert len(items) > 1
    assert client.post("/api/decisions", json=answer(question, items=items)).status_code == 200
    labels = desk.labels()
    for item in items:
        a = int(labels.corpus.token_offsets[item["sentence"]]) + item["spans"][0][0]
        assert labels.scheme.labels[labels.tags[a]] == "B-ORG"
    client.post("/api/undo", json={"batch": batch()})
    assert not desk.decided()


def test_filters(client: TestClient) -> None:
    def names(query: str) -> list[str]:
        return [one["question"] for one in client.get(f"/api/questions?{query}").json()]

    assert "s-0" in names("type=PER") and "s-1" not in names("type=PER")
    assert names("document=more") == [] and names("document=nowhere") == []
    assert names("search=LANE") == ["s-0"]
    assert set(names("kind=sentence")) <= {"s-0", "s-1", "s-2"}
    assert names("annotator=nobody") == [] and names("annotator=ann") != []
    assert names("below=0.01") == []
    assert client.get("/api/questions?wrong=1").status_code == 422


def test_faults_are_told_and_nothing_is_written(client: TestClient, desk: Desk) -> None:
    question = client.post("/api/questions/s-0").json()
    bad = [
        {"items": [{"sentence": 99, "version": 0, "spans": []}]},
        {"items": [{"sentence": 0, "version": 0, "spans": [[0, 1, "X"]]}]},
        {"items": [{"sentence": 0, "version": 0, "spans": [[0, 9, "LOC"]]}]},
        {"items": [{"sentence": 0, "version": 0, "spans": []}] * 2},
        {"items": []},
        {"batch": "no"},
        {"comment": "\x00"},
    ]
    for change in bad:
        assert client.post("/api/decisions", json=answer(question, **change)).status_code == 422
    stale = answer(question)
    stale["items"][0]["version"] = 3
    told = client.post("/api/decisions", json=stale)
    assert told.status_code == 409 and "meanwhile" in told.json()["detail"]
    assert client.post("/api/questions/s-99").status_code == 404
    assert client.get("/api/export?format=nothing").status_code == 422
    assert not desk.decided() and not list(desk.store.audit())


def test_skips_comments_and_history(client: TestClient) -> None:
    body = {"question": "s-0", "sentences": [0], "comment": "hm"}
    assert client.post("/api/comments", json={"batch": batch(), **body}).status_code == 200
    assert client.post("/api/skips", json={"batch": batch(), **body}).status_code == 200
    assert "s-0" not in [one["question"] for one in client.get("/api/questions").json()]
    kinds = [one["kind"] for one in client.get("/api/history?sentence=0").json()]
    assert kinds == ["skip", "comment"]
    client.post("/api/undo", json={"batch": batch()})
    assert "s-0" in [one["question"] for one in client.get("/api/questions").json()]


def test_what_was_passed_over_is_asked_again(client: TestClient) -> None:
    body = {"batch": batch(), "question": "s-0", "sentences": [0]}
    client.post("/api/skips", json=body)
    assert client.delete("/api/skips").json() == {"sentences": 1}
    assert "s-0" in [one["question"] for one in client.get("/api/questions").json()]


def test_comments_are_shown_with_the_question(client: TestClient) -> None:
    body = {"batch": batch(), "question": "s-0", "sentences": [0], "comment": "a club?"}
    client.post("/api/comments", json=body)
    (said,) = client.post("/api/questions/s-0").json()["items"][0]["comments"]
    assert (said["user"], said["text"]) == ("reviewer", "a club?")
    assert client.post("/api/questions/s-1").json()["items"][0]["comments"] == []


def test_any_sentence_is_found_decided_or_not(client: TestClient) -> None:
    def names(query: str) -> list[str]:
        return [one["question"] for one in client.get(f"/api/sentences?{query}").json()]

    assert names("") == ["s-0", "s-1", "s-2", "s-3"]  # the last is not in doubt
    assert names("search=yes") == names("document=more") == ["s-3"]
    assert names("type=PER") == ["s-0"]
    assert names("limit=2") == ["s-0", "s-1"] and names("decided=true") == []
    question = client.post("/api/questions/s-3").json()
    client.post("/api/decisions", json=answer(question))
    assert names("decided=true") == ["s-3"]
    assert client.get("/api/sentences?decided=true").json()[0]["status"] == "settled"


def test_without_a_token_nothing_is_told(app: Any) -> None:
    with TestClient(app) as stranger:
        assert stranger.get("/").status_code == 200  # the page itself holds nothing
        for path in ("/api/project", "/api/questions", "/api/export", "/api/audit", "/api/users"):
            assert stranger.get(path).status_code == 401
        assert stranger.post("/api/next", json={}).status_code == 401
        wrong = {"authorization": "Bearer wrong"}
        assert stranger.get("/api/project", headers=wrong).status_code == 401


def test_the_token_in_the_address_becomes_a_cookie(app: Any, doors: Doors) -> None:
    with TestClient(app) as browser:
        assert browser.get("/?token=wrong").status_code == 200
        assert browser.get("/api/project").status_code == 401
        found = browser.get(f"/?token={TOKEN}", follow_redirects=False)
        assert found.status_code == 303 and found.headers["location"] == "/"
        cookie = found.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
        project = browser.get("/api/project").json()
        assert project["types"] == ["LOC", "ORG", "PER"]
        assert browser.post("/api/next", json={}).status_code == 403  # no CSRF header
        assert browser.post("/api/next", json={}, headers={CSRF: "wrong"}).status_code == 403
        good = {CSRF: project["csrf"]}
        assert browser.post("/api/next", json={}, headers=good).status_code == 200


def test_users_and_roles(app: Any, doors: Doors) -> None:
    doors.people.add("lea", "a long password", "lead")
    doors.people.add("rob", "a long password", "reviewer")
    with TestClient(app) as browser:
        assert browser.get(f"/?token={TOKEN}").status_code == 200
        assert (
            browser.get("/api/project").status_code == 401
        )  # the token is for desks without users
        wrong = {"name": "rob", "password": "wrong password"}
        assert browser.post("/api/session", json=wrong).status_code == 401
        right = {"name": "rob", "password": "a long password"}
        elsewhere = {"origin": "https://evil.example"}
        assert browser.post("/api/session", json=right, headers=elsewhere).status_code == 403
        assert browser.post("/api/session", json=right).status_code == 200
        project = browser.get("/api/project").json()
        assert (project["user"], project["role"]) == ("rob", "reviewer")
        mine = {CSRF: project["csrf"]}
        new = {"name": "eve", "password": "a long password", "role": "lead"}
        assert browser.post("/api/users", json=new, headers=mine).status_code == 403
        assert browser.get("/api/audit").status_code == 403
        assert browser.delete("/api/session", headers=mine).status_code == 200
        assert browser.get("/api/project").status_code == 401
        for _ in range(5):
            browser.post("/api/session", json=wrong)
        assert browser.post("/api/session", json=right).status_code == 429


def test_every_answer_is_guarded(client: TestClient) -> None:
    for path in ("/", "/api/project", "/static/main.js", "/nowhere"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    large = b'{"search": "' + b"x" * LARGEST + b'"}'
    assert client.post("/api/next", content=large).status_code == 413

    def pieces() -> Iterator[bytes]:
        yield from (b"x" * 65536 for _ in range(LARGEST // 65536 + 2))

    assert client.post("/api/next", content=pieces()).status_code == 413


def test_the_page_asks_nobody_else(client: TestClient) -> None:
    folder = Path(st.__file__).parent / "review" / "static"
    for file in folder.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text and "innerHTML" not in text, file
        assert client.get(f"/static/{file.name}").status_code == 200


def test_two_reviewers_do_not_get_the_same_question(app: Any, doors: Doors) -> None:
    doors.people.add("ann", "a long password")
    doors.people.add("bob", "a long password")
    seen = []
    for name in ("ann", "bob"):
        with TestClient(app) as browser:
            browser.post("/api/session", json={"name": name, "password": "a long password"})
            csrf = browser.get("/api/project").json()["csrf"]
            question = browser.post("/api/next", json={}, headers={CSRF: csrf}).json()
            seen.append({item["sentence"] for item in question.get("items", [])})
            listed = browser.get("/api/questions").json()
            if name == "bob":
                assert "ann" in {one["by"] for one in listed}
    assert not seen[0] & seen[1]


def test_where_two_judge_leads_see_what_each_said(url: str, result: Any) -> None:
    desk = Desk(result, Store(Database(url), digest(result), double=True))
    marks = {"ann": [[0, 1, "ORG"], [2, 4, "PER"]], "bob": [[0, 1, "LOC"], [2, 4, "PER"]]}
    for version, (name, spans) in enumerate(marks.items()):
        items = [{"sentence": 0, "version": version, "spans": spans}]
        desk.decide(name, batch(), "s-0", items, f"{name} is sure")
    seen = desk.open("lea", "s-0", lead=True)
    assert seen is not None
    item = seen["items"][0]
    assert {tuple(one["names"]): one["spans"] for one in item["opinions"]} == {
        (name,): spans for name, spans in marks.items()
    }
    assert [one["user"] for one in item["comments"]] == ["ann", "bob"]
    desk.store.release("lea")
    seen = desk.open("ann", "s-0")  # each judges alone
    assert seen is not None and seen["items"][0]["opinions"] == []
    assert [one["user"] for one in seen["items"][0]["comments"]] == ["ann"]


def test_where_two_judge_the_rest_of_a_sentence_stays_open(url: str, result: Any) -> None:
    desk = Desk(result, Store(Database(url), digest(result), double=True))
    part = [{"sentence": 0, "version": 0, "spans": [[0, 1, "ORG"]], "settled": [[0, 1]]}]
    desk.decide("ann", batch(), "f-0", part)
    for name, starts in (("ann", [2]), ("bob", [0, 2])):
        desk.store.release("ann")
        seen = desk.next(name, Wanted(search="Lane", kind="sentence"))
        assert seen is not None
        assert [one["range"][0] for one in seen["items"][0]["cases"]] == starts
        desk.store.release(name)


def test_the_api_describes_itself(client: TestClient) -> None:
    described = client.get("/api/openapi.json").json()
    assert {"/api/decisions", "/api/next", "/api/undo", "/api/export"} <= set(described["paths"])
    assert all("summary" in one for path in described["paths"].values() for one in path.values())
