"""CoNLL-2003's own files: its two test sets, and its labels where the crowd's gold has lost some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from seqtruth.datasets.members import read_members
from seqtruth.datasets.tables import Table
from seqtruth.datasets.token_lines import Labelled, read_sentences
from seqtruth.errors import InputError


def read_conll2003(path: Path) -> dict[str, list[Labelled]]:
    """CoNLL-2003's files, by their own names or those of the common copies, in IOB2."""
    known = {
        "eng.train": "train", "eng.testa": "testa", "eng.testb": "testb",
        "train.txt": "train", "valid.txt": "testa", "test.txt": "testb",
    }  # fmt: skip
    files = {}
    for name, content in read_members(path, lambda name: name.rpartition("/")[2] in known):
        files[known[name.rpartition("/")[2]]] = [
            list(
                zip([token for token, _ in one], to_iob2([label for _, label in one]), strict=True)
            )
            for one in read_sentences(content)
        ]
    if not files.keys() >= {"testa", "testb"}:
        raise InputError(
            "not an archive of CoNLL-2003", where=str(path), got=f"only {sorted(files)}",
            fix="it should hold eng.testa and eng.testb, or valid.txt and test.txt",
        )  # fmt: skip
    return files


def originals(
    sentences: Iterable[Labelled],
) -> dict[tuple[str, ...], list[str]]:
    """CoNLL's labels by the tokens; without quotation marks, which the crowd's text does not have."""
    found: dict[tuple[str, ...], list[str]] = {}
    for sentence in sentences:
        kept = [(token, label) for token, label in sentence if token != '"']
        found.setdefault(tuple(token for token, _ in kept), [label for _, label in kept])
    return found


def repair(published: Sequence[str], original: Sequence[str] | None) -> list[str]:
    """Give back the entities that begin right behind another of their type, published as O.

    >>> repair(["B-MISC", "O", "O"], ["B-MISC", "B-MISC", "O"])
    ['B-MISC', 'B-MISC', 'O']
    """
    labels = list(published)
    for place, label in enumerate(original or ()):
        if place and label.startswith("B-") and published[place] == "O":
            if labels[place - 1][1:] == label[1:]:
                labels[place] = label
    return labels


def held_out(files: Mapping[str, Sequence[Labelled]]) -> Table:
    """CoNLL-2003's two test sets."""
    rows = []
    for split in ("testa", "testb"):
        number, doc = 0, 0
        for sentence in files[split]:
            if sentence[0][0] == "-DOCSTART-":
                doc += 1
                continue
            words, labels = (" ".join(column) for column in zip(*sentence, strict=True))
            rows.append((f"{split}-{number}", f"{split}-{doc}", words, labels, split))
            number += 1
    return Table(("sentence_id", "doc_id", "tokens", "labels", "split"), rows)


def to_iob2(labels: Sequence[str]) -> list[str]:
    """IOB1 as IOB2; IOB2 stays as it is.

    >>> to_iob2(["I-LOC", "I-LOC", "B-LOC", "O", "I-PER"])
    ['B-LOC', 'I-LOC', 'B-LOC', 'O', 'B-PER']
    """
    return [
        f"B{label[1:]}" if label.startswith("I-") and before[1:] != label[1:] else label
        for before, label in zip(["O", *labels], labels, strict=False)
    ]
