"""One file of INCEpTION's or WebAnno's: one annotator's work on one document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.files import check_text, read_bytes, write_chunks
from seqtruth.io.formats.cas import NAMED_ENTITY, Cas, Layer, Layers, marks_of, option
from seqtruth.io.formats.cas_json import cas_json_text, read_cas_json
from seqtruth.io.formats.cas_xmi import read_xmi, xmi_text
from seqtruth.io.formats.file_names import name_of
from seqtruth.io.formats.gathered import note_lost
from seqtruth.io.formats.webanno_old import is_old, read_old
from seqtruth.io.formats.webanno_tsv import read_tsv3
from seqtruth.io.formats.webanno_tsv_writer import tsv_text

CURATOR = "CURATION_USER"
_JSON_SIGN = re.compile(rb'"%(?:FEATURE_STRUCTURES|TYPES)"')


def kind_of(head: bytes) -> str | None:
    """Which of the three a file is, by its beginning."""
    start = head.removeprefix(b"\xef\xbb\xbf")[:4096]
    if start.startswith(b"#FORMAT=WebAnno TSV 3") or is_old(start.decode("utf-8", "replace")):
        return "tsv"
    if b"<xmi:XMI" in start or b"http://www.omg.org/XMI" in start:
        return "xmi"
    old = b'"_context"' in head and b'"_views"' in head  # UIMA 2, recognised to be refused by name
    return "json" if start.lstrip()[:1] == b"{" and (old or _JSON_SIGN.search(head)) else None


def read_cas(data: bytes, where: str, notes: Notes) -> Cas:
    """A file of any of the three kinds."""
    kind = kind_of(data[: 1 << 16])
    if kind == "xmi":
        return read_xmi(data, where, notes)
    if kind == "json":
        return read_cas_json(data, where, notes)
    if kind is None:
        raise InputError(
            "neither WebAnno TSV nor CAS XMI nor CAS JSON", where=where, got=repr(data[:40])
        )
    check_text(data, Path(where))
    content = data.decode().removeprefix("\ufeff")
    return (read_old if is_old(content[:4096]) else read_tsv3)(content, where, notes)


def read_file(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    cas = read_cas(read_bytes(path), str(path), notes)
    layers = Layers()
    layers.add(cas)
    layer = layers.choose(option(options, "layer"), option(options, "feature"), str(path))
    name = option(options, "annotator") or name_of(path.stem)
    opinion = Opinion(
        name, marks_of(cas, layer, notes), role="gold" if name == CURATOR else "annotator"
    )
    yield Document(
        name_of(path.stem), cas.text, (opinion,), cas.tokens, cas.sentences, str(path), source_of(layer)
    )  # fmt: skip


def source_of(layer: Layer | None) -> dict[str, list[str]] | None:
    """What a document remembers of the layer that its marks were read from."""
    return None if layer is None or layer.feature is None else {"inception": [*map(str, layer)]}


def write_file(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    everything = list(documents)
    kind, layer = how(options, everything[0] if everything else None)
    if len(everything) != 1 or len(everything[0].opinions) != 1:
        raise InputError(
            "one file holds one annotator's marks on one document", where=str(path),
            got=f"{len(everything):,} documents", fix="write a folder, with the format 'inception'",
        )  # fmt: skip
    note_lost(everything[0], notes, gold=True)
    lines = lines_of(everything[0], everything[0].opinions[0], kind, layer, notes)
    write_chunks(path, (line.encode() for line in lines))


def how(options: dict[str, object], document: Document | None) -> tuple[str, tuple[str, str]]:
    """The kind of file, and the layer and feature: as asked, else those that a document was read from."""
    kind = option(options, "kind") or "tsv"
    if kind not in ("tsv", "xmi", "json"):
        raise ParameterError(
            "no such kind of file", got=repr(kind), fix="kind= is 'tsv', 'xmi' or 'json'"
        )
    read = (document.source or {}).get("inception") if document is not None else None
    usual = [NAMED_ENTITY, "value"]
    if isinstance(read, list) and len(read) == 2 and all(map(_is_name, read)):
        usual = usual if option(options, "layer") else read
    layer, feature = option(options, "layer") or usual[0], option(options, "feature") or usual[1]
    for name in (layer, feature):
        if not _is_name(name):
            raise ParameterError("not the name of a layer or feature", got=repr(name))
    return kind, (layer, feature)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(re.fullmatch(r"[A-Za-z_][\w.]*", name, re.ASCII))


def lines_of(
    document: Document, opinion: Opinion, kind: str, layer: tuple[str, str], notes: Notes
) -> Iterator[str]:
    if kind == "tsv":
        return tsv_text(document, opinion, layer, notes)
    for mark in opinion.marks:
        if mark.pieces:
            notes.left_out("gaps of a discontinuous mark (written whole)", document.where)
        if mark.score is not None:
            notes.left_out("score", document.where)
    if kind == "xmi":
        return xmi_text(document, opinion, layer, notes)
    return cas_json_text(document, opinion, layer)
