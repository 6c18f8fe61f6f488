"""Small tables for notebooks: escaped, bounded, with no style but the notebook's own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

#: More rows or longer words than this are cut.
MAX_ROWS, MAX_TEXT = 10, 80


def html_table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], remark: str = ""
) -> str:
    """A table as HTML, numbers to the right.

    >>> "<td>&lt;b&gt;</td>" in html_table("who", ["name"], [["<b>"]])
    True
    """
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MAX_ROWS])
    more = f"… and {len(rows) - MAX_ROWS:,} more" if len(rows) > MAX_ROWS else ""
    below = " · ".join(filter(None, (more, remark)))
    return (
        f"<table><caption>{_text(caption, 400)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>" + (f"<p><small>{_text(below, 400)}</small></p>" if below else "")
    )  # fmt: skip


def html_line(text: str) -> str:
    """One line of text."""
    return f"<p><b>{_text(text, 400)}</b></p>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td style="text-align:right">{"–" if value != value else f"{value:.3f}"}</td>'
    if isinstance(value, int):
        return f'<td style="text-align:right">{value:,}</td>'
    return f"<td>{_text(value)}</td>"


def _text(value: Any, most: int = MAX_TEXT) -> str:
    text = str(value)
    return escape(text if len(text) <= most else text[: most - 1] + "…")
