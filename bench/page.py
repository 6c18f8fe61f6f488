"""``docs/benchmarks.md`` and its plots from the measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench import plots
from bench.systems import BY_KEY, SYSTEMS, System
from bench.targets import SLOPE, Runs, all_targets, slopes

HEAD = """# Benchmarks

<!-- Made by `make bench` (python -m bench). Do not edit: run it again. -->

```console
make bench                      # 1e5 to 1e8 token annotations; some 45 minutes on two idle cores
make bench THREADS=2            # without the rows on one thread: ten minutes less
make bench SIZES=1e5,1e6,1e7
make bench QUICK=1              # 1e5 only, a few minutes
python -m bench.flagship --annotations 1e5,1e6,1e7,1e8   # one part of it: the default method, streamed
```

A run that was stopped goes on where it was when it is asked for again (`ANEW=1`: begins again).
`PARTS=tables,first-use,apart,singles,flagship` chooses parts; what is not measured again stays on the page.

All systems run on the same machine in the same run, on the same file, each measurement in a process
of its own. The raw measurements are in [`bench/results.json`](../bench/results.json).
"""

HOW = """## How it is measured

- **Data**: a seeded crowd (`bench/data.py`): sentences of 8 to 32 tokens, 9 IOB2 labels, 88 % O, each
  labelled by 5 of 200 annotators who miss spans, misplace their ends, mistake types, invent some and
  begin some with I-. A long Parquet table (task, worker, token_index, label as text), one row per
  token annotation; the size counts rows. The truth is apart and only used for the scores.
- **From file to file**: reading the Parquet table, all rounds, writing one label per token to
  Parquet. The plain NumPy versions get the columns that our reader makes and write nothing: compare
  their rounds only.
- **A round**: the median of the rounds' own clocks; crowd-kit's from two fits, one with half the
  rounds. Iterative methods do {rounds} rounds; MACE has 5 restarts of 10 rounds before them, crowd-kit's
  MACE 5 restarts of {rounds}.
- **Warm-up**: every process first does a small file, so that everything is imported; that time is not
  counted.
- **Memory**: the process's peak resident size; *above* is without what it was after the warm-up
  (Python, libraries, kernels).
- Up to 1e6 the best of three runs, above that one run. With 1 thread a process may use one core only.
- crowd-kit and pandas get integers instead of text keys; making these from the file is part of their
  time. Polars scans the file lazily with its streaming engine.
- Dawid-Skene without smoothing, from the majority vote, as in crowd-kit. Ties of the majority vote
  go to the alphabetically first label, for everybody.
- A measurement is given up after {budget:.0f} s, and not begun where the size before says it would take
  longer.
"""


def write(results: dict[str, Any], docs: Path) -> None:
    """The page, and its plots in a folder beside it."""
    folder = docs / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    runs = Runs(results)
    drawn = _plots(runs, folder)
    sections = [
        HEAD, _machine(results), _targets(results), _ratios(runs), drawn, _rounds(runs), _whole(runs),
        _memory(runs), _quality(runs), _slopes(runs), _memory_speed(runs), _flagship(results),
        _singles(results), _first_use(results), _before_and_after(results), _out_of_core(results),
        _spark(results),
        HOW.format(rounds=results["rounds"], budget=results["budget_seconds"]),
    ]  # fmt: skip
    text = "\n".join(section.rstrip() + "\n" for section in sections if section)
    (docs / "benchmarks.md").write_text(text, encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; numbers are right-aligned but for the first column."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def plain(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of words."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def seconds(value: float | None) -> str:
    """Three figures.

    >>> seconds(0.01234), seconds(12.34), seconds(1234.5), seconds(None)
    ('0.0123', '12.3', '1,234', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _times(ratio: float) -> str:
    """
    >>> _times(23.4), _times(0.5)
    ('23 ×', '0.50 ×')
    """
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2f} ×"


def _name(system: System, threads: int | None = None) -> str:
    name = f"{system.task}, {system.whose}"
    return name if threads is None or not system.threads else f"{name}, {threads} thr."


def _machine(results: dict[str, Any]) -> str:
    m = results["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in m["versions"].items())
    text = f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB, {m['system']}, Python {m['python']}"
    note = ""
    if (load := results.get("load_before")) is not None:
        state = "was not idle" if load > 0.5 else "was idle"
        note = f"\n\n**The machine {state}** when the tables were begun (load {load})"
        note += ": times are too high." if load > 0.5 else "; other parts say their own load."
    return f"**Machine**: {text}.  \n**Versions**: {versions}.{note}\n"


def _targets(results: dict[str, Any]) -> str:
    said = {True: "met", False: "**not met**", None: "–"}
    rows = [(t.target, t.measured, said[t.met]) for t in all_targets(results)]
    return "## Targets\n\n" + plain(("target", "measured", ""), rows)


def _ratios(runs: Runs) -> str:
    """Every peer over ours: the same task, size and run."""
    rows = []
    for system in SYSTEMS:
        ours = next((s for s in SYSTEMS if s.ours and s.task == system.task), None)
        if system.ours or ours is None:
            continue
        for size in runs.sizes:
            theirs, mine = runs.get(system.key, size), runs.get(ours.key, size)
            if theirs is None or mine is None:
                if reason := runs.why_not(system.key, size):
                    rows.append((_name(system), f"{size:.0e}", reason, "–", "–", "–"))
                continue
            rounds = [run.get("round_seconds") for run in (theirs, mine)]
            each = _times(rounds[0] / rounds[1]) if all(rounds) else "–"
            whole = (
                _times(theirs["seconds"] / mine["seconds"]) if "write_seconds" in theirs else "–"
            )
            memory = _times(theirs["peak_bytes"] / mine["peak_bytes"])
            same = f"{theirs['equal']:.3%}" if "equal" in theirs else "–"
            rows.append((_name(system), f"{size:.0e}", whole, each, memory, same))
    head = ("peer", "size", "file to file", "a round", "memory", "labels equal to ours")
    text = (
        "## Peers over ours\n\n"
        "How many times ours the peer needs (above 1: we are faster or smaller), each with all the\n"
        "threads it can use. MACE differs in its prior and its beginnings: compare the scores.\n\n"
    )
    return text + table(head, rows)


def _plots(runs: Runs, folder: Path) -> str:
    kinds = (
        ("seconds", "time", "seconds from file to file", lambda s: s.job[1] in _WRITERS),
        ("round_seconds", "round", "seconds a round", lambda s: s.iterates),
        ("peak_bytes", "memory", "peak memory, bytes", lambda s: s.job[1] in _WRITERS),
    )
    out = []
    for what, name, up, wanted in kinds:
        series = {_name(s): runs.line(s.key, what) for s in SYSTEMS if wanted(s)}
        series = {key: line for key, line in series.items() if line}
        if not series:
            continue
        drawing = plots.loglog(series, "token annotations", up, f"{up} against size")
        (folder / f"{name}.svg").write_text(drawing, encoding="utf-8")
        out.append(f"![{up} against size](benchmarks/{name}.svg)\n")
    return "\n".join(out)


_WRITERS = ("Ours", "PolarsVote", "PandasVote", "CrowdKit")


def _by_size(runs: Runs, what: str, wanted: Iterable[System], show: Any) -> str:
    """A line for each system and number of threads, a column for each size."""
    rows = []
    for system in wanted:
        counts = sorted({run["threads"] for run in runs.all if run["system"] == system.key})
        for threads in counts:
            found = [runs.get(system.key, size, threads) for size in runs.sizes]
            cells = [show(run) if run and run.get(what) is not None else "–" for run in found]
            if any(cell != "–" for cell in cells):
                rows.append((_name(system, threads), *cells))
    return table(("", *(f"{size:.0e}" for size in runs.sizes)), rows)


def _rounds(runs: Runs) -> str:
    wanted = [s for s in SYSTEMS if s.iterates and s.key != "add-bytes"]

    def show(run: dict[str, Any]) -> str:
        rate = run["annotations"] / run["round_seconds"] / 1e6
        return f"{seconds(run['round_seconds'])} ({rate:,.3g})"

    text = "## Seconds a round\n\nIn brackets: millions of token annotations a second.\n\n"
    return text + _by_size(runs, "round_seconds", wanted, show)


def _whole(runs: Runs) -> str:
    wanted = [s for s in SYSTEMS if s.job[1] in _WRITERS]

    def show(run: dict[str, Any]) -> str:
        parts = " + ".join(seconds(run[f"{part}_seconds"]) for part in ("read", "fit", "write"))
        return f"{seconds(run['seconds'])} ({parts})"

    text = "## Seconds from file to file\n\nIn brackets: reading + all rounds + writing.\n\n"
    return text + _by_size(runs, "seconds", wanted, show)


def _memory(runs: Runs) -> str:
    def show(run: dict[str, Any]) -> str:
        above = run["peak_bytes"] - run["baseline_bytes"]
        each = above / run["annotations"]
        return f"{run['peak_bytes'] / 2**20:,.0f} ({above / 2**20:,.0f}; {each:.1f})"

    wanted = [s for s in SYSTEMS if s.key != "add-bytes"]
    text = (
        "## Peak memory\n\nMiB; in brackets the part above what the warmed-up process had, and its "
        "bytes per token annotation.\n\n"
    )
    return text + _by_size(runs, "peak_bytes", wanted, show)


def _quality(runs: Runs) -> str:
    def show(run: dict[str, Any]) -> str:
        return f"{100 * run['span_f1']:.2f} / {100 * run['token_accuracy']:.2f}"

    rows = []
    for system in SYSTEMS:
        if system.key.endswith("-fb"):
            continue
        found = [runs.get(system.key, size) for size in runs.sizes]
        cells = [show(run) if run and "span_f1" in run else "–" for run in found]
        if any(cell != "–" for cell in cells):
            rows.append((_name(system), *cells))
    head = ("", *(f"{size:.0e}" for size in runs.sizes))
    text = "## What the labels are worth\n\nStrict span F1 / token accuracy, per cent.\n\n"
    return text + table(head, rows)


def _slopes(runs: Runs) -> str:
    found = {key: both for key, both in slopes(runs).items() if any(x is not None for x in both)}
    if not found:
        return ""
    rows = [
        (_name(BY_KEY[key]), *("–" if x is None else f"{x:.2f}" for x in both))
        for key, both in found.items()
    ]
    text = (
        f"## How the cost grows\n\nSlope of the logarithm of seconds over that of size, "
        f"{min(runs.sizes):.0e} to {max(runs.sizes):.0e}; 1 is linear, {SLOPE[0]} to {SLOPE[1]} is the "
        "target.\nBelow it, costs that do not grow still weigh at the small end.\n\n"
    )
    return text + table(("", "a round", "file to file"), rows)


def _memory_speed(runs: Runs) -> str:
    rows = []
    for size in runs.sizes:
        base, ours = runs.get("add-bytes", size), runs.get("ours-aggslc", size)
        if base and ours:
            ratio = ours["round_seconds"] / base["round_seconds"]
            cells = (seconds(x["round_seconds"]) for x in (base, ours))
            rows.append((f"{size:.0e}", *cells, _times(ratio)))
    if not rows:
        return ""
    text = (
        "## Distance to the speed of memory\n\nAdding up the tags' bytes, eight at a time, on one "
        "thread, beside a round of AggSLC.\n\n"
    )
    return text + table(("size", "adding up, s", "a round of AggSLC, s", "ratio"), rows)


def _flagship(results: dict[str, Any]) -> str:
    rows = [
        (
            f"{row['annotations']:.0e}",
            "all" if row["everything_learnt"] else f"{row['learnt_from']:,}",
            seconds(row["seconds"]), seconds(row["cpu_seconds"]), f"{row['peak_gib']:.2f}",
            f"{row['f1']:.2f}", f"{row['threads']}", "–" if row["load"] is None else f"{row['load']}",
        )
        for row in results.get("flagship", ())
    ]  # fmt: skip
    if not rows:
        return ""
    text = (
        "## The default at any size\n\nAccord, streamed, on a table with text (`bench/flagship.py`), from "
        "Parquet to Parquet, imports apart.\n*Learnt from*: tokens of the sample; *all*: its limit lifted. "
        "Load is that of the machine when the row began (–: busy, not noted): above\nthe number of its "
        "cores, the clock says little, processor time still does.\n\n"
    )
    head = ("annotations", "learnt from", "seconds", "CPU s", "GiB", "F1", "threads", "load")
    return text + table(head, rows)


def _singles(results: dict[str, Any]) -> str:
    rows = []
    for row in results.get("singles", {}).values():
        if "not_run" in row:
            rows.append((row["what"], f"not run: {row['not_run']}", "–", "–", "–"))
            continue
        also = f" ({row['also']})" if "also" in row else ""
        aim = next((f"at {kind} {row[kind]:g}" for kind in ("least", "most") if kind in row), "–")
        measured = f"{row['is']:.3g} {row['unit']}{also}"
        rows.append((row["what"], measured, aim, f"{row['load']}", f"`{row['command']}`"))
    if not rows:
        return ""
    text = "## Reading, preparing, training\n\nOn one thread, in processor time.\n\n"
    return text + plain(("", "measured", "aim", "load", "command"), rows)


def _first_use(results: dict[str, Any]) -> str:
    rows = [
        (row["what"], f"{row['is']:.3g} {row['unit']}", f"{row['most']:g} {row['unit']}")
        for row in results.get("first_use", ())
    ]
    if not rows:
        return ""
    text = (
        "## First use\n\nProcessor time of single commands on one thread, the least of some; *for the first "
        "time* is without Python's bytecode on disk. In an environment of its own with the core alone "
        "(`python -m bench.first_use`), at a load of "
        f"{results.get('first_use_load', 'unknown')} on two cores.\n\n"
    )
    return text + table(("", "measured", "at most"), rows)


def _before_and_after(results: dict[str, Any]) -> str:
    """What was changed after the tables were made, each measured beside what it was."""
    later = results.get("later", {})
    if not later:
        return ""
    text = (
        "## Changed after the tables above\n\nThose tables are older than the kernels in C++ and than what "
        "is here. Each row was measured before and after, one right after the other, "
        f"{later['when']}, so in processor time.\n\n"
    )
    rows = [
        (row["what"], row["before"], row["now"], f"`{row['command']}`") for row in later["rows"]
    ]
    return text + plain(("", "before", "now", "command"), rows)


def _engines(found: dict[str, Any], names: Sequence[str]) -> str:
    rows = []
    for name in names:
        run = found[name]
        if "seconds" in run:
            peak = f"{run['peak_bytes'] / 2**20:,.0f}"
            rows.append((name, seconds(run["seconds"]), str(run["rounds"]), peak))
        else:
            rows.append((name, run["failed"], "–", "–"))
    return table(("", "seconds", "rounds", "peak MiB"), rows)


def _sameness(found: dict[str, Any]) -> str:
    if "equal" not in found:
        return ""
    text = f"\n{found['equal']:.4%} of {found['rows']:,} labels are equal"
    if (apart := found.get("weights_apart")) is not None:
        text += f"; the annotators' weights differ by at most {apart:.1e}"
    if (apart := found.get("confidence_apart")) is not None:
        text += f", the confidences by {apart:.1e}"
    return text + ".\n"


def _out_of_core(results: dict[str, Any]) -> str:
    found = results.get("out_of_core")
    if not found:
        return ""
    text = (
        f"## Out of core\n\nAggSLC on {found['annotations']:,} token annotations from Parquet to "
        f"Parquet: in memory, and streamed in\nparts by a process with a cap of "
        f"{found['cap_bytes'] / 2**30:.0f} GiB on its data (`RLIMIT_DATA`: private writable memory; "
        "`RLIMIT_AS` would\nalso count address space that is only reserved).\n\n"
    )
    return text + _engines(found, ("memory", "streamed")) + _sameness(found)


def _spark(results: dict[str, Any]) -> str:
    found = results.get("spark")
    if not found:
        return ""
    if "not_run" in found:
        return f"## Spark local[2]\n\nNot run: {found['not_run']}.\n"
    text = (
        f"## Spark local[2]\n\nAggSLC on {found['annotations']:,} token annotations; starting Spark and "
        "its one shuffle included.\nMemory is that of the driver's Python process.\n\n"
    )
    return text + _engines(found, ("memory", "spark")) + _sameness(found)
