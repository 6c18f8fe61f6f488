"""What an aggregator hands back: plain data, with conveniences that call the rooms above."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from seqtruth.annotators import Annotators
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.spans import extract
from seqtruth.errors import DataError, ParameterError
from seqtruth.fitted import Fitted
from seqtruth.frames import in_library
from seqtruth.history import History
from seqtruth.html import html_line, html_table
from seqtruth.kernels.arrays import F32, F64, Bool
from seqtruth.plural import count
from seqtruth.predictors.tagger import Tagger

if TYPE_CHECKING:
    from seqtruth.decisions import AnnotatorReport, Explanation, Plan, Triage
    from seqtruth.metrics import Evaluation

__all__ = ["Annotators", "Result", "Span"]

#: What :meth:`Result.to_frame` can make.
FRAMES = ("tokens", "spans", "sentences", "annotators")


class Span(NamedTuple):
    """One aggregated span; ``end`` is exclusive, ``confidence`` the probability that it is right.

    ``start`` and ``end`` count tokens of the sentence, ``char_start`` and ``char_end`` characters of the
    document's text, or of the sentence's where that is all that is known; None where there is no text.
    """

    sentence: str
    document: str
    start: int
    end: int
    label: str
    text: str
    confidence: float
    char_start: int | None = None
    char_end: int | None = None


@dataclass(frozen=True, eq=False)
class Result(Labelling):
    """Aggregated labels and everything known about them.

    Parameters
    ----------
    corpus, scheme, tags : the labelling; -1 marks tokens of sentences that nobody labelled and no
        predictor judged.
    probabilities : float32[T, L].
    annotators : reliability of each annotator.
    history : the rounds of the method and why it stopped.
    tagger : the trained tagger, where a predictor took part.
    provenance : version, method, parameters, seed and the digest of the input.
    of_span : float32[T], probability that the span a token is in is right, where the method has one
        of its own (else that of the span's weakest tag).
    of_sentence : float64[S], probability that a whole sentence is right, likewise (else ξ).
    crowd : the annotations it was made from; saved only where asked for.
    warnings : what was warned of while it was made.
    fitted : the model itself, where the method can be explained and updated; saved with the crowd.
    """

    probabilities: F32
    annotators: Annotators
    history: History = field(default_factory=History)
    tagger: Tagger | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    of_span: F32 | None = None
    of_sentence: F64 | None = None
    crowd: Crowd | None = None
    warnings: tuple[str, ...] = ()
    fitted: Fitted | None = None

    def __post_init__(self) -> None:
        shape = (self.corpus.n_tokens, len(self.scheme.labels))
        if self.tags.shape != shape[:1] or self.probabilities.shape != shape:
            raise DataError("tags and probabilities must fit the corpus and the labels")
        wanted = {"of_span": shape[:1], "of_sentence": (self.corpus.n_sentences,)}
        for name, length in wanted.items():
            column = getattr(self, name)
            if column is not None and column.shape != length:
                raise DataError(f"{name} must fit the corpus")

    @cached_property
    def labelled(self) -> Bool:
        """bool[S]: False for sentences nobody labelled and no predictor judged."""
        known = np.concatenate([[0], np.cumsum(self.tags >= 0)])
        offsets = self.corpus.token_offsets
        return np.asarray((known[offsets[1:]] > known[offsets[:-1]]) | (np.diff(offsets) == 0))

    @cached_property
    def token_confidence(self) -> F32:
        """float32[T]: probability of the label chosen; 0 where there is none."""
        chosen = self.probabilities[np.arange(len(self.tags)), np.maximum(self.tags, 0)]
        return np.where(self.tags >= 0, chosen, np.float32(0))

    @cached_property
    def sentence_confidence(self) -> F64:
        """float64[S]: probability that the sentence is right, where the method knows it.

        Else the mean margin between the two most probable labels (the paper's ξ, Eq 4); 0 where
        nothing is labelled.
        """
        if self.of_sentence is not None:
            return np.where(self.labelled, self.of_sentence, 0.0)
        offsets = self.corpus.token_offsets
        top = np.sort(self.probabilities, axis=1)[:, -2:].astype(np.float64)
        margin = top[:, -1] - top[:, 0] if top.shape[1] > 1 else top[:, -1]
        margin = np.where(self.tags >= 0, margin, 0.0)
        total = np.concatenate([[0.0], np.cumsum(margin)])
        lengths = np.maximum(np.diff(offsets), 1)
        return np.asarray((total[offsets[1:]] - total[offsets[:-1]]) / lengths)

    def span_confidence(self, strict: str = "conlleval") -> F64:
        """One per span, in the order of :meth:`spans`."""
        found = extract(self.tags, self.corpus.token_offsets, self.scheme, strict)
        if not len(found.start):
            return np.zeros(0)
        first = self.corpus.token_offsets[found.sequence]
        column = self.token_confidence if self.of_span is None else self.of_span
        starts, ends = first + found.start, first + found.end
        cuts = np.stack([starts, ends], axis=1).reshape(-1)
        smallest = np.minimum.reduceat(np.append(column, np.float32(1)), cuts)[::2]
        return np.asarray(smallest, np.float64)

    def spans(self, strict: str = "conlleval") -> list[Span]:
        """All aggregated spans in reading order, with their confidence.

        Those of all layers of a sentence are together.
        """
        found = extract(self.tags, self.corpus.token_offsets, self.scheme, strict)
        ids = self.corpus.base_ids.to_pylist()
        first = self.corpus.token_offsets[found.sequence]
        confidence = self.span_confidence(strict)
        out = []
        for k, s in enumerate(found.sequence.tolist()):
            a, b = int(first[k] + found.start[k]), int(first[k] + found.end[k])
            text, place = self.corpus.written(s, a, b)
            out.append(
                Span(
                    ids[s], self.corpus.documents[int(self.corpus.sentence_document[s])],
                    int(found.start[k]), int(found.end[k]), self.scheme.types[found.type[k]], text,
                    float(confidence[k]), *place,
                )
            )  # fmt: skip
        return out

    @property
    def labels(self) -> list[list[str | None]]:
        """The labels of each sentence as strings; None where there is none.

        :meth:`to_frame` has them as a column.
        """
        names = np.array([*self.scheme.labels, None], object)
        flat = names[self.tags].tolist()
        offsets = self.corpus.token_offsets.tolist()
        return [flat[a:b] for a, b in pairwise(offsets)]

    def to_frame(self, kind: str = "tokens", library: str = "arrow") -> Any:
        """The result as a table.

        Parameters
        ----------
        kind : ``"tokens"``, ``"spans"``, ``"sentences"`` or ``"annotators"`` (worst first).
        library : ``"arrow"``, ``"pandas"`` or ``"polars"``.
        """
        if kind not in FRAMES:
            raise ParameterError(f"a frame is one of {', '.join(FRAMES)}", got=repr(kind))
        if kind == "annotators":
            return self.annotators.to_frame(library)
        columns = {"tokens": _tokens, "spans": _spans, "sentences": _sentences}[kind](self)
        return in_library(pa.table(columns), library)

    def write(self, path: str | Path, format: str | None = None, **options: Any) -> None:
        """Write the labels in any format that :func:`seqtruth.read` reads: :func:`seqtruth.write`.

        Parameters
        ----------
        path : where to; its ending says the format where ``format`` does not.
        format : a name in :data:`seqtruth.io.FORMATS`, such as ``label-studio``.
        options : of the format's writer.
        """
        _room("io").write(self, path, format, **options)

    def report(
        self,
        path: str | Path,
        crowd: Crowd | None = None,
        scores: Evaluation | None = None,
        saved: str = "result.seqtruth",
    ) -> None:
        """Write one self-contained HTML page.

        Parameters
        ----------
        path : the page to write.
        crowd : lets the page show who said what, where the result does not know its crowd.
        scores : from :func:`seqtruth.evaluate`, where there is a gold standard.
        saved : name of the saved result in the commands that the page shows.
        """
        _room("report").write(self, path, crowd=crowd, scores=scores, saved=saved)

    def evaluate(self, gold: Any, strict: str = "conlleval") -> Evaluation:
        """Score against a gold standard: :func:`seqtruth.evaluate`.

        Parameters
        ----------
        gold : a labelling, a crowd of one, a path or a frame.
        strict : how spans are read, ``conlleval`` or ``b-required``.
        """
        found: Evaluation = _room("metrics").evaluate(self, gold, strict=strict)
        return found

    def update(
        self,
        new: Any = None,
        *,
        known: Any = None,
        remove: Any = None,
        withdraw: Iterable[str] = (),
        reach: str = "auto",
        retrain: bool = False,
    ) -> Result:
        """The result with labels, annotators, documents or decisions that are new, without a refit.

        See :func:`seqtruth.decisions.update`.

        Parameters
        ----------
        new : labels that come: a crowd, or anything :func:`seqtruth.read` reads.
        known : true labels of some sentences, such as a reviewer's decisions.
        remove, withdraw : labels to take back, by row or by annotator.
        reach : how far it goes: ``"near"``, ``"all"``, ``"settle"``, or ``"auto"``.
        retrain : fit everything anew, predictor included.
        """
        found: Result = _room("decisions").update(
            self, new, known=known, remove=remove, withdraw=withdraw, reach=reach, retrain=retrain,
        )  # fmt: skip
        return found

    def triage(self, accept: float = 0.95, gold: Any = None) -> Triage:
        """What can be accepted at a precision, and what people should see: :func:`seqtruth.decisions.triage`.

        Parameters
        ----------
        accept : the precision wanted.
        gold : true labels of some sentences, by which confidences are corrected.
        """
        found: Triage = _room("decisions").triage(self, accept, gold)
        return found

    def next_labels(self, n: int = 100, **options: Any) -> Plan:
        """Where one more label helps most, and whose: :func:`seqtruth.decisions.next_labels`.

        Parameters
        ----------
        n : how many labels.
        options : ``costs``, ``candidates``, ``budget``.
        """
        found: Plan = _room("decisions").next_labels(self, n, **options)
        return found

    def explain(self, sentence: str | int) -> Explanation:
        """Why a sentence has its labels: :func:`seqtruth.decisions.explain`.

        Parameters
        ----------
        sentence : its id, or its number.
        """
        found: Explanation = _room("decisions").explain(self, sentence)
        return found

    def annotator_report(self, **options: Any) -> AnnotatorReport:
        """Whom to trust, and why: :func:`seqtruth.decisions.annotators`.

        Parameters
        ----------
        options : ``costs``, ``seed``.
        """
        found: AnnotatorReport = _room("decisions").annotators(self, **options)
        return found

    def save(self, path: str | Path, crowd: bool = False) -> None:
        """Save everything to one file (no pickle); :meth:`load` reads it back.

        Parameters
        ----------
        path : the file to write.
        crowd : with the annotations it was made from, so that a report made later shows who said what.
        """
        _room("result_file").save(self, path, crowd)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a saved result; a truncated or foreign file is an :class:`~seqtruth.errors.InputError`."""
        found: Result = _room("result_file").load(path)
        return found

    def __str__(self) -> str:
        method = self.provenance.get("method", "labels")
        spans = len(extract(self.tags, self.corpus.token_offsets, self.scheme).start)
        text = (
            f"{method}: {count(self.corpus.n_base_sentences, 'sentence')} · {count(spans, 'span')}"
        )
        text += f" · {count(len(self.annotators), 'annotator')}"
        if self.history.steps:
            text += f" · {self.history.rounds}"
        unlabelled = int((~self.labelled).sum())
        return text + (f" · {count(unlabelled, 'sentence')} unlabelled" if unlabelled else "")

    def __repr__(self) -> str:
        return f"<Result of {self}>"

    def _repr_html_(self) -> str:
        least = np.argsort(np.where(self.labelled, self.sentence_confidence, np.inf), kind="stable")
        rows = [
            [
                self.corpus.sentence_ids[int(s)].as_py(),
                "".join(self.corpus.glued(int(s))).strip(),
                float(self.sentence_confidence[s]),
            ]
            for s in least[:5]
            if self.labelled[s]
        ]
        told = html_table(
            "sentences to look at first", ["sentence", "text", "confidence"], rows,
            " · ".join(self.warnings),
        )  # fmt: skip
        return html_line(str(self)) + self.annotators._repr_html_() + (told if rows else "")


def _room(name: str) -> Any:
    """A room above this one, entered when a convenience is called.

    The rooms read results; a result that imported them would be both top and bottom of the house.
    """
    return importlib.import_module(f"seqtruth.{name}")


def _places(result: Result, sentence: np.ndarray) -> dict[str, pa.Array]:
    """Document and id of the sentences with these numbers."""
    corpus = result.corpus
    names = pa.array(corpus.documents, pa.large_string())
    return {
        "document": names.take(pa.array(corpus.sentence_document[sentence])),
        "sentence": corpus.sentence_ids.take(pa.array(sentence)),
    }


def _tokens(result: Result) -> dict[str, Any]:
    corpus = result.corpus
    lengths = np.diff(corpus.token_offsets)
    sentence = np.repeat(np.arange(corpus.n_sentences), lengths)
    labels = pa.array(result.scheme.labels, pa.string())
    blank = result.tags < 0
    text = {} if corpus.tokens is None else {"token": corpus.tokens}
    return {
        **_places(result, sentence),
        "token_index": np.arange(corpus.n_tokens) - corpus.token_offsets[sentence],
        **text,
        "label": labels.take(pa.array(result.tags, pa.int32(), mask=blank)),
        "confidence": result.token_confidence,
    }


def _spans(result: Result) -> dict[str, Any]:
    spans = result.spans()
    columns = {name: [getattr(span, name) for span in spans] for name in Span._fields}
    whole = ("start", "end", "char_start", "char_end")
    types = {"confidence": pa.float64(), **dict.fromkeys(whole, pa.int64())}
    order = ["document", "sentence", "start", "end", "label", "text", "confidence"]
    order += whole[2:] if result.corpus.texts is not None else ()
    return {name: pa.array(columns[name], types.get(name, pa.large_string())) for name in order}


def _sentences(result: Result) -> dict[str, Any]:
    numbers = np.arange(result.corpus.n_sentences)
    found = extract(result.tags, result.corpus.token_offsets, result.scheme)
    return {
        **_places(result, numbers),
        "tokens": np.diff(result.corpus.token_offsets),
        "spans": np.bincount(found.sequence, minlength=len(numbers)),
        "labelled": result.labelled,
        "confidence": result.sentence_confidence,
    }
