"""What INCEpTION, WebAnno and other UIMA tools keep of a document: a text and layers on it.

WebAnno TSV, CAS XMI and CAS JSON are all read into a :class:`Cas`. Which layer holds the marks,
and which of its features the label, is given (``layer=``, ``feature=``) or found: where one layer
of marks is used, it is taken, and of its features the only one that has values, or the one called
``value`` or ``label``. Where there are several, the error lists them. Tokens, sentences and what
programs make (lemmas, parts of speech, metadata) are no layers of marks, but parts of speech and
the like are taken where there is nothing else. A mark without value has the layer's short name as
its label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Extents, Mark, Notes
from seqtruth.io.formats.gathered import checked_mark

SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type."
TOKEN, SENTENCE = f"{SEGMENTATION}Token", f"{SEGMENTATION}Sentence"
NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
COREFERENCE = "de.tudarmstadt.ukp.dkpro.core.api.coref.type.CoreferenceLink"
#: Never marks: structure, metadata, and what the tools note for themselves.
_NO_MARKS = (
    "uima.tcas.DocumentAnnotation", "uima.cas.", "de.tudarmstadt.ukp.dkpro.core.api.metadata.",
    "de.tudarmstadt.ukp.clarin.webanno.api.type.", f"{SEGMENTATION}Token", f"{SEGMENTATION}Sentence",
    f"{SEGMENTATION}Div", f"{SEGMENTATION}Paragraph", f"{SEGMENTATION}Heading",
    "de.tudarmstadt.ukp.inception.", "org.dkpro.core.api.xml.", "org.dkpro.core.api.pdf.",
)  # fmt: skip
#: Marks only where nothing else is there: usually made by programs.
_LAST_RESORT = (
    SEGMENTATION, "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.", "uima.tcas.Annotation",
    "de.tudarmstadt.ukp.dkpro.core.api.syntax.type.constituent.",
)  # fmt: skip
#: Features that are never the label.
_NO_LABELS = frozenset({"identifier", "id", "order", "sofa", "begin", "end", "coarseValue"})
_USUAL = ("value", "label", "PosValue", "chunkValue", "category", "tag", "type")


class CasAnnotation(NamedTuple):
    """An annotation of a layer: where it stands (code points) and the features that have a value."""

    layer: str
    start: int | None
    end: int | None
    features: dict[str, str]
    where: str


@dataclass
class Cas:
    """A text with everything that one annotator's file says of it."""

    text: str
    annotations: list[CasAnnotation] = field(default_factory=list)
    tokens: Extents | None = None
    sentences: Extents | None = None
    #: Layers and features that the file declares, used or not.
    declared: dict[str, list[str]] = field(default_factory=dict)


class Layer(NamedTuple):
    """The layer and feature that were chosen; no feature where the layer's name is the label."""

    name: str
    feature: str | None

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass
class Layers:
    """The layers in use, file by file, until one is chosen."""

    used: Counter[str] = field(default_factory=Counter)
    values: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, cas: Cas) -> None:
        for layer, features in cas.declared.items():
            self.used[layer] += 0
            for feature in features:
                self.values.setdefault(layer, Counter())[feature] += 0
        for annotation in cas.annotations:
            self.used[annotation.layer] += 1
            self.values.setdefault(annotation.layer, Counter()).update(annotation.features.keys())

    def choose(self, layer: str | None, feature: str | None, where: str) -> Layer | None:
        """The layer of marks; None where no file has any."""
        names = [name for name in self.used if not name.startswith(_NO_MARKS)]
        if layer is not None:
            everything = list(self.used)
            found = [n for n in everything if n == layer] or [
                n for n in everything if _short(n) == layer
            ]
            if len(found) != 1:
                raise self._ask(
                    f"no layer {layer!r}" if not found else f"several layers {layer!r}", where
                )
            return Layer(found[0], self._feature(found[0], feature, where))
        best = [name for name in names if not name.startswith(_LAST_RESORT)]
        for group in (best, names):
            used = [name for name in group if self.used[name]] or group
            if len(used) > 1:
                raise self._ask("there are several layers, and one must be chosen", where)
            if used:
                return Layer(used[0], self._feature(used[0], feature, where))
        return None

    def _feature(self, layer: str, feature: str | None, where: str) -> str | None:
        counts = self.values.get(layer, Counter())
        if feature is not None:
            if feature not in counts:
                raise self._ask(f"layer {layer!r} has no feature {feature!r}", where)
            return feature
        usable = [name for name in counts if name not in _NO_LABELS]
        used = [name for name in usable if counts[name]] or usable
        if len(used) > 1:
            usual = [name for name in _USUAL if name in used]
            if not usual:
                raise self._ask(
                    f"layer {layer!r} has several features, and one must be chosen", where
                )
            return usual[0]
        return used[0] if used else None

    def _ask(self, what: str, where: str) -> InputError:
        shown = [name for name in self.used if not name.startswith(_NO_MARKS)] or list(self.used)
        listing = "; ".join(f"{name}|{'|'.join(self.values.get(name, ()))}" for name in shown[:20])
        return InputError(
            what, where=where, got=f"layers {listing}" if listing else "a file without layers",
            fix="choose with layer=NAME and feature=NAME",
        )  # fmt: skip


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def marks_of(cas: Cas, layer: Layer | None, notes: Notes) -> tuple[Mark, ...]:
    """The marks of the chosen layer; marks of other layers are counted as left out."""
    marks = []
    for annotation in cas.annotations:
        if layer is None or annotation.layer != layer.name:
            if not annotation.layer.startswith((*_NO_MARKS, *_LAST_RESORT)):
                notes.left_out(f"mark of the layer {_short(annotation.layer)}", annotation.where)
            continue
        label = annotation.features.get(layer.feature, "") if layer.feature else ""
        mark = checked_mark(cas.text, annotation.start, annotation.end, label or layer.short)
        if isinstance(mark, str):
            notes.left_out(mark, annotation.where)
        else:
            marks.append(mark)
    return tuple(marks)


def without_chains(annotations: list[CasAnnotation], notes: Notes) -> list[CasAnnotation]:
    """Annotations that are no links of a chain (coreference), which are counted as left out."""
    chains = {a.layer for a in annotations if "next" in a.features} | {COREFERENCE}
    kept = [annotation for annotation in annotations if annotation.layer not in chains]
    if len(kept) < len(annotations):
        first = next(a.where for a in annotations if a.layer in chains)
        notes.left_out("link of a chain", first, len(annotations) - len(kept))
    return kept


def option(options: dict[str, object], name: str) -> str | None:
    """A reader's option as text; None where it is not given."""
    value = options.get(name)
    return str(value) if value else None


def in_order(extents: Iterable[tuple[int | None, int | None]], length: int) -> Extents | None:
    """Borders that can serve as tokens or sentences: inside the text, not empty, without overlap."""
    kept: list[tuple[int, int]] = []
    for start, end in sorted(
        (e for e in extents if None not in e), key=lambda e: (e[0] or 0, e[1] or 0)
    ):
        assert start is not None and end is not None
        if start >= end:
            continue
        if start < (kept[-1][1] if kept else 0) or end > length:
            return None
        kept.append((start, end))
    return tuple(kept) or None
