"""Documents, as a tool's file has them, to a :class:`~seqtruth.data.crowd.Crowd`.

Texts are cut in batches (:mod:`~seqtruth.io.text_batch`), and what comes of them is kept in columns
(:mod:`~seqtruth.io.crowd_columns`). A text is cut into tokens in which nobody's mark begins or ends, and into
sentences that cut nobody's mark; marks that overlap are put on layers (:mod:`~seqtruth.io.overlaps`). The
opinions left out of the crowd (gold, by default) count in all three, so that a crowd and the gold read from
the same file lie on the same tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd
from seqtruth.data.origin import Discontinuous, Origin
from seqtruth.errors import DataError, InputError, ParameterError
from seqtruth.io.assemble import as_input_error
from seqtruth.io.crowd_columns import CrowdColumns, Layering, Said
from seqtruth.io.documents import Document, Mark, Notes, Opinion, Role
from seqtruth.io.marked_texts import MarkedTexts
from seqtruth.io.overlaps import Overlaps, tidy
from seqtruth.io.record_text import kept_record
from seqtruth.io.sentences import check_split
from seqtruth.io.text_batch import Batch, Cut, Given, batch_of, cut

ROLES: tuple[Role, ...] = get_args(Role)
#: Characters that are cut at once.
BATCH = 1 << 20
Who = tuple[str, str]
I64 = npt.NDArray[np.int64]


class RepeatedIdError(Exception):
    """Two documents have one id; they have to be brought together before they are cut."""


@dataclass(frozen=True)
class Cutting:
    """How documents become sentences, layers and annotators.

    Parameters
    ----------
    split : ``"sentences"``, ``"lines"`` or ``"none"``.
    overlap : ``"layers"``, ``"longest"`` or ``"error"``.
    roles : whose opinions make the crowd; those of a file that has no others are taken if none is named.
    scheme : how spans are spelled.
    """

    split: str = "sentences"
    overlap: str = "layers"
    roles: Collection[str] | str | None = None
    scheme: str | None = None

    def wanted(self) -> tuple[str, ...]:
        """The roles as names."""
        chosen = ("annotator", "model") if self.roles is None else self.roles
        names = tuple(chosen.split(",")) if isinstance(chosen, str) else tuple(chosen)
        for name in names:
            if name not in ROLES:
                raise ParameterError(f"roles must be of {', '.join(ROLES)}", got=repr(name))
        return names


def documents_to_crowd(
    documents: Iterable[Document], name: str, notes: Notes, cutting: Cutting, format: str = ""
) -> Crowd:
    """All documents as one crowd.

    Parameters
    ----------
    name : the file's, for messages.
    notes : gets what could not be carried.
    format : name of the format that they were read from, to be remembered.

    Raises
    ------
    RepeatedIdError
        where an id comes twice; see :func:`seqtruth.io.merge.merged`.
    """
    builder = CrowdBuilder(name, notes, cutting)
    for document in documents:
        builder.add(document)
    return builder.crowd(format)


@dataclass
class _Waiting:
    """Texts that are not cut yet, and what was said of them; places count from each text's beginning."""

    texts: list[str] = field(default_factory=list)
    given: Given = field(default_factory=Given)
    size: int = 0
    #: (document, annotator)
    opinions: list[tuple[int, int]] = field(default_factory=list)
    #: (opinion, start, end, node)
    spans: list[tuple[int, int, int, int]] = field(default_factory=list)
    #: likewise, of opinions without overlaps; these are not counted yet
    flat: list[tuple[int, int, int, int]] = field(default_factory=list)
    #: (opinion, start, end): pieces of marks
    pieces: list[tuple[int, int, int]] = field(default_factory=list)
    #: (opinion, the stretches seen, those marked included)
    seen: list[tuple[int, list[tuple[int, int]]]] = field(default_factory=list)


class CrowdBuilder:
    """Takes documents one by one; see :func:`documents_to_crowd`."""

    def __init__(self, name: str, notes: Notes, cutting: Cutting) -> None:
        self.name, self.notes, self.cutting = name, notes, cutting
        check_split(cutting.split)
        self.roles = cutting.wanted()
        self.overlaps = Overlaps(cutting.overlap)
        self._documents: dict[str, int] = {}
        self._annotators: dict[Who, int] = {}
        self._waiting = _Waiting()
        self._columns = CrowdColumns()
        self._records: dict[str, str] = {}
        self._times: dict[Who, dict[str, str]] = {}
        self._discontinuous: list[Discontinuous] = []
        self._given_tokens = self._given_sentences = False

    def announce(self, annotator: str) -> int:
        """List an annotator who may have no opinion; returns their number."""
        return self._annotators.setdefault((annotator, "annotator"), len(self._annotators))

    def first_known(self, ids: Sequence[str]) -> tuple[int, int] | None:
        """The first of these ids that was added already: its place here and there; None where none was."""
        if self._documents.keys().isdisjoint(ids):
            return None
        return next((n, self._documents[id]) for n, id in enumerate(ids) if id in self._documents)

    def add_plain(self, texts: MarkedTexts) -> None:
        """Take texts with new ids and marks that need no tidying, see :meth:`~MarkedTexts.plain_ones`."""
        self._cut()  # those before come first
        n = len(self._documents)
        self._documents.update(zip(texts.ids, range(n, n + len(texts.ids)), strict=True))
        self._count(texts.spans)
        nothing = np.zeros((0, 3), np.int64)
        self._keep(texts.batch, _Waiting(), texts.opinions, texts.spans, nothing)

    def _enter(self, id: str) -> None:
        if id in self._documents:
            raise RepeatedIdError(id)
        self._documents[id] = len(self._documents)

    def add(self, document: Document) -> None:
        """Take a document and its opinions."""
        self._enter(document.id)
        where = document.where or f"{self.name}: document {document.id!r}"
        waiting, text = self._waiting, document.text
        number = len(waiting.texts)
        everybody: list[tuple[Who, Sequence[Mark]]] = []
        in_pieces = False
        for who, opinion in self._last_ones(document, where).items():
            n = len(waiting.opinions)
            waiting.opinions.append((number, self._annotators[who]))
            marks: Sequence[Mark] = opinion.marks
            spans = self.overlaps.flat(n, text, opinion.marks)
            if spans is None:
                tidied = tidy(document, opinion, self.notes)
                placed = self.overlaps.place(tidied, where, who[0], self.notes)
                marks = [mark for mark, _ in placed]
                pieces = [(n, a, b) for mark in marks for a, b in mark.pieces]
                waiting.pieces += pieces
                in_pieces = in_pieces or bool(pieces)
                waiting.spans += [(n, mark[0], mark[1], node) for mark, node in placed]
            else:
                waiting.flat += spans
            everybody.append((who, marks))
            if opinion.time is not None:
                self._times.setdefault(who, {})[document.id] = opinion.time
            if opinion.seen is not None:
                seen = [(max(0, a), min(b, len(text))) for a, b in opinion.seen]
                waiting.pieces += [(n, a, b) for a, b in seen if a < b]
                waiting.seen.append((n, sorted([*seen, *((m.start, m.end) for m in marks)])))
        waiting.texts.append(text)
        if document.tokens is not None:
            waiting.given.tokens[number] = document.tokens
        self._given_tokens |= document.tokens is not None
        if document.sentences:
            waiting.given.sentences[number] = document.sentences
        self._given_sentences |= document.sentences is not None
        if in_pieces:
            self._remember_pieces(document.id, everybody)
        if document.source is not None:
            self._records[document.id] = kept_record(document.source, text)
        waiting.size += len(text) + 1
        if waiting.size >= BATCH:
            self._cut()

    def _last_ones(self, document: Document, where: str) -> dict[Who, Opinion]:
        """The opinion of each annotator (by name and role), in the order of their numbers."""
        found: dict[Who, Opinion] = {}
        known = self._annotators
        for opinion in document.opinions:
            who = (opinion.annotator, opinion.role)
            if who in found:
                self.notes.left_out("earlier opinion of an annotator on the same text", where)
            known.setdefault(who, len(known))
            found[who] = opinion
        return dict(sorted(found.items(), key=lambda item: known[item[0]]))

    def _remember_pieces(self, document: str, everybody: list[tuple[Who, Sequence[Mark]]]) -> None:
        """The marks in pieces: of everybody, and of most."""
        votes: dict[tuple[int, int, str], Counter[Any]] = {}
        for who, marks in everybody:
            name = self._annotator_name(who)
            for mark in marks:
                if mark.pieces:
                    votes.setdefault(mark[:3], Counter())
                    self._discontinuous.append(Discontinuous(document, name, *mark[:4]))
        for _, marks in everybody:
            for mark in marks:
                if mark[:3] in votes:
                    votes[mark[:3]][mark.pieces] += 1
        for hull, counts in votes.items():
            pieces = max(counts, key=lambda found: (counts[found], bool(found)))
            if pieces:
                self._discontinuous.append(Discontinuous(document, "", *hull, pieces))

    def _annotator_name(self, who: Who) -> str:
        """Where a person and a model have one name, the model's says so."""
        name, role = who
        others = [other for other in ROLES if other != role and (name, other) in self._annotators]
        return name if role == "annotator" or not others else f"{name} ({role})"

    def _cut(self) -> None:
        """Cut the documents that wait, and keep what comes of them."""
        waiting, self._waiting = self._waiting, _Waiting()
        if not waiting.texts:
            return
        batch = batch_of(waiting.texts, self.name)
        flat = _table(waiting.flat, 4)
        self._count(flat)
        spans = np.concatenate([flat, _table(waiting.spans, 4)])
        pieces = _table(waiting.pieces, 3)
        self._keep(batch, waiting, _table(waiting.opinions, 2), spans, pieces)

    def _count(self, spans: I64) -> None:
        """Count labels that meet nothing."""
        for node, count in enumerate(np.bincount(spans[:, 3]).tolist()):
            if count:
                self.overlaps.counts[node] += count

    def _keep(
        self, batch: Batch, waiting: _Waiting, opinions: I64, spans: I64, pieces: I64
    ) -> None:
        """Cut a batch, and keep what comes of it; places count from each text's beginning."""
        base = batch.starts[opinions[:, 0]]
        spans, pieces = spans.copy(), pieces.copy()
        for table in (spans, pieces):
            table[:, 1:3] += base[table[:, 0], None]
        hulls = (spans[:, 1], spans[:, 2])
        cuts = np.concatenate([*hulls, pieces[:, 1], pieces[:, 2]])
        found = cut(batch, waiting.given, self.cutting.split, cuts, hulls)
        unseen, dropped = _not_seen(batch, found, opinions, waiting)
        said = Said(opinions, spans, unseen, dropped)
        self._columns.add(batch, found, said, len(self._documents) - len(batch.starts))

    def crowd(
        self,
        format: str = "",
        roles: tuple[str, ...] | None = None,
        origin: Origin | None = None,
        scheme: str | None = None,
        keep: bool = False,
    ) -> Crowd:
        """Everything added.

        Parameters
        ----------
        format : name of the format, to be remembered.
        roles : other ones than asked for at first.
        origin : what is to be remembered instead.
        scheme : how to spell spans, where nothing was said at first.
        keep : whether it will be asked for again.
        """
        if not self._documents:
            raise InputError("there are no documents", where=self.name)
        self._check_names()
        self._cut()
        layers, of = self.overlaps.layers()
        chosen = self._chosen(roles)
        numbers = np.full(len(self._annotators) + 1, -1, np.int64)
        numbers[[self._annotators[who] for who in chosen]] = np.arange(len(chosen))
        try:
            corpus = self._columns.corpus(
                list(self._documents), self.cutting.split != "none", origin or self._origin(format)
            )
            return self._columns.crowd(
                corpus if len(layers) == 1 else corpus.on_layers(layers),
                numbers,
                tuple(self._annotator_name(who) for who in chosen),
                Layering(layers, [node.label for node in self.overlaps.nodes], of),
                self.cutting.scheme or scheme or "iob2",
                keep,
            )
        except DataError as error:
            raise as_input_error(error, self.name) from None

    def _check_names(self) -> None:
        """Names must be texts that can be written down: half of a surrogate pair in JSON is none."""
        names: dict[str, Collection[str]] = {
            "a label": [node.label for node in self.overlaps.nodes],
            "an annotator's name": [name for name, _ in self._annotators],
            "a document's name": self._documents,
        }
        for what, found in names.items():
            if _are_writable(found):
                continue
            for name in found:
                if not _are_writable([name]):
                    raise InputError(f"{what} is no text", where=self.name, got=ascii(name)[:80])

    def _chosen(self, roles: tuple[str, ...] | None) -> list[Who]:
        """The annotators of the crowd: those with the roles wanted, or all where there are none."""
        if roles is not None:
            return [who for who in self._annotators if who[1] in roles]
        chosen = [who for who in self._annotators if who[1] in self.roles]
        if not chosen and self.cutting.roles is None:
            chosen = list(self._annotators)
        if not chosen and self._annotators:
            raise InputError(
                f"the file has no opinions of the role {' or '.join(self.roles)}", where=self.name,
                got=", ".join(sorted({role for _, role in self._annotators})),
                fix="name the roles that it has",
            )  # fmt: skip
        return chosen

    def _origin(self, format: str) -> Origin:
        models = [who for who in self._annotators if who[1] == "model"]
        return Origin(
            format,
            self._records,
            tuple(self._annotator_name(who) for who in models),
            tuple(self._discontinuous),
            self._given_tokens,
            self._given_sentences,
            {self._annotator_name(who): when for who, when in self._times.items()},
        )


def _are_writable(names: Iterable[str]) -> bool:
    try:
        "".join(names).encode()
    except (TypeError, UnicodeEncodeError):  # a tool's file may hold anything for a name
        return False
    return True


def _table(rows: list[Any], width: int) -> I64:
    flat = np.fromiter(chain.from_iterable(rows), np.int64, width * len(rows))
    return flat.reshape(-1, width)


def _not_seen(batch: Batch, found: Cut, opinions: I64, waiting: _Waiting) -> tuple[I64, I64]:
    """(opinion, token) of what was not seen, and (opinion, sentence) where nothing of it was."""
    unseen: list[I64] = [np.zeros((0, 2), np.int64)]
    dropped: list[I64] = [np.zeros((0, 2), np.int64)]
    for opinion, stretches in waiting.seen:
        text = int(opinions[opinion, 0])
        a, b = found.sentences_of[text : text + 2]
        borders = found.tokens_of[a : b + 1]
        tokens = np.arange(borders[0], borders[-1])
        base = batch.starts[text]
        pairs = np.array(stretches, np.int64).reshape(-1, 2) + base
        reached = np.maximum.accumulate(pairs[:, 1])
        before = np.searchsorted(pairs[:, 0], found.token_starts[tokens], "right") - 1
        seen = before >= 0
        if len(reached):
            seen &= reached[np.maximum(before, 0)] >= found.token_ends[tokens]
        counts = np.concatenate([[0], np.cumsum(seen)])
        nothing = counts[borders[1:] - borders[0]] == counts[borders[:-1] - borders[0]]
        quiet = tokens[~seen & ~np.repeat(nothing, np.diff(borders))]
        unseen.append(np.stack([np.full(len(quiet), opinion), quiet], axis=1))
        lost = np.flatnonzero(nothing) + a
        dropped.append(np.stack([np.full(len(lost), opinion), lost], axis=1))
    return np.concatenate(unseen), np.concatenate(dropped)
