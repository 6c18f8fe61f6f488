"""``seqtruth datasets``: what there is, fetching it, checking it, describing it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from seqtruth.cli.display import note, print_json, progress, table
from seqtruth.errors import InputError

datasets = typer.Typer(
    name="datasets", help="Fetch, check and describe data sets.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="demo, ner, pico, …", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of the data sets (else SEQTRUTH_DATA, then the user's cache)."),
]


@datasets.command("list")
def list_datasets(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Say which data sets there are, and where."""
    from seqtruth.datasets import NAMES
    from seqtruth.datasets.catalogue import needs, title
    from seqtruth.datasets.places import find

    rows: list[dict[str, Any]] = []
    for name in NAMES:
        fetched = needs(name)
        found = find(fetched, data_dir) if fetched else None
        rows.append(
            {
                "name": name,
                "title": title(name),
                "needs": fetched or None,
                "folder": None if found is None else str(found / fetched),
                "ready": not fetched or found is not None,
            }
        )
    if as_json:
        print_json(rows)
        return
    table(
        ["name", "what", "where"],
        [
            [row["name"], row["title"],
             row["folder"] or ("built in" if row["ready"] else _how_to_get(row["name"], row["needs"]))]
            for row in rows
        ],
    )  # fmt: skip


def _how_to_get(name: str, fetched: str) -> str:
    """What to do for a set that is not here."""
    from seqtruth.datasets.catalogue import RECIPES

    return f"seqtruth datasets get {fetched}" if fetched in RECIPES else "see docs/datasets.md"


@datasets.command()
def get(
    name: Name,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder to put it in (else the user's cache).")
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Address tried first, as MIRROR/NAME/FILE.")
    ] = None,
    given: Annotated[
        Path | None, typer.Option("--from", help="Folder with sources fetched by hand.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Convert again, and fetch what is missing.")
    ] = False,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Download a data set from its public sources and convert it. Broken off, it goes on."""
    from seqtruth.datasets import prepare
    from seqtruth.datasets.places import own_root

    plan = prepare.recipe(name)
    root = own_root() if data_dir is None else data_dir.expanduser()
    if force or prepare.manifest(root / name) is None:
        note(f"{plan.title}\nsource: {plan.source}\nplease cite: {plan.citation}\n{plan.licence}")
    with progress(f"getting {name}", quiet):
        found = prepare.get(name, root, mirror=mirror, given=given, force=force)
    if as_json:
        print_json({"folder": str(root / name), **found})
    elif not quiet:
        rows = sum(fields["rows"] for fields in found["tables"].values())
        note(f"{root / name}: {len(found['tables'])} tables, {rows:,} rows")


@datasets.command()
def verify(name: Name, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Compute every digest anew; exit code 2 if anything is changed, damaged or missing."""
    from dataclasses import asdict

    from seqtruth.datasets.verify import verify as check

    found = check(name, data_dir)
    bad = [one for one in found if one.status != "ok"]
    if as_json:
        print_json({"dataset": name, "ok": not bad, "files": [asdict(one) for one in found]})
    else:
        same = {True: "same", False: "differs", None: ""}
        table(
            ["file", "status", "reference", "sha256"],
            [[one.file, one.status, same[one.reference], one.got or one.expected] for one in found],
        )
    if bad:
        raise InputError(
            f"the data set {name!r} is not what it should be",
            where=bad[0].file, got=bad[0].status,
            fix=f"seqtruth datasets get {name} --force makes it anew",
        )  # fmt: skip


@datasets.command()
def info(name: Name, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Figures, splits, licence, source and citation of a data set."""
    from seqtruth.cli import describe
    from seqtruth.datasets import check_name, load
    from seqtruth.datasets.catalogue import needs, title
    from seqtruth.datasets.places import find
    from seqtruth.datasets.summary import terms

    check_name(name)
    fetched = needs(name)
    facts: dict[str, Any]
    if fetched and data_dir is None and find(fetched) is None:  # terms come before fetching
        missing = f"not here: {_how_to_get(name, fetched)}"
        facts = {"name": name, "title": title(name), **terms(name), "where": missing}
    else:
        facts = load(name, data_dir).info
    if as_json:
        print_json(facts)
    else:
        describe.show(facts)
