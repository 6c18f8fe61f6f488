"""``seqtruth review``: the review desk, its users, and a replay with gold as the reviewer."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from seqtruth.cli.display import note, print_json, progress, table
from seqtruth.cli.options import (
    InFormat,
    Json,
    Overlap,
    Quiet,
    Reading,
    Scheme,
    Seed,
    Split,
    reading_options,
)
from seqtruth.errors import ParameterError


def review(
    source: Annotated[
        Path, typer.Argument(help="A saved result (seqtruth aggregate --save), or an export.")
    ],
    crowd: Annotated[
        Path | None, typer.Option(help="The annotators' labels, where not saved with the result.")
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="Where decisions are kept: a URL, such as postgresql://…")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; else this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any free one.")] = 8765,
    name: Annotated[
        list[str] | None, typer.Option(help="A name under which the desk is asked, as by a proxy.")
    ] = None,
    https: Annotated[
        bool, typer.Option("--https", help="Behind a proxy with HTTPS: cookies go no other way.")
    ] = False,
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
    method: Annotated[
        str | None, typer.Option("--method", "-m", help="For an export: accord, or as before.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where the desk keeps its files; else beside the source.")
    ] = None,
    format: InFormat = None,
    split: Split = None,
    overlap: Overlap = None,
    reading: Reading = None,
    scheme: Scheme = None,
    double: Annotated[
        bool, typer.Option("--double", help="A new desk: two reviewers judge each sentence.")
    ] = False,
    learn_every: Annotated[
        int, typer.Option(min=0, help="Decisions after which the labels learn; 0 is when asked.")
    ] = 10,
    refit_every: Annotated[
        int, typer.Option(min=0, help="Decisions after which all is fitted anew; 0 is when asked.")
    ] = 50,
    add_user: Annotated[
        str | None, typer.Option(help="Add a user, or give one a new password, and stop.")
    ] = None,
    role: Annotated[str, typer.Option(help="Of the user: reviewer or lead.")] = "reviewer",
    replay: Annotated[
        Path | None, typer.Option(help="Let this gold standard decide, and print what it brings.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Decisions of a replay.")] = 100,
    strategies: Annotated[
        str, typer.Option(help="Of a replay: ours, sentences, worst, random.")
    ] = "ours,worst,random",
    every: Annotated[int, typer.Option(min=0, help="Decisions between two fits of a replay.")] = 50,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Settle in the browser what the labels are unsure of; they learn from it."""
    if replay is not None:
        names = strategies.replace(",", " ").split()
        _show(_replayed(source, crowd, replay, names, Plan(n, every, seed, quiet)), as_json)
        return
    from seqtruth.io import read
    from seqtruth.review.background import Learner
    from seqtruth.review.server import Address, open_desk, serve

    with progress(f"opening {source}", quiet):
        labels = None if crowd is None else read(crowd)
        named = {"format": format, "scheme": scheme}
        how = {key: value for key, value in named.items() if value is not None}
        how |= reading_options(reading, split, overlap)
        opened = open_desk(source, database, labels, method, double, folder, how)
    if add_user is not None:
        opened.people.add(add_user, _password(add_user), role)
        note(f"{add_user} may sign in as {role}")
        return
    learner = None if opened.desk.crowd is None else Learner(opened, learn_every, refit_every)
    if learner is None:
        note("the result does not know who said what: nothing is learnt; give --crowd")
    serve(opened, Address(host, port, tuple(name or ()), https), _opens(opened, browser), learner)


def _show(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        table(list(rows[0]), [list(row.values()) for row in rows], "strict span F1, %")


def _opens(opened: Any, browser: bool) -> Callable[[str], None]:
    """What happens when the server listens: the address is printed and, on a terminal, opened."""

    def ready(url: str) -> None:
        note(f"decisions are kept in {opened.desk.store.database.url.render_as_string()}")
        print(url, flush=True)
        note("the desk is open at this address; stop it with Ctrl-C")
        if browser and sys.stdout.isatty():
            webbrowser.open(url)

    return ready


def _password(user: str) -> str:
    """Asked for on a terminal, else the first line of standard input."""
    if sys.stdin.isatty():
        return str(
            typer.prompt(f"Password of {user}", hide_input=True, confirmation_prompt=True, err=True)
        )
    return sys.stdin.readline().rstrip("\r\n")


class Plan(NamedTuple):
    """How a replay runs."""

    n: int
    every: int
    seed: int
    quiet: bool


def _replayed(
    source: Path, crowd: Path | None, gold: Path, names: list[str], plan: Plan
) -> list[dict[str, Any]]:
    from seqtruth.io import read, read_gold
    from seqtruth.result import Result
    from seqtruth.review.replay import STRATEGIES, Replay, prepared

    for one in names:
        if one not in STRATEGIES:
            raise ParameterError(f"--strategies are {', '.join(STRATEGIES)}", got=repr(one))
    result = Result.load(source)
    said = result.crowd if crowd is None else read(crowd)
    if said is None:
        raise ParameterError("the result does not know who said what", fix="give --crowd")
    truth, chosen = prepared(result, read_gold(gold))
    rows: list[dict[str, Any]] = []
    for one in names:
        with progress(f"replay, {one}", plan.quiet):
            run = Replay(result, said, truth, chosen, one, plan.every, plan.seed).run(plan.n, 25)
            rows += [{"strategy": one, **point._asdict()} for point in run]
    return rows
