"""The commands, as a user types them."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.cli import main
from tests.decisions.material import demo, fitted, parted

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.SeqTruthWarning")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "result.seqtruth"
    fitted("bsc-seq").save(path, crowd=True)
    return path


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main([*arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_triage_prints_and_writes(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = tmp_path / "gold.jsonl"
    st.write(demo().gold.take(slice(100)), gold)
    assert main(["triage", str(saved), "--accept", "0.8", "--gold", str(gold)]) == 0
    shown = capsys.readouterr().out
    assert "accepted at 80%" in shown
    assert "corrected by" in shown
    out = tmp_path / "queue.csv"
    assert main(["triage", str(saved), "--accept", "0.8", "-o", str(out), "-n", "7"]) == 0
    assert len(out.read_text().splitlines()) == 8
    shown = capsys.readouterr().out
    assert "No precision of spans can be promised as it is." in shown
    assert "--sample" in shown
    drawn = tmp_path / "sample.csv"
    assert main(["triage", str(saved), "--sample", "9", "-o", str(drawn)]) == 0
    assert "9 sentences drawn at random" in capsys.readouterr().err
    assert len(drawn.read_text().splitlines()) == 10
    assert main(["triage", str(saved), "--sample", "9"]) == 2
    found = _json(capsys, "triage", str(saved), "--accept", "0.8", "-n", "3")
    assert len(found["queue"]) == 3  # type: ignore[arg-type]


def test_next_prints_and_writes(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plan.csv"
    assert main(["next", str(saved), "-n", "30", "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "labels that help most" in shown
    assert "what they are expected to buy" in shown
    assert "5 more" in shown
    assert len(out.read_text().splitlines()) == 31
    assert len(_json(capsys, "next", str(saved), "-n", "4")["labels"]) == 4  # type: ignore[arg-type]
    assert main(["next", str(saved), "-o", str(tmp_path / "plan.txt")]) == 2
    assert "a plan is .csv or .jsonl" in capsys.readouterr().err


def test_update_adds_and_withdraws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    early, late = parted(demo().crowd, 0.05)
    first, second = tmp_path / "first.seqtruth", tmp_path / "second.seqtruth"
    st.aggregate(early, "bsc-seq").save(first, crowd=True)
    new = tmp_path / "new.jsonl"
    st.write(late, new)
    found = _json(capsys, "update", str(first), str(new), "-o", str(second))
    assert found["rows"] == late.n_rows
    now = st.Result.load(second)
    assert now.crowd is not None
    assert now.crowd.n_rows == demo().crowd.n_rows
    third = tmp_path / "third.seqtruth"
    assert main(["update", str(second), "-o", str(third), "--withdraw", "spammer"]) == 0
    assert "spammer" not in st.Result.load(third).annotators.names
    fourth = tmp_path / "fourth.seqtruth"
    assert main(["update", str(second), "-o", str(fourth), "--remove", str(new)]) == 0
    back = st.Result.load(fourth).crowd
    assert back is not None
    assert back.n_rows == early.n_rows
    gold = tmp_path / "gold.jsonl"
    st.write(demo().gold.take(slice(10)), gold)
    decided = tmp_path / "decided.seqtruth"
    assert main(["update", str(second), "-o", str(decided), "--known", str(gold)]) == 0
    end = int(demo().gold.corpus.token_offsets[10])
    assert np.array_equal(st.Result.load(decided).tags[:end], demo().gold.tags[:end])


def test_update_says_what_is_missing(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["update", str(saved), "-o", str(tmp_path / "x.seqtruth")]) == 2
    assert "there is nothing new; name files of labels" in capsys.readouterr().err
    assert main(["update", str(saved), "--withdraw", "spammer"]) == 2
    assert "give --output" in capsys.readouterr().err
    vote = tmp_path / "vote.seqtruth"
    fitted("mv").save(vote, crowd=True)
    assert main(["update", str(vote), "x.jsonl", "-o", str(tmp_path / "x.seqtruth")]) == 2
    assert "mv keeps no model that could be updated" in capsys.readouterr().err


def test_explain_and_annotators(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(saved), "2"]) == 0
    shown = capsys.readouterr().out
    assert "for it:" in shown
    assert "log odds" in shown
    assert "tokens" in _json(capsys, "explain", str(saved), "2")
    assert main(["explain", str(saved), "nowhere"]) == 2
    assert "no such sentence" in capsys.readouterr().err
    assert main(["annotators", str(saved)]) == 0
    shown = capsys.readouterr().out
    assert "annotators, worst first" in shown
    assert "misses" in shown
    rows = _json(capsys, "annotators", str(saved))["annotators"]
    assert len(rows) == demo().crowd.n_annotators  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["mv", "bsc-seq", "accord:predictor=none"])
def test_commands_on_the_page_run_as_printed(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    early, late = parted(demo().crowd, 0.05)
    st.write(late, "new.conll")
    result = st.aggregate(early, method)
    result.save("my result.seqtruth", crowd=True)
    result.report("page.html", saved="my result.seqtruth")
    page = Path("page.html").read_text()
    found = {
        html.unescape(re.sub("<[^>]*>", "", one)).replace(" SENTENCE", " 3")
        for one in re.findall("<code>(.*?)</code>", page)
    }
    commands = sorted(one for one in found if re.match("seqtruth (?!aggregate)", one))
    assert len(commands) >= (4 if method == "mv" else 6)
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, command


def test_a_saved_result_knows_how_far_its_annotators_agree(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "crowd.conll"
    st.write(demo().crowd, source)
    assert main(["agreement", str(source), "--resamples", "0"]) == 0
    by_file = capsys.readouterr().out
    assert main(["agreement", str(saved), "--resamples", "0"]) == 0
    assert capsys.readouterr().out == by_file
    assert "Agreement is moderate: alpha 0.4" in by_file
    fitted("mv").save(tmp_path / "bare.seqtruth")
    assert main(["agreement", str(tmp_path / "bare.seqtruth")]) == 2


def test_where_nobody_is_left_to_be_asked_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = {name: [["B-X", "O"], ["O", "B-X"]] * 20 for name in "abc"}
    crowd = st.Crowd.of(labels, [["u", "v"], ["w", "x"]] * 20)
    st.aggregate(crowd, "ds").save(tmp_path / "r.seqtruth", crowd=True)
    assert main(["next", str(tmp_path / "r.seqtruth")]) == 0
    assert "there is nobody to ask" in capsys.readouterr().err


def _export(path: Path, n: int = 30) -> None:
    """A Label Studio export with marks that overlap."""

    def result(start: int, end: int, label: str) -> dict[str, object]:
        value = {"start": start, "end": end, "labels": [label]}
        return {"from_name": "l", "to_name": "t", "type": "labels", "value": value}

    marks = [result(0, 3, "PER"), result(0, 7, "EVENT")]
    tasks = [
        {
            "id": 100 + i,
            "data": {"text": f"Ada ran {i}-odd miles."},
            "annotations": [
                {"completed_by": who, "result": marks[: 1 + (i + who) % 2]} for who in (1, 2, 3)
            ],
        }
        for i in range(n)
    ]
    path.write_text(json.dumps(tasks))


def test_layers_are_counted_once_and_refused_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export, saved, out = (tmp_path / name for name in ("e.json", "r.seqtruth", "q.json"))
    _export(export)
    page = tmp_path / "r.html"
    more = [
        "-o",
        str(tmp_path / "l.jsonl"),
        "-m",
        "ds",
        "--save",
        str(saved),
        "--report",
        str(page),
    ]
    assert main(["aggregate", str(export), *more]) == 0
    assert "3.0</b>" in page.read_text() or ">3.0<" in page.read_text()  # annotators a sentence
    capsys.readouterr()
    assert main(["triage", str(saved)]) == 0
    assert "30 of 30 sentences are left" in capsys.readouterr().out
    assert _json(capsys, "annotators", str(saved))["annotators"][0]["sentences"] == 30  # type: ignore[index]
    for command in (["explain", str(saved), "100"], ["next", str(saved)]):
        assert main(command) == 2
        assert "with --overlap longest" in capsys.readouterr().err
    assert main(["update", str(saved), str(export), "-o", str(out)]) == 2
    assert "aggregate the old labels and the new ones together" in capsys.readouterr().err
    assert main(["update", str(saved), "--withdraw", "3", "--retrain", "-o", str(out)]) == 0


def test_the_queue_goes_to_a_tool_in_its_order_and_tasks_are_explained_by_their_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export, saved, out = (tmp_path / name for name in ("e.json", "r.seqtruth", "q.json"))
    _export(export)
    more = [
        "-o",
        str(tmp_path / "l.jsonl"),
        "-m",
        "ds",
        "--overlap",
        "longest",
        "--save",
        str(saved),
    ]
    assert main(["aggregate", str(export), *more]) == 0
    found = _json(capsys, "triage", str(saved), "-o", str(out), "--to", "label-studio", "-n", "5")
    order = [item["document"] for item in found["queue"]]  # type: ignore[attr-defined]
    assert [str(task["id"]) for task in json.loads(out.read_text())] == order
    assert all("-odd miles." in item["text"] for item in found["queue"])  # type: ignore[attr-defined]
    assert main(["explain", str(saved), "105"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("105#1") and "Ada ran 5-odd miles.\n" in shown
    assert main(["triage", str(saved), "--to", "label-studio", "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "--sample" not in shown or "--to label-studio -o check.json" in shown


def test_where_accord_counts_votes_it_is_not_advised_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export, saved = tmp_path / "e.json", tmp_path / "r.seqtruth"
    _export(export, 3)
    more = ["-o", str(tmp_path / "l.jsonl"), "--overlap", "longest", "--save", str(saved)]
    assert main(["aggregate", str(export), *more]) == 0
    for command in (["explain", str(saved), "100"], ["next", str(saved)]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "the plain vote, which accord chose on so few labels, keeps no model" in said
        assert "aggregate with bsc-seq, ds or mace" in said


def test_one_annotator_is_told_what_can_be_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crowd = demo().crowd
    alone = crowd.select_annotators([crowd.annotators[0]])
    saved = str(tmp_path / "alone.seqtruth")
    st.aggregate(alone, "bsc-seq").save(saved, crowd=True)
    assert main(["annotators", saved]) == 0
    assert "No two of them labelled the same sentence" in capsys.readouterr().out
    assert main(["triage", saved, "--accept", "0.99"]) == 0
    shown = capsys.readouterr().out
    assert "For 99%, more sentences would have to be checked than there are" in shown
    assert f"seqtruth triage {saved} -o queue.csv" in shown
