"""Sentences without labels, for a tagger: plain text, CoNLL's first column, JSONL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seqtruth.corpus import Corpus
from seqtruth.errors import InputError
from seqtruth.io.files import read_text
from seqtruth.io.text_spans import tokenise

KINDS = ("text", "conll", "jsonl")


def read_unlabelled(path: str | Path, format: str | None = None) -> Corpus:
    """Read sentences to be tagged; whatever labels the file has are passed over.

    Parameters
    ----------
    path : ``.jsonl`` records with ``tokens`` or ``text``; ``.conll`` (the first column is the token);
        any other name is plain text with one sentence on a line, which we tokenise.
    format : ``"text"``, ``"conll"`` or ``"jsonl"`` where the name does not tell.
    """
    path = Path(path)
    if format is None:
        suffix = path.name.removesuffix(".gz").rsplit(".", 1)[-1].lower()
        known = {"jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl", "conll": "conll"}
        known |= dict.fromkeys(("bio", "iob", "iob2", "bioes", "bilou"), "conll")
        format = known.get(suffix, "text")
    if format not in KINDS:
        raise InputError(f"format must be one of {', '.join(KINDS)}", got=repr(format))
    lines = read_text(path).decode("utf-8").splitlines()
    if format == "text":
        return _from_text([(None, line.strip()) for line in lines if line.strip()])
    if format == "jsonl":
        return _from_jsonl(lines, str(path))
    return _from_conll(lines, str(path))


def _from_text(records: list[tuple[str | None, str]]) -> Corpus:
    """Tokenised text that remembers where its tokens stand."""
    borders = [tokenise(text, set()) for _, text in records]
    tokens = [text[a:b] for (_, text), cuts in zip(records, borders, strict=True) for a, b in cuts]
    flat = np.array([cut for cuts in borders for cut in cuts], np.int32).reshape(-1, 2)
    return Corpus(
        np.cumsum([0] + [len(cuts) for cuts in borders]),
        pa.array([name or str(i) for i, (name, _) in enumerate(records)], pa.large_string()),
        pa.array(tokens, pa.large_string()),
        texts=pa.array([text for _, text in records], pa.large_string()),
        char_starts=flat[:, 0],
        char_ends=flat[:, 1],
    )


def _from_conll(lines: list[str], where: str) -> Corpus:
    sentences: list[list[str]] = [[]]
    for line in lines:
        if not line.strip() or line.startswith("-DOCSTART-"):
            sentences.append([])
        elif not (line.startswith("# ") and ("=" in line or not sentences[-1])):
            sentences[-1].append(line.split("\t")[0] if "\t" in line else line.split()[0])
    found = [sentence for sentence in sentences if sentence]
    if not found:
        raise InputError("there is no sentence in the file", where=where)
    return Corpus.of(found)


def _from_jsonl(lines: list[str], where: str) -> Corpus:
    names: list[str | None] = []
    contents: list[Any] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        here = f"{where}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON ({error})", where=here) from None
        tokens = record.get("tokens") if isinstance(record, dict) else None
        text = record.get("text") if isinstance(record, dict) else None
        fine = isinstance(tokens, list) and all(isinstance(t, str) for t in tokens)
        if not fine and not isinstance(text, str):
            raise InputError(
                'a record needs "tokens" (a list of strings) or "text"', where=here,
                got=repr(record)[:60],
            )  # fmt: skip
        name = record.get("id")
        names.append(None if name is None else str(name))
        contents.append(tokens if fine else text)
    if not contents:
        raise InputError("there is no record in the file", where=where)
    if len({name for name in names if name is not None}) < len(names):
        names = [None] * len(names)
    if all(isinstance(content, str) for content in contents):
        return _from_text(list(zip(names, contents, strict=True)))
    words = [[c[a:b] for a, b in tokenise(c, set())] if isinstance(c, str) else c for c in contents]
    return Corpus.of(words, [name or str(i) for i, name in enumerate(names)])
