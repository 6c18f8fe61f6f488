"""The house rules that a program can check: sizes, and who may speak of the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

HOUSE = Path(__file__).parents[1] / "src" / "seqtruth"
MODULES = sorted(HOUSE.rglob("*.py"))
MOST_LINES, MOST_PARAMETERS, MOST_LINES_OF_A_MODULE = 80, 8, 450
#: Typer makes one option of each parameter of a command, so a command has as many as it has options.
COMMANDS = HOUSE / "cli"
#: Doors of the compiled code: a kernel takes what it takes.
KERNELS = HOUSE / "kernels"
#: Reads a command line of its own, and writes commands into its page.
PAPER = HOUSE / "paper"


class Function(NamedTuple):
    place: str
    lines: int
    parameters: int
    is_command: bool


def _functions(module: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(module.read_text())):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        taken = [
            one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        ]
        of_itself = taken[:1] in (["self"], ["cls"])
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        yield Function(
            f"{module.relative_to(HOUSE)}:{node.lineno} {node.name}",
            (node.end_lineno or first) - first + 1,
            len(taken) - of_itself,
            module.is_relative_to(COMMANDS) and "typer." in ast.unparse(node.args),
        )


def _too_large(function: Function) -> bool:
    parameters = 0 if function.is_command else function.parameters
    return function.lines > MOST_LINES or parameters > MOST_PARAMETERS


def test_functions_are_found() -> None:
    found = {one.place.split()[1]: one for one in _functions(COMMANDS / "aggregate.py")}
    assert found["aggregate"].is_command
    assert found["aggregate"].parameters > MOST_PARAMETERS
    assert not found["_open"].is_command
    assert found["_open"].parameters == 5


@pytest.mark.parametrize(
    ("lines", "parameters", "is_command", "wrong"),
    [(80, 8, False, False), (81, 1, False, True), (3, 9, False, True), (80, 30, True, False)],
)
def test_what_is_too_large(lines: int, parameters: int, is_command: bool, wrong: bool) -> None:
    assert _too_large(Function("", lines, parameters, is_command)) is wrong


def test_no_function_is_above_80_lines_or_8_parameters() -> None:
    plain = (module for module in MODULES if not module.is_relative_to(KERNELS))
    large = [one for module in plain for one in _functions(module) if _too_large(one)]
    assert not large


def test_no_module_is_above_450_lines() -> None:
    counts = {module: len(module.read_text().splitlines()) for module in MODULES}
    large = {
        str(module.relative_to(HOUSE)): lines
        for module, lines in counts.items()
        if lines > MOST_LINES_OF_A_MODULE
    }
    assert not large


def _texts(module: Path) -> Iterator[tuple[int, str]]:
    """Texts of a module that a user may read: all but docstrings."""
    tree = ast.parse(module.read_text())
    passed_over = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):  # with its holes as they are written
            passed_over.update(id(part) for part in node.values)
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in passed_over:
                yield node.lineno, node.value


#: An option; neither a variable of a style sheet nor one in a command that a text shows whole.
FLAG = re.compile(r"(?<!var\()(?<![\w-])--[a-z][a-z-]+")
WHOLE = re.compile(r"\b(seqtruth|npm|pip|apt-get) [a-z]")


def test_flags_are_told_from_other_text() -> None:
    assert FLAG.search("fetch it again (--force)")
    assert FLAG.search("give --format")
    assert not FLAG.search("svg .ours { fill: var(--s0); }")


def test_the_library_names_its_arguments_and_not_the_command_lines_flags() -> None:
    """Python users have no ``--gold``; the command line translates (``seqtruth.cli._as_options``)."""
    named = [
        f"{module.relative_to(HOUSE)}:{line}: {text}"
        for module in MODULES
        if not module.is_relative_to(COMMANDS) and not module.is_relative_to(PAPER)
        for line, text in _texts(module)
        if FLAG.search(text) and not WHOLE.search(text)
    ]
    assert not named
