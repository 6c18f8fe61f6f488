"""A format: ``word/TAG|TAG`` a token, an annotator a bar, a sentence a line.

The first line names the annotators; ``-`` is a tag that was not given::

    # ann bob
    Ada/B-PER|B-PER ran/O|-
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seqtruth.atomic import atomic_path
from seqtruth.data.crowd import Crowd
from seqtruth.errors import InputError
from seqtruth.io.files import read_text
from seqtruth.io.format import CrowdFormat, Glimpse


def tell(glimpse: Glimpse) -> float:
    first, _, rest = glimpse.head.partition(b"\n")
    return 0.9 if first.startswith(b"# ") and b"/" in rest.partition(b"\n")[0] else 0.0


def read(path: Path, scheme: str | None = None) -> Crowd:
    lines = read_text(path).decode().splitlines()
    if not lines[0].startswith("# "):
        raise InputError(
            "the first line names the annotators", where=f"{path}:1", got=repr(lines[0])
        )
    names = lines[0][2:].split()
    tokens: list[list[str]] = []
    said: dict[str, list[list[str | None] | None]] = {name: [] for name in names}
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.rpartition("/") for cell in line.split(" ")]
        tags = [last.split("|") for _, _, last in cells]
        if any(len(one) != len(names) for one in tags) or any(not word for word, _, _ in cells):
            raise InputError(
                f"a token is word/TAG with {len(names)} tags",
                where=f"{path}:{number}",
                got=repr(line),
            )
        tokens.append([word for word, _, _ in cells])
        for w, name in enumerate(names):
            column = [None if one[w] == "-" else one[w] for one in tags]
            said[name].append(None if all(tag is None for tag in column) else column)
    return Crowd.of(said, tokens, scheme)


def write(crowd: Crowd, path: Path) -> None:
    labels = np.array([*crowd.scheme.labels, "-"], object)
    columns = np.stack([labels[crowd.labelling(w).tags] for w in range(crowd.n_annotators)], axis=1)
    lines = ["# " + " ".join(crowd.annotators)]
    for s in range(crowd.n_sentences):
        first = int(crowd.corpus.token_offsets[s])
        lines.append(
            " ".join(f"{word}/{'|'.join(columns[first + i])}"
                     for i, word in enumerate(crowd.corpus.words(s)))
        )  # fmt: skip
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


FORMAT = CrowdFormat(
    name="slash", title="Slashes", tell=tell, read=read, write=write, suffixes=(".slash",),
    cannot_carry=("sentence ids", "documents", "words with blanks"),
)  # fmt: skip
