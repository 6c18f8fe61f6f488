"""Formats of tokens and tags, and how to tell their files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa

from seqtruth.io.format import HEAD, CrowdFormat, Glimpse
from seqtruth.io.formats.conll.columns import read_conll, write_conll
from seqtruth.io.formats.conll.folder import read_conll_folder, write_conll_folder
from seqtruth.io.formats.jsonl import read_jsonl
from seqtruth.io.formats.jsonl_writing import write_jsonl
from seqtruth.io.formats.label_matrix import read_matrix, tell_matrix, write_matrix
from seqtruth.io.longtable.sources import REQUIRED, delimiter_in, header
from seqtruth.io.longtable.table import read_csv, read_parquet, read_tsv, write_table

CONFIDENCES = ("confidence", "span_confidence")
_WITH_LEVEL = (*CONFIDENCES, "level")
_CONLL = (".conll", ".bio", ".iob", ".iob2", ".bioes", ".bilou", ".txt")
_TAG_CELL = re.compile(rb"[BIESLUM]-\S+|[O?]")
_OURS = re.compile(rb'"(?:tokens|text|annotations)"\s*:')
_FIELDS = {"tokens", "offsets", "confidence", "meta", "metadata"}
_JSONL = (".jsonl", ".ndjson", ".json")
#: Signs of a table of something else: cells of JSON, Toloka's header, the syntax of Universal Dependencies.
_NO_COLUMNS = re.compile(
    rb'\t"?(?:\[\]|[\[{]"?\{?")|^INPUT:\w+\t|\t(?:PROPN|VERB|ADP|PUNCT)\t.*\t\d+\t\w+\t'
)
#: Files of programs, which are no columns whatever they look like.
_OTHERS = (
    ".py",
    ".md",
    ".r",
    ".js",
    ".yaml",
    ".yml",
    ".toml",
    ".cfg",
    ".ini",
    ".log",
    ".sh",
    ".tex",
    ".7z",
    ".rar",
)
#: How sure one is of a file's format from: its content, its ending alone, no more than a guess.
SURE, BY_NAME, GUESS = 1.0, 0.3, 0.15


def suffix_of(path: Path) -> str:
    """Ending of a file's name, in small letters and without ``.gz``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _tell_conll(glimpse: Glimpse) -> float:
    if glimpse.tree is not None or b"\0" in glimpse.head:
        return 0.0
    suffix = suffix_of(glimpse.path)
    head = glimpse.head.lstrip()
    if suffix == ".conllu" or _NO_COLUMNS.search(head[:4096]):
        return 0.0
    if suffix in _CONLL[:-1]:
        return 0.6
    if head[:1] in (b"{", b"[", b"<") and suffix != ".txt":
        return 0.0
    first = head.split(b"\n", 1)[0].split()
    columns = len(first) > 1 or first[:1] == [b"-DOCSTART-"]
    if suffix == ".txt":
        return 0.0 if _is_prose(head) else BY_NAME
    return GUESS if columns and suffix not in _OTHERS and not _is_prose(head) else 0.0


def _is_prose(head: bytes) -> bool:
    """Whether lines are far too different to be a token and tags."""
    lines = [line.split() for line in head.split(b"\n")[:50] if not line.startswith(b"#")]
    counts = {len(line) for line in lines} - {0}
    if len(counts) > 2 and max(counts) > 20:
        return True
    only = [line for line in lines if line]
    if len(only) == 1 and len(only[0]) > 6 and not any(map(_TAG_CELL.fullmatch, only[0])):
        return True
    tagged = any(_TAG_CELL.fullmatch(line[-1]) for line in lines if len(line) > 1)
    return len(counts) > 1 and max(counts) > 5 and not tagged


def _tell_folder(glimpse: Glimpse) -> float:
    if not glimpse.path.is_dir():
        return 0.0
    names = [Path(name).suffix for name in glimpse.tree or () if "/" not in name]
    if any(name in _CONLL[:-1] for name in names):
        return 0.6
    return BY_NAME if ".txt" in names else 0.1 if any(glimpse.path.iterdir()) else 0.0


def _tell_jsonl(glimpse: Glimpse) -> float:
    head = glimpse.head.lstrip()
    if re.match(rb"\{\s*[\"}]", head):
        line = head.split(b"\n", 1)[0]
        ours = re.search(rb'"annotations"\s*:\s*\{', line) and re.search(
            rb'"(?:tokens|text)"\s*:', line
        )
        return SURE if ours else BY_NAME if _may_be_ours(head) else 0.0
    return GUESS if suffix_of(glimpse.path) in _JSONL[:-1] and glimpse.tree is None else 0.0


def _may_be_ours(head: bytes) -> bool:
    """Whether the first object has a key of ours and no others' labels, or cannot be read to see."""
    try:
        value, _ = json.JSONDecoder().raw_decode(head.decode("utf-8", "ignore"))
    except (ValueError, RecursionError):
        return len(head) < HEAD // 2 or _OURS.search(head) is not None
    if "annotations" not in value and any(
        isinstance(one, list | dict) for key, one in value.items() if key not in _FIELDS
    ):
        return False  # labels of some other shape
    ours = not {"tokens", "text"}.isdisjoint(value) or isinstance(value.get("annotations"), dict)
    return not value or ours


def _tell_delimited(delimiter: str, suffix: str, glimpse: Glimpse) -> float:
    head = glimpse.head.lstrip()
    if glimpse.tree is not None or b"\0" in head:
        return 0.0
    found = delimiter_in(head) is not None if delimiter == "," else False
    if found or set(REQUIRED) <= set(header(head, delimiter)):
        return SURE
    return BY_NAME if suffix == ".csv" and suffix_of(glimpse.path) == suffix else 0.0


def _tell_parquet(glimpse: Glimpse) -> float:
    if glimpse.head[:4] != b"PAR1":
        return GUESS if suffix_of(glimpse.path) in (".parquet", ".pq") else 0.0
    import pyarrow.parquet as pq  # slow to import: only where it is needed

    try:
        names = set(pq.read_schema(glimpse.path).names)
    except (pa.ArrowException, OSError, ValueError):
        return BY_NAME
    return SURE if set(REQUIRED) <= names else BY_NAME


def _table(
    name: str,
    title: str,
    suffixes: tuple[str, ...],
    tell: Callable[[Glimpse], float],
    read: Callable[..., object],
) -> CrowdFormat:
    return CrowdFormat(
        name, title, tell, read, partial(write_table, kind=name),  # type: ignore[arg-type]
        () if name == "parquet" else ("quoting", "safe_cells"),
        _WITH_LEVEL if name == "parquet" else (*_WITH_LEVEL, "safe_cells"),
        ("annotators who saw nothing", "documents' texts, where split into sentences"), suffixes,
    )  # fmt: skip


OWN = (
    CrowdFormat(
        "conll", "CoNLL columns", _tell_conll, read_conll, write_conll, ("annotators", "columns"),
        ("comments",),
        ("confidence", "texts and offsets", "layers", "who saw a sentence without any tag"), _CONLL,
    ),
    CrowdFormat(
        "conll-folder", "a folder of CoNLL files", _tell_folder, read_conll_folder, write_conll_folder,
        cannot_carry=("confidence", "texts and offsets", "layers"),
    ),
    CrowdFormat(
        "jsonl", "JSON lines of SeqTruth", _tell_jsonl, read_jsonl, write_jsonl,
        ("split", "overlap"), CONFIDENCES, (), _JSONL,
    ),
    CrowdFormat(
        "label-matrix", "a label matrix (Snorkel)", tell_matrix, read_matrix, write_matrix, ("abstain",),
        cannot_carry=(
            "confidence", "texts and offsets", "documents", "who saw a sentence without any tag",
            "NUL characters at the end of names",
        ),
        suffixes=(".npz",),
    ),
    _table("csv", "a long table (CSV)", (".csv",), partial(_tell_delimited, ",", ".csv"), read_csv),
    _table("tsv", "a long table (TSV)", (".tsv",), partial(_tell_delimited, "\t", ".tsv"), read_tsv),
    _table("parquet", "a long table (Parquet)", (".parquet", ".pq"), _tell_parquet, read_parquet),
)  # fmt: skip
