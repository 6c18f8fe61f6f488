"""The NER data set from its sources: crowd, gold, splits, and CoNLL's test sets.

What is read, and how, is described in ``docs/datasets.md``.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from seqtruth.datasets.alignment import HOW, Line, align
from seqtruth.datasets.members import decoded, read_members
from seqtruth.datasets.releases import match_sentences
from seqtruth.datasets.tables import Table
from seqtruth.errors import DataWarning, InputError

_log = logging.getLogger(__name__)
LABELS = frozenset(
    ["O", *(f"{edge}-{kind}" for edge in "BI" for kind in ("LOC", "MISC", "ORG", "PER"))]
)
#: Folders of the repository's archive and the splits they make; the original archive has neither.
PARTS = {"val": "nguyen_val", "test": "nguyen_test", "": ""}
#: Splits that are what somebody released, and the files they come from.
RELEASES = {"aggslc_3466": "aggslc-gold.txt", "optsla_4515": "optsla-gold.txt"}
_MEMBER = re.compile(
    r"(?:^|/)(?:(?P<part>val|test)/)?"
    r"(?:ground_truth|(?:mturk_train_data|extracted_data)/(?P<worker>[^/.][^/]*))/"
    r"(?P<doc>[^/.][^/]*)\.txt$"
)


def convert(files: Mapping[str, Path]) -> dict[str, Table]:
    """Tables from the sources that could be had, by file name."""
    gold, crowd = _read_archive(files["crowd.archive"])
    documents = {
        (part, doc): [[token for token, _ in sentence] for sentence in _sentences(lines)]
        for (part, doc), lines in gold.items()
    }
    order = sorted(documents, key=lambda key: (list(PARTS).index(key[0]), key[1]))
    sentences = [
        (f"{doc}#{i}", tokens)
        for part, doc in order
        for i, tokens in enumerate(documents[part, doc])
    ]
    conll = _read_conll2003(files["conll2003.zip"]) if "conll2003.zip" in files else {}
    original = _originals(conll.get("train", []))
    rows = list(_crowd_rows(documents, crowd))
    covered = {row[0] for row in rows}
    splits = _own_splits(order, documents, covered)
    tables = {
        "sentences.tsv.gz": Table(
            ("sentence_id", "doc_id", "tokens"),
            [(name, name.rpartition("#")[0], " ".join(tokens)) for name, tokens in sentences],
        ),
        "annotations.tsv.gz": Table(("sentence_id", "worker_id", "labels", "align"), rows),
        "gold.tsv.gz": Table(
            ("sentence_id", "labels", "labels_raw"), _gold_rows(order, gold, original)
        ),
    }
    for split, file in RELEASES.items():
        if file in files:
            released = _read_conll(files[file])
            names = match_sentences([[token for token, _ in one] for one in released], sentences)
            splits += [(name, split) for name in names if name is not None]
            if split == "aggslc_3466" and "aggslc-mv.txt" in files:
                votes = _read_conll(files["aggslc-mv.txt"])
                tables["aggslc_mv.tsv.gz"] = _released_votes(names, votes, released)
    tables["splits.tsv.gz"] = Table(("sentence_id", "split"), splits)
    if conll:
        tables["conll2003_task2_eval.tsv.gz"] = _held_out(conll)
    return tables


Lines = dict[tuple[str, str], list[Line]]


def _read_archive(path: Path) -> tuple[Lines, dict[str, Lines]]:
    """Lines of the gold files by part and document, and of each worker's."""
    gold: Lines = {}
    crowd: dict[str, Lines] = {}
    for name, content in read_members(path, lambda name: _MEMBER.search(name) is not None):
        match = _MEMBER.search(name)
        if match is None or "__MACOSX" in name:
            continue
        home = gold if match["worker"] is None else crowd.setdefault(match["worker"], {})
        home[match["part"] or "", match["doc"]] = [
            _line(line) for line in decoded(content).splitlines()
        ]
    if not gold or not crowd:
        raise InputError(
            "not the archive of crowd labels", where=str(path),
            got="no folder ground_truth" if not gold else "no folder mturk_train_data",
            fix="fetch it again (--force)",
        )  # fmt: skip
    if any(part for part, _ in gold):  # an archive may hold the undivided files beside the divided
        gold = {key: lines for key, lines in gold.items() if key[0]}
    else:
        warnings.warn(
            "ner: this archive is not divided, so the splits nguyen_val and nguyen_test are missing",
            DataWarning,
            stacklevel=3,
        )
    return gold, crowd


def _line(line: str) -> Line:
    """Token and label of a line; a label alone has an empty token, a strange label is O.

    >>> _line("Oslo B-LOC"), _line(" O"), _line("Oslo ?"), _line("")
    (('Oslo', 'B-LOC'), ('', 'O'), ('Oslo', 'O'), None)
    """
    fields = line.split()
    if not fields:
        return None
    if len(fields) == 1:
        return ("", fields[0]) if fields[0] in LABELS else (fields[0], "O")
    return fields[0], fields[-1] if fields[-1] in LABELS else "O"


def _sentences(lines: Iterable[Line]) -> Iterator[list[tuple[str, str]]]:
    """Runs of lines between blank ones, without the lines that have no token."""
    run: list[tuple[str, str]] = []
    for line in [*lines, None]:
        if line is None and run:
            yield run
            run = []
        elif line is not None and line[0]:
            run.append(line)


def _crowd_rows(
    documents: Mapping[tuple[str, str], list[list[str]]], crowd: Mapping[str, Lines]
) -> Iterator[tuple[str, str, str, str]]:
    """Rows by part, worker, document and sentence."""
    found: Counter[str] = Counter()
    for part in PARTS:
        for worker in sorted(crowd):
            for key in sorted(key for key in crowd[worker] if key[0] == part and key in documents):
                for i, (labels, how) in enumerate(align(documents[key], crowd[worker][key])):
                    found[how] += 1
                    yield f"{key[1]}#{i}", worker, " ".join(labels), how
    _log.info("aligned: %s", ", ".join(f"{how} {found[how]:,}" for how in HOW))


def _gold_rows(
    order: Sequence[tuple[str, str]], gold: Lines, original: Mapping[tuple[str, ...], list[str]]
) -> list[tuple[str, str, str]]:
    """Gold as published, and repaired after CoNLL's own file where there is one."""
    rows = []
    for key in order:
        for i, sentence in enumerate(_sentences(gold[key])):
            raw = [label for _, label in sentence]
            repaired = repair(raw, original.get(tuple(token for token, _ in sentence)))
            rows.append((f"{key[1]}#{i}", " ".join(repaired), " ".join(raw)))
    return rows


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


def _own_splits(
    order: Sequence[tuple[str, str]],
    documents: Mapping[tuple[str, str], list[list[str]]],
    covered: set[str],
) -> list[tuple[str, str]]:
    """The halves of Nguyen et al., and the sentences nobody labelled."""
    splits = []
    for part, doc in order:
        for i in range(len(documents[part, doc])):
            split = PARTS[part] if f"{doc}#{i}" in covered else "no_crowd"
            if split:
                splits.append((f"{doc}#{i}", split))
    return splits


def _read_conll(path: Path) -> list[list[tuple[str, str]]]:
    """Sentences of a file of lines ``token … label``."""
    return list(_sentences(map(_line, decoded(path.read_bytes()).splitlines())))


def _released_votes(
    names: Sequence[str | None],
    votes: Sequence[Sequence[tuple[str, str]]],
    gold: Sequence[Sequence[tuple[str, str]]],
) -> Table:
    """The majority vote of AggSLC's authors, and the gold they distribute with it."""
    if [len(one) for one in votes] != [len(one) for one in gold]:
        raise InputError("aggslc-mv.txt and aggslc-gold.txt are not of the same sentences")
    rows = [
        (name, " ".join(label for _, label in vote), " ".join(label for _, label in truth))
        for name, vote, truth in zip(names, votes, gold, strict=True)
        if name is not None
    ]
    return Table(("sentence_id", "labels", "gold_as_distributed"), rows)


def _read_conll2003(path: Path) -> dict[str, list[list[tuple[str, str]]]]:
    """CoNLL-2003's files, by their own names or those of the common copies, in IOB2."""
    known = {
        "eng.train": "train", "eng.testa": "testa", "eng.testb": "testb",
        "train.txt": "train", "valid.txt": "testa", "test.txt": "testb",
    }  # fmt: skip
    files = {}
    for name, content in read_members(path, lambda name: name.rpartition("/")[2] in known):
        sentences = _sentences(map(_line, decoded(content).splitlines()))
        files[known[name.rpartition("/")[2]]] = [
            list(
                zip([token for token, _ in one], to_iob2([label for _, label in one]), strict=True)
            )
            for one in sentences
        ]
    if not files.keys() >= {"testa", "testb"}:
        raise InputError(
            "not an archive of CoNLL-2003", where=str(path), got=f"only {sorted(files)}",
            fix="it should hold eng.testa and eng.testb, or valid.txt and test.txt",
        )  # fmt: skip
    return files


def _originals(
    sentences: Iterable[Sequence[tuple[str, str]]],
) -> dict[tuple[str, ...], list[str]]:
    """CoNLL's labels by the tokens; without quotation marks, which the crowd's text does not have."""
    found: dict[tuple[str, ...], list[str]] = {}
    for sentence in sentences:
        kept = [(token, label) for token, label in sentence if token != '"']
        found.setdefault(tuple(token for token, _ in kept), [label for _, label in kept])
    return found


def _held_out(files: Mapping[str, Sequence[Sequence[tuple[str, str]]]]) -> Table:
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
