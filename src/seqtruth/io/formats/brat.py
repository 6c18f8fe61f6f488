"""brat's standoff files: ``name.txt`` beside ``name.ann``, a folder per annotator.

A line of an ``.ann`` file begins with its kind and is divided by tabs::

    T1	Person 0 5	Alice
    T2	Place 10 14;20 25	east coast

``T`` is a mark, its stretches (code points, exclusive ends) divided by ``;``. Relations (``R``,
``*``), events (``E``), attributes (``A``, ``M``), normalisations (``N``) and comments (``#``) are
counted and left out; the triggers of events are ``T`` lines and stay.

The annotator is the folder. Where several folders share names of documents, each is an annotator;
folders that share none are parts of one corpus, by one annotator. Of folders in folders
(``ann/news/1.ann``, ``bob/news/1.ann``) that level is the annotator in which those with the same texts
differ. An empty ``.ann`` means that nothing was found, a ``.txt`` without ``.ann`` that nobody looked. A
single ``.ann`` file is read with the ``.txt`` beside it; ``.a1`` and ``.a2`` together are an ``.ann``.

Offsets are checked against the words that each line repeats: files written with other line ends
(``\\r\\n`` counted as one), with a byte-order mark counted in, or by tools that count UTF-16
units are recognised by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import atomic_path, check_text
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.file_names import file_name, name_of
from seqtruth.io.formats.gathered import Gathered, checked_pieces, note_lost
from seqtruth.io.formats.offsets import Converter, line_ends_to_points, utf16_to_points
from seqtruth.io.formats.plain_marks import note_borders
from seqtruth.io.tree import Tree

#: Of BioNLP's shared tasks, ``.a1`` (given) and ``.a2`` (found) are together what an ``.ann`` is.
_ENDINGS = (".ann", ".a1", ".a2")
_LINE = re.compile(r"^(?:[TREAMN]\d\S*\t|\*\t|#)")
_KINDS = {
    "R": "relation", "*": "relation", "E": "event", "A": "attribute", "M": "attribute",
    "N": "normalisation", "#": "comment",
}  # fmt: skip
_OTHER = re.compile(r"[REAMN]\d\S*\t|\*\t|#")
_MARK = re.compile(r"(\S+) (-?\d{1,12} -?\d{1,12}(?:;-?\d{1,12} -?\d{1,12})*)\s*")


@dataclass
class _Line:
    """A ``T`` line as written."""

    label: str
    stretches: list[tuple[int, int]]
    words: str | None
    where: str


@dataclass
class _Folder:
    """The files of one folder, by the names of their documents."""

    name: str
    part: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    marks: dict[str, list[str]] = field(default_factory=dict)


def tell(glimpse: Glimpse) -> float:
    if glimpse.tree is not None:
        names = [name for name in glimpse.tree if name.endswith(_ENDINGS)]
        texts = {name for name in glimpse.tree if name.endswith(".txt")}
        sure = 0.5 if names and texts else 0.0
        for name in names[:20]:
            head = glimpse.tree.read(name, 200).decode("utf-8", "replace")
            if head.strip():
                return 0.9 if _LINE.match(head) else 0.0
        return sure
    if glimpse.path.suffix == ".txt" and (beside := glimpse.path.with_suffix(".ann")).is_file():
        return tell(Glimpse(beside))
    if glimpse.path.suffix in _ENDINGS:
        head = glimpse.head[:200].decode("utf-8", "replace")
        return 0.9 if _LINE.match(head) else 0.4 if not head.strip() else 0.0
    return 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    annotator = options.get("annotator")
    tree, folders = _folders(path)
    shared = _shared(folders)
    documents: dict[str, list[tuple[_Folder, str]]] = {}
    for folder in folders:
        for name in sorted({*folder.texts, *folder.marks}):
            prefix = f"{folder.name}/" if not shared and len(folders) > 1 else folder.part
            documents.setdefault(prefix + name, []).append((folder, name))
    for id, places in documents.items():
        gathered = Gathered(name_of(id), notes)
        text = _any_text(tree, places)
        for folder, name in places:
            own = folder.texts.get(name)
            content, where = (_text(tree, own), tree.where(own)) if own else text
            opinion = None
            if name in folder.marks:
                who = folder.name if shared or len(folders) == 1 else _title(path)
                marks = _marks(tree, folder.marks[name], content, notes)
                opinion = Opinion(str(annotator) if annotator else name_of(who), marks)
            gathered.add(content.removeprefix("\ufeff"), opinion, where)
        yield gathered.document()


def _title(path: Path) -> str:
    return path.resolve().name if path.is_dir() else path.stem


def _folders(path: Path) -> tuple[Tree, list[_Folder]]:
    """The files by folder; of a single ``.ann`` or ``.txt``, only these two."""
    tree, names = Tree(path), None
    if path.is_file() and path.suffix in (*_ENDINGS, ".txt"):
        tree = Tree(path.parent)
        beside = (path.with_suffix(ending) for ending in (*_ENDINGS, ".txt"))
        names = [file.name for file in beside if file.is_file()]
    found: dict[str, _Folder] = {}
    for name in tree if names is None else names:
        pure = PurePosixPath(name)
        if pure.suffix in (".txt", *_ENDINGS):
            inside = pure.parent.name or _title(tree.path)
            folder = found.setdefault(str(pure.parent), _Folder(inside))
            if pure.suffix == ".txt":
                folder.texts[pure.stem] = name
            else:
                folder.marks.setdefault(pure.stem, []).append(name)
    for folder in found.values():
        for stem, files in folder.marks.items():  # an .ann holds what the others do
            folder.marks[stem] = [file for file in files if file.endswith(".ann")] or sorted(files)
    if not any(folder.marks or folder.texts for folder in found.values()):
        raise InputError(
            "no .ann files", where=str(path), fix="give the folder with .txt and .ann files"
        )
    folders = list(found.values())
    if len({folder.name for folder in folders}) < len(folders):  # x/ann and y/ann
        for parent, folder in found.items():
            folder.name = parent
    if _shared(folders):
        _name_by_level(tree, found)
    return tree, folders


def _name_by_level(tree: Tree, found: dict[str, _Folder]) -> None:
    """Name annotators by the level of nested folders in which folders with the same texts differ."""
    parts = {parent: PurePosixPath(parent).parts for parent in found}
    depth = len(next(iter(parts.values())))
    if depth < 2 or any(len(steps) != depth for steps in parts.values()):
        return
    for level in range(depth):
        groups: dict[str, list[str]] = {}
        for parent, steps in parts.items():
            groups.setdefault("/".join(steps[:level] + steps[level + 1 :]), []).append(parent)
        texts = [
            _same_texts(tree, [found[parent] for parent in group]) for group in groups.values()
        ]
        if any(texts) and None not in texts:
            names = [name for group in groups.values() for name in _documents(found, group)]
            for rest, group in groups.items():
                for parent in group:
                    found[parent].name = parts[parent][level]
                    found[parent].part = f"{rest}/" if len(set(names)) < len(names) else ""
            return


def _documents(found: dict[str, _Folder], parents: list[str]) -> set[str]:
    return {name for parent in parents for name in (*found[parent].texts, *found[parent].marks)}


def _same_texts(tree: Tree, folders: list[_Folder]) -> bool | None:
    """Whether folders share documents; None where their texts are not the same."""
    first: dict[str, bytes] = {}
    for name, file in ((name, file) for folder in folders for name, file in folder.texts.items()):
        bare = b"".join(tree.read(file).split())
        if first.setdefault(name, bare) != bare:
            return None
    return _shared(folders)


def _shared(folders: list[_Folder]) -> bool:
    names = [{*folder.texts, *folder.marks} for folder in folders]
    return sum(map(len, names)) > len(set().union(*names))


def _any_text(tree: Tree, places: list[tuple[_Folder, str]]) -> tuple[str, str]:
    """The text of a document, from whichever folder has it."""
    for folder, name in places:
        if name in folder.texts:
            return _text(tree, folder.texts[name]), tree.where(folder.texts[name])
    folder, name = places[0]
    raise InputError(
        "there is no text for this file", where=tree.where(folder.marks[name][0]),
        fix=f"put {name}.txt beside it",
    )  # fmt: skip


def _text(tree: Tree, name: str) -> str:
    data = tree.read(name)
    check_text(data, Path(tree.where(name)))
    return data.decode()


def _marks(tree: Tree, names: list[str], content: str, notes: Notes) -> tuple[Mark, ...]:
    lines = [line for name in names for line in _lines(tree, name, notes)]
    text = content.removeprefix("\ufeff")
    convert = _counting(content, lines)
    marks = []
    for line in lines:
        mark = checked_pieces(
            text, [(convert(a), convert(b)) for a, b in line.stretches], line.label
        )
        if isinstance(mark, str):
            notes.left_out(mark, line.where)
            continue
        if not _fits(text, line, convert):
            notes.left_out("text repeated beside a mark that differs from the document", line.where)
        marks.append(mark)
    return tuple(marks)


def _lines(tree: Tree, name: str, notes: Notes) -> Iterator[_Line]:
    for number, row in enumerate(_text(tree, name).removeprefix("\ufeff").split("\n"), start=1):
        line, where = row.rstrip("\r"), tree.where(name, number)
        if not line.strip():
            continue
        if _OTHER.match(line):
            notes.left_out(_KINDS[line[0]], where)
            continue
        cells = line.split("\t", 2)
        found = _MARK.fullmatch(cells[1]) if len(cells) > 1 and line[0] == "T" else None
        if found is None:
            raise InputError(
                "not a line of brat's", where=where, got=repr(line[:60]),
                fix="expected 'T1<tab>Label start end<tab>text'",
            )  # fmt: skip
        pairs = (pair.split(" ") for pair in found[2].split(";"))
        stretches = [(int(start), int(end)) for start, end in pairs]
        yield _Line(found[1], stretches, cells[2] if len(cells) > 2 else None, where)


def _counting(content: str, lines: list[_Line]) -> Converter:
    """How this file counts: the way in which most of the repeated words are found."""
    text = content.removeprefix("\ufeff")
    ways: list[Converter] = [lambda place: place if 0 <= place <= len(text) else None]
    if "\r\n" in text:
        ways.append(line_ends_to_points(text))
    if content != text:
        ways.append(lambda place: place - 1 if 1 <= place <= len(content) else None)
    if any(letter > "\uffff" for letter in text):
        ways.append(utf16_to_points(text))
    if len(ways) == 1:
        return ways[0]
    return max(ways, key=lambda way: sum(_fits(text, line, way) for line in lines))


def _fits(text: str, line: _Line, convert: Converter) -> bool:
    """Whether the words that the line repeats are there."""
    if line.words is None:
        return True
    places = [(convert(a), convert(b)) for a, b in line.stretches]
    if any(a is None or b is None for a, b in places):
        return False
    found = " ".join(text[a:b] for a, b in places)
    return found.split() == line.words.split()


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """A folder per annotator; every folder has every text, and ``.ann`` files for what was seen."""
    everything = list(documents)
    who = sorted({opinion.annotator for document in everything for opinion in document.opinions})
    for document in everything:
        note_lost(document, notes)
        note_borders(document, notes)
    with atomic_path(path) as folder:
        folder.mkdir()
        for annotator in who or (None,):
            inside = folder if annotator is None else folder / file_name(annotator)
            inside.mkdir(exist_ok=True)
            for document in everything:
                stem = inside / file_name(document.id)
                _put(stem, ".txt", document.text)
                for opinion in document.opinions:
                    if opinion.annotator == annotator:
                        _put(stem, ".ann", "".join(_written(document, opinion, notes)), last=True)


def _put(stem: Path, ending: str, content: str, last: bool = False) -> None:
    target = stem.with_name(stem.name + ending)
    if target.exists() and not last:
        raise InputError(
            "two documents have the same name", where=str(target), fix="give them ids that differ"
        )
    target.write_bytes(content.encode("utf-8"))


def _written(document: Document, opinion: Opinion, notes: Notes) -> Iterator[str]:
    for number, mark in enumerate(opinion.marks, start=1):
        pieces = mark.pieces or ((mark.start, mark.end),)
        label = re.sub(r"\s", "_", mark.label) or "_"
        if label != mark.label:
            notes.left_out("blank in a label (written as _)", document.where)
        if mark.score is not None:
            notes.left_out("score", document.where)
        stretches = ";".join(f"{start} {end}" for start, end in pieces)
        words = " ".join(re.sub(r"[\t\n\r]", " ", document.text[a:b]) for a, b in pieces)
        yield f"T{number}\t{label} {stretches}\t{words}\n"


FORMAT = DocumentFormat(
    name="brat",
    title="brat",
    tell=tell,
    read=read,
    write=write,
    read_options={"annotator": "name of the annotator, instead of the folder's"},
    cannot_carry=(
        "scores",
        "roles (gold, model)",
        "which parts of a text were seen",
        "borders of tokens and sentences",
        "blanks in labels",
    ),
)
