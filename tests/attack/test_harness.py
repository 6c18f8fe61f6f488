"""The bounded part of the attack, and that it would find what it looks for."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from seqtruth import io
from seqtruth.errors import MissingExtraError, SeqTruthError
from seqtruth.io import FORMATS
from seqtruth.methods.crossfit import together
from seqtruth.stopping import Stopped, check_stop
from tests.attack import jobs, kills, mutators, places, watched
from tests.attack.specimens import Specimen, specimens

#: Some 25 of each format; the whole attack has 200,000.
SOME_INPUTS = 900
ROOT = Path(__file__).parents[2]


def test_every_format_has_a_specimen_that_is_read(tmp_path: Path) -> None:
    read: dict[str, int] = dict.fromkeys(FORMATS, 0)
    for name, found in specimens().items():
        for number, one in enumerate(found):
            try:
                read[name] += bool(io.read(one.put(tmp_path / f"{name}{number}"), name).n_tokens)
            except MissingExtraError:
                read[name] += 1  # cannot be tried here
            except SeqTruthError:
                continue
    if "SEQTRUTH_FIXTURES" not in os.environ:  # DocBin's specimens are real files
        del read["spacy"]
    assert min(read.values()) > 0, read


def test_mutations_are_the_same_for_ever_and_mostly_change_something() -> None:
    data = b'{"tokens": ["a", "b"], "tags": {"ann": ["O", "B-X"]}}\n'
    twice = [[mutators.mutated(data, Random(f"{n}")) for n in range(300)] for _ in range(2)]
    assert twice[0] == twice[1]
    assert len(set(twice[0])) > 200


def test_mutated_inputs_are_read_or_refused_by_name() -> None:
    tally = watched.Tally("inputs")
    for _ in watched.attack(tally, SOME_INPUTS, {"PYTHONPATH": _path()}):
        pass
    assert tally.findings == []
    assert tally.done == SOME_INPUTS and min(tally.said["read"], tally.said["refused"]) > 150


def _path() -> str:
    return os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])


def test_crashes_hangs_and_tracebacks_are_recorded_and_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watched, "HANG", 0.3)  # CPU seconds, of which a busy machine gives few
    monkeypatch.setattr(watched, "SILENCE", 10.0)
    tally = watched.Tally("inputs")
    program = "tests.attack.faulty_worker"
    for _ in watched.attack(tally, 10, {"PYTHONPATH": _path()}, program=program):
        pass
    assert tally.done == 10 and dict(tally.said) == {
        "read": 6,
        "crash": 1,
        "hang": 2,
        "traceback": 1,
    }
    assert [(f["number"], f["said"]) for f in tally.findings] == [
        (3, "crash"), (5, "hang"), (7, "traceback"), (8, "hang"),
    ]  # fmt: skip
    assert [f.get("error") for f in tally.findings] == ["SIGABRT", "SIGPROF", None, "no answer"]
    assert "faulty_worker.py" in tally.findings[1]["trace"]  # where it hung
    again = watched.Tally.from_dict(tally.to_dict())
    assert again == tally


def test_an_error_that_does_not_name_its_file_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless(*_: Any) -> None:
        raise jobs.SeqTruthError("something is wrong somewhere")

    monkeypatch.setattr(io, "read", nameless)
    with pytest.raises(AssertionError, match="does not name the file"):
        jobs.read_input(jobs.input_of(0), tmp_path, deep=False)


def test_a_table_whose_sentences_lost_their_names_is_named(tmp_path: Path) -> None:
    """Input 8319 of the attack: the message did not say which file."""
    path = tmp_path / "odd.csv"
    path.write_text("NaNtask,worker,token_index,token,label\ns1,ann,0,a,O\n")
    with pytest.raises(SeqTruthError, match=r"odd\.csv"):
        io.read(path)


@pytest.mark.slow
def test_killed_runs_go_on_to_the_same_bytes(tmp_path: Path) -> None:
    one, every = kills.Kills(tmp_path), len(kills.commands())
    for turn in range(3):
        found = one(turn * every)
        assert found["command"] == "aggregate ds" and found["wrong"] == []


def test_a_partial_output_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison has teeth: a goal that differs is reported."""
    command = kills.Command("x", ("convert", "{in}/a.conll", "{out}/b.conll"), ("b.conll",))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.conll").write_text("a O\nb B-X\n\n")
    goal = {"b.conll": {"": b"something else"}}
    killed, wrong = kills.kill(command, tmp_path / "in", tmp_path / "out", goal, kills.used(0.1))
    assert killed and any("differs" in one for one in wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small_files", "little_memory", "escapes"])
def test_hostile_places(name: str, tmp_path: Path) -> None:
    assert places.trials()[name](tmp_path) == []


@pytest.mark.skipif(places.CHROMIUM is None, reason="needs Chromium")
def test_a_hostile_report_does_nothing_in_a_browser(tmp_path: Path) -> None:
    assert places.hostile_page(tmp_path) == []


@pytest.mark.skipif(places.CHROMIUM is None, reason="needs Chromium")
def test_a_page_that_does_something_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    def write(address: str) -> None:
        inside = "".join(places.payloads(address))
        page.write_text(f"<html><head><title>x</title></head><body>{inside}</body></html>")

    title, asked = places.visited(page, write)
    assert title == "pwned" and asked


def test_jobs_in_other_threads_end_soon_after_an_error() -> None:
    """Ctrl-C arrives in the main thread alone, and waited for whole trainings: 9 to 13 s."""
    ended: list[str] = []
    started = threading.Event()

    def long() -> None:
        started.set()
        try:
            for _ in range(3000):  # half a minute
                check_stop()
                time.sleep(0.01)
            ended.append("whole")
        except Stopped:
            ended.append("stopped")
            raise

    def interrupted() -> None:
        started.wait(10)
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        together([interrupted, long], 2)
    assert ended == ["stopped"] and time.monotonic() - began < 10


@pytest.mark.parametrize("code", [0x110000, 0xFFFFFFFF, 0xD800])
def test_texts_of_a_matrix_that_are_no_characters_are_refused(code: int, tmp_path: Path) -> None:
    """Input 3029 of the attack: NumPy keeps any number in a text, and Python's SystemError came out."""
    names = np.array([code, 0, 65, 0], np.uint32).view("<U2")
    np.savez(tmp_path / "odd.npz", L=np.zeros((2, 2), np.int32), label_names=names)
    with pytest.raises(SeqTruthError, match=r"odd\.npz.*label_names is not text"):
        io.read(tmp_path / "odd.npz")
    np.savez(tmp_path / "fine.npz", L=np.zeros((2, 2), np.int32), label_names=names[1:])
    assert io.read(tmp_path / "fine.npz").n_tokens == 2


@pytest.mark.parametrize("number", [12704, 14236])
def test_names_that_are_no_texts_are_refused_or_written_out(number: int, tmp_path: Path) -> None:
    """Inputs of the attack: half of a surrogate pair as CATMA's tag, a number in tagtog's legend."""
    whole = {12704: _catma(), 14236: _tagtog()}[number]
    assert jobs.read_input(whole, tmp_path, deep=True) == "read"


def _catma() -> Specimen:
    whole = next(one for one in specimens()["catma"] if one.folder)
    marks = "collections/C/annotations/a.json"
    return whole._replace(
        files={**whole.files, marks: whole.files[marks].replace(b"CATMA_2", b"\\ud800")}
    )


def _tagtog() -> Specimen:
    whole = next(one for one in specimens()["tagtog"] if one.folder)
    return whole._replace(files={**whole.files, "annotations-legend.json": b'{"e_1": -12}'})


@pytest.mark.parametrize(
    ("key", "said"), [("tokens", "refused"), ("sents", "read"), ("cats", "read")]
)
def test_a_number_in_the_place_of_spacys_tokens(key: str, said: str, tmp_path: Path) -> None:
    """Input 54689 of the attack."""
    text = f'{{"text": "Ann ran", "ents": [{{"start": 0, "end": 3, "label": "P"}}], "{key}": 5}}'
    made = Specimen("spacy-json", {"a.json": text.encode()})
    assert jobs.read_input(made, tmp_path, deep=True) == said
