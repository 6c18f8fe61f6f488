"""CoNLL columns: a token and one tag per annotator on a line, a blank line between sentences.

``?`` means "gave no tag". An annotator with ``?`` on every token of a sentence never saw it. See
``docs/formats.md`` for the header and the comment lines, and :mod:`seqtruth.io.formats.conll.text` for
how lines are told apart.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import KINDS
from seqtruth.errors import DataError, DataWarning, InputError, ParameterError
from seqtruth.io.assemble import Columns, assemble, make_corpus, sentence_documents
from seqtruth.io.files import write_chunks
from seqtruth.io.formats.conll.text import DOCSTART, MISSING, Sheet, parse_sheet
from seqtruth.kernels.arrays import I32, I64, Bool, Tags
from seqtruth.kernels.native import call
from seqtruth.kernels.tags import numbers_in_use

#: A tag of spans, in any scheme.
_SPAN_TAG = re.compile(r"O|[BIESLUM]-.+")
#: Sentences put into one chunk of the output.
_CHUNK = 256


def read_conll(
    path: Path,
    scheme: str | None = None,
    *,
    annotators: Sequence[str] | None = None,
    columns: Sequence[int] | None = None,
) -> Crowd:
    """Read a file with one tag column per annotator.

    Parameters
    ----------
    path : the file; ``.gz`` is unpacked.
    scheme : scheme of the tags; detected where not given.
    annotators : annotators' names, instead of the header's or of the numbers 1, 2, 3 …
    columns : places of the tag columns to take, the token being column 0; ``[-1]`` takes the last
        one, as wanted for CoNLL-2003 files (token, part of speech, chunk, entity).
    """
    sheet = parse_sheet(path)
    codes, names = sheet.codes, sheet.names
    if columns is not None:
        chosen = _chosen(sheet, columns)
        codes = codes[:, chosen]
        names = None if names is None else [names[c] for c in chosen]
    elif names is None and annotators is None and not _all_are_tags(sheet):
        warnings.warn(
            f"{path}: only the last column holds tags of spans and is read; the others hold "
            f"{_others(sheet)} (columns= chooses)", DataWarning, stacklevel=5,
        )  # fmt: skip
        codes = codes[:, -1:]
    if annotators is not None:
        names = [str(name) for name in annotators]
        if len(names) != codes.shape[1] or len(set(names)) < len(names):
            raise ParameterError(
                f"annotators must be {codes.shape[1]} different names", got=f"{names!r:.60}"
            )
    names = names or [str(number + 1) for number in range(codes.shape[1])]
    corpus = make_corpus(str(path), sheet.token_offsets, sheet.ids, sheet.tokens, sheet.documents)
    sentence, annotator, tags = rows_of(sheet.token_offsets, codes)
    offsets, lines, labels, noted = (
        sheet.token_offsets,
        sheet.lines,
        sheet.labels,
        noted_scheme(sheet),
    )
    del sheet, codes  # the grid is as large as the rows made from it

    def where(sentence: int, token: int, annotator: int) -> str:
        return f"{path}:{lines.of(int(offsets[sentence]) + token)}"

    found = Columns(str(path), corpus, names, labels, sentence, annotator, tags, where)
    return assemble(found, scheme or noted)


def _all_are_tags(sheet: Sheet) -> bool:
    """Whether the columns are annotators; not where the last one has tags of spans and others do not.

    Files of CoNLL-2003 and the like have parts of speech and chunks between the token and its tag.
    """
    if sheet.codes.shape[1] < 2:
        return True
    tags = np.array([_SPAN_TAG.fullmatch(label) is not None for label in sheet.labels] + [True])
    if tags.all():
        return True
    used = _used(sheet)
    begins = [label[:2] in ("B-", "I-") for label in sheet.labels] + [False]
    last = used[-1]
    if not tags[last].all() or not any(begins[code] for code in last):
        return True
    return all(tags[column].all() for column in used[:-1])


def _used(sheet: Sheet) -> list[I64]:
    """The numbers in each column, as places in its labels; the place behind the last is for none."""
    return [np.flatnonzero(column) for column in numbers_in_use(sheet.codes, len(sheet.labels))]


def _others(sheet: Sheet) -> str:
    """A few values of the other columns."""
    found = dict.fromkeys(code for code in sheet.codes[:50, :-1].ravel().tolist() if code >= 0)
    return ", ".join(repr(sheet.labels[code]) for code in list(found)[:4]) + " …"


def noted_scheme(sheet: Sheet) -> str | None:
    """The scheme that the file says it is in."""
    if sheet.scheme is not None and sheet.scheme not in KINDS:
        raise InputError(
            f"the comment '# scheme = {sheet.scheme}' names no scheme",
            where=str(sheet.path),
            fix=f"known are {', '.join(KINDS)}",
        )
    return sheet.scheme


def _chosen(sheet: Sheet, columns: Sequence[int]) -> list[int]:
    n_columns = sheet.codes.shape[1] + 1
    places = [int(c) + n_columns if c < 0 else int(c) for c in columns]
    if not places or len(set(places)) < len(places) or not set(places) <= set(range(1, n_columns)):
        raise ParameterError(
            f"columns must be different places from 1 to {n_columns - 1}, or negative ones",
            where=str(sheet.path),
            got=repr(list(columns)),
        )
    return [place - 1 for place in places]


def rows_of(offsets: I64, codes: Tags) -> tuple[I32, I32, Tags]:
    """Rows (sentence, annotator, tags) from the grid of tokens and annotators."""
    rows = np.flatnonzero(seen_by(offsets, codes))
    sentence, annotator = (part.astype(np.int32) for part in np.divmod(rows, codes.shape[1]))
    return sentence, annotator, read_columns(offsets, codes, sentence, annotator)


def seen_by(offsets: I64, codes: Tags) -> Bool:
    """bool[sentences, annotators]: who gave any tag."""
    seen = np.zeros((len(offsets) - 1, codes.shape[1]), np.bool_)
    call("find_seen", offsets, codes, seen)
    return seen


def read_columns(offsets: I64, codes: Tags, sentence: I32, annotator: I32) -> Tags:
    """Tags of each row, one row after the other."""
    tags = np.empty(int(np.diff(offsets)[sentence].sum()), codes.dtype)
    call("read_columns", offsets, codes, sentence, annotator, tags)
    return tags


def write_conll(crowd: Crowd, path: Path, *, comments: bool = True) -> None:
    """Write one tag column per annotator, separated by tabs.

    Parameters
    ----------
    crowd : what to write.
    path : the file; packed where the name ends in ``.gz``.
    comments : whether to write the header and the lines with scheme, ids and documents; without
        them, other tools read the file, and annotators and sentences become numbers.
    """
    check_writable(crowd, names=comments)
    if not comments and crowd.corpus.words(0)[:1] == ["token"]:
        raise _refusal("the opening token", "token")  # it would be taken for a header
    write_chunks(path, conll_chunks(crowd, comments))


def conll_chunks(crowd: Crowd, comments: bool = True, always_ids: bool = False) -> Iterator[bytes]:
    """The text of the file, in pieces."""
    corpus = crowd.corpus
    ids = corpus.sentence_ids.to_pylist()
    lengths = np.diff(corpus.token_offsets)
    with_ids = always_ids or ids != [str(i) for i in range(len(ids))] or bool((lengths == 0).any())
    documents = sentence_documents(corpus)
    texts = np.array([*crowd.scheme.labels, MISSING], object)
    if comments:
        yield ("# token\t" + "\t".join(crowd.annotators) + "\n").encode()
        yield f"# scheme = {crowd.scheme.kind}\n".encode()
    document = ""
    for first in range(0, crowd.n_sentences, _CHUNK):
        lines: list[str] = []
        for s in range(first, min(first + _CHUNK, crowd.n_sentences)):
            if comments and documents[s] != document:
                document = documents[s]
                lines.append(f"# doc = {document}")
            if comments and with_ids:
                lines.append(f"# id = {ids[s]}")
            grid = np.full((int(lengths[s]), crowd.n_annotators), -1, crowd.tags.dtype)
            for r in range(crowd.sentence_rows[s], crowd.sentence_rows[s + 1]):
                a, b = crowd.row_offsets[r : r + 2]
                grid[:, crowd.row_annotator[r]] = crowd.tags[a:b]
            rows = texts[grid].tolist()
            lines += [
                "\t".join((word, *row)) for word, row in zip(corpus.words(s), rows, strict=True)
            ]
            lines.append("")
        yield ("\n".join(lines) + "\n").encode()


#: Tokens that the reader would cut, or take for a border or a comment (RE2 syntax).
_UNSAFE_TOKEN = rf"^$|[\t\r\n\x00]|^{DOCSTART}([ \t]|$)|^# +\w[\w ]*? *=|^\x{{FEFF}}"
_UNSAFE_VALUE = re.compile(r"[\r\n\0]|^\s|\s$")


def check_writable(crowd: Crowd, names: bool = True) -> None:
    """Raise where something in the crowd would not survive the way through a CoNLL file."""
    corpus = crowd.corpus
    if not crowd.n_annotators:
        raise _refusal("a crowd without annotators", "")
    if not corpus.n_tokens:
        raise _refusal("a crowd without tokens", "")
    if corpus.tokens is not None:
        hits = pc.match_substring_regex(corpus.tokens, _UNSAFE_TOKEN)
        place = pc.index(hits, True).as_py()
        if place >= 0:
            raise _refusal("token", corpus.tokens[place].as_py())
    for label in crowd.scheme.labels:
        if label == MISSING or not label or re.search(r"[\s\0]", label):
            raise _refusal("label", label)
    if not names:
        return
    for annotator in crowd.annotators:
        if not annotator or re.search(r"[\t\r\n\0]|^\s|\s$", annotator):
            raise _refusal("annotator", annotator)
    for kind, values in (("id", corpus.sentence_ids.to_pylist()), ("document", corpus.documents)):
        for value in values:
            if _UNSAFE_VALUE.search(value):
                raise _refusal(kind, value)


def _refusal(kind: str, value: str) -> DataError:
    what = f"{kind} {value!r:.60}" if value or kind in ("token", "label", "annotator") else kind
    return DataError(
        f"{what} cannot be written in CoNLL columns", fix="write .jsonl or .parquet instead"
    )
