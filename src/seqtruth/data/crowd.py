"""The data model: a crowd's labels on a corpus, in flat columns.

``Corpus`` (:mod:`seqtruth.data.corpus`) holds the sequences, in the docs simply *sentences*; ``Crowd`` adds
who labelled what. Both are immutable. A labelling by one hand, such as a gold standard, is a crowd of
one.

A crowd has one *row* per (sentence, annotator), rows sorted by sentence and then annotator, and
one flat array of tags, one byte each (two where there are more than 127 labels). "Saw the sentence
and marked nothing" is a row of ``O``; "never saw it" is no row; "did not say, at this token" is -1
inside a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.data import spans as spans_
from seqtruth.data.corpus import Corpus, concat_corpora
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import (
    Selection,
    column_bytes,
    gather,
    in_order,
    offsets_of,
    places,
    whole_numbers,
)
from seqtruth.data.scheme import Scheme, scheme_in_use
from seqtruth.errors import DataError
from seqtruth.html import html_table
from seqtruth.kernels.arrays import Tags
from seqtruth.kernels.tags import recode
from seqtruth.kernels.views import CrowdView, count_labelled
from seqtruth.plural import count


@dataclass(frozen=True, eq=False)
class Crowd:
    """Many annotators' tags on one corpus.

    Use :meth:`build` unless the columns are already sorted and coded.

    Parameters
    ----------
    corpus : the sentences.
    scheme : labels and their rules.
    annotators : annotators' names.
    row_sentence, row_annotator : int32[R], sorted by sentence, then annotator; no pair twice.
    tags : tag[A], each row's tags one after the other; -1 where not labelled.

    Examples
    --------
    >>> crowd = Crowd.of({"ann": [["B-PER", "O"]], "bob": [["O", "O"]]}, tokens=[["Ann", "ran"]])
    >>> print(crowd)
    1 sentence · 2 annotators · 3 tags · IOB2
    """

    corpus: Corpus
    scheme: Scheme
    annotators: tuple[str, ...]
    row_sentence: npt.NDArray[np.int32]
    row_annotator: npt.NDArray[np.int32]
    tags: Tags

    def __post_init__(self) -> None:
        sentence = np.ascontiguousarray(self.row_sentence, np.int32)
        annotator = np.ascontiguousarray(self.row_annotator, np.int32)
        given = np.asarray(self.tags)
        if len(given) and (given.min() < -1 or given.max() >= len(self.scheme.labels)):
            raise DataError("tags must be label numbers or -1")
        tags = np.ascontiguousarray(given, self.scheme.tag_dtype)
        if len(sentence) != len(annotator):
            raise DataError("row_sentence and row_annotator must have the same length")
        if len(set(self.annotators)) != len(self.annotators):
            raise DataError("annotators' names must be unique")
        if len(sentence):
            if sentence.min() < 0 or sentence.max() >= self.corpus.n_sentences:
                raise DataError("row_sentence points outside the corpus")
            if annotator.min() < 0 or annotator.max() >= len(self.annotators):
                raise DataError("row_annotator points outside the annotators")
            if not in_order(sentence, annotator):
                raise DataError("rows must be sorted by sentence and annotator, without repeats")
        for name, array in (
            ("row_sentence", sentence),
            ("row_annotator", annotator),
            ("tags", tags),
        ):
            array = array.view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len(tags) != self.row_offsets[-1]:
            raise DataError(f"rows need {self.row_offsets[-1]} tags", got=str(len(tags)))

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        labels: Sequence[str],
        annotators: Sequence[str],
        row_sentence: npt.ArrayLike,
        row_annotator: npt.ArrayLike,
        tags: npt.ArrayLike,
        scheme: str | Scheme | None = None,
    ) -> Crowd:
        """Sort, code and check columns in any order; the one way from columns to a crowd.

        Parameters
        ----------
        corpus : the sentences.
        annotators : annotators' names.
        labels : what the numbers in ``tags`` mean; those that no tag has are left out.
        row_sentence, row_annotator, tags : rows in any order, each with a tag for every token.
        scheme : its name, or the scheme itself, which must know all labels in use; detected where
            not given.
        """
        sentence, annotator = whole_numbers(row_sentence), whole_numbers(row_annotator)
        raw = np.asarray(tags)
        lengths = np.diff(corpus.token_offsets)
        if len(sentence) and (sentence.min() < 0 or sentence.max() >= corpus.n_sentences):
            raise DataError("row_sentence points outside the corpus")
        offsets = offsets_of(lengths[sentence])
        if len(raw) != offsets[-1]:
            raise DataError(f"rows need {offsets[-1]} tags", got=str(len(raw)))
        rules, table = scheme_in_use(labels, raw, offsets, scheme)
        coded = recode(raw, table) if len(raw) else np.zeros(0, table.dtype)
        if not in_order(sentence, annotator):
            pairs = sentence.astype(np.int64) * max(1, len(annotators)) + annotator
            order = np.lexsort((annotator, sentence))
            _check_repeats(corpus, annotators, pairs, order)
            sentence, annotator = sentence[order], annotator[order]
            coded = coded[gather(offsets, order)[1]]
        return cls(
            corpus,
            rules,
            tuple(annotators),
            sentence.astype(np.int32),
            annotator.astype(np.int32),
            coded,
        )

    @classmethod
    def of(
        cls,
        annotations: Mapping[str, Sequence[Sequence[str | None] | None]],
        tokens: Sequence[Sequence[str]],
        scheme: str | None = None,
        ids: Sequence[str] | None = None,
    ) -> Crowd:
        """Make a crowd from lists: per annotator one tag list (or None) per sentence.

        Parameters
        ----------
        annotations : by annotator's name, for each sentence a list of tags, with None where no tag was
            given; None for a sentence that they did not see.
        tokens : the tokens of each sentence.
        scheme : its name; detected where not given.
        ids : names of the sentences; their places where not given.
        """
        corpus = Corpus.of(tokens, ids)
        numbers: dict[str, int] = {}
        sentence, annotator, flat = [], [], []
        for w, (name, sequences) in enumerate(annotations.items()):
            if len(sequences) != corpus.n_sentences:
                raise DataError(
                    f"annotator {name!r} must have one entry per sentence ({corpus.n_sentences})",
                    got=str(len(sequences)),
                )
            for s, sequence in enumerate(sequences):
                if sequence is None:
                    continue
                if len(sequence) != len(tokens[s]):
                    raise DataError(
                        f"annotator {name!r} needs one tag per token ({len(tokens[s])})",
                        where=f"sentence {s}",
                        got=str(len(sequence)),
                    )
                sentence.append(s)
                annotator.append(w)
                flat += [
                    -1 if tag is None else numbers.setdefault(tag, len(numbers)) for tag in sequence
                ]
        return cls.build(
            corpus,
            list(numbers),
            list(annotations),
            sentence,
            annotator,
            np.array(flat, np.int32),
            scheme,
        )

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return self.corpus.n_sentences

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self.corpus.n_tokens

    @property
    def n_annotators(self) -> int:
        """Number of annotators, those who labelled nothing included."""
        return len(self.annotators)

    @property
    def n_rows(self) -> int:
        """Number of rows, one for each sentence that an annotator saw."""
        return len(self.row_sentence)

    @property
    def n_labels(self) -> int:
        """Number of different labels that the scheme knows."""
        return len(self.scheme.labels)

    @cached_property
    def row_offsets(self) -> npt.NDArray[np.int64]:
        """int64[R+1]: start of each row's tags."""
        return offsets_of(np.diff(self.corpus.token_offsets)[self.row_sentence])

    @cached_property
    def sentence_rows(self) -> npt.NDArray[np.int64]:
        """int64[S+1]: first row of each sentence."""
        return np.searchsorted(self.row_sentence, np.arange(self.n_sentences + 1)).astype(np.int64)

    @cached_property
    def sentence_tags(self) -> npt.NDArray[np.int64]:
        """int64[S+1]: start of each sentence's tags; its rows follow each other."""
        return self.row_offsets[self.sentence_rows]

    @cached_property
    def row_labelled(self) -> npt.NDArray[np.int32]:
        """int32[R]: tokens labelled in each row."""
        found = np.empty(self.n_rows, np.int32)
        count_labelled(self.tags, self.row_offsets, found)
        return found

    @cached_property
    def covered(self) -> npt.NDArray[np.bool_]:
        """bool[S]: does anybody label anything in the sentence?"""
        mask = np.zeros(self.n_sentences, np.bool_)
        mask[self.row_sentence[self.row_labelled > 0]] = True
        return mask

    @cached_property
    def annotator_sentences(self) -> npt.NDArray[np.int64]:
        """int64[W]: sentences each annotator labelled, each counted once whatever its layers."""
        first = self.corpus.sentence_layer[self.row_sentence] == 0
        return np.bincount(self.row_annotator[first], minlength=self.n_annotators)

    @cached_property
    def annotator_tokens(self) -> npt.NDArray[np.int64]:
        """int64[W]: tokens each annotator labelled."""
        return np.bincount(self.row_annotator, self.row_labelled, self.n_annotators).astype(
            np.int64
        )

    @cached_property
    def view(self) -> CrowdView:
        """The arrays as kernels walk them."""
        return CrowdView(
            self.tags,
            self.sentence_tags,
            self.corpus.token_offsets,
            self.sentence_rows,
            self.row_annotator,
            self.scheme.grammar,
        )

    def row(self, sentence: int, annotator: int) -> Tags | None:
        """One annotator's tags on one sentence, None where they did not see it.

        Parameters
        ----------
        sentence, annotator : their numbers.
        """
        a, b = self.sentence_rows[sentence : sentence + 2]
        hit = np.flatnonzero(self.row_annotator[a:b] == annotator)
        if not len(hit):
            return None
        r = a + hit[0]
        return self.tags[self.row_offsets[r] : self.row_offsets[r + 1]]

    def labelling(self, annotator: int | None = None) -> Labelling:
        """One annotator's labels laid over the corpus; may be left out for a crowd of one."""
        if annotator is None:
            if self.n_annotators != 1:
                raise DataError(
                    "a labelling has one label per token",
                    got=f"{self.n_annotators} annotators",
                    fix="name one of them, or aggregate first",
                )
            annotator = 0
        rows = np.flatnonzero(self.row_annotator == annotator)
        _, source = gather(self.row_offsets, rows)
        _, target = gather(self.corpus.token_offsets, self.row_sentence[rows].astype(np.int64))
        tags = self.scheme.unlabelled(self.n_tokens)
        tags[target] = self.tags[source]
        return Labelling(self.corpus, self.scheme, tags)

    def __getitem__(self, selection: Selection) -> Crowd:
        """The crowd on the chosen sentences (mask, numbers or slice), in that order.

        All annotators stay listed, so that results of parts can be added up.
        """
        chosen = places(selection, self.n_sentences)
        counts, rows = gather(self.sentence_rows, chosen)
        _, flat = gather(self.row_offsets, rows)
        return replace(
            self,
            corpus=self.corpus.take(chosen),
            row_sentence=np.repeat(np.arange(len(chosen), dtype=np.int32), np.diff(counts)),
            row_annotator=self.row_annotator[rows],
            tags=self.tags[flat],
        )

    def select_annotators(self, names: Iterable[str]) -> Crowd:
        """The crowd reduced to these annotators, in this order; sentences stay."""
        wanted = list(names)
        unknown = [name for name in wanted if name not in self.annotators]
        if unknown:
            raise DataError("no such annotator", got=repr(unknown[0]))
        number = np.full(self.n_annotators, -1, np.int64)
        number[[self.annotators.index(name) for name in wanted]] = np.arange(len(wanted))
        rows = np.flatnonzero(number[self.row_annotator] >= 0)
        _, flat = gather(self.row_offsets, rows)
        sentence, annotator = self.row_sentence[rows], number[self.row_annotator[rows]]
        order = np.lexsort((annotator, sentence))
        tags = self.tags[flat]
        lengths = np.diff(self.row_offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return replace(
            self,
            annotators=tuple(wanted),
            row_sentence=sentence[order],
            row_annotator=annotator[order].astype(np.int32),
            tags=tags[gather(offsets, order)[1]],
        )

    @staticmethod
    def concat(crowds: Sequence[Crowd]) -> Crowd:
        """Put crowds on different sentences together; annotators of one name are one annotator."""
        if not crowds:
            raise DataError("nothing to put together")
        kinds = {crowd.scheme.kind for crowd in crowds}
        if len(kinds) > 1:
            raise DataError(
                "crowds have different schemes",
                got=", ".join(sorted(kinds)),
                fix="convert them first with crowd.respell(kind)",
            )
        scheme = Scheme.of(crowds[0].scheme.kind, {lab for c in crowds for lab in c.scheme.labels})
        annotators = list(dict.fromkeys(name for crowd in crowds for name in crowd.annotators))
        numbers = {name: i for i, name in enumerate(annotators)}
        corpus = concat_corpora([crowd.corpus for crowd in crowds])
        first = np.cumsum([0] + [crowd.n_sentences for crowd in crowds])
        annotator, tags = [], []
        for crowd in crowds:
            tags.append(crowd.recode(scheme).tags)
            mine = np.array([numbers[name] for name in crowd.annotators] or [0], np.int64)
            annotator.append(mine[crowd.row_annotator])
        return Crowd.build(
            corpus,
            scheme.labels,
            annotators,
            np.concatenate([c.row_sentence + a for c, a in zip(crowds, first, strict=False)]),
            np.concatenate(annotator),
            np.concatenate(tags),
            scheme,
        )

    def recode(self, scheme: Scheme) -> Crowd:
        """The same crowd with its tags numbered by ``scheme``, which must know all of them."""
        if scheme == self.scheme:
            return self
        table = scheme.recoding(self.scheme.labels)
        return replace(self, scheme=scheme, tags=table[self.tags])

    def respell(self, kind: str) -> Crowd:
        """The crowd with every row converted to another scheme (``"iob2"``, ``"bioes"`` …)."""
        target = self.scheme.respelled(kind)
        tags = spans_.convert(self.tags, self.row_offsets, self.scheme, target)
        return replace(self, scheme=target, tags=tags)

    def abstaining(self, label: str) -> Crowd:
        """The crowd with every ``label`` read as "no opinion" (rules and models that stay silent)."""
        if label not in self.scheme.labels:
            raise DataError("no such label to abstain with", got=repr(label))
        silent = self.tags == self.scheme.index(label)
        return replace(self, tags=np.where(silent, self.tags.dtype.type(-1), self.tags))

    def digest(self) -> str:
        """SHA-256 of everything that matters: same crowd, same digest, whatever file it came from."""
        h = hashlib.sha256()
        h.update(repr((self.scheme, self.annotators)).encode())
        for array in (self.corpus.token_offsets, self.row_sentence, self.row_annotator, self.tags):
            h.update(np.ascontiguousarray(array).data)
        h.update(self.corpus.sentence_document.data)
        documents = pa.array(self.corpus.documents, pa.large_string())
        for column in (self.corpus.sentence_ids, documents, self.corpus.tokens):
            if column is not None:
                for part in column_bytes(column):
                    h.update(part)
        return h.hexdigest()

    def __str__(self) -> str:
        parts = [
            count(self.corpus.n_base_sentences, "sentence"),
            count(self.n_annotators, "annotator"),
            count(self.n_labels, "tag"),
            self.scheme.kind.upper(),
        ]
        return " · ".join(parts)

    def __repr__(self) -> str:
        return f"<Crowd: {self}>"

    def _repr_html_(self) -> str:
        rows = [
            [name, int(self.annotator_sentences[w]), int(self.annotator_tokens[w])]
            for w, name in enumerate(self.annotators)
        ]
        labels = "labels " + ", ".join(self.scheme.labels)
        return html_table(str(self), ["annotator", "sentences", "tokens"], rows, labels)


def _check_repeats(
    corpus: Corpus,
    annotators: Sequence[str],
    pairs: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
) -> None:
    """Raise where two rows are of one sentence and annotator."""
    twice = np.flatnonzero(np.diff(pairs[order]) == 0)
    if len(twice):
        sentence, annotator = divmod(int(pairs[order[twice[0]]]), max(1, len(annotators)))
        raise DataError(
            f"annotator {annotators[annotator]!r} labelled the sentence twice",
            where=f"sentence {corpus.sentence_ids[sentence].as_py()!r}",
            fix="keep one of the two, or give the second pass a name of its own",
        )
