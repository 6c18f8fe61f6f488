"""Rows as Markdown and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from seqtruth.paper.scores import Row, pick

#: Numbers, signs and what stands between them.
_FIGURE = re.compile(r"[-0-9.,+−–±/ ]*")


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; columns of figures stand to the right.

    >>> print(markdown(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    figures = [all(_FIGURE.fullmatch(row[k]) for row in rows) for k in range(len(columns))]
    rule = "|" + "|".join("--:" if right and rows else "---" for right in figures) + "|"
    lines = ["| " + " | ".join(row) + " |" for row in (columns, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]])


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV with a header; nothing where there is no value."""
    if not rows:
        return ""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def csv_rows(text: str) -> list[dict[str, Any]]:
    """Inverse of :func:`csv_text`: numbers are numbers again.

    >>> csv_rows("a,b,c\\n1,x,\\n")
    [{'a': 1, 'b': 'x', 'c': None}]
    """
    rows = csv.DictReader(io.StringIO(text))
    return [{name: _value(found) for name, found in row.items()} for row in rows]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def signed(value: float | None) -> str:
    """
    >>> signed(1.0), signed(-0.5), signed(None)
    ('+1.00', '−0.50', '–')
    """
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


def f1(row: Row) -> str:
    """Mean F1, and its spread where seeds differ."""
    spread = "" if row.spread is None or row.spread < 0.005 else f" ± {row.spread:.2f}"
    return f"{row.f1:.2f}{spread}"


def triple(row: Row) -> str:
    return f"{row.precision:.2f} / {row.recall:.2f} / {f1(row)}"


def published(row: Row) -> str:
    """The paper's three figures."""
    if row.paper_f1 is None:
        return "–"
    return " / ".join(number(v) for v in (row.paper_precision, row.paper_recall, row.paper_f1))


def strict_table(rows: Sequence[Row], absent: Mapping[str, str]) -> str:
    """Paper, ours and the difference in both readings; ``rows`` are of one split.

    ``absent`` says of systems without scores why.
    """
    head = ["system", "paper P / R / F1", "ours, conlleval", "difference", "ours, b-required",
            "difference"]  # fmt: skip
    lines = []
    for one in pick(rows, scoring="conlleval"):
        other = pick(rows, scoring="b-required", system=one.system, abstain=one.abstain)[0]
        lines.append([one.system, published(one), triple(one), signed(one.difference),
                      triple(other), signed(other.difference)])  # fmt: skip
    lines += [[name, "", why, "", "", ""] for name, why in absent.items()]
    return markdown(head, lines)


def relaxed_table(rows: Sequence[Row]) -> str:
    """The paper's relaxed figures beside the label-set score, and the token scores to read instead."""
    head = ["system", "paper R-P / R-R / R-F1", "ours, label set", "difference",
            "token micro P / R / F1", "token macro F1"]  # fmt: skip
    lines = []
    for one in pick(rows, scoring="label-set"):
        same = {"system": one.system, "abstain": one.abstain}
        micro = pick(rows, scoring="token-micro", **same)[0]
        macro = pick(rows, scoring="token-macro", **same)[0]
        lines.append([one.system, published(one), triple(one), signed(one.difference),
                      triple(micro), f1(macro)])  # fmt: skip
    return markdown(head, lines)


def order(rows: Sequence[Row]) -> str:
    """How the paper orders the systems it has, and how ours come out."""
    both = [row for row in rows if row.paper_f1 is not None]
    theirs = sorted(both, key=lambda row: -(row.paper_f1 or 0.0))
    ours = sorted(both, key=lambda row: -row.f1)
    return "\n".join(
        f"- {who}: " + " > ".join(row.system for row in ranked)
        for who, ranked in (("paper", theirs), ("ours", ours))
    )
