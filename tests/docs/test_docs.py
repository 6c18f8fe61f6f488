"""What the documentation shows exists and runs: every dotted name, every command, every link."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import typer

import seqtruth as st
from seqtruth.cli import main
from seqtruth.cli.app import app
from seqtruth.io import write

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
    *("png", "npz", "seqtruth", "yml", "yaml", "gz", "zip", "xmi", "cff", "sh"),
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
    command: click.Command = typer.main.get_command(app)
    context, words = click.Context(command, info_name="seqtruth"), _words(shown.text)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, f"no command {words[0]!r}"
        command, words = found, words[1:]
    command.make_context(command.name or "", words)  # a UsageError where an option is unknown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the pages name, small."""
    demo = st.datasets.load("demo")
    crowd, gold = demo.crowd[:40], demo.gold[:40]
    for name in ("annotations.conll", "labels.conll", "big.jsonl", "annotations.jsonl"):
        write(crowd, tmp_path / name)
    write(crowd, tmp_path / "labels.parquet", level="token")
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


@cache
def _modules() -> dict[str, list[str]]:
    """Full names of all modules by the last part of their name."""
    found: dict[str, list[str]] = {}
    for module in pkgutil.walk_packages(st.__path__, "seqtruth."):
        found.setdefault(module.name.rpartition(".")[2], []).append(module.name)
    return found


def _resolves(dotted: str) -> bool:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            fields = getattr(found, "__dataclass_fields__", {})
            if not hasattr(found, name) and name not in fields:
                return False
            found = getattr(found, name, None)
        return True
    return False


def _names() -> Iterator[tuple[Shown, str]]:
    """Dotted names in code: of modules, of classes, or of ``result`` and ``crowd``, as the pages call them."""
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for code in re.findall(r"`([^`]+)`", line):
                for dotted in re.findall(r"(?<![\w./-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", code):
                    if dotted.rpartition(".")[2] not in ENDINGS:
                        yield Shown(page, number, line), dotted


def test_every_dotted_name_in_the_docs_exists() -> None:
    missing = []
    for shown, dotted in _names():
        first, _, rest = dotted.partition(".")
        if first in ("seqtruth", "st"):
            homes = [f"seqtruth.{rest}"]
        else:
            homes = [f"{module}.{rest}" for module in _modules().get(first, [])]
            homes += [dotted, f"seqtruth.{first.capitalize()}.{rest}"] if homes else []
        if homes and not any(_resolves(home) for home in homes):
            missing.append(f"{shown}: {dotted}")
    assert not missing


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not broken
