"""Two labellings of the same texts on different tokens, brought onto the same ones by their characters.

A text that was cut twice, once around the marks of a crowd and once around those of a gold standard, has
different tokens. Here both are put back into their documents, and these are cut once, around the marks of
both; overlaps of either are on layers of both. Texts may differ as :mod:`seqtruth.io.same_text` allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.errors import DataError
from seqtruth.io.documents import Document, Notes
from seqtruth.io.from_documents import CrowdBuilder, Cutting
from seqtruth.io.same_text import align_texts, joined
from seqtruth.io.to_documents import documents_of, place_of_sentences
from seqtruth.kernels.arrays import F32, I64
from seqtruth.kernels.spans import BEGIN, INSIDE
from seqtruth.metrics.sentences import Sentences, choose
from seqtruth.result import Result

#: Larger than any text.
_FAR = 1 << 40


class SideBySide(NamedTuple):
    """A result and its gold on one corpus, and the sentences asked for by their numbers there."""

    result: Labelling
    gold: Labelling
    sentences: Sentences | None


def need_characters(ours: Corpus, theirs: Corpus) -> bool:
    """Whether two corpora hold texts that were cut in different ways."""
    if ours is theirs or ours.tokens is None or theirs.tokens is None:
        return False
    if ours.texts is None and theirs.texts is None:
        return False
    found = theirs.find(ours.sentence_ids)
    here = np.flatnonzero(found >= 0)
    there = found[here]
    if not len(here):
        return not (
            np.array_equal(ours.token_offsets, theirs.token_offsets)
            and ours.tokens.equals(theirs.tokens)
        )
    lengths = np.diff(ours.token_offsets)[here], np.diff(theirs.token_offsets)[there]
    if not np.array_equal(*lengths) or (ours.layers != theirs.layers):
        return True
    if len(here) not in (ours.n_sentences, theirs.n_sentences):
        return True
    one = ours.tokens.take(gather(ours.token_offsets, here)[1])
    two = theirs.tokens.take(gather(theirs.token_offsets, there)[1])
    return not bool(pc.all(pc.equal(one, two)).as_py() in (True, None))


def side_by_side(
    result: Labelling, gold: Labelling, sentences: Sentences | None = None
) -> SideBySide:
    """Both as they are where their tokens are the same, else on the tokens of both.

    A result keeps its confidences, where it has one layer.
    """
    if not need_characters(result.corpus, gold.corpus):
        return SideBySide(result, gold, sentences)
    ours, theirs = _on_one_corpus(result.as_crowd(), gold)
    labelling = ours.labelling()
    if sentences is not None:
        chosen = choose(result.corpus, sentences)
        sentences = _sentences_around(result.corpus, ours.corpus, chosen)
    if isinstance(result, Result):
        labelling = _with_confidences(result, labelling)
    return SideBySide(labelling, theirs, sentences)


def on_same_tokens(crowd: Crowd, gold: Labelling) -> tuple[Crowd, Labelling]:
    """A crowd and a gold standard on one corpus; as they are where they are on one already."""
    if not need_characters(crowd.corpus, gold.corpus):
        return crowd, gold
    return _on_one_corpus(crowd, gold)


def _on_one_corpus(crowd: Crowd, gold: Labelling) -> tuple[Crowd, Labelling]:
    if crowd.scheme.kind == "plain" or gold.scheme.kind == "plain":
        raise DataError(
            "plain tags have no spans to compare by their characters",
            fix="give both the same tokens",
        )
    own = list(documents_of(crowd, role="annotator", borders=True))
    theirs = _partners(own, documents_of(gold.as_crowd("gold"), role="gold"))
    split = "none" if _whole(crowd.corpus) else "sentences"
    notes = Notes()
    builder = CrowdBuilder("result and gold", notes, Cutting(split, scheme=crowd.scheme.kind))
    for document in own:
        partner = theirs.get(document.id)
        builder.add(document if partner is None else joined(document, partner, notes))
    notes.warn("comparing by characters", stacklevel=5)
    found = builder.crowd(roles=("annotator",), origin=crowd.corpus.origin, keep=True)
    found = _with_annotators(found, crowd.annotators)
    return found, builder.crowd(roles=("gold",), origin=gold.corpus.origin).labelling()


def _whole(corpus: Corpus) -> bool:
    """Whether every sentence is a document."""
    if corpus.text_starts is None:
        return True
    names = [corpus.documents[number] for number in corpus.sentence_document.tolist()]
    return bool(names == corpus.base_ids.to_pylist())


def _with_annotators(crowd: Crowd, names: tuple[str, ...]) -> Crowd:
    """The crowd with all annotators, those without labels too, in their order."""
    numbers = np.array([names.index(name) for name in crowd.annotators] or [0], np.int32)
    crowd = replace(crowd, annotators=names, row_annotator=numbers[crowd.row_annotator])
    return crowd


def _partners(own: list[Document], others: Iterable[Document]) -> dict[str, Document]:
    """The gold of each document, by its id or else by its text."""
    by_id = {document.id: document for document in own}
    by_text: dict[str, str] | None = None
    found: dict[str, Document] = {}
    strangers: list[Document] = []
    for other in others:
        mine = by_id.get(other.id)
        if mine is not None and (
            mine.text == other.text or align_texts(mine.text, other.text) is not None
        ):
            found[mine.id] = other
        else:
            strangers.append(other)
    for other in strangers:
        if by_text is None:
            by_text = {"".join(document.text.split()): document.id for document in own}
        name = by_text.get("".join(other.text.split()))
        if name is not None and name not in found:
            found[name] = replace(other, id=name)
        elif other.id in by_id and other.id not in found:
            found[other.id] = other  # whose text differs, which is told when they are joined
    if not found:
        raise DataError(
            "result and gold have no common texts",
            got=f"{len(own):,} texts in the result, none of which is in the gold",
            fix="give both the same ids, or the same texts",
        )
    return found


def _keys(corpus: Corpus, numbers: dict[str, int]) -> tuple[I64, I64]:
    """Document and place of each sentence, and of each token, as one sortable number."""
    names, starts = place_of_sentences(corpus)
    sentence = np.array([numbers.get(name, -1) for name in names], np.int64) * _FAR + starts
    lengths = np.diff(corpus.token_offsets)
    inside = corpus.char_starts
    if inside is None:  # tokens joined by blanks
        steps = np.asarray(pc.utf8_length(corpus.tokens)).astype(np.int64) + 1
        before = np.cumsum(steps) - steps
        first = np.minimum(corpus.token_offsets[:-1], max(0, len(before) - 1))
        inside = before - np.repeat(before[first] if len(before) else first, lengths)
    return sentence, np.asarray(np.repeat(sentence, lengths) + inside, np.int64)


def _sentences_around(old: Corpus, new: Corpus, chosen: I64) -> I64:
    """The sentences, on all layers, that hold these ones of another cut."""
    numbers = {name: number for number, name in enumerate(new.documents)}
    before, _ = _keys(old, numbers)
    after, _ = _keys(new, numbers)
    starts = np.unique(after)
    holding = starts[np.searchsorted(starts, before[chosen], "right") - 1]
    return np.flatnonzero(np.isin(after, holding))


def _with_confidences(result: Result, labelling: Labelling) -> Labelling:
    """The labelling as a result whose confidences are those of the tokens that its tokens lie in."""
    new, old = labelling.corpus, result.corpus
    if len(new.layers) > 1 or len(old.layers) > 1 or labelling.scheme.kind != "iob2":
        return labelling
    numbers = {name: number for number, name in enumerate(new.documents)}
    old_sentence, old_token = _keys(old, numbers)
    new_sentence, new_token = _keys(new, numbers)
    order = np.argsort(old_token, kind="stable")
    at = order[np.searchsorted(old_token[order], new_token, "right") - 1]
    goes_on = old_token[at] != new_token
    scheme = Scheme.of("iob2", {*result.scheme.labels, *labelling.scheme.labels})
    recode = np.array([*(scheme.index(label) for label in labelling.scheme.labels), -1])
    probabilities = _inner_pieces(result, scheme, at, goes_on)
    by_sentence = np.argsort(old_sentence, kind="stable")
    places = np.searchsorted(old_sentence[by_sentence], new_sentence, "right") - 1
    return replace(
        result,
        corpus=new,
        scheme=scheme,
        tags=recode[labelling.tags].astype(labelling.tags.dtype),
        probabilities=probabilities,
        of_span=None if result.of_span is None else result.of_span[at],
        of_sentence=None if result.of_sentence is None else result.of_sentence[by_sentence[places]],
        crowd=None,
    )


def _inner_pieces(result: Result, scheme: Scheme, at: I64, goes_on: np.ndarray) -> F32:
    """Probabilities of tokens that are pieces of others: what begins a span goes on in later pieces."""
    numbers = [scheme.index(label) for label in result.scheme.labels]
    out = np.zeros((len(at), len(scheme.labels)), np.float32)
    out[:, numbers] = result.probabilities[at]
    for number, role in enumerate(scheme.roles.tolist()):
        if role == BEGIN:
            inside = scheme.label(INSIDE, scheme.types[scheme.type_of[number]])
            out[goes_on, inside] += out[goes_on, number]
            out[goes_on, number] = 0
    return out
