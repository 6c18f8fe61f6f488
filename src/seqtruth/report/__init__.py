"""A result as one self-contained page for the person who runs the annotation project.

The page needs nothing but itself: no script, no request, its figures are drawn here as SVG. It shows
whom to trust, what to review, what was found, how the method converged and where all of it comes
from. It is bounded in size whatever the input.
"""

from __future__ import annotations

import math
import os
from functools import cache
from typing import TYPE_CHECKING

from seqtruth.data.crowd import Crowd
from seqtruth.io.files import write_chunks
from seqtruth.metrics import Evaluation
from seqtruth.report import confidence, content, review
from seqtruth.report.beside import beside
from seqtruth.result import Result

if TYPE_CHECKING:
    from jinja2 import Template

STOP_WORDS = {
    "converged": "converged",
    "max_iter": "reached the limit of rounds before converging",
    "closed-form": "solved in one go",
    "rounds": "made all its rounds",
}


def render(
    result: Result,
    crowd: Crowd | None = None,
    scores: Evaluation | None = None,
    title: str | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    result : what an aggregator handed back.
    crowd : the annotations it was made from, where the result does not know them; with them the page
        shows who said what, and what kind of mistakes each annotator makes.
    scores : scores against a gold standard, from :func:`seqtruth.evaluate`.
    title : heading of the page.
    """
    crowd = result.crowd if crowd is None else crowd
    crowd = None if crowd is None else beside(crowd, result)
    rows = content.annotators(result, crowd)
    types = content.types(result)
    return _template().render(
        title=title or f"What {len(rows):,} annotator{'' if len(rows) == 1 else 's'} agreed on",
        result=result,
        plain=result.scheme.kind == "plain",
        headlines=content.headlines(result, sum(row["n"] for row in types), scores),
        meaning=confidence.meaning(result),
        triage=confidence.triage(result),
        thresholds=confidence.thresholds(result),
        annotators=rows[: content.MAX_ANNOTATORS],
        more_annotators=max(0, len(rows) - content.MAX_ANNOTATORS),
        has_mistakes=bool(rows and rows[0].mistakes),
        trust_figure=content.trust_figure(rows),
        items=review.items(result, crowd),
        has_crowd=crowd is not None,
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
        weak=review.WEAK,
    )


def write(
    result: Result,
    path: str | os.PathLike[str],
    crowd: Crowd | None = None,
    scores: Evaluation | None = None,
    title: str | None = None,
) -> None:
    """Write the page, whole or not at all; see :func:`render`."""
    page = render(result, crowd, scores, title)
    write_chunks(path, [page.encode("utf-8", "replace")])


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
    environment.filters["figure"] = _figure
    environment.filters["change"] = _change
    environment.filters["count"] = "{:,}".format
    environment.filters["clip"] = content.clip
    return environment.get_template("page.html")


def _change(share: float | None) -> str:
    """Share of tokens with a new label; a dash where the round had nothing to compare with."""
    return "–" if share is None or not math.isfinite(share) else f"{share:.2%}".replace("%", " %")


def _figure(value: float, digits: int = 2) -> str:
    """A number with fixed digits; a dash where it is not one."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1e9:
        return f"{value:.3e}".replace("-", "−")
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


__all__ = ["render", "write"]
