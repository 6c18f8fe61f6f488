"""XML without its dangers: no entities of its own, no outside files, no endless depth.

The standard library's expat is used with its hooks instead of ``defusedxml``: the hooks are
ten lines, need no package, give the line of a fault, and can tell a harmless ``<!DOCTYPE
collection SYSTEM "BioC.dtd">`` (never fetched) from declarations inside the file, which are
refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from seqtruth.errors import InputError
from seqtruth.io.documents import Notes

MAX_DEPTH = 200
#: Characters that XML 1.0 cannot hold, not even as references.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(slots=True)
class Element:
    """An element: ``text`` is before the first child, ``tail`` after its end, ``line`` its beginning."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    tail: str = ""
    children: list[Element] = field(default_factory=list)

    def first(self, tag: str) -> Element | None:
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def content(self) -> str:
        """The text of the element and all below it."""
        return self.text + "".join(child.content() + child.tail for child in self.children)


def parse_xml(data: bytes, where: str, namespaces: bool = False) -> Element:
    """The root of a document; with ``namespaces``, names are ``uri}local``."""
    try:
        parser = expat.ParserCreate(namespace_separator="}" if namespaces else None)
        builder = _Builder(parser, where)
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(
            "not well-formed XML",
            where=f"{where}:{error.lineno}",
            got=expat.ErrorString(error.code),
        ) from None
    except (ValueError, LookupError, UnicodeError) as error:
        raise InputError("not readable as XML", where=where, got=str(error)[:100]) from None
    assert builder.root is not None  # expat refuses a document without a root
    return builder.root


class _Builder:
    """Makes elements from expat's calls."""

    def __init__(self, parser: Any, where: str) -> None:
        self.root: Element | None = None
        self.parser, self.where = parser, where
        self.open: list[Element] = []
        self.pieces: list[str] = []
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.pieces.append
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity
        parser.ExternalEntityRefHandler = self.entity
        parser.SkippedEntityHandler = self.entity

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.flush()
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        if len(self.open) > MAX_DEPTH:
            raise InputError(
                f"the XML is nested more than {MAX_DEPTH} deep",
                where=f"{self.where}:{element.line}",
            )

    def end(self, tag: str) -> None:
        self.flush()
        self.open.pop()

    def flush(self) -> None:
        if self.pieces and self.open:
            text = "".join(self.pieces)
            inside = self.open[-1]
            if inside.children:
                inside.children[-1].tail = text
            else:
                inside.text = text
        self.pieces.clear()

    def doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if internal:
            self.entity()

    def entity(self, *_: object) -> int:
        raise InputError(
            "the XML declares types or entities of its own, which are not read from files",
            where=f"{self.where}:{self.parser.CurrentLineNumber}",
            fix="remove the <!DOCTYPE ...> part",
        )


def xml_text(text: str) -> str:
    """Text for between tags; a carriage return is kept as a reference."""
    from xml.sax.saxutils import escape  # imports a web client: only where it is needed

    return escape(text, {"\r": "&#13;"})


def xml_tag(tag: str, attributes: Mapping[str, str]) -> str:
    """An opening tag with its attributes; line breaks and tabs in them are kept as references."""
    from xml.sax.saxutils import quoteattr

    references = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    return f"<{tag}" + "".join(f" {k}={quoteattr(v, references)}" for k, v in attributes.items())


def xml_safe(text: str, notes: Notes, where: str) -> str:
    """The text with U+FFFD for each character that XML 1.0 has no way to write."""
    bad = _FORBIDDEN.findall(text)
    if not bad:
        return text
    notes.left_out("character that XML cannot hold (written as U+FFFD)", where, len(bad))
    return _FORBIDDEN.sub("\ufffd", text)
