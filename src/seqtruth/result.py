"""What an aggregator hands back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqtruth import archive, io, metrics, report
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd, Labelling
from seqtruth.data.origin import Origin
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import extract
from seqtruth.errors import DataError, InputError
from seqtruth.history import History
from seqtruth.kernels.arrays import F32, F64, I64, Bool
from seqtruth.metrics import Evaluation, Sentences, Source
from seqtruth.plural import count
from seqtruth.predictors.tagger import Tagger


class Span(NamedTuple):
    """One aggregated span; ``end`` is exclusive, ``confidence`` the probability that it is right."""

    sentence: str
    document: str
    start: int
    end: int
    label: str
    text: str
    confidence: float


@dataclass(frozen=True, eq=False)
class Annotators:
    """How much each annotator is trusted, worst first when listed (who labelled nothing comes last).

    Parameters
    ----------
    names : annotators in the crowd's order, as are the other columns.
    weight : the method's own measure of reliability; larger is better.
    sentences, tokens : how much each labelled.
    agreement : strict span F1 of each annotator against the aggregated labels; nan where neither
        has a span.
    confusion : float32[W, L, L], P(tag | true label) where the method estimates it.
    """

    names: tuple[str, ...]
    weight: F64
    sentences: I64
    tokens: I64
    agreement: F64
    confusion: F32 | None = None

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for w in np.lexsort((np.array(self.names), self.weight, self.sentences == 0)):
            yield {
                "annotator": self.names[w],
                "weight": float(self.weight[w]),
                "sentences": int(self.sentences[w]),
                "tokens": int(self.tokens[w]),
                "agreement": float(self.agreement[w]),
            }

    def __str__(self) -> str:
        wide = max([len("annotator"), *map(len, self.names)])
        lines = [f"{'annotator':<{wide}}  weight  sentences  agreement"]
        for row in self:
            agreement = "–" if np.isnan(row["agreement"]) else f"{row['agreement']:.3f}"
            lines.append(
                f"{row['annotator']:<{wide}}  {row['weight']:6.3f}  {row['sentences']:>9,}"
                f"  {agreement:>9}"
            )
        return "\n".join(lines)


#: What a saved result holds, see :class:`seqtruth.archive.Column`.
_SAVED = {
    "token_offsets": archive.Column("int", ("sentences+1",), 0, rising=True),
    "tags": archive.Column("int", ("tokens",), -1, "labels"),
    "probabilities": archive.Column("float", ("tokens", "labels"), nan=True),
    "sentence_document": archive.Column("int", ("sentences",), 0, "documents"),
    "annotators/weight": archive.Column("float", ("annotators",), nan=True),
    "annotators/sentences": archive.Column("int", ("annotators",), 0),
    "annotators/tokens": archive.Column("int", ("annotators",), 0),
    "annotators/agreement": archive.Column("float", ("annotators",), nan=True),
    "annotators/confusion": archive.Column(
        "float", ("annotators", "labels", "labels"), nan=True, optional=True
    ),
    "of_span": archive.Column("float", ("tokens",), nan=True, optional=True),
    "of_sentence": archive.Column("float", ("sentences",), nan=True, optional=True),
    "char_starts": archive.Column("int", ("tokens",), 0, optional=True),
    "char_ends": archive.Column("int", ("tokens",), 0, optional=True),
}


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
    """

    probabilities: F32
    annotators: Annotators
    history: History = field(default_factory=History)
    tagger: Tagger | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    of_span: F32 | None = None
    of_sentence: F64 | None = None

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
        """All aggregated spans in reading order, with their confidence."""
        found = extract(self.tags, self.corpus.token_offsets, self.scheme, strict)
        ids = self.corpus.sentence_ids.to_pylist()
        first = self.corpus.token_offsets[found.sequence]
        confidence = self.span_confidence(strict)
        out = []
        for k, s in enumerate(found.sequence.tolist()):
            a, b = int(first[k] + found.start[k]), int(first[k] + found.end[k])
            document = self.corpus.documents[int(self.corpus.sentence_document[s])]
            words = [] if self.corpus.tokens is None else self.corpus.tokens[a:b].to_pylist()
            out.append(
                Span(
                    ids[s], document, int(found.start[k]), int(found.end[k]),
                    self.scheme.types[found.type[k]], " ".join(words),
                    float(confidence[k]),
                )
            )  # fmt: skip
        return out

    def write(self, path: str | Path, format: str | None = None) -> None:
        """Write the labels in any format that :func:`seqtruth.read` reads."""
        io.write(self.as_crowd(), path, format, self.token_confidence, self.of_span)

    def report(
        self, path: str | Path, crowd: Crowd | None = None, scores: Evaluation | None = None
    ) -> None:
        """Write one self-contained HTML page.

        Parameters
        ----------
        crowd : lets the page show who said what.
        scores : from :func:`seqtruth.evaluate`, where there is a gold standard.
        """
        report.write(self, path, crowd=crowd, scores=scores)

    def save(self, path: str | Path) -> None:
        """Save everything to one file (no pickle); :meth:`load` reads it back."""
        corpus, annotators = self.corpus, self.annotators
        arrays: archive.Arrays = {
            "tags": self.tags,
            "probabilities": self.probabilities,
            "token_offsets": corpus.token_offsets,
            "sentence_document": corpus.sentence_document,
            "sentence_layer": corpus.sentence_layer,
            "annotators/weight": annotators.weight,
            "annotators/sentences": annotators.sentences,
            "annotators/tokens": annotators.tokens,
            "annotators/agreement": annotators.agreement,
        }
        optional = {
            "annotators/confusion": annotators.confusion,
            "of_span": self.of_span,
            "of_sentence": self.of_sentence,
        }
        arrays |= {name: column for name, column in optional.items() if column is not None}
        for name in ("sentence_ids", "tokens", "texts"):
            column = getattr(corpus, name)
            if column is not None:
                arrays |= archive.pack_strings(name, column)
        for name in ("char_starts", "char_ends", "text_starts"):
            if getattr(corpus, name) is not None:
                arrays[name] = getattr(corpus, name)
        tagger = None
        if self.tagger is not None:
            tagger, parts = self.tagger.state()
            arrays |= archive.under(parts, "tagger")
        meta = {
            "scheme": self.scheme.kind,
            "labels": list(self.scheme.labels),
            "documents": list(corpus.documents),
            "layers": list(corpus.layers),
            "origin": corpus.origin.to_dict(),
            "annotators": list(annotators.names),
            "history": self.history.to_dict(),
            "provenance": self.provenance,
            "tagger": tagger,
        }
        archive.save(path, "result", meta, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a saved result; a truncated or foreign file is an :class:`InputError`."""
        where = str(path)
        meta, arrays = archive.load(path, "result")
        try:
            scheme = Scheme.of(meta["scheme"], meta["labels"])
            _check_saved(meta, arrays, scheme)
            strings = {
                name: archive.unpack_strings(name, arrays, where)
                for name in ("sentence_ids", "tokens", "texts")
                if f"{name}.bytes" in arrays
            }
            corpus = Corpus(
                arrays["token_offsets"],
                strings["sentence_ids"],
                strings.get("tokens"),
                tuple(meta["documents"]),
                arrays["sentence_document"],
                strings.get("texts"),
                arrays.get("char_starts"),
                arrays.get("char_ends"),
                arrays.get("text_starts"),
                tuple(meta["layers"]),
                arrays["sentence_layer"],
                Origin.from_dict(meta["origin"]),
            )
            annotators = Annotators(
                tuple(meta["annotators"]),
                arrays["annotators/weight"],
                arrays["annotators/sentences"],
                arrays["annotators/tokens"],
                arrays["annotators/agreement"],
                arrays.get("annotators/confusion"),
            )
            tagger = None
            if meta["tagger"] is not None:
                parts = archive.within(arrays, "tagger")
                tagger = Tagger.from_state(meta["tagger"], parts, where)
            return cls(
                corpus,
                scheme,
                arrays["tags"],
                arrays["probabilities"],
                annotators,
                History.from_dict(meta["history"]),
                tagger,
                meta["provenance"],
                arrays.get("of_span"),
                arrays.get("of_sentence"),
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, DataError) as error:
            raise InputError(f"the saved result is damaged ({error!r})", where=where) from error

    def __str__(self) -> str:
        method = self.provenance.get("method", "labels")
        spans = len(extract(self.tags, self.corpus.token_offsets, self.scheme).start)
        text = f"{method}: {count(self.corpus.n_sentences, 'sentence')} · {count(spans, 'span')}"
        text += f" · {count(len(self.annotators), 'annotator')}"
        if self.history.steps:
            text += f" · {count(len(self.history), 'round')} ({self.history.stop_reason})"
        unlabelled = int((~self.labelled).sum())
        return text + (f" · {count(unlabelled, 'sentence')} unlabelled" if unlabelled else "")


def _check_saved(meta: dict[str, Any], arrays: archive.Arrays, scheme: Scheme) -> None:
    """Raise ValueError where a file's columns do not fit its lists or each other."""
    if list(scheme.labels) != meta["labels"]:
        raise ValueError("labels out of order")
    sizes = {"labels": len(scheme.labels)}
    for name in ("documents", "annotators"):
        if not isinstance(meta[name], list) or not all(isinstance(one, str) for one in meta[name]):
            raise ValueError(f"{name} must be a list of names")
        sizes[name] = len(meta[name])
    sizes = archive.check(arrays, _SAVED, sizes)
    if arrays["token_offsets"][-1] != sizes["tokens"]:
        raise ValueError("tags do not fill the sentences")
    if not isinstance(meta["provenance"], dict):
        raise ValueError("provenance must be an object")


def evaluate(
    result: Source,
    gold: Source,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
) -> Evaluation:
    """Score a result against a gold standard: :func:`seqtruth.metrics.evaluate`.

    Here a path may also be that of a saved result, which brings its confidences along.
    """
    return metrics.evaluate(_opened(result), _opened(gold), sentences, strict)


def _opened(source: Source) -> Source:
    if isinstance(source, str | Path) and archive.is_archive(source):
        return Result.load(source)
    return source
