"""Make ``docs/api.md`` from the docstrings of what ``import seqtruth`` offers; ``--check`` only compares.

Docstrings are read strictly: a public name without one, a parameter that is not described, a description
of a parameter that is not there, or a section that NumPy's style does not know is a fault, and no page
is written.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import seqtruth
from seqtruth.methods import Aggregator

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
SECTIONS = {
    *("Parameters", "Returns", "Yields", "Raises", "Warns", "Notes", "References", "Examples"),
    "See Also",
}
#: Rooms whose own public names are on the page as well.
ROOMS = ("datasets", "io", "metrics", "predictors", "testing")
HEAD = """# Public names

Written by `python tools/api_page.py` from the docstrings, which say more (`help(st.AggSLC)`);
a test holds this page against them. What is not here is the house's own and may change at any time.
"""


class Faults(list[str]):
    """What is wrong with docstrings, one line each."""


class Doc(NamedTuple):
    """A docstring taken apart.

    summary : its first paragraph.
    parameters : names as they stand together, and what is said of them.
    """

    summary: str
    parameters: list[tuple[list[str], str]]


def take_apart(text: str, place: str, faults: Faults) -> Doc:
    """Read one docstring; what is not NumPy's style goes into ``faults``."""
    lines = inspect.cleandoc(text).splitlines()
    sections: dict[str, list[str]] = {"": []}
    now = ""
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch(r"-{3,}", below):
            now = line
            if now not in SECTIONS:
                faults.append(f"{place}: no such section: {now}")
            if now in sections:
                faults.append(f"{place}: two sections {now}")
            sections[now] = []
        elif not re.fullmatch(r"-{3,}", line) or not now:
            sections[now].append(line)
    summary = " ".join("\n".join(sections[""]).strip().split("\n\n")[0].split())
    if not summary:
        faults.append(f"{place}: no summary")
    return Doc(summary, list(_entries(sections.get("Parameters", []), place, faults)))


def _entries(lines: list[str], place: str, faults: Faults) -> Iterator[tuple[list[str], str]]:
    entry: tuple[list[str], list[str]] | None = None
    for line in lines:
        if not line.strip():
            continue
        if line.startswith("    "):
            if entry is None:
                faults.append(
                    f"{place}: a parameter's description without its name: {line.strip()}"
                )
            else:
                entry[1].append(line.strip())
            continue
        if entry is not None:
            yield entry[0], " ".join(entry[1])
            entry = None
        found = re.fullmatch(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)", line)
        if found is None:
            faults.append(f"{place}: not a parameter: {line}")
        else:
            entry = [name.strip().lstrip("*") for name in found[1].split(",")], [found[2]]
    if entry is not None:
        yield entry[0], " ".join(entry[1])


def plain(text: str) -> str:
    """Sphinx's roles and double quotes as Markdown's code.

    >>> plain("see :func:`~seqtruth.io.read` and ``None``")
    'see `read` and `None`'
    """
    text = re.sub(r":\w+:`~[\w.]*?(\w+)`", r"`\1`", text)
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def signature(called: Callable[..., Any]) -> inspect.Signature:
    """What it takes, without ``self`` and ``cls``."""
    found = inspect.signature(called)
    kept = [one for name, one in found.parameters.items() if name not in ("self", "cls")]
    return found.replace(parameters=kept)


def _shown(found: inspect.Signature) -> str:
    """Names and defaults; types are in the code, and would hide the names here."""
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r"<([\w.]+?)( object)? at 0x\w+>", r"\1", text)


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def of_class(kind: type, place: str, faults: Faults) -> list[tuple[list[str], str]]:
    """Described parameters of a class and of those it comes from, its own first."""
    found: list[tuple[list[str], str]] = []
    known: set[str] = set()
    wanted = set() if _is_protocol(kind) else set(signature(kind).parameters)
    for base in kind.__mro__:
        if not base.__module__.startswith("seqtruth") or not base.__doc__:
            continue
        for names, text in take_apart(base.__doc__, place, faults).parameters:
            fresh = [name for name in names if name in wanted and name not in known]
            if base is kind and (stale := set(names) - wanted - set(dir(kind))):
                faults.append(f"{place}: describes what is not there: {', '.join(sorted(stale))}")
            known.update(fresh)
            if fresh:
                found.append((fresh, text))
    if missing := sorted(wanted - known):
        faults.append(f"{place}: not described: {', '.join(missing)}")
    return found


def of_function(called: Callable[..., Any], place: str, faults: Faults, strict: bool = True) -> Doc:
    """The docstring of a function; ``strict`` false lets a method of one parameter describe none."""
    doc = take_apart(called.__doc__ or "", place, faults)
    wanted = list(signature(called).parameters)
    known = [name for names, _ in doc.parameters for name in names]
    missing = [name for name in wanted if name not in known]
    if missing and (strict or known or len(wanted) > 1):
        faults.append(f"{place}: not described: {', '.join(missing)}")
    if stale := [name for name in known if name not in wanted]:
        faults.append(f"{place}: describes what is not there: {', '.join(stale)}")
    return doc


def _members(kind: type) -> Iterator[tuple[str, Any, bool]]:
    """Public methods and properties that a class itself or a base of ours defines."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("seqtruth"):
            continue
        for name, raw in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(raw, classmethod | staticmethod):
                yield name, raw.__func__, True
            elif inspect.isfunction(raw):
                yield name, raw, True
            elif isinstance(raw, property):
                yield name, raw.fget, False
            elif hasattr(raw, "func") and hasattr(raw, "attrname"):  # cached_property
                yield name, raw.func, False


def _inherited_doc(kind: type, name: str) -> str:
    """The docstring of a member, of what it overrides, or of a predictor's protocol."""
    from seqtruth.predictors.base import Predictor, Storable

    homes = [base for base in (kind, Predictor, Storable) if hasattr(base, name)]
    docs = (inspect.getdoc(inspect.getattr_static(base, name)) for base in homes)
    return next(filter(None, docs), "")


def _class(name: str, kind: type, faults: Faults, brief: bool) -> Iterator[str]:
    doc = take_apart(kind.__doc__ or "", name, faults)
    made = "" if _is_protocol(kind) else _shown(signature(kind))
    yield f"### {name}\n\n`{kind.__name__}{made}`\n\n{plain(doc.summary)}\n"
    parameters = of_class(kind, name, faults)
    if parameters:
        yield "\n".join(_bullets(parameters)) + "\n"
    lines = []
    for member, called, is_method in _members(kind):
        place = f"{name}.{member}"
        if called.__doc__:
            told = of_function(called, place, faults, strict=False).summary
        else:
            told = take_apart(_inherited_doc(kind, member), place, faults).summary
        if brief and called.__module__ != kind.__module__:
            continue
        head = f"`.{member}{_shown(signature(called))}`" if is_method else f"`.{member}`"
        lines.append(f"- {head}: {plain(told)}")
    if lines:
        yield "\n".join(lines) + "\n"


def _bullets(parameters: list[tuple[list[str], str]]) -> Iterator[str]:
    for names, text in parameters:
        yield f"- {', '.join(f'`{name}`' for name in names)}: {plain(text)}"


def _function(name: str, called: Callable[..., Any], faults: Faults) -> Iterator[str]:
    doc = of_function(called, name, faults)
    yield f"### {name}\n\n`{called.__name__}{_shown(signature(called))}`\n\n{plain(doc.summary)}\n"
    if doc.parameters:
        yield "\n".join(_bullets(doc.parameters)) + "\n"


def _names(module: Any, prefix: str, faults: Faults) -> Iterator[str]:
    for name in sorted(module.__all__, key=str.lower):
        found = getattr(module, name)
        if module is not seqtruth and getattr(seqtruth, name, None) is found:
            continue  # told above
        if inspect.isclass(found):
            # what all methods share is told once
            yield from _class(f"{prefix}{name}", found, faults, issubclass(found, Aggregator))
        elif inspect.isfunction(found):
            yield from _function(f"{prefix}{name}", found, faults)


def page() -> tuple[str, Faults]:
    """The page, and what is wrong with the docstrings it is made from."""
    faults = Faults()
    pieces = [HEAD, "## seqtruth (as st)\n", *_names(seqtruth, "st.", faults)]
    pieces += ["## What all methods share\n"]
    pieces += _class("seqtruth.methods.Aggregator", Aggregator, faults, False)
    for room in ROOMS:
        module = getattr(seqtruth, room)
        doc = take_apart(module.__doc__ or "", room, faults)
        own = _names(module, f"st.{room}.", faults)
        pieces += [f"## st.{room}\n\n{plain(doc.summary)}\n", *own]
    return "\n".join(pieces), Faults(dict.fromkeys(faults))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; say if it is old")
    wanted = parser.parse_args()
    text, faults = page()
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    if wanted.check:
        old = not PAGE.exists() or PAGE.read_text("utf-8") != text
        print(
            "docs/api.md is old: python tools/api_page.py" if old else "docs/api.md is up to date"
        )
        return int(old)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
