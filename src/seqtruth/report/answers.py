"""The first screen: can I use these labels, whom do I trust, what do I do next."""

from __future__ import annotations

from typing import Any, NamedTuple

from seqtruth.decisions.promises import HIGHEST
from seqtruth.decisions.queue import half_of_errors
from seqtruth.decisions.triage import Triage, triage
from seqtruth.metrics import Evaluation
from seqtruth.plural import count
from seqtruth.report.confidence import meaning, silent_sources
from seqtruth.report.content import Row, clip, percent
from seqtruth.result import Result

#: Names that are spelled out.
NAMED = 3


class Answer(NamedTuple):
    """A question, its answer in a few words, what stands behind it, and the command that acts on it.

    ``tone`` is ``good``, ``fair``, ``bad`` or ``none``; the first three only where a figure was checked.
    """

    question: str
    short: str
    tone: str
    more: tuple[str, ...]
    command: str


def answers(
    result: Result,
    rows: list[Row],
    found: dict[str, Any] | None,
    groups: list[dict[str, Any]],
    scores: Evaluation | None,
    saved: str,
) -> list[Answer]:
    """The three answers.

    Parameters
    ----------
    result : the aggregated labels.
    rows : the annotators, worst first.
    found : what is known of agreement.
    groups : the copies.
    scores : against a gold standard.
    saved : name of the result's file, for commands.
    """
    taken = triage(result, HIGHEST)
    return [
        _usable(result, taken, scores, saved),
        _trusted(rows, found, groups, saved),
        _next(taken, rows, saved),
    ]


def _usable(result: Result, taken: Triage, scores: Evaluation | None, saved: str) -> Answer:
    question, kind = "Can I use these labels?", meaning(result)
    n_labelled = int(result.labelled.sum())
    more: list[str] = []
    if scores is not None:
        name = "accuracy" if scores.plain else "F1"
        more.append(f"Against the gold standard: {name} {100 * scores.f1:.1f}.")
    method = str(result.provenance.get("method", "the method"))
    command = f"seqtruth triage {saved} --accept {taken.accept:g} -o queue.csv"
    if not n_labelled:
        return Answer(question, "There are none", "none", tuple(more), "")
    if kind == "unchecked":
        more.append(
            "No sentence was labelled by two annotators, so that no person confirms another."
        )
        ask = f"seqtruth next {saved} -n 100" if _can_ask(result) else command
        return Answer(question, "Nobody checked them", "none", tuple(more), ask)
    if kind != "corrected":
        what = {
            "margin": "gives margins, which rank sentences and promise nothing",
            "own": "gives its own beliefs, which nobody checked",
            "guess": "can only guess: sources that are silent cannot confirm each other",
        }[kind]
        more.append(f"{clip(method, 40)} {what}.")
        if kind != "guess":
            more.append("Aggregate with accord, which checks its probabilities, or check a sample.")
        return _after_a_check(taken, "The method cannot promise", more, saved, command)
    right = float(result.sentence_confidence[result.labelled].mean())
    more.append(f"Of all sentences, {percent(right)} are expected to be right.")
    spans = taken.spans
    if not spans.promised:
        more.insert(0, f"No precision can be promised: {clip(spans.why, 200)}.")
        return _after_a_check(taken, "After a check", more, saved, command)
    n, total = int(spans.accepted.sum()), len(spans.accepted)
    more.insert(
        0, f"{n:,} of {count(total, 'span')} can be accepted: {taken.accept:.0%} of them are right,"
        f" {clip(spans.why, 200)}.".replace("%", " %"),
    )  # fmt: skip
    tone = "good" if n >= 0.5 * total else "fair" if n >= 0.1 * total else "bad"
    return Answer(question, f"{percent(n / total)} of the spans", tone, tuple(more), command)


def _after_a_check(taken: Triage, short: str, more: list[str], saved: str, command: str) -> Answer:
    """What a sample that was checked would change, where that can be said."""
    needed = taken.spans.needed
    if needed is not None:
        more.append(
            f"Check about {count(needed, 'sentence')} drawn at random: with their true labels it can say"
            " what to accept."
        )
        command = f"seqtruth triage {saved} --sample {needed} -o check.csv"
    return Answer("Can I use these labels?", short, "none", tuple(more), command)


def _trusted(
    rows: list[Row], found: dict[str, Any] | None, groups: list[dict[str, Any]], saved: str
) -> Answer:
    question, command = "Whom do I trust?", f"seqtruth annotators {saved}"
    if len(rows) < 2:
        return Answer(question, "There is nobody to compare", "none", (), command)
    by = {
        word: [row.name for row in rows if row.verdict == word]
        for word in ("rely on", "look into", "do not rely on")
    }
    judged = sum(map(len, by.values()))
    more = []
    if by["do not rely on"]:
        more.append(f"Do not rely on {_names(by['do not rely on'])}.")
    if by["look into"]:
        more.append(f"Look into {_names(by['look into'])}.")
    for group in groups[:1]:
        names = _names([str(name) for name in group["annotators"]])
        counted = ": counted as one" if group["counted"] else ""
        more.append(f"{names} seem to be copies{counted}.")
    if found is not None and found["word"] != "unknown":
        alpha = found["alpha"]
        interval = f" ({alpha.low:.2f} to {alpha.high:.2f})" if alpha.low == alpha.low else ""
        more.append(
            f"They agree with each other at alpha {alpha.value:.2f}{interval}: {found['word']}."
        )
    if not judged:
        return Answer(question, "Too little to judge anybody", "none", tuple(more), command)
    short = f"{len(by['rely on']):,} of {judged:,} annotators"
    share = len(by["rely on"]) / judged
    tone = "good" if share >= 0.7 else "fair" if share >= 0.3 else "bad"
    return Answer(question, short, tone, tuple(more), command)


def _next(taken: Triage, rows: list[Row], saved: str) -> Answer:
    question, result = "What do I do next?", taken.result
    more = []
    n_labelled, unlabelled = map(taken.n_sentences, (result.labelled, ~result.labelled))
    promised = meaning(result) == "corrected" and taken.spans.promised
    left = taken.n_sentences(result.labelled & ~taken.settled) if promised else n_labelled
    if promised and left:
        half = half_of_errors(taken)
        most = f": half of the errors to be expected are in the first {half:,}" if half else ""
        more.append(f"Read the {count(left, 'sentence')} that are not settled, worst first{most}.")
    elif n_labelled and not promised:
        more.append("Read a sample of the sentences below, the least sure first.")
    worst = next((row for row in rows if row.verdict == "do not rely on"), None)
    if worst is not None:
        name = clip(worst.name, 40)
        silent = worst.name in silent_sources(result)
        more.append(
            f"Mend {name}, or leave it out." if silent else f"Talk to {name}, or leave them out."
        )
    if unlabelled:
        verb = "has" if unlabelled == 1 else "have"
        more.append(f"Have the {count(unlabelled, 'sentence')} labelled that {verb} no label.")
    short = f"Read {left:,}" if promised else "Read a sample"
    if promised and not left:
        short = "Use them"
    if not _can_ask(result):
        more.append("Those to be read first, with the reasons:")
        return Answer(
            question, short, "none", tuple(more), f"seqtruth triage {saved} -n 100 -o queue.csv"
        )
    more.append("Ask for labels where one more helps most:")
    if promised and left:
        short += ", then ask for more"
    return Answer(question, short, "none", tuple(more), f"seqtruth next {saved} -n 100")


def _can_ask(result: Result) -> bool:
    """Whether the model can say where a label helps, and anybody has not labelled everything."""
    crowd = result.crowd
    if result.fitted is None or crowd is None or len(result.corpus.layers) > 1:
        return False
    return crowd.n_rows < crowd.n_sentences * crowd.n_annotators


def _names(names: list[str]) -> str:
    shown = [clip(name, 40) for name in names[:NAMED]]
    if len(names) > NAMED:
        return f"{', '.join(shown)} and {len(names) - NAMED:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
