"""What the documentation shows exists and runs: every dotted name, every command, every link."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

import seqtruth as st
from docs.names import classes, has, modules, needs_extra, of_module, resolves
from seqtruth.cli import main
from seqtruth.cli.app import app
from seqtruth.io import write
from seqtruth.predictors import CRF

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "reproduction").glob("*.md"),
    ]
)
#: Commands that need what a test does not have: the evaluation data, a download, hours, a cluster.
ELSEWHERE = re.compile(
    r"--dataset (ner|pico|synthetic)|datasets (get|verify|info)|s3a:|reproduce|--engine spark"
    r"|…|\$|seqtruth review"
)
#: Endings that make a dotted word a file name.
ENDINGS = {
    *("py", "md", "toml", "txt", "json", "jsonl", "conll", "csv", "tsv", "parquet", "html", "svg"),
    *(
        "png",
        "npz",
        "seqtruth",
        "yml",
        "yaml",
        "gz",
        "zip",
        "xmi",
        "cff",
        "sh",
        "spacy",
        "xml",
        "manifest",
    ),
}


class Shown(NamedTuple):
    page: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def _commands() -> Iterator[Shown]:
    for page in PAGES:
        fenced, held = "", ""
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if line.startswith("```"):
                fenced = "" if fenced else line[3:].strip() or "text"
            elif fenced in ("console", "sh", "bash"):
                held += line.strip().removeprefix("$ ").removesuffix("\\")
                if not line.endswith("\\"):
                    if held.startswith("seqtruth "):
                        yield Shown(page, number, held)
                    held = ""


COMMANDS = list(_commands())


def _words(text: str) -> list[str]:
    words = shlex.split(text, comments=True)[1:]
    stops = [at for at, word in enumerate(words) if word in (">", "|", "&&", "&")]
    return words[: stops[0]] if stops else words


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("shown", COMMANDS, ids=str)
def test_a_command_that_is_shown_has_these_options(shown: Shown) -> None:
    command: Any = typer.main.get_command(app)
    context = command.make_context("seqtruth", [], resilient_parsing=True)
    words = _words(shown.text)
    while hasattr(command, "get_command"):
        found = command.get_command(context, words[0])
        assert found is not None, f"no command {words[0]!r}"
        command, words = found, words[1:]
    command.make_context(command.name or "", words)  # a UsageError where an option is unknown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the pages name, small; and the tagger that trains in a second.

    Commands are tried here, not the BiLSTM, which the default would train where torch is installed.
    """
    monkeypatch.setattr("seqtruth.predictors.choice.best_predictor", CRF)
    demo = st.datasets.load("demo")
    crowd, gold = demo.crowd[:40], demo.gold[:40]
    for name in ("annotations.conll", "labels.conll", "big.jsonl", "annotations.jsonl"):
        write(crowd, tmp_path / name)
    write(crowd, tmp_path / "labels.parquet", level="token")
    write(crowd, tmp_path / "export.json", "label-studio", opinions="annotations")
    for name in ("gold.conll", "gold.jsonl"):
        write(gold, tmp_path / name)
    for name in ("new.txt", "new-text.txt"):
        (tmp_path / name).write_text("Marta Lindqvist flew to Oslo .\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run_in_the_order_in_which_a_page_shows_them(
    page: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = [one for one in COMMANDS if one.page == page and not ELSEWHERE.search(one.text)]
    for one in shown:
        code = main(_words(one.text))
        assert code == 0, f"{one}: {one.text}\n{capsys.readouterr().err}"


def test_figures_of_the_demo_in_the_guide_are_todays() -> None:
    page = (ROOT / "docs" / "guide.md").read_text()
    shown = re.search(r"tokens ([\d.]+) · spans ([\d.]+)", page)
    surest = re.search(r"50 %: F1 ([\d.]+) · 80 %: F1 ([\d.]+) · 90 %: F1 ([\d.]+)", page)
    assert shown is not None
    assert surest is not None
    demo = st.datasets.load("demo")
    found = st.evaluate(st.BSCSeq().fit(demo.crowd), demo.gold).calibration
    assert found is not None
    errors = [one.ece for one in (found.token, found.span) if one is not None]
    today = [100 * value for value in (*errors, *(row.f1 for row in found.selective[:3]))]
    assert today == pytest.approx(
        [float(one) for one in (*shown.groups(), *surest.groups())], abs=0.01
    )


@cache
def _by_last_word() -> dict[str, list[str]]:
    """Full names of all modules by the last part of their name."""
    found: dict[str, list[str]] = {}
    for name in modules():
        found.setdefault(name.rpartition(".")[2], []).append(name)
    return found


#: What pages call things by.
VARIABLES = {
    "st": "seqtruth",
    "result": "seqtruth.Result",
    "crowd": "seqtruth.Crowd",
    "corpus": "seqtruth.Corpus",
    "scheme": "seqtruth.Scheme",
    "data": "seqtruth.datasets.Dataset",
    "method": "seqtruth.methods.Aggregator",
    "task": "seqtruth.methods.task.Task",
}
#: Names of others, by their first word: packages, Spark's settings, tables of TOML, variables of tools.
OF_OTHERS = {"np", "spark", "torch", "tool", "dataset", "ds", "Doc"}
#: Entry points, and words with a dot that are no names.
NO_NAMES = {
    *("seqtruth.methods", "seqtruth.predictors", "seqtruth.formats"),
    *("crowd.archive", "eng.train", "vX.Y.Z"),
}


def _pages() -> list[Path]:
    return [page for page in PAGES if page.name != "CHANGELOG.md"]  # which says what was


def _names() -> Iterator[tuple[Shown, str]]:
    """Dotted names in code; of what stands in a block, those that start with us."""
    for page in _pages():
        block = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if line.startswith("```"):
                block = not block
                continue
            for code in [line] if block else re.findall(r"`([^`]+)`", line):
                for dotted in re.findall(r"(?<![\w./-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", code):
                    ours = dotted.startswith(("st.", "seqtruth.")) or not block
                    if ours and dotted.rpartition(".")[2] not in ENDINGS:
                        yield Shown(page, number, line), dotted


@cache
def _classes() -> dict[str, list[type]]:
    found: dict[str, list[type]] = {}
    for name in modules():
        if (module := of_module(name)) is not None:
            for kind in classes(module):
                found.setdefault(kind.__name__, []).append(kind)
    return found


def _exists(dotted: str) -> bool:
    first, _, rest = dotted.partition(".")
    if dotted in NO_NAMES or first in OF_OTHERS:
        return True
    if first in VARIABLES and resolves(f"{VARIABLES[first]}.{rest}"):
        return True
    if any(has(kind, rest.split(".")) for kind in _classes().get(first, [])):
        return True
    return resolves(dotted) or any(resolves(f"{m}.{rest}") for m in _by_last_word().get(first, []))


def test_every_dotted_name_in_the_docs_exists() -> None:
    missing = [f"{shown}: {dotted}" for shown, dotted in _names() if not _exists(dotted)]
    assert not missing


@pytest.mark.parametrize("name", ["Vote.losses", "result.spans", "st.read", "loop.iterate"])
def test_a_name_that_exists_is_found(name: str) -> None:
    assert _exists(name)
    assert not _exists(f"{name}_of_old")
    assert not _exists("consistency.inconsistency")


def test_every_file_that_the_docs_name_exists() -> None:
    """``room/module.py`` in the house, or a program of the repository."""
    missing = []
    for page in _pages():
        for named in re.findall(r"(?<![\w./-])((?:[\w-]+/)+\w+\.py)\b", page.read_text()):
            homes = [ROOT, page.parent, ROOT / "src" / "seqtruth"]
            if not any((home / named).exists() for home in homes):
                missing.append(f"{page.name}: {named}")
    assert not missing


#: Sphinx's roles, by which docstrings name things.
ROLE = re.compile(r":(?:class|func|mod|meth|attr|data|exc|obj):`~?(\.?[\w.]+)`")


@pytest.mark.parametrize("name", modules())
def test_every_name_in_a_docstring_exists(name: str) -> None:
    """Full names, names of the module or of one of its classes, and ``.beside`` for a neighbour."""
    module = of_module(name)
    if module is None:
        pytest.skip("needs an extra that is not installed")
    missing = []
    for named in ROLE.findall(Path(str(module.__file__)).read_text()):
        if named.startswith("."):
            found = resolves(name.rpartition(".")[0] + named)
        elif named.startswith("seqtruth."):
            found = resolves(named) or needs_extra(named)
        else:
            words = named.split(".")
            found = any(has(owner, words) for owner in (module, *classes(module)))
        missing += [] if found else [named]
    assert not missing


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert resolves("seqtruth.methods.loop.iterate")
    assert resolves("seqtruth.result.Result.probabilities")
    assert not resolves("seqtruth.methods.loop.no_such_name")
    assert not resolves("seqtruth.no_such_room.iterate")


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not broken


def test_the_table_of_methods_says_what_the_methods_promise() -> None:
    """The last column of the table in ``methods.md``."""
    from seqtruth.methods.registry import METHODS

    rows = re.findall(r"^\| (`[a-z].*?) \| .* \| (yes|no|mostly) \|$", _page("methods.md"), re.M)
    shown = {}
    for words, legal in rows:
        first, *rest = re.findall(r"`([\w-]+)`", words)
        stem = first.partition("-")[0]
        for word in (first, *(stem + one if one.startswith("-") else one for one in rest)):
            shown[word] = legal
    assert set(shown) == set(METHODS)
    for word, legal in shown.items():
        assert (legal == "yes") is METHODS[word].promises_legal, word


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()
