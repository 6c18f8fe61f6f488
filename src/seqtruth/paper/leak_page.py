"""The page of :mod:`~seqtruth.paper.leak`: tables, what they show in words, and the figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seqtruth.paper import paper
from seqtruth.paper.grid import Section
from seqtruth.paper.material import TITLES
from seqtruth.paper.plots import Mark, marks
from seqtruth.paper.tables import markdown, number, signed

Rows = Sequence[dict[str, Any]]
#: Where the paper prints the rows that the runs are held against.
PRINTED = {"ner": "table4", "pico": "table4", "synthetic": "table3"}
TEACHER_WORDS = {
    "same": "(a) gold of the very sentences",
    "other": "(b) gold of other text",
    "third": "(b) a third of that text",
    "tenth": "(b) a tenth of that text",
    "crowd": "(c) the crowd's majority vote",
}
SETTING_WORDS = {
    "paper": "paper",
    "unweighted": "paper, no class weights",
    "ours": "ours",
    "votes": "ours, every O a vote",
}
#: So many points from the paper's F1 count as its figure come out.
NEAR = 2.0
_ROW = {
    "whole": "AggSLC", "without L_inc": "AggSLC - L_inc", "without L_pred": "AggSLC - L_pred",
}  # fmt: skip


def leak_section(name: str, rows: Rows) -> Section:
    """Everything below the title.

    Parameters
    ----------
    name : of the page's files.
    rows : one a case and data set, as in the CSV.
    """
    parts, plots = [], {}
    for data in PRINTED:
        its = [row for row in rows if row["data"] == data]
        if not its:
            continue
        parts += [f"## {TITLES[data]}, `{its[0]['split']}`\n", _said(its, data) + "\n"]
        if points := _points(its, data):
            plots[f"{name}-{data}.svg"] = marks(
                points, "the tagger's own F1, %", "AggSLC's F1, %",
                f"AggSLC's F1 against its tagger's own, {TITLES[data]}",
            )  # fmt: skip
            parts.append(
                f"![AggSLC against its tagger, {TITLES[data]}]({{files}}/{name}-{data}.svg)\n"
            )
        parts += [_taggers(its, data) + "\n", _runs(its, data) + "\n"]
    return Section(name, "The leak, measured", "\n".join(parts), {f"{name}.csv": rows}, plots)


def _printed(data: str, modules: str) -> paper.Triple | None:
    found = paper.figures(PRINTED[data], data, _ROW[modules])
    return None if found is None else found.strict


def _own(data: str) -> float | None:
    """F1 of the paper's tagger, on a text it does not name."""
    found = paper.figures("table5", data, "L_pred")
    return None if found is None else found.strict.f1


def _pick(rows: Rows, **wanted: str) -> list[dict[str, Any]]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _f1(rows: Rows, **wanted: str) -> float | None:
    found = _pick(rows, **wanted)
    return found[0]["f1"] if found else None


def _three(row: dict[str, Any]) -> str:
    return f"{row['precision']:.2f} / {row['recall']:.2f} / {row['f1']:.2f}"


def _runs(rows: Rows, data: str) -> str:
    """Every run beside what the paper prints."""
    lines = []
    for row in rows:
        if row["settings"] == "alone":
            continue
        printed = _printed(data, row["modules"])
        lines.append(
            [TEACHER_WORDS.get(row["teacher"], "–"), row["kind"], SETTING_WORDS[row["settings"]],
             row["modules"], _heard(row), _three(row),
             "–" if printed is None else " / ".join(f"{x:.2f}" for x in printed),
             "–" if printed is None else signed(row["f1"] - printed.f1)]
        )  # fmt: skip
    head = ["tagger taught by", "tagger", "settings", "AggSLC", "tagger's weight",
            "here, P / R / F1", "paper", "F1 − paper"]  # fmt: skip
    return markdown(head, lines)


def _heard(row: dict[str, Any]) -> str:
    """Eq 10 gives nothing to whoever is furthest from the labels, and that may be the tagger."""
    if row["teacher"] == "none":
        return "–"
    return "above 0" if row["heard"] == row["seeds"] else "0"


def _taggers(rows: Rows, data: str) -> str:
    """Each tagger's own F1 beside what AggSLC, in our settings, makes with it."""
    lines = []
    texts = [name for name in ("testa", "testb") if any(row[name] is not None for row in rows)]
    for row in _pick(rows, settings="alone"):
        same = {"teacher": row["teacher"], "kind": row["kind"]}
        lines.append(
            [TEACHER_WORDS[row["teacher"]], row["kind"], _three(row),
             *(number(row[name]) for name in texts),
             number(_f1(rows, **same, settings="ours", modules="whole"))]
        )  # fmt: skip
    if (own := paper.figures("table5", data, "L_pred")) is not None:
        whole = _printed(data, "whole")
        lines.append(
            ["the paper (its text is not named)", "BERT",
             " / ".join(f"{x:.2f}" for x in own.strict), *("–" for _ in texts),
             number(whole.f1 if whole else None)]
        )  # fmt: skip
    head = ["tagger taught by", "tagger", f"its own labels on `{rows[0]['split']}`, P / R / F1",
            *(f"F1 on `{name}`" for name in texts), "AggSLC with it, ours"]  # fmt: skip
    return markdown(head, lines)


def _points(rows: Rows, data: str) -> list[Mark]:
    found = []
    for row in _pick(rows, settings="alone"):
        same = {"teacher": row["teacher"], "kind": row["kind"]}
        whole = _f1(rows, **same, settings="ours", modules="whole")
        if whole is not None:
            letter = TEACHER_WORDS[row["teacher"]][:3]
            short = {"third": " a third", "tenth": " a tenth"}.get(row["teacher"], "")
            found.append(Mark(f"{letter}{short} {row['kind']}", row["f1"], whole))
    own, whole_ = _own(data), _printed(data, "whole")
    if found and own is not None and whole_ is not None:
        found.append(Mark("paper", own, whole_.f1, ours=False))
    return found


def _away(rows: Rows, data: str) -> dict[tuple[str, str, str], float]:
    """By teacher, tagger and settings: how far the F1 furthest from what the paper prints is."""
    away: dict[tuple[str, str, str], float] = {}
    for row in rows:
        printed = (
            _printed(data, row["modules"]) if row["modules"] in ("whole", "without L_inc") else None
        )
        if printed is not None:
            key = row["teacher"], row["kind"], row["settings"]
            away[key] = max(away.get(key, 0.0), abs(row["f1"] - printed.f1))
    return away


def _words(key: tuple[str, str, str]) -> str:
    teacher, kind, settings = key
    return f"{TEACHER_WORDS[teacher]}, {kind}, settings {SETTING_WORDS[settings]}"


def _said(rows: Rows, data: str) -> str:
    """What the figures show."""
    away = _away(rows, data)
    near = sorted((off, key) for key, off in away.items() if off <= NEAR)
    both = all(_printed(data, modules) is not None for modules in ("whole", "without L_inc"))
    what = "both of the paper's rows (AggSLC, and without L_inc)" if both else "the paper's row"
    lines = [f"Within {NEAR:g} points of {what}: " + ("" if near else "no run.")]
    lines += [f"- {_words(key)}: {off:.2f} away" for off, key in near]
    if not near and away:
        off, key = min((off, key) for key, off in away.items())
        lines.append(f"- nearest: {_words(key)}, {off:.2f} away")
    exact = [key for key, off in away.items() if key[2] == "paper" and off <= NEAR]
    if any(key[2] == "paper" for key in away) and not exact:
        off, key = min((off, key) for key, off in away.items() if key[2] == "paper")
        lines.append(
            f"\nIn the paper's own settings no tagger, whatever it has seen, comes nearer than {off:.2f} "
            f"({TEACHER_WORDS[key[0]]}, {key[1]})."
        )
    if unheard := _unheard(rows):
        lines.append(unheard)
    if gain := _gains(rows, data):
        lines.append(gain)
    if tagger := _tagger_said(rows, data, [key for _, key in near]):
        lines.append(tagger)
    return "\n".join(lines)


def _unheard(rows: Rows) -> str:
    """Taggers that Eq 10 gives no weight, in our settings."""
    found = [
        f"{TEACHER_WORDS[row['teacher']]}, {row['kind']}, settings {SETTING_WORDS[row['settings']]}"
        for row in _pick(rows, modules="whole")
        if row["settings"] in ("ours", "votes") and row["heard"] < row["seeds"]
    ]
    if not found:
        return ""
    return (
        f"\nNot heard at all, being further from the labels than every annotator (Eq 10: weight 0): "
        f"{'; '.join(found)}. Such a tagger still moves the labels, since Eq 10 measures everybody "
        "against the largest loss."
    )


def _gains(rows: Rows, data: str) -> str:
    """What a tagger adds to AggSLC without one, here and in the paper."""
    whole, alone = _printed(data, "whole"), _printed(data, "without L_pred")
    here = _f1(rows, settings="ours", modules="without L_pred")
    if whole is None or alone is None or here is None:
        return ""
    found = []
    for teacher in ("same", "other", "crowd"):
        its = _pick(rows, teacher=teacher, settings="ours", modules="whole")
        gains = [f"{row['kind']} {signed(row['f1'] - here)}" for row in its]
        if gains:
            found.append(f"{TEACHER_WORDS[teacher]} {', '.join(gains)}")
    return (
        f"\nThe tagger adds {signed(whole.f1 - alone.f1)} to AggSLC without L_pred in the paper "
        f"({alone.f1:.2f}); here, in our settings, to {here:.2f}: {'; '.join(found)}."
    )


def _tagger_said(rows: Rows, data: str, near: list[tuple[str, str, str]]) -> str:
    """Whether the taggers that make the paper's rows come out are as good as the paper says its own is."""
    own = _own(data)
    alone = {(row["teacher"], row["kind"]): row for row in _pick(rows, settings="alone")}
    if own is None or not alone:
        return ""

    def best(row: dict[str, Any]) -> float:
        values = [row["f1"], row["testa"], row["testb"]]
        return float(min(abs(value - own) for value in values if value is not None))

    alike = [key for key, row in alone.items() if best(row) <= NEAR]
    names = [f"{TEACHER_WORDS[t]}, {kind}" for t, kind in alike]
    text = (
        f"\nThe paper's tagger is at {own:.2f} by itself (Table 5). Within {NEAR:g} points of that on one of "
        f"the texts here: {'; '.join(names) or 'none'}."
    )
    joint = sorted({(t, kind) for t, kind, _ in near} & set(alike))
    if joint:
        words = "; ".join(f"{TEACHER_WORDS[t]}, {kind}" for t, kind in joint)
        return f"{text} Tagger and AggSLC's rows together come out with: {words}."
    return f"{text} No tagger here gives both: AggSLC's rows and the tagger's own figure."
