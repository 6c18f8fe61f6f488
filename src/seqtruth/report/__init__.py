"""A result as one self-contained page for the person who runs the annotation project.

The page needs nothing but itself: no request, its figures are drawn here as SVG, its one script is named in
its security policy by digest and only builds the text view, out of texts and never out of HTML. The first
screen says whether the labels can be used, whom to trust and what to do next. The page is bounded in size
whatever the input.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import shlex
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from seqtruth.data.crowd import Crowd
from seqtruth.io.files import write_chunks
from seqtruth.metrics import Evaluation
from seqtruth.metrics.agreement.drawing import Estimate
from seqtruth.report import agreement_part, confidence, content, sentences
from seqtruth.report.answers import answers
from seqtruth.report.beside import beside
from seqtruth.report.confusion import confusion
from seqtruth.result import Result

if TYPE_CHECKING:
    from jinja2 import Template

STOP_WORDS = {
    "converged": "converged",
    "max_iter": "reached the limit of rounds before converging",
    "closed-form": "solved in one go",
    "rounds": "made all its rounds",
}
#: Remarks of the method that are shown, and the name of the result's file where none is given.
MAX_WARNINGS, SAVED = 20, "result.seqtruth"


def render(
    result: Result,
    crowd: Crowd | None = None,
    scores: Evaluation | None = None,
    title: str | None = None,
    saved: str = SAVED,
) -> str:
    """The page as text.

    Parameters
    ----------
    result : what an aggregator handed back.
    crowd : the annotations it was made from, where the result does not know them; with them the page
        shows who said what, how far annotators agree, and what kind of mistakes each makes.
    scores : scores against a gold standard, from :func:`seqtruth.evaluate`.
    title : heading of the page.
    saved : name of the result's file in the commands that the page shows.
    """
    saved = shlex.quote(saved)
    crowd = result.crowd if crowd is None else crowd
    crowd = None if crowd is None else beside(crowd, result)
    silent = confidence.silent_sources(result)
    rows = content.annotators(result, crowd, silent)
    types = content.types(result)
    kind = confidence.meaning(result)
    between = agreement_part.agreement_part(result, crowd)
    groups = agreement_part.copies(result, crowd)
    mixed = None
    if crowd is not None:
        mixed = confusion(crowd, crowd.scheme.recoding(result.scheme.labels)[result.tags])
    script = _script()
    template = _template()
    template.environment.filters["colour"] = lambda name: content.colour(result.scheme.types, name)
    return template.render(
        title=title or f"What {len(rows):,} annotator{'' if len(rows) == 1 else 's'} agreed on",
        result=result,
        saved=saved,
        script=Markup(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        plain=result.scheme.kind == "plain",
        headlines=content.headlines(result, sum(row["n"] for row in types), scores),
        answers=answers(result, rows, between, groups, scores, saved),
        warnings=result.warnings[:MAX_WARNINGS],
        meaning=kind,
        triage=confidence.triage(result),
        thresholds=confidence.thresholds(result),
        annotators=rows[: content.MAX_ANNOTATORS],
        more_annotators=max(0, len(rows) - content.MAX_ANNOTATORS),
        silent=bool(silent),
        has_mistakes=bool(rows and rows[0].mistakes),
        trust_figure=content.trust_figure(rows),
        between=between,
        copies=groups[: content.MAX_COPIES],
        confusion=mixed,
        embedded=sentences.embed(result, crowd, kind == "corrected", saved),
        has_crowd=crowd is not None,
        has_model=result.fitted is not None and len(result.corpus.layers) == 1,
        types=types[: content.MAX_TYPES],
        more_types=max(0, len(types) - content.MAX_TYPES),
        confidence_figure=confidence.confidence_figure(result),
        convergence=content.convergence(result),
        stop_words=STOP_WORDS.get(result.history.stop_reason, result.history.stop_reason),
        scores=scores,
        honesty=confidence.honesty(scores),
        score_rows=[] if scores is None else content.score_rows(scores),
        provenance=content.provenance(result),
        limits=content,
        weak=sentences.WEAK,
    )


def write(
    result: Result,
    path: str | os.PathLike[str],
    crowd: Crowd | None = None,
    scores: Evaluation | None = None,
    title: str | None = None,
    saved: str = SAVED,
) -> None:
    """Write the page, whole or not at all; see :func:`render`."""
    page = render(result, crowd, scores, title, saved)
    write_chunks(path, [page.encode("utf-8", "replace")])


@cache
def _script() -> str:
    return (resources.files("seqtruth.report") / "page.js").read_text("utf-8")


@cache
def _template() -> Template:
    # imported when first used: every result knows how to report, few are asked to
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("seqtruth", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["percent"] = content.percent
    environment.filters["bare_percent"] = lambda share: content.percent(share).removesuffix(" %")
    environment.filters["colour"] = lambda name: 7
    environment.filters["figure"] = _figure
    environment.filters["interval"] = _interval
    environment.filters["command"] = _command
    environment.filters["change"] = _change
    environment.filters["count"] = "{:,}".format
    environment.filters["clip"] = content.clip
    return environment.get_template("page.html")


def _change(share: float | None) -> str:
    """Share of tokens with a new label; a dash where the round had nothing to compare with."""
    return "–" if share is None or not math.isfinite(share) else f"{share:.2%}".replace("%", " %")


def _command(text: str) -> Markup:
    """A command that breaks between its words and nowhere else; an option stays with its value."""
    parts: list[str] = []
    for word in text.split(" "):
        if parts and parts[-1].startswith("-") and " " not in parts[-1]:
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return Markup(" ").join(Markup("<span>{}</span>").format(part) for part in parts)


def _interval(estimate: Estimate) -> str:
    return (
        "–" if math.isnan(estimate.low) else f"{_figure(estimate.low)} to {_figure(estimate.high)}"
    )


def _figure(value: float, digits: int = 2) -> str:
    """A number with fixed digits; a dash where it is not one."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1e9:
        return f"{value:.3e}".replace("-", "−")
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


__all__ = ["render", "write"]
