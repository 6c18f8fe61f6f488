"""A folder with one CoNLL file per annotator, the file's name being the annotator's.

Files hold a token and a tag on a line. They are put together by sentence ids where a file has
them (``# id = …``; sentences may then be absent or in another order), else by position. All must
agree on the tokens.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.atomic import atomic_path
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.errors import DataError, InputError
from seqtruth.io.assemble import Columns, assemble, make_corpus, offsets_of
from seqtruth.io.formats.conll.columns import check_writable, conll_chunks, noted_scheme
from seqtruth.io.formats.conll.text import Sheet, parse_sheet

SUFFIXES = (".conll", ".txt", ".tsv", ".bio", ".iob", ".iob2", ".bioes", ".bilou")
_NOT_IN_NAMES = re.compile(r'[%/\\:*?"<>|\x00-\x1f\x7f]|^\.')


def read_conll_folder(path: Path, scheme: str | None = None) -> Crowd:
    """Read a folder with one file per annotator; annotators in the order of the file names."""
    columns, sheets = folder_columns(path)
    noted = {sheet.scheme: sheet for sheet in sheets if noted_scheme(sheet)}
    if scheme is None and len(noted) > 1:
        raise InputError(
            "the files are in different schemes",
            where=str(path),
            got=", ".join(f"{kind} in {sheet.path.name}" for kind, sheet in noted.items()),
        )
    return assemble(columns, scheme or next(iter(noted), None))


def folder_columns(path: Path) -> tuple[Columns, list[Sheet]]:
    """The files of a folder laid over one corpus, before their tags are looked at."""
    files = _files(path)
    sheets = [_sheet(file) for file in files.values()]
    if all(sheet.has_ids for sheet in sheets):
        order: dict[str, tuple[int, int]] = {}  # id -> the sheet and sentence that showed it first
        for number, sheet in enumerate(sheets):
            for s, name in enumerate(sheet.ids.to_pylist()):
                order.setdefault(name, (number, s))
        numbers = {name: i for i, name in enumerate(order)}
        places = [
            np.array([numbers[name] for name in sheet.ids.to_pylist()], np.int64)
            for sheet in sheets
        ]
        origin = list(order.values())
    else:
        _check_counts(sheets)
        places = [np.arange(len(sheet.ids)) for sheet in sheets]
        origin = [(0, s) for s in range(len(sheets[0].ids))]
    return _columns(str(path), list(files), sheets, places, origin), sheets


def _files(path: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise InputError("cannot read the folder", where=str(path), got=error.strerror) from None
    for file in entries:
        plain = Path(file.name.removesuffix(".gz"))
        if file.name.startswith(".") or plain.suffix not in SUFFIXES or not file.is_file():
            continue
        name = unquote(plain.stem)
        if name in files:
            raise InputError(
                f"annotator {name!r} has two files",
                where=str(path),
                got=f"{files[name].name} and {file.name}",
                fix="keep one of them",
            )
        files[name] = file
    if not files:
        raise InputError(
            "the folder holds no CoNLL files",
            where=str(path),
            fix=f"give each annotator a file, name.conll (also {', '.join(SUFFIXES[1:])})",
        )
    return dict(sorted(files.items()))


def _sheet(path: Path) -> Sheet:
    sheet = parse_sheet(path)
    if sheet.codes.shape[1] != 1:
        raise InputError(
            "a file of one annotator must have two columns, token and tag",
            where=sheet.at(sheet.lines.of(0)),
            got=f"{sheet.codes.shape[1] + 1} columns",
            fix="give each annotator a file, or read the file itself as conll",
        )
    return sheet


def _check_counts(sheets: list[Sheet]) -> None:
    first = sheets[0]
    for sheet in sheets[1:]:
        if len(sheet.ids) != len(first.ids):
            _compare(first, sheet, np.arange(min(len(sheet.ids), len(first.ids))))
            found = _count(len(sheet.ids), "sentence")
            raise InputError(
                f"{found} where {first.path.name} has {len(first.ids)}",
                where=sheet.at(int(sheet.id_lines[-1])),
                fix="write '?' for tags not given, or put '# id = …' above each sentence",
            )


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def _compare(first: Sheet, sheet: Sheet, sentences: npt.NDArray[np.int64]) -> None:
    """Raise at the first of these sentences (at the same places) with different tokens."""
    for s in sentences.tolist():
        _compare_sentence(first, s, sheet, s)


def _compare_sentence(first: Sheet, s: int, sheet: Sheet, t: int) -> None:
    (a, b), (c, d) = first.token_offsets[s : s + 2], sheet.token_offsets[t : t + 2]
    mine, theirs = first.tokens[a:b], sheet.tokens[c:d]
    if len(mine) == len(theirs) and mine.equals(theirs):
        return
    pairs = zip(mine.to_pylist(), theirs.to_pylist(), strict=False)
    differ = next((i for i, (x, y) in enumerate(pairs) if x != y), None)
    sentence = f"sentence {sheet.ids[t].as_py()!r}"
    if len(mine) != len(theirs):
        line = int(sheet.id_lines[t]) if differ is None else sheet.lines.of(int(c) + differ)
        found = _count(len(theirs), "token")
        raise InputError(
            f"{sentence} has {found} where {first.path.name} has {len(mine)}",
            where=sheet.at(line),
            fix="all annotators' files must have the same tokens",
        )
    assert differ is not None
    raise InputError(
        f"{sentence} differs from {first.path.name}, which has {mine[differ].as_py()!r}",
        where=sheet.at(sheet.lines.of(int(c) + differ)),
        got=repr(theirs[differ].as_py()),
        fix="all annotators' files must have the same tokens",
    )


def _columns(
    name: str,
    annotators: list[str],
    sheets: list[Sheet],
    places: list[npt.NDArray[np.int64]],
    origin: list[tuple[int, int]],
) -> Columns:
    """Lay the sheets over one corpus, checking that they agree on it."""
    starts = offsets_of([len(sheet.tokens) for sheet in sheets])
    first = np.array([int(sheets[k].token_offsets[s] + starts[k]) for k, s in origin], np.int64)
    lengths = np.array([np.diff(sheets[k].token_offsets[s : s + 2])[0] for k, s in origin])
    offsets = offsets_of(lengths)
    flat = np.repeat(first - offsets[:-1], lengths) + np.arange(offsets[-1])
    tokens = pa.concat_arrays([sheet.tokens for sheet in sheets]).take(pa.array(flat))
    labels: dict[str, int] = {}
    sentences, codes = [], []
    for sheet, place in zip(sheets, places, strict=True):
        _, target = gather(offsets, place)
        same = tokens.take(pa.array(target)).equals(sheet.tokens)
        if not same or (np.diff(sheet.token_offsets) != lengths[place]).any():
            for t, s in enumerate(place.tolist()):
                _compare_sentence(sheets[origin[s][0]], origin[s][1], sheet, t)
        recode = [labels.setdefault(label, len(labels)) for label in sheet.labels]
        tags = np.array([*recode, -1], np.int64)[sheet.codes[:, 0]]
        given = offsets_of((tags >= 0).astype(np.int64))[sheet.token_offsets]
        seen = np.flatnonzero(np.diff(given))
        sentences.append(place[seen])
        codes.append(tags[gather(sheet.token_offsets, seen)[1]])
    back = [dict(zip(place.tolist(), range(len(place)), strict=True)) for place in places]

    def where(sentence: int, token: int, annotator: int) -> str:
        sheet = sheets[annotator]
        return sheet.at(sheet.lines.of(int(sheet.token_offsets[back[annotator][sentence]]) + token))

    return Columns(
        name,
        make_corpus(
            name,
            offsets,
            [sheets[k].ids[s].as_py() for k, s in origin],
            tokens,
            [_document(sheets[k], s) for k, s in origin],
        ),
        annotators,
        list(labels),
        np.concatenate(sentences),
        np.repeat(np.arange(len(sheets)), [len(part) for part in sentences]),
        np.concatenate(codes),
        where,
    )


def _document(sheet: Sheet, sentence: int) -> str:
    return "" if sheet.documents is None else sheet.documents[sentence]


def write_conll_folder(crowd: Crowd, path: Path) -> None:
    """Write one file per annotator with the sentences he labelled.

    The first file (by name) lists all sentences, with ``?`` where its annotator gave no tag, so
    that the folder keeps their order and those that nobody labelled. Characters that file names
    cannot hold are written as ``%`` and two hexadecimal digits.
    """
    check_writable(crowd)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(
            "the folder is there already", where=str(path), fix="choose a new name, or empty it"
        )
    names = {annotator: _file_name(annotator) for annotator in crowd.annotators}
    first, lengths = min(crowd.annotators), np.diff(crowd.corpus.token_offsets)
    with atomic_path(path) as temporary:
        temporary.mkdir()
        for number, annotator in enumerate(crowd.annotators):
            mine = crowd.select_annotators([annotator])
            if annotator != first:
                seen = crowd.row_sentence[crowd.row_annotator == number]
                mine = mine[seen if lengths[seen].any() else np.flatnonzero(lengths)[:1]]
            with open(temporary / names[annotator], "wb") as file:
                file.writelines(conll_chunks(mine, always_ids=True))


def _file_name(annotator: str) -> str:
    name = _NOT_IN_NAMES.sub(lambda found: f"%{ord(found[0]):02X}", annotator) + ".conll"
    if len(name.encode()) > 200:
        raise DataError(
            f"annotator {annotator!r:.60} cannot name a file", fix="use a shorter name, or .jsonl"
        )
    return name
