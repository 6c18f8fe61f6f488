"""The default on small and thin crowds: real ones with fewer annotators, labels or documents.

    python tools/accord_subsets.py --data-dir DIR [--cases ner-2each,pico-49] [--draws 3] [--kept rows.jsonl]

Drawn from the parts that may be tuned on (``accord_sets.py``), or with ``--reported`` from the others.
Prints a table: strict span F1 of the vote, of the best other method of each draw (chosen with gold, so partly
luck), and of the default with the CRF. Rows that ``--kept`` holds already are not made again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from accord_sets import SETS, load_set

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.methods import make_method

DEFAULT = "accord:predictor=crf"
OTHERS = (
    "mv", "mv:abstain=none", "ds", "ds:abstain=none", "hmm-crowd", "bsc-cm", "bsc-seq", "crh", "catd",
    "bsc-acc", "aggslc:predictor=none",
)  # fmt: skip

Labelled = tuple[Crowd, Crowd]
Draw = Callable[[Labelled, np.random.Generator], Labelled]


def some_documents(n: int) -> Draw:
    def draw(both: Labelled, rng: np.random.Generator) -> Labelled:
        of = np.asarray(both[0].corpus.sentence_document)
        return only(both, np.isin(of, rng.permutation(np.unique(of))[:n]))

    return draw


def some_sentences(n: int) -> Draw:
    def draw(both: Labelled, rng: np.random.Generator) -> Labelled:
        kept = np.zeros(both[0].n_sentences, np.bool_)
        kept[rng.permutation(len(kept))[:n]] = True
        return only(both, kept)

    return draw


def some_annotators(n: int, among: int | None = None) -> Draw:
    """``n`` annotators, of the ``among`` busiest."""

    def draw(both: Labelled, rng: np.random.Generator) -> Labelled:
        crowd, gold = both
        rows = np.bincount(crowd.row_annotator, minlength=crowd.n_annotators)
        names = np.array(crowd.annotators)
        pool = names if among is None else names[np.argsort(-rows)][:among]
        chosen = set(rng.permutation(pool)[:n].tolist())
        some = crowd.select_annotators([name for name in crowd.annotators if name in chosen])
        return only((some, gold), some.covered)

    return draw


def some_labels(n: int) -> Draw:
    """``n`` annotators of each document."""

    def draw(both: Labelled, rng: np.random.Generator) -> Labelled:
        crowd, gold = both
        of = np.asarray(crowd.corpus.sentence_document)[crowd.row_sentence]
        kept = np.zeros(crowd.n_rows, np.bool_)
        for document in np.unique(of):
            rows = np.flatnonzero(of == document)
            chosen = rng.permutation(np.unique(crowd.row_annotator[rows]))[:n]
            kept[rows[np.isin(crowd.row_annotator[rows], chosen)]] = True
        rows = np.flatnonzero(kept)
        some = Crowd.build(
            crowd.corpus, crowd.scheme.labels, crowd.annotators, crowd.row_sentence[rows],
            crowd.row_annotator[rows], crowd.tags[gather(crowd.row_offsets, rows)[1]],
            crowd.scheme.kind,
        )  # fmt: skip
        return only((some, gold), some.covered)

    return draw


def only(both: Labelled, sentences: np.ndarray) -> Labelled:
    at = np.flatnonzero(sentences)
    return both[0][at], both[1][at]


#: Set, and what is drawn from it, one after the other.
CASES: dict[str, tuple[str, tuple[Draw, ...]]] = {
    **{f"ner-{n}each": ("ner", (some_labels(n),)) for n in (1, 2, 3)},
    **{f"{n}-1each": (n, (some_labels(1),)) for n in ("pico", "bambara", "essays")},
    **{f"ner-{n}docs": ("ner", (some_documents(n),)) for n in (40, 10, 3)},
    **{f"ner-{n}people": ("ner", (some_annotators(n, 15),)) for n in (4, 2)},
    **{f"ner-{n}people-2each": ("ner", (some_annotators(n, 15), some_labels(2))) for n in (3, 6)},
    **{f"pico-{n}docs": ("pico", (some_documents(n),)) for n in (49, 10)},
    **{f"pico-{n}each": ("pico", (some_labels(n),)) for n in (3, 2)},
    **{f"bambara-{n}models": ("bambara", (some_annotators(n),)) for n in (5, 4, 3, 2)},
    "bambara-150": ("bambara", (some_sentences(150),)),
    "bambara-3models-100": ("bambara", (some_annotators(3), some_sentences(100))),
    **{f"conll-{n}rules": ("conll-rules", (some_annotators(n),)) for n in (5, 10)},
    "conll-20rules-500": ("conll-rules", (some_annotators(20), some_sentences(500))),
    "conll-300": ("conll-rules", (some_sentences(300),)),
    **{f"ncbi-{n}rules": ("ncbi-disease", (some_annotators(n),)) for n in (3, 5)},
    "ncbi-50": ("ncbi-disease", (some_sentences(50),)),
    **{f"bc5cdr-{n}rules": ("bc5cdr", (some_annotators(n),)) for n in (5, 10)},
    "bc5cdr-50": ("bc5cdr", (some_sentences(50),)),
    "essays-2people": ("essays", (some_annotators(2),)),
    **{f"essays-{n}": ("essays", (some_sentences(n),)) for n in (10, 5)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--reported", action="store_true", help="draw from the first reported part")
    parser.add_argument("--kept", type=Path, default=Path("rows.jsonl"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = {}
    if options.kept.exists():
        rows = (json.loads(line) for line in options.kept.read_text().splitlines())
        kept = {(row["case"], row["draw"]): row for row in rows}
    sets: dict[str, Labelled] = {}
    print("| crowd | sentences | annotators | vote | best other | **Accord** | worst regret |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in options.cases.split(","):
        name, draws = CASES[case]
        if name not in sets and any((case, n) not in kept for n in range(options.draws)):
            crowd, gold, parts = load_set(name, options.data_dir)
            part = SETS[name][2][0] if options.reported else SETS[name][1]
            sets[name] = only((crowd, gold), parts[part])
        rows = []
        for number in range(options.draws):
            if (case, number) not in kept:
                row = _row(case, number, sets[name], draws)
                kept[case, number] = row
                with options.kept.open("a") as out:
                    out.write(json.dumps(row) + "\n")
            rows.append(kept[case, number])
        print(_line(case, rows), flush=True)


def _row(case: str, number: int, both: Labelled, draws: tuple[Draw, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(1000 + number)
    for draw in draws:
        both = draw(both, rng)
    crowd, gold = both
    f1 = {
        spec: 100 * st.evaluate(make_method(spec).fit(crowd), gold).f1
        for spec in (DEFAULT, *OTHERS)
    }
    return {
        "case": case, "draw": number, "sentences": crowd.n_sentences,
        "annotators": crowd.n_annotators, "f1": f1,
    }  # fmt: skip


def _line(case: str, rows: list[dict[str, Any]]) -> str:
    ours = [row["f1"][DEFAULT] for row in rows]
    vote = [row["f1"]["mv"] for row in rows]
    best = [max(row["f1"][name] for name in OTHERS) for row in rows]
    regret = max(b - a for a, b in zip(ours, best, strict=True))
    size = ", ".join(str(row["sentences"]) for row in rows)
    cells = (case, size, str(rows[0]["annotators"]), _three(vote), _three(best), _three(ours))
    return f"| {' | '.join(cells)} | {regret:+.1f} |"


def _three(values: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


if __name__ == "__main__":
    main()
