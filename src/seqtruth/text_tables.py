"""A table of figures as text, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "·": r"$\cdot$", "–": "--",
}  # fmt: skip


def cell(value: Any) -> str:
    """A value as tables show it: two digits, a dash for what is not a number.

    >>> cell(1234.5), cell(float("nan")), cell(7), cell(-0.001)
    ('1,234.50', '–', '7', '0.00')
    """
    if isinstance(value, float):
        return "–" if value != value else f"{round(value, 2) + 0.0:,.2f}"  # never -0.00
    return f"{value:,}" if isinstance(value, int) else str(value)


def text_table(title: str, columns: Columns) -> str:
    """Aligned columns below a title."""
    texts = {name: [name, *map(cell, column)] for name, column in columns.items()}
    wide = {name: max(map(len, column)) for name, column in texts.items()}
    rows = []
    for number in range(len(next(iter(texts.values())))):
        cells = [
            column[number].rjust(wide[name]) if _numeric(columns[name])
            else column[number].ljust(wide[name])
            for name, column in texts.items()
        ]  # fmt: skip
        rows.append("  ".join(cells).rstrip())
    return "\n".join([title, *rows, ""])


def markdown_table(title: str, columns: Columns) -> str:
    """A Markdown table below its title.

    >>> print(markdown_table("scores", {"method": ["a|b"], "F1": [90.0]}))
    scores
    <BLANKLINE>
    | method | F1 |
    |---|---:|
    | a\\|b | 90.00 |
    <BLANKLINE>
    """
    head = "| " + " | ".join(map(_markdown, columns)) + " |"
    rule = (
        "|" + "|".join("---:" if _numeric(column) else "---" for column in columns.values()) + "|"
    )
    rows = [
        "| " + " | ".join(_markdown(cell(value)) for value in row) + " |"
        for row in zip(*columns.values(), strict=True)
    ]
    return "\n".join([_markdown(title), "", head, rule, *rows, ""])


def latex_table(title: str, columns: Columns, best: str = "F1") -> str:
    """A LaTeX table (package booktabs) with its title as caption; the best of column ``best`` is bold."""
    shape = "".join("r" if _numeric(column) else "l" for column in columns.values())
    top = max((v for v in columns.get(best, ()) if v == v), default=None)
    rows = []
    for row in zip(*columns.values(), strict=True):
        cells = []
        for name, value in zip(columns, row, strict=True):
            text = _latex(cell(value))
            marked = name == best and value == top and len(columns[best]) > 1
            cells.append(rf"\textbf{{{text}}}" if marked else text)
        rows.append(" & ".join(cells) + r" \\")
    head = " & ".join(map(_latex, columns)) + r" \\"
    return "\n".join(
        [r"\begin{table}", r"\centering", rf"\caption{{{_latex(title)}}}",
         rf"\begin{{tabular}}{{{shape}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule",
         r"\end{tabular}", r"\end{table}", ""]
    )  # fmt: skip


def _numeric(column: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) for value in column)


def _markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
