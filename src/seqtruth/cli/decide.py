"""``seqtruth triage``, ``next``, ``update``, ``explain`` and ``annotators``: what people decide by."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqtruth.cli.display import harmless, note, print_json, progress, table
from seqtruth.cli.options import InFormat, Json, OutFormat, Quiet, Seed
from seqtruth.cli.outputs import check_distinct, check_files
from seqtruth.errors import ParameterError
from seqtruth.plural import count

if TYPE_CHECKING:
    from seqtruth.decisions import Plan, Triage
    from seqtruth.result import Result

Saved = Annotated[Path, typer.Argument(help="A saved result (aggregate --save).")]
Gold = Annotated[Path | None, typer.Option(help="True labels of some sentences.")]
CostFile = Annotated[
    Path | None, typer.Option("--costs", help="What annotators cost (TOML or CSV).")
]
#: Rows that a table on the terminal shows.
SHOWN = 25
#: Pairs of relatives that are named there.
RELATIVES = 5


def _load(path: Path) -> Result:
    from seqtruth.result import Result

    return Result.load(path)


def triage(
    result: Saved,
    accept: Annotated[float, typer.Option(help="The precision wanted.")] = 0.95,
    gold: Gold = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The queue: .csv, .jsonl, or a tool's file (--to)."),
    ] = None,
    out_format: OutFormat = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="At most so many sentences.")
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=1, help="Write so many sentences drawn at random, to check."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """What can be accepted at a precision, and what a person should see.

    A precision is promised where there are grounds for it; with --gold, true labels of some sentences
    drawn at random (--sample writes such), there are more. The queue goes to a table or back into a tool,
    with the reasons.
    """
    from seqtruth.decisions import queue, write_queue
    from seqtruth.decisions import sample as drawn

    if sample is not None and output is None:
        raise ParameterError("a sample is written to a file", fix="give --output")
    check_files(output)
    check_distinct(output, inputs=(result, gold))
    found = _load(result).triage(accept, gold)
    chosen = None if sample is None else drawn(found, sample, seed)
    written = None if output is None else write_queue(found, output, out_format, limit, chosen)
    if as_json:
        items = [item.to_dict() for item in queue(found, SHOWN if limit is None else limit)]
        print_json({**found.to_dict(), "queue": items})
        return
    _show_triage(found, str(result), out_format)
    if written is None:
        _show_queue([item.to_dict() for item in queue(found, min(limit or 10, SHOWN))])
    elif sample is not None:
        note(
            f"wrote {output} ({count(written, 'sentence')} drawn at random; when they are checked, give them"
            " with --gold)"
        )
    else:
        note(f"wrote {output} ({count(written, 'sentence')} to see)")


def _show_triage(found: Triage, saved: str, tool: str | None) -> None:
    from seqtruth.decisions.queue import half_of_errors

    rows = []
    whole = "sentences, by layer" if len(found.result.corpus.layers) > 1 else "sentences"
    for name, share in ((_spans(found), found.spans), (whole, found.sentences)):
        n, taken = len(share.accepted), int(share.accepted.sum())
        rows.append(
            [
                name, n, taken, f"{taken / n:.0%}" if n else "–",
                f"{share.expected:.1%}" if share.promised else "–",
                "yes" if share.promised else "no", share.why,
            ]
        )  # fmt: skip
    table(
        ["", "all", "accepted", "share", "expected right", "promised", "grounds"], rows,
        f"accepted at {found.accept:.0%}",
    )  # fmt: skip
    known = found.n_sentences(found.known)
    left, n = found.to_dict()["to_see"], found.n_sentences(found.result.labelled)
    print(
        f"{left:,} of {count(n, 'sentence')} {'is' if left == 1 else 'are'} left for people to see"
        + (f"; {known:,} are known." if known else ".")
    )
    half = half_of_errors(found)
    if left > half > 0 and found.result.of_span is not None:
        print(f"Half of the errors to be expected in them are in the first {half:,} of the queue.")
    for line in _advice(found, saved, tool):
        print(harmless(line))


def _spans(found: Triage) -> str:
    return "tags" if found.result.scheme.kind == "plain" else "spans"


def _advice(found: Triage, saved: str, tool: str | None) -> list[str]:
    """What can be promised where the precision asked for cannot, and what would change that."""
    from seqtruth.decisions.promises import FEWEST, SAMPLE

    out = []
    what = _spans(found)
    for name, share in ((what, found.spans), ("sentences", found.sentences)):
        if share.promised or share.offer is None:
            continue
        n = len(share.accepted)
        out.append(
            f"Of {name}, {share.offer.precision:.0%} can be promised, for {share.offer.n:,} of {n:,}"
            f" (--accept {share.offer.precision:g})."
        )
    if found.spans.promised:
        return out
    if found.spans.offer is None:
        out.append(f"No precision of {what} can be promised as it is.")
    if found.spans.needed is not None:
        more = max(found.spans.needed - found.sentences.checked, SAMPLE)
        out += [
            f"For {found.accept:.0%}, about {found.spans.needed:,} sentences would have to be checked,"
            " drawn at random:",
            f"  seqtruth triage {shlex.quote(saved)} --sample {more} "
            + (f"--to {tool} -o check.json" if tool else "-o check.csv"),
        ]
    elif found.spans.checked >= FEWEST:
        out.append(
            f"More known labels are not expected to allow {found.accept:.0%}: the surest {what} are not"
            " right that often."
        )
    elif len(found.spans.accepted):
        out.append(
            f"For {found.accept:.0%}, more sentences would have to be checked than there are: have people"
            " read the queue, worst first:"
        )
        where = f"--to {tool} -o queue.json" if tool else "-o queue.csv"
        out.append(f"  seqtruth triage {shlex.quote(saved)} {where}")
    return out


def _show_queue(items: list[dict[str, Any]]) -> None:
    rows = [
        [one["sentence"], one["expected_errors"], "\n".join(one["reasons"][:3])] for one in items
    ]
    if rows:
        table(["sentence", "errors expected", "why"], rows, "to be seen first")


def next_(
    result: Saved,
    n: Annotated[int, typer.Option("-n", min=1, help="How many labels to ask for.")] = 100,
    costs: CostFile = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Spend at most so much.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The plan, as .csv or .jsonl.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Where one more label helps most, and whose; with a budget curve."""
    from seqtruth.decisions.next_labels import by_annotator

    check_files(output)
    check_distinct(output, inputs=(result, costs))
    plan = _load(result).next_labels(n, costs=costs, budget=budget)
    if output is not None:
        _write_plan(plan, output)
    if as_json:
        print_json(plan.to_dict())
        return
    if not plan.suggestions:
        note(
            "there is nobody to ask: those who are available have labelled all that is in doubt; see what"
            f" a person should read with seqtruth triage {shlex.quote(str(result))} -o queue.csv"
        )
        return
    rows = [
        [one.sentence, one.annotator, one.gain, one.cost, len(one.alike), one.question]
        for one in plan.suggestions[:SHOWN]
    ]
    table(["sentence", "ask", "gain", "cost", "alike", "question"], rows, "labels that help most")
    print(
        "gain: errors that the label is expected to put right; alike: other sentences of the"
        " document with the same question.\n"
    )
    if len(plan.suggestions) > SHOWN:
        print(f"… and {len(plan.suggestions) - SHOWN:,} more (--json or --output lists all)\n")
    curve = [
        [one["labels"], one["cost"], one["expected_errors"], 100 * one["expected_f1"]]
        for one in plan.curve()
    ]
    table(
        ["labels", "cost", "errors left", "F1"], curve,
        "what they are expected to buy, as the model has it",
    )  # fmt: skip
    asked = by_annotator(plan)
    some = ", ".join(f"{name} {n:,}" for name, n in list(asked.items())[:8])
    if asked:
        more = f" and {len(asked) - 8:,} others" if len(asked) > 8 else ""
        print(harmless(f"Who is asked how often: {some}{more}."))
    if output is not None:
        note(f"wrote {output}")


def _write_plan(plan: Plan, path: Path) -> None:
    import csv
    import io
    import json

    from seqtruth.atomic import atomic_path

    rows = [one._asdict() for one in plan.suggestions]
    if path.suffix.lower() == ".csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(list(rows[0]) if rows else [])
        writer.writerows([*(_cell(value) for value in row.values())] for row in rows)
        text = out.getvalue()
    elif path.suffix.lower() == ".jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        raise ParameterError("a plan is .csv or .jsonl", got=str(path))
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def _cell(value: Any) -> Any:
    from seqtruth.io.formats.delimited import safe_cell

    text = " ".join(value) if isinstance(value, tuple) else value
    return safe_cell(text) if isinstance(text, str) else text


def update(
    result: Saved,
    new: Annotated[
        list[str] | None, typer.Argument(help="New labels, in any format that aggregate reads.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The updated result to write.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option("--known", help="Decisions: true labels of some sentences.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", help="Labels to take back: a file of them.")
    ] = None,
    withdraw: Annotated[
        list[str] | None, typer.Option("--withdraw", help="An annotator to take back whole.")
    ] = None,
    reach: Annotated[str, typer.Option(help="How far: auto, near, all or settle.")] = "auto",
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Fit everything anew, predictor included.")
    ] = False,
    format: InFormat = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add labels, annotators, documents or decisions to a saved result, without a refit."""
    import time

    from seqtruth.decisions import check_updatable
    from seqtruth.io import read

    if output is None:
        raise ParameterError("name the updated result to write", fix="give --output")
    if not (new or known or remove or withdraw):
        raise ParameterError(
            "there is nothing new", fix="name files of labels, --known, --remove or --withdraw"
        )
    check_files(output)
    check_distinct(output, inputs=(result, known, *(new or ()), *(remove or ())))
    before = _load(result)
    if not retrain:
        check_updatable(before)
    came = read(new, format) if new else None
    gone = read(remove, format) if remove else None
    began = time.perf_counter()
    with progress("update", quiet):
        now = before.update(
            came, known=known, remove=gone, withdraw=withdraw or (), reach=reach, retrain=retrain
        )
    seconds = time.perf_counter() - began
    now.save(output, crowd=True)
    changed = _changed(before, now)
    if as_json:
        last = now.provenance.get("updates", [{}])
        print_json({**(last[-1] if last else {}), **changed, "seconds": round(seconds, 3),
                    "written": str(output)})  # fmt: skip
        return
    print(harmless(str(now)))
    if not quiet:
        differ, came_in = f"{changed['changed_sentences']:,}", changed["new_sentences"]
        said = f"{count(came_in, 'sentence')} came in; {differ} of the others" if came_in else ""
        note(
            f"{said or differ + ' sentences'} have other labels than before ({seconds:.2f} s)"
            f"\nwrote {output}"
        )


def _changed(before: Result, now: Result) -> dict[str, int]:
    import numpy as np

    n = before.corpus.n_tokens
    differ = np.concatenate([[0], np.cumsum(before.tags != now.tags[:n])])
    return {
        "changed_sentences": int((np.diff(differ[before.corpus.token_offsets]) > 0).sum()),
        "new_sentences": now.corpus.n_sentences - before.corpus.n_sentences,
    }


def explain(
    result: Saved,
    sentence: Annotated[str, typer.Argument(help="Its id, or its number.")],
    as_json: Json = False,
) -> None:
    """Why a sentence has its labels: who said what and counted how much, and what else it might be."""
    found = _load(result).explain(sentence)
    if as_json:
        print_json(found.to_dict())
        return
    print(harmless(f"{found.sentence}  ({found.confidence:.0%} sure)\n{found.text}\n"))
    for one in found.spans:
        print(harmless(f"  {one['label']}  {one['text']}  {one['confidence']:.0%}"))
    if found.by_tagger:
        print("\nNobody labelled this sentence: its labels are the tagger's.")
        return
    votes = [
        [name, ", ".join(f"{one['label']} {one['text']}" for one in marks) or "nothing"]
        for name, marks in found.votes.items()
    ]
    table(["annotator", "marks"], votes)
    for token, more in found.runs():
        after = "" if not more else f" (and {count(more, 'word')} after it likewise)"
        print(harmless(f"• {token.words()}{after}"))
    if found.tokens:
        print("\nNumbers are log odds: 0.7 doubles the odds, 2.3 makes them ten times as large.")


def annotators(
    result: Saved,
    costs: CostFile = None,
    as_json: Json = False,
) -> None:
    """Whom to trust: reliability with intervals, habits in words, copies, and what each is worth."""
    found = _load(result).annotator_report(costs=costs)
    if as_json:
        print_json(found.to_dict())
        return
    columns = ["annotator", "sentences", "F1", "95 %", "adds F1", "cost", "habits"]
    rows = [
        [
            row.annotator, row.sentences, 100 * row.f1, _interval(row),
            row.adds, row.cost, _said(row),
        ]
        for row in found.rows
    ]  # fmt: skip
    if costs is None:  # nobody said what anybody costs
        columns.remove("cost")
        rows = [[*row[:5], *row[6:]] for row in rows]
    table(
        columns,
        rows,
        f"annotators, worst first{_promised(found.expected_f1)}",
    )
    if not found.compared:
        print(
            "No two of them labelled the same sentence: the result is what each says, and F1 tells nothing."
        )
        return
    print(
        "F1: agreement with the result, with its 95 % interval; adds F1: points that the result is"
        " expected to lose without them."
    )
    for group in found.copies:
        print(
            harmless(
                f"{', '.join(group['annotators'])} agree on {group['agreement']:.0%} of"
                f" {group['tokens']:,} tokens, and with others on"
                f" {group['agreement_with_others']:.0%}: they count as one witness"
            )
        )
    for pair in found.relatives[:RELATIVES]:
        first, second = map(str, pair["annotators"])
        print(
            harmless(
                f"{first} and {second} make the same mistakes ({pair['shared_errors']:.0%} of those of the"
                " better one): they count as fewer witnesses"
            )
        )


def _promised(f1: float) -> str:
    return "" if f1 != f1 else f" (the result's expected F1 is {100 * f1:.1f})"


def _interval(row: Any) -> str:
    return "–" if row.low != row.low else f"{100 * row.low:.0f}–{100 * row.high:.0f}"


def _said(row: Any) -> str:
    told = [one.words for one in row.mistakes]
    if row.trend is not None and row.trend.told():
        told.append(row.trend.told())
    if row.copies:
        told.append(f"copies, or is copied by, {', '.join(row.copies)}")
    return "\n".join(told) or "–"
