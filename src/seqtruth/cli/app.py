"""The commands. Heavy imports wait until a command runs, so that ``--help`` is instant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from seqtruth._version import __version__
from seqtruth.cli import display
from seqtruth.cli.aggregate import aggregate
from seqtruth.cli.agreement import agreement
from seqtruth.cli.compare import compare
from seqtruth.cli.datasets import datasets
from seqtruth.cli.decide import annotators, explain, next_, triage, update
from seqtruth.cli.display import harmless, note, print_json, progress, table
from seqtruth.cli.options import (
    InFormat,
    Json,
    OutFormat,
    Overlap,
    Quiet,
    Reading,
    SafeCells,
    Scheme,
    Seed,
    Split,
    Strict,
    Writing,
    reading_options,
    writing_options,
)
from seqtruth.cli.outputs import (
    check_distinct,
    check_files,
    check_labels,
    check_writing,
    print_labels,
    write_outputs,
)
from seqtruth.cli.reproduce import reproduce
from seqtruth.cli.review import review
from seqtruth.errors import InputError, ParameterError


class _InOrder(typer.core.TyperGroup):
    """Commands in the order in which one meets them, not groups last."""

    def list_commands(self, context: Any) -> list[str]:
        return sorted(super().list_commands(context), key=lambda name: name == "reproduce")


app = typer.Typer(
    name="seqtruth",
    cls=_InOrder,
    help="Labels you can trust from many unreliable annotators of the same sequences.",
    epilog="Exit codes: 0 done; 1 our fault; 2 bad input or use, nothing written; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"seqtruth {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    timestamps: Annotated[
        bool, typer.Option("--timestamps", help="Put the time before every line on stderr.")
    ] = False,
) -> None:
    display.timestamps(timestamps)


app.command()(aggregate)
app.command()(agreement)
app.command()(compare)


@app.command()
def evaluate(
    result: Annotated[Path, typer.Argument(help="Labels, or a saved result.")],
    gold: Annotated[Path, typer.Argument(help="The gold standard.")],
    strict: Strict = "conlleval",
    as_json: Json = False,
) -> None:
    """Score labels against a gold standard: spans (strict), tokens (relaxed), confidences."""
    from seqtruth.metrics import evaluate as score

    found = score(result, gold, strict=strict)
    if as_json:
        print_json(found.to_dict())
    else:
        print(harmless(str(found)))


@app.command()
def report(
    result: Annotated[Path, typer.Argument(help="A saved result.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")],
    crowd: Annotated[
        Path | None, typer.Option(help="The annotators' labels, where not saved with the result.")
    ] = None,
    gold: Annotated[Path | None, typer.Option(help="The gold standard, for scores.")] = None,
) -> None:
    """Write the HTML report of a saved result."""
    from seqtruth.io import read
    from seqtruth.metrics import evaluate as score
    from seqtruth.result import Result

    check_files(output)
    check_distinct(output, inputs=(result, crowd, gold))
    found = Result.load(result)
    labels = None if crowd is None else read(crowd)
    scores = None if gold is None else score(found, gold)
    found.report(output, labels, scores, saved=result.name)
    note(f"wrote {output}")


@app.command()
def info(
    path: Annotated[
        list[str] | None,
        typer.Argument(help="Annotations, in one file or several; a saved result or tagger."),
    ] = None,
    format: InFormat = None,
    scheme: Scheme = None,
    split: Split = None,
    overlap: Overlap = None,
    reading: Reading = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Describe a file; without one, this installation."""
    from seqtruth.archive import is_archive
    from seqtruth.cli import describe

    if not path:
        facts = describe.installation()
    elif len(path) == 1 and is_archive(path[0]):
        facts = describe.saved(Path(path[0]))
    else:
        options = reading_options(reading, split, overlap)
        with progress(f"reading {Path(path[0]).name}", quiet):
            facts = describe.labels(path, format, scheme, options)
    if as_json:
        print_json(facts)
    else:
        describe.show(facts)


@app.command()
def tag(
    model: Annotated[Path, typer.Argument(help="A saved tagger, or a saved result with one.")],
    text: Annotated[
        Path, typer.Argument(help="Text (a sentence a line), CoNLL or JSONL; - is stdin.")
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write.")] = None,
    format: InFormat = None,
    out_format: OutFormat = None,
    writing: Writing = None,
    safe_cells: SafeCells = False,
) -> None:
    """Label new text with a trained tagger."""
    from seqtruth.io import write
    from seqtruth.io.unlabelled import read_unlabelled
    from seqtruth.predictors import Tagger

    out_format = check_labels(output, out_format)
    check_distinct(output, inputs=(model, text))
    more = writing_options(writing, safe_cells)
    check_writing(out_format, more)
    tagger = Tagger.load(model)
    source = Path("/dev/stdin") if str(text) == "-" else text
    labelling, confidence = tagger.label_with_confidence(read_unlabelled(source, format))
    crowd = labelling.as_crowd("tagger")
    if output is None:
        print_labels(crowd)
    else:
        write(crowd, output, out_format, confidence=confidence, **more)
        note(f"wrote {output}")


@app.command()
def convert(
    source: Annotated[
        list[str], typer.Argument(metavar="IN... OUT", help="Files to read, and the one to write.")
    ],
    format: InFormat = None,
    to: OutFormat = None,
    split: Split = None,
    overlap: Overlap = None,
    reading: Reading = None,
    writing: Writing = None,
    safe_cells: SafeCells = False,
    scheme: Scheme = None,
    quiet: Quiet = False,
) -> None:
    """Bring files from one format into another, everybody's labels as they are."""
    from seqtruth.io import convert as run

    *inputs, output = source
    if not inputs:
        raise ParameterError("name the files to read and, last, the one to write")
    target = Path(output)
    to = check_labels(target, to)
    check_distinct(target, inputs=inputs)
    options, more = reading_options(reading, split, overlap), writing_options(writing, safe_cells)
    check_writing(to, more)
    with progress(f"{target.name}", quiet):
        run(inputs, target, format, to, scheme=scheme, read_options=options, write_options=more)
    note(f"wrote {output}")


@app.command()
def simulate(
    gold: Annotated[Path, typer.Argument(help="Gold labels to be spoiled.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the crowd.")],
    annotators: Annotated[
        str | None, typer.Option(help="The cast, such as careful:3,misser,spammer.")
    ] = None,
    per_sentence: Annotated[int | None, typer.Option(help="Annotators who see a sentence.")] = None,
    seed: Seed = 0,
    format: InFormat = None,
    out_format: OutFormat = None,
    writing: Writing = None,
    safe_cells: SafeCells = False,
    scheme: Scheme = None,
) -> None:
    """Make annotators with known vices from gold labels."""
    from seqtruth.io import read, write
    from seqtruth.simulation import simulate as run

    check_distinct(output, inputs=(gold,))
    out_format = check_labels(output, out_format)
    more = writing_options(writing, safe_cells)
    check_writing(out_format, more)
    truth = read(gold, format, scheme)
    crowd = run(truth, annotators, seed=seed, per_sentence=per_sentence)
    write(crowd, output, out_format, **more)
    note(f"{crowd}\nwrote {output}")


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for what it writes.")
    ] = Path("seqtruth-demo"),
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Run the main job on the built-in corpus and leave everything it makes in a folder."""
    from seqtruth.datasets import load
    from seqtruth.io import write
    from seqtruth.methods import make_method
    from seqtruth.metrics import evaluate as score

    if output.exists() and not output.is_dir():
        raise InputError("not a folder", where=str(output), fix="give another --output")
    data = load("demo")
    note(f"demo corpus: {data.crowd}")
    rows, result = [], None
    for spec in ("mv", "ds", "bsc-seq", "aggslc", "accord"):
        method = make_method(spec, seed=seed)
        with progress(spec, quiet):
            result = method.fit(data.crowd)
        found = score(result, data.gold)
        rows.append([spec, *(100 * x for x in (found.precision, found.recall, found.f1))])
    assert result is not None
    output.mkdir(parents=True, exist_ok=True)
    files = {
        "crowd.conll": "what the annotators said",
        "gold.conll": "the truth, for comparison",
        "truth.conll": "the aggregated labels",
        "truth.jsonl": "the same with confidence",
        "report.html": "the report: open it in a browser",
        "result.seqtruth": "everything, for Result.load",
        "tagger.seqtruth": "the tagger, for seqtruth tag",
    }
    write(data.crowd, output / "crowd.conll")
    write(data.gold, output / "gold.conll")
    write_outputs(
        result, output / "truth.conll", None, output / "report.html",
        output / "result.seqtruth", output / "tagger.seqtruth", score(result, data.gold),
    )  # fmt: skip
    result.write(output / "truth.jsonl")
    table(["method", "precision", "recall", "F1"], rows, "strict spans, %")
    print(harmless(f"annotators, worst first\n\n{result.annotators}\n"))
    for name, what in files.items():
        print(f"{output / name}  {what}")


app.command()(triage)
app.command("next")(next_)
app.command()(update)
app.command()(explain)
app.command()(annotators)
app.command()(review)
app.add_typer(datasets)
app.command()(reproduce)
