"""Agreement for people: what the figures say in sentences, and tables of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import I64
from seqtruth.plural import count
from seqtruth.text_tables import cell, latex_table, markdown_table, text_table

if TYPE_CHECKING:
    from seqtruth.metrics.agreement.drawing import Estimate
    from seqtruth.metrics.agreement.found import Agreement

#: Every measure by name, with its words for people.
MEASURES = {
    "observed": "observed agreement (tokens)",
    "alpha": "Krippendorff's alpha (tokens)",
    "alpha_u": "Krippendorff's alpha_U (spans)",
    "fleiss_kappa": "Fleiss' kappa (tokens)",
    "cohen_kappa": "Cohen's kappa (tokens, pairs)",
    "ac1": "Gwet's AC1 (tokens)",
    "span_f1": "span F1 (strict)",
    "span_f1_overlap": "span F1 (partial, by overlap)",
    "span_f1_untyped": "span F1 (ends only, any type)",
    "gamma": "gamma (spans)",
}
#: What is said of an alpha from each value on (Landis and Koch's words, which are conventions).
WORDS = ((0.8, "very high"), (0.67, "high"), (0.4, "moderate"), (0.2, "low"), (-2.0, "very low"))
#: A type or an annotator is named where it lies this far below the others; ends and types, where they take
#: away as much of F1.
BELOW = 0.1
#: Annotators, pairs and documents that a table for people shows; types that a sentence names.
SHOWN, NAMED = 20, 3
_SHORT = {
    "observed": "observed", "alpha": "alpha", "alpha_u": "alpha_U", "fleiss_kappa": "Fleiss",
    "cohen_kappa": "Cohen", "ac1": "AC1", "span_f1": "span F1", "span_f1_overlap": "partial F1",
}  # fmt: skip
FORMS = {"text": text_table, "markdown": markdown_table, "latex": latex_table}


def word(alpha: float) -> str:
    """How high an alpha is, in a word.

    >>> word(0.72), word(float("nan"))
    ('high', 'unknown')
    """
    if np.isnan(alpha):
        return "unknown"
    return next(text for least, text in WORDS if alpha >= least)


def words(found: Agreement) -> list[str]:
    """What the figures say and where to look, in sentences.

    Parameters
    ----------
    found : what was measured.
    """
    alpha = found.overall.get("alpha")
    if not len(found.pairs) or alpha is None:
        return ["No two annotators labelled the same tokens: nothing can be said of agreement."]
    within = f" in {count(found.documents, 'document')}" if found.documents else ""
    rests = f"It rests on {count(found.tokens, 'token')}{within} that two or more labelled."
    if np.isnan(alpha.value):
        return [f"Everybody gave one and the same label: agreement is not defined. {rests}"]
    told = [
        f"Agreement is {word(alpha.value)}: alpha {alpha.value:.2f}{_interval(alpha)}, where 1 is full"
        f" agreement and 0 is chance. {rests}",
        _ends(found), _names(found), _least_type(found), _least_annotator(found),
    ]  # fmt: skip
    return list(filter(None, told))


def _interval(estimate: Estimate) -> str:
    return "" if np.isnan(estimate.low) else f" ({cell(estimate.low)} to {cell(estimate.high)})"


def _ends(found: Agreement) -> str:
    """Whether spans lie in the same places and end differently, and of which types."""
    strict, partial = (
        found.overall[name].value if name in found.overall else np.nan
        for name in ("span_f1", "span_f1_overlap")
    )
    if not partial - strict >= BELOW:
        return ""
    apart = (
        {}
        if len(found.per_type) < 2
        else {
            kind: (rows["span_f1"].value, rows["span_f1_overlap"].value)
            for kind, rows in found.per_type.items()
            if rows["span_f1_overlap"].value - rows["span_f1"].value >= BELOW
        }
    )
    furthest = sorted(apart, key=lambda kind: apart[kind][0] - apart[kind][1])[:NAMED]
    where = ", ".join(
        f"{kind} ({apart[kind][0]:.2f} and {apart[kind][1]:.2f})" for kind in furthest
    )
    return (
        f"They mark the same places more than the same ends: span F1 is {strict:.2f} strictly and"
        f" {partial:.2f} by overlap{f', furthest apart for {where}' if where else ''}. Say in the guideline"
        " where a span begins and ends."
    )


def _names(found: Agreement) -> str:
    """Whether spans have the same ends and other types."""
    strict, untyped = (
        found.overall[name].value if name in found.overall else np.nan
        for name in ("span_f1", "span_f1_untyped")
    )
    if not untyped - strict >= BELOW:
        return ""
    return (
        f"They find the same spans more than the same types: span F1 is {strict:.2f} with types and"
        f" {untyped:.2f} without. Say in the guideline how types are told apart."
    )


def _least_type(found: Agreement) -> str:
    """The type that is agreed on least, where that is more than chance (its interval lies below the rest)."""
    known = {
        kind: rows["alpha"]
        for kind, rows in found.per_type.items()
        if "alpha" in rows and not np.isnan(rows["alpha"].value)
    }
    below = []
    for kind, alpha in known.items():
        others = [other.value for name, other in known.items() if name != kind]
        most = alpha.value if np.isnan(alpha.high) else alpha.high
        if others and alpha.value < np.median(others) - BELOW and most < np.median(others):
            below.append(kind)
    if not below:
        return ""
    least = min(below, key=lambda kind: known[kind].value)
    marks = count(found.marks.get(least, 0), "mark")
    return (
        f"{least} ({marks}) is agreed on least, alpha {known[least].value:.2f}{_interval(known[least])}: make"
        " its rule clearer."
    )


def _least_annotator(found: Agreement) -> str:
    measure, name = ("span_f1", "span F1") if "span_f1" in found.overall else ("kappa", "kappa")
    each = found.of_each(measure)
    if np.isfinite(each).sum() < 3:
        return ""
    k = int(np.nanargmin(each))
    if not each[k] < float(np.nanmedian(each)) - BELOW:
        return ""
    return (
        f"{found.annotators[k]} agrees least with the others ({name} {each[k]:.2f}; half of all have"
        f" {np.nanmedian(each):.2f} or more): look at what they mark."
    )


def tables(found: Agreement, form: str = "text") -> str:
    """All of it as tables for people, long ones cut; as text with :func:`words` before them, which are all
    there is where nobody can be compared.

    Parameters
    ----------
    found : what was measured.
    form : ``text``, ``markdown`` or ``latex``.
    """
    if form not in FORMS:
        raise ParameterError(f"form must be one of {', '.join(FORMS)}", got=repr(form))
    if not len(found.pairs):
        return "\n".join(found.words()) + "\n"
    write = FORMS[form]
    what = "documents" if found.documents else "sentences"
    drawn = any(not np.isnan(one.low) for one in found.overall.values())
    share = f", {100 * found.level:g} % intervals over {what}" if drawn else ""
    parts = [
        write(
            f"agreement of {count(len(found.annotators), 'annotator')}{share}",
            {
                "measure": [MEASURES[name] for name in found.overall],
                "value": [one.value for one in found.overall.values()],
                "from": [one.low for one in found.overall.values()],
                "to": [one.high for one in found.overall.values()],
            },
        )
    ]
    if len(found.per_type) > 1:
        parts.append(write(*_types(found)))
    if len(found.pairs) > 1:
        parts.append(write(*_annotators(found)))
    parts.append(write(*_pairs(found)))
    if len(found.per_document.get("document", ())) > 1:
        parts.append(write(*_documents(found)))
    if found.silent:
        more = f" and {len(found.silent) - SHOWN:,} more" if len(found.silent) > SHOWN else ""
        parts.append(
            f"{len(found.silent):,} silent: {', '.join(found.silent[:SHOWN])}{more}"
            " (O is not counted as an opinion)\n"
        )
    if form == "text":
        parts.insert(0, "\n".join(found.words()) + "\n")
    return "\n".join(parts)


def _types(found: Agreement) -> tuple[str, dict[str, list[Any]]]:
    rows = found.per_type.values()
    columns: dict[str, list[Any]] = {
        "type": list(found.per_type),
        "marks": [found.marks.get(kind, 0) for kind in found.per_type],
    }
    for name, short in _SHORT.items():
        if all(name in row for row in rows):
            columns[short] = [row[name].value for row in rows]
        if name == "alpha":
            columns["from"], columns["to"] = (
                [getattr(row[name], end) for row in rows] for end in ("low", "high")
            )
    return "by type, each against the rest (from, to: of alpha)", columns


def _columns(
    found: Agreement, order: I64, columns: Mapping[str, Any], **names: str
) -> dict[str, Any]:
    """Columns under their names for people; those of spans where tags are spans."""
    spans = "span_f1" in found.overall
    return {
        short: columns[name][order].tolist()
        for name, short in names.items()
        if spans or not name.startswith("span")
    }


def _annotators(found: Agreement) -> tuple[str, dict[str, list[Any]]]:
    """Each with all others, those who agree least first."""
    columns = {name: found.of_each(name) for name in ("kappa", "span_f1", "span_f1_overlap")}
    key = np.where(np.isnan(columns["span_f1"]), columns["kappa"], columns["span_f1"])
    met = np.flatnonzero(~np.isnan(found.of_each("observed")))
    order = met[np.argsort(np.nan_to_num(key[met], nan=2.0), kind="stable")][:SHOWN]
    more = f", the {SHOWN} of {len(met):,} who agree least" if len(met) > SHOWN else ""
    others = (found.matrix("tokens") > 0).sum(axis=1)
    return f"by annotator, each with all others{more}", {
        "annotator": [found.annotators[k] for k in order],
        "met": others[order].tolist(),
        **_columns(
            found, order, columns, kappa="Cohen", span_f1="span F1", span_f1_overlap="partial F1"
        ),
    }


def _pairs(found: Agreement) -> tuple[str, dict[str, list[Any]]]:
    pairs, order = found.pairs, most_and_least(found, SHOWN)
    half, more = SHOWN // 2, ""
    if len(pairs) > SHOWN:
        often = f"the {half} who agree most and the {half} who agree least"
        more = f", of {len(pairs):,} {often if len(order) == SHOWN else 'those who met often'}"
    return f"by pair{more}", {
        "first": [found.annotators[k] for k in pairs.first[order]],
        "second": [found.annotators[k] for k in pairs.second[order]],
        **_columns(
            found, order, vars(pairs), tokens="tokens", kappa="Cohen", kappa_low="from", kappa_high="to",
            span_f1="span F1", span_f1_overlap="partial F1",
        ),
    }  # fmt: skip


def most_and_least(found: Agreement, n: int) -> I64:
    """Numbers of pairs by Cohen's kappa, most first: all of them, or where there are more than ``n`` the two
    ends of those who met often enough to tell (half as often as the median pair).

    Parameters
    ----------
    found : what was measured.
    n : how many pairs at most.
    """
    pairs = found.pairs
    order = np.lexsort((-pairs.tokens, -np.nan_to_num(pairs.kappa, nan=-2.0)))
    if len(order) <= n:
        return order
    often = np.isfinite(pairs.kappa) & (pairs.tokens >= np.median(pairs.tokens) / 2)
    order = order[often[order]]
    return order if len(order) <= n else np.concatenate([order[: n // 2], order[-(n // 2) :]])


def _documents(found: Agreement) -> tuple[str, dict[str, list[Any]]]:
    columns = found.per_document
    order = np.argsort(np.nan_to_num(columns["ac1"], nan=2.0), kind="stable")[:SHOWN]
    n = len(columns["document"])
    more = f", the {SHOWN} of {n:,} that are agreed on least (AC1)" if n > SHOWN else ""
    return f"by document{more}", {
        "document": [columns["document"][k] for k in order],
        "tokens": columns["tokens"][order].astype(int).tolist(),
        **_columns(
            found, order, columns, observed="observed", alpha="alpha", ac1="AC1", span_f1="span F1",
            span_f1_overlap="partial F1",
        ),
    }  # fmt: skip
