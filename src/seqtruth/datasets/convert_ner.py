"""The NER data set from its sources: crowd, gold, splits, and CoNLL's test sets.

What is read, and how, is described in ``docs/datasets.md``.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seqtruth.datasets.alignment import HOW, Line, align
from seqtruth.datasets.conll2003 import held_out, originals, read_conll2003, repair
from seqtruth.datasets.members import read_members
from seqtruth.datasets.releases import match_sentences
from seqtruth.datasets.tables import Table
from seqtruth.datasets.token_lines import Labelled, read_lines, read_sentences, sentences_of
from seqtruth.errors import DataWarning, InputError

_log = logging.getLogger(__name__)
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
        (part, doc): [[token for token, _ in sentence] for sentence in sentences_of(lines)]
        for (part, doc), lines in gold.items()
    }
    order = sorted(documents, key=lambda key: (list(PARTS).index(key[0]), key[1]))
    sentences = [
        (f"{doc}#{i}", tokens)
        for part, doc in order
        for i, tokens in enumerate(documents[part, doc])
    ]
    conll = read_conll2003(files["conll2003.zip"]) if "conll2003.zip" in files else {}
    original = originals(conll.get("train", []))
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
            released = read_sentences(files[file].read_bytes())
            names = match_sentences([[token for token, _ in one] for one in released], sentences)
            _check_release(names, files[file])
            splits += [(name, split) for name in names if name is not None]
            if split == "aggslc_3466" and "aggslc-mv.txt" in files:
                votes = read_sentences(files["aggslc-mv.txt"].read_bytes())
                _check_votes(votes, released, files["aggslc-mv.txt"])
                tables["aggslc_mv.tsv.gz"] = _released_votes(names, votes, released)
    tables["splits.tsv.gz"] = Table(("sentence_id", "split"), splits)
    if conll:
        tables["conll2003_task2_eval.tsv.gz"] = held_out(conll)
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
        home[match["part"] or "", match["doc"]] = read_lines(content)
    if not gold or not crowd:
        raise InputError(
            "not the archive of crowd labels", where=str(path),
            got="no folder ground_truth" if not gold else "no folder mturk_train_data",
            fix="fetch it again with force=True",
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
        for i, sentence in enumerate(sentences_of(gold[key])):
            raw = [label for _, label in sentence]
            repaired = repair(raw, original.get(tuple(token for token, _ in sentence)))
            rows.append((f"{key[1]}#{i}", " ".join(repaired), " ".join(raw)))
    return rows


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


def _check_release(names: Sequence[str | None], path: Path) -> None:
    found = sum(name is not None for name in names)
    if found < 0.9 * len(names) or not names:
        raise InputError(
            "not sentences of this data set", where=str(path), got=f"{found} of {len(names)} found"
        )


def _check_votes(votes: Sequence[Sequence[Any]], gold: Sequence[Sequence[Any]], path: Path) -> None:
    if [len(one) for one in votes] != [len(one) for one in gold]:
        raise InputError("not of the same sentences as the gold beside it", where=str(path))


def _released_votes(
    names: Sequence[str | None],
    votes: Sequence[Labelled],
    gold: Sequence[Labelled],
) -> Table:
    """The majority vote of AggSLC's authors, and the gold they distribute with it."""
    rows = [
        (name, " ".join(label for _, label in vote), " ".join(label for _, label in truth))
        for name, vote, truth in zip(names, votes, gold, strict=True)
        if name is not None
    ]
    return Table(("sentence_id", "labels", "gold_as_distributed"), rows)
