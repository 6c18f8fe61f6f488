"""The commands. Heavy imports wait until a command runs, so that ``--help`` is instant."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from seqtruth._version import __version__
from seqtruth.cli.datasets import datasets
from seqtruth.cli.display import note, print_json, progress, table
from seqtruth.cli.outputs import (
    check_distinct,
    check_files,
    check_labels,
    check_tagger,
    print_labels,
    summary,
    write_outputs,
)
from seqtruth.cli.parts import aggregate_parts, check_engine
from seqtruth.cli.reproduce import reproduce
from seqtruth.cli.work import first_use, measure, open_dataset, show_scores
from seqtruth.errors import InputError, ParameterError

app = typer.Typer(
    name="seqtruth",
    help="Labels you can trust from many unreliable annotators of the same sequences.",
    epilog="Exit codes: 0 done; 1 our fault; 2 bad input or use, nothing written; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(datasets)
app.command()(reproduce)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")]
Strict = Annotated[str, typer.Option(help="How spans are read: conlleval or b-required.")]
Scheme = Annotated[str | None, typer.Option(help="Label scheme, where not to be detected.")]
InFormat = Annotated[str | None, typer.Option("--format", help="Input format; else detected.")]
OutFormat = Annotated[str | None, typer.Option("--out-format", help="Output format; else by name.")]
Abstain = Annotated[str | None, typer.Option(help="Tag that counts as no opinion, such as O.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder of ner/ and pico/ (or SEQTRUTH_DATA).")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"seqtruth {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def aggregate(
    annotations: Annotated[str, typer.Argument(help="The annotators' labels.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Labels; CoNLL on stdout where not given.")
    ] = None,
    method: Annotated[
        str,
        typer.Option("--method", "-m", help="Method and settings: aggslc:predictor=none;folds=3"),
    ] = "accord",
    report: Annotated[Path | None, typer.Option(help="Write an HTML report.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the whole result.")] = None,
    tagger: Annotated[Path | None, typer.Option(help="Save the trained tagger.")] = None,
    known: Annotated[Path | None, typer.Option(help="True labels of some sentences.")] = None,
    abstain: Abstain = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Keep every finished round here.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    engine: Annotated[
        str, typer.Option(help="memory; stream: a Parquet table larger than it; spark: a cluster.")
    ] = "memory",
    seed: Seed = 0,
    format: InFormat = None,
    out_format: OutFormat = None,
    scheme: Scheme = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Turn many annotators' labels into one labelling, a trust list and a tagger."""
    from dataclasses import replace

    from seqtruth.io import read
    from seqtruth.methods import make_method

    if resume and checkpoint is None:
        raise ParameterError("--resume needs --checkpoint")
    check_engine(engine, output, report=report, save=save, known=known, abstain=abstain)
    target = None if output is None else Path(output)
    if engine == "memory":
        out_format = check_labels(target, out_format)
    check_files(report, save, tagger, target if engine == "stream" else None)
    check_distinct(target, report, save, tagger, inputs=(annotations, known))
    first_use(quiet)
    if engine != "memory":
        assert output is not None
        aggregate_parts(
            annotations, engine, output, method, tagger, checkpoint, resume, seed, scheme, as_json,
            quiet,
        )  # fmt: skip
        return
    crowd = read(Path(annotations), format, scheme)
    gold = None if known is None else read(known, scheme=scheme)
    maker = make_method(method, seed=seed).resolved(crowd.corpus.tokens is not None)
    if abstain is not None:
        maker = replace(maker, abstain=abstain)
    check_tagger(tagger, maker)
    began = time.perf_counter()
    with progress(f"{maker.name} on {crowd}", quiet):
        result = maker.fit(crowd, gold, checkpoint=checkpoint, resume=resume)
    seconds = time.perf_counter() - began
    written = write_outputs(result, crowd, target, out_format, report, save, tagger)
    if as_json:
        print_json(summary(result, seconds, written))
    elif output is None:
        print_labels(result.as_crowd())
    if not quiet and not as_json:
        note(f"{result!s} · {seconds:.1f} s")
        for path in written:
            note(f"wrote {path}")


@app.command()
def evaluate(
    result: Annotated[Path, typer.Argument(help="Labels, or a saved result.")],
    gold: Annotated[Path, typer.Argument(help="The gold standard.")],
    strict: Strict = "conlleval",
    as_json: Json = False,
) -> None:
    """Score labels against a gold standard: spans (strict), tokens (relaxed), confidences."""
    from seqtruth.metrics import evaluate as score

    first_use()
    found = score(result, gold, strict=strict)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)


@app.command()
def compare(
    annotations: Annotated[Path | None, typer.Argument(help="The annotators' labels.")] = None,
    gold: Annotated[Path | None, typer.Option(help="The gold standard.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="demo, ner, pico, synthetic, …, instead of files.")
    ] = None,
    data_dir: DataDir = None,
    split: Annotated[str, typer.Option(help="Which sentences count; several by commas.")] = "all",
    methods: Annotated[
        str, typer.Option("--methods", "-m", help="Names, by commas.")
    ] = "mv,ds,bsc-seq,accord",
    strict: Annotated[
        str, typer.Option(help="How spans are read: conlleval, b-required, or both by a comma.")
    ] = "conlleval",
    abstain: Abstain = None,
    seed: Seed = 0,
    seeds: Annotated[int, typer.Option(help="Run so many seeds; scores are means.", min=1)] = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run several methods and score each against the gold standard (JSON: one object a line)."""
    from seqtruth.data.spans import check_reading
    from seqtruth.methods.choice import make_method, method_specs

    first_use(quiet)
    data = open_dataset(annotations, gold, dataset, data_dir)
    splits, readings = split.split(","), strict.split(",")
    for name in splits:
        if name not in data.splits:
            raise ParameterError(
                f"data set {data.name} has no split {name!r}",
                fix=f"it has {', '.join(data.splits)}",
            )
    for reading in readings:
        check_reading(reading)
    chosen = {  # all of them are known before the first one runs
        spec: [make_method(spec, seed=seed + n) for n in range(seeds)]
        for spec in method_specs(methods)
    }
    rows = []
    for spec in chosen:
        for row in measure(spec, chosen[spec], data, splits, readings, abstain, quiet):
            rows.append(row)
            if as_json:
                print_json(row, indent=None)
    if not as_json:
        show_scores(rows, data)


@app.command()
def tag(
    model: Annotated[Path, typer.Argument(help="A saved tagger, or a saved result with one.")],
    text: Annotated[
        Path, typer.Argument(help="Text (a sentence a line), CoNLL or JSONL; - is stdin.")
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write.")] = None,
    format: InFormat = None,
    out_format: OutFormat = None,
) -> None:
    """Label new text with a trained tagger."""
    from seqtruth.io import write
    from seqtruth.io.unlabelled import read_unlabelled
    from seqtruth.predictors import Tagger

    out_format = check_labels(output, out_format)
    check_distinct(output, inputs=(model, text))
    first_use()
    tagger = Tagger.load(model)
    source = Path("/dev/stdin") if str(text) == "-" else text
    labelling, confidence = tagger.label_with_confidence(read_unlabelled(source, format))
    crowd = labelling.as_crowd("tagger")
    if output is None:
        print_labels(crowd)
    else:
        write(crowd, output, out_format, confidence=confidence)
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
    scheme: Scheme = None,
) -> None:
    """Make annotators with known vices from gold labels."""
    from seqtruth.io import read, write
    from seqtruth.simulation import simulate as run

    out_format = check_labels(output, out_format)
    first_use()
    truth = read(gold, format, scheme)
    crowd = run(truth, annotators, seed=seed, per_sentence=per_sentence)
    write(crowd, output, out_format)
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
    first_use(quiet)
    data = load("demo")
    note(f"demo corpus: {data.crowd}")
    rows, result = [], None
    for spec in ("mv", "ds", "bsc-seq", "aggslc", "accord"):
        method = make_method(spec, seed=seed)
        began = time.perf_counter()
        with progress(spec, quiet):
            result = method.fit(data.crowd)
        found = score(result, data.gold)
        rows.append([spec, *(100 * x for x in (found.precision, found.recall, found.f1)),
                     time.perf_counter() - began])  # fmt: skip
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
        result, data.crowd, output / "truth.conll", None, output / "report.html",
        output / "result.seqtruth", output / "tagger.seqtruth", score(result, data.gold),
    )  # fmt: skip
    result.write(output / "truth.jsonl")
    table(["method", "precision", "recall", "F1", "seconds"], rows, "strict spans, %")
    print(f"annotators, worst first\n\n{result.annotators}\n")
    for name, what in files.items():
        print(f"{output / name}  {what}")


@app.command()
def info(
    path: Annotated[
        Path | None, typer.Argument(help="Annotations, a saved result or tagger.")
    ] = None,
    format: InFormat = None,
    scheme: Scheme = None,
    as_json: Json = False,
) -> None:
    """Describe a file; without one, this installation."""
    from seqtruth.archive import is_archive
    from seqtruth.cli import describe

    if path is None:
        facts = describe.installation()
    elif is_archive(path):
        facts = describe.saved(path)
    else:
        facts = describe.labels(path, format, scheme)
    if as_json:
        print_json(facts)
    else:
        describe.show(facts)
