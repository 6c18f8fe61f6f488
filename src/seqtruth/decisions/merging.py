"""Labels before and after: rows that come, rows that go, sentences and annotators that are new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.corpus import Corpus, concat_corpora
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import I64, Bool, Tags
from seqtruth.result import Result


class Merged(NamedTuple):
    """Crowds before and after on the same sentences, with the annotators of both.

    before, after : the crowds.
    touched : bool[S], sentences of which a label came or went.
    stays : bool[W], annotators who are not withdrawn.
    came, went : how many rows.
    """

    before: Crowd
    after: Crowd
    touched: Bool
    stays: Bool
    came: int
    went: int


def model_crowd(result: Result) -> Crowd:
    """The result's crowd with the labels that its model knows."""
    crowd = result.crowd
    if crowd is None:
        raise DataError(
            "the result does not know the labels it was made from",
            fix="save it with crowd=True, or aggregate with save=",
        )
    if crowd.scheme.kind != result.scheme.kind:
        crowd = crowd.respell(result.scheme.kind)
    return crowd.recode(result.scheme)


def in_scheme(crowd: Crowd, result: Result) -> Crowd:
    """New labels as the result spells them; labels that it does not know are an error."""
    if crowd.scheme.kind != result.scheme.kind and crowd.n_rows:
        if "plain" in (crowd.scheme.kind, result.scheme.kind):
            raise DataError(
                "the new labels are of another scheme",
                got=f"{crowd.scheme.kind.upper()}, where the result has {result.scheme.kind.upper()}",
                fix="read them with the same scheme=",
            )
        crowd = crowd.respell(result.scheme.kind)
    used = np.unique(crowd.tags[crowd.tags >= 0])
    strange = [name for k in used if (name := crowd.scheme.labels[k]) not in result.scheme.labels]
    if strange:
        raise DataError(
            f"the model has never seen the label {strange[0]!r}",
            got=f"labels {', '.join(result.scheme.labels)} in the result",
            fix="aggregate everything again (retrain=True)",
        )
    table = np.array(
        [
            result.scheme.index(name) if name in result.scheme.labels else -1
            for name in crowd.scheme.labels
        ]
        + [-1],
        result.scheme.tag_dtype,
    )
    return replace(crowd, scheme=result.scheme, tags=table[crowd.tags])


def merge(
    old: Crowd, new: Crowd | None, gone: Crowd | None = None, withdrawn: Iterable[str] = ()
) -> Merged:
    """The crowd after new rows have come and others have gone.

    A row of a sentence and annotator that are there already takes the old one's place; one that says
    the same as before is nothing new, so that a whole export can be handed in again.

    Parameters
    ----------
    old, new : the labels that are there, and those that come, in the same scheme.
    gone : rows that are taken back; what they say does not matter.
    withdrawn : annotators whose rows are all taken back.
    """
    withdrawn = list(withdrawn)
    strangers = [name for name in withdrawn if name not in old.annotators]
    if strangers:
        raise DataError(
            "no such annotator to withdraw", got=repr(strangers[0]), fix=_some(old.annotators)
        )
    corpus = old.corpus
    places = np.zeros(0, np.int64)
    if new is not None:
        corpus, places = _one_corpus(old.corpus, new.corpus)
        new = _without_repeats(old, new, places)
    names = list(dict.fromkeys([*old.annotators, *(new.annotators if new else ())]))
    number = {name: w for w, name in enumerate(names)}
    before = old
    if corpus is not old.corpus or len(names) > old.n_annotators:
        before = replace(old, corpus=corpus, annotators=tuple(names))
    leaves = np.zeros(before.n_rows, np.bool_)
    for name in withdrawn:
        leaves |= before.row_annotator == number[name]
    if gone is not None:
        leaves |= _rows_of(before, gone)
    sentence, annotator = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if new is not None:
        sentence = places[new.row_sentence]
        annotator = np.array([number[name] for name in new.annotators] or [0])[new.row_annotator]
        row, there = _find(_keys(before), sentence * len(names) + annotator)
        leaves[row[there]] = True
    after = _joined(before, ~leaves, new, sentence, annotator)
    touched = np.zeros(corpus.n_sentences, np.bool_)
    touched[before.row_sentence[leaves]] = True
    touched[sentence] = True
    touched[old.n_sentences :] = True
    stays = np.ones(len(names), np.bool_)
    stays[[number[name] for name in withdrawn]] = False
    if gone is not None:  # who has nothing left was taken back whole
        left = np.bincount(after.row_annotator, minlength=len(names))
        had = np.bincount(before.row_annotator[leaves], minlength=len(names))
        stays &= (left > 0) | (had == 0)
    return Merged(before, after, touched, stays, len(sentence), int(leaves.sum()))


def without_annotators(crowd: Crowd, stays: Bool) -> Crowd:
    """The crowd without annotators who have no rows in it any more."""
    if stays.all():
        return crowd
    number = np.cumsum(stays) - 1
    names = tuple(name for name, yes in zip(crowd.annotators, stays, strict=True) if yes)
    return replace(crowd, annotators=names, row_annotator=number[crowd.row_annotator])


def known_on(corpus: Corpus, labels: Labelling, result: Result) -> Tags:
    """tag[T]: labels given as true, laid over a corpus; -1 where there is none."""
    own = in_scheme(labels.as_crowd(), result).labelling()
    places = corpus.find(own.corpus.sentence_ids)
    missing = np.flatnonzero((places < 0) & own.labelled)
    if len(missing):
        raise DataError(
            "a decision is about a sentence that the result does not have",
            got=repr(own.corpus.sentence_ids[int(missing[0])].as_py()),
            fix="add its labels first",
        )
    here = np.flatnonzero(places >= 0)
    lengths, theirs = np.diff(corpus.token_offsets), np.diff(own.corpus.token_offsets)
    unequal = here[lengths[places[here]] != theirs[here]]
    if len(unequal):
        s = int(unequal[0])
        raise DataError(
            "a decision does not fit the sentence's tokens",
            where=f"sentence {own.corpus.sentence_ids[s].as_py()!r}",
            got=f"{theirs[s]} tokens, where there are {lengths[places[s]]}",
        )
    known = result.scheme.unlabelled(corpus.n_tokens)
    known[gather(corpus.token_offsets, places[here])[1]] = own.tags[
        gather(own.corpus.token_offsets, here)[1]
    ]
    return known


def _one_corpus(old: Corpus, new: Corpus) -> tuple[Corpus, I64]:
    """Old sentences, then those that are new; and where the new crowd's sentences are in them."""
    places = old.find(new.sentence_ids)
    _check_same_tokens(old, new, places)
    fresh = np.flatnonzero(places < 0)
    if not len(fresh):
        return old, places
    places = places.copy()
    places[fresh] = old.n_sentences + np.arange(len(fresh))
    return concat_corpora([old, new[fresh]]), places


def _check_same_tokens(old: Corpus, new: Corpus, places: I64) -> None:
    """Raise where a sentence that is there already has other tokens now."""
    here = np.flatnonzero(places >= 0)
    before, after = (np.diff(corpus.token_offsets) for corpus in (old, new))
    wrong = here[before[places[here]] != after[here]]
    if not len(wrong) and old.tokens is not None and new.tokens is not None:
        offsets, mine = gather(new.token_offsets, here)
        theirs = gather(old.token_offsets, places[here])[1]
        differ = pc.not_equal(new.tokens.take(pa.array(mine)), old.tokens.take(pa.array(theirs)))
        at = np.flatnonzero(np.asarray(differ))
        wrong = here[np.searchsorted(offsets, at[:1], side="right") - 1]
    if len(wrong):
        raise DataError(
            "a sentence has other tokens than before",
            where=f"sentence {new.sentence_ids[int(wrong[0])].as_py()!r}",
            fix="give different sentences different ids",
        )


def _without_repeats(old: Crowd, new: Crowd, places: I64) -> Crowd:
    """The new crowd without rows that are there already, word for word."""
    number = {name: w for w, name in enumerate(old.annotators)}
    known = np.array([number.get(name, -1) for name in new.annotators] or [0])
    annotator, sentence = known[new.row_annotator], places[new.row_sentence]
    keys = np.where(annotator >= 0, sentence * max(1, old.n_annotators) + annotator, -1)
    if not old.n_rows or not len(keys):
        return new
    row, same = _find(_keys(old), keys)
    at = np.flatnonzero(same)
    theirs = old.tags[gather(old.row_offsets, row[at])[1]]
    offsets, mine = gather(new.row_offsets, at)
    differ = np.concatenate([[0], np.cumsum(new.tags[mine] != theirs)])[offsets]
    same[at] = np.diff(differ) == 0
    if not same.any():
        return new
    fresh = np.flatnonzero(~same)
    return replace(
        new,
        row_sentence=new.row_sentence[fresh],
        row_annotator=new.row_annotator[fresh],
        tags=new.tags[gather(new.row_offsets, fresh)[1]],
    )


def _find(keys: I64, wanted: I64) -> tuple[I64, Bool]:
    """Places of numbers in rising ones, and which of them are there at all."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    row = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return row, np.asarray(keys[row] == wanted)


def _keys(crowd: Crowd) -> I64:
    return crowd.row_sentence.astype(np.int64) * len(crowd.annotators) + crowd.row_annotator


def _rows_of(crowd: Crowd, others: Crowd) -> Bool:
    """bool[R]: rows of sentences and annotators that others name, too."""
    number = {name: w for w, name in enumerate(crowd.annotators)}
    places = crowd.corpus.find(others.corpus.sentence_ids)[others.row_sentence]
    named = np.array([number.get(name, -1) for name in others.annotators] or [0])
    annotator = named[others.row_annotator]
    here = (places >= 0) & (annotator >= 0)
    found = np.isin(_keys(crowd), places[here] * len(crowd.annotators) + annotator[here])
    if found.sum() < len(here):
        wrong = np.flatnonzero(~here)
        row = int(wrong[0]) if len(wrong) else 0
        raise DataError(
            "labels to take back are not in the result",
            got=f"{len(here) - int(found.sum()):,} of {len(here):,} rows, such as"
            f" {others.annotators[others.row_annotator[row]]!r} on sentence"
            f" {others.corpus.sentence_ids[int(others.row_sentence[row])].as_py()!r}",
        )
    return found


def _joined(before: Crowd, keep: Bool, new: Crowd | None, sentence: I64, annotator: I64) -> Crowd:
    """The crowd without some rows and with new ones; what stays is copied as it lies."""
    kept, leaves = np.flatnonzero(keep), np.flatnonzero(~keep)
    offsets = before.row_offsets
    tags = before.tags
    if len(leaves):
        starts = [0, *offsets[leaves + 1].tolist()]
        ends = [*offsets[leaves].tolist(), int(offsets[-1])]
        tags = np.concatenate([tags[a:b] for a, b in zip(starts, ends, strict=True)])
    rows = before.row_sentence[kept], before.row_annotator[kept]
    if new is not None and len(sentence):
        order = np.argsort(sentence * len(before.annotators) + annotator, kind="stable")
        at = np.searchsorted(
            _keys(before)[kept], (sentence * len(before.annotators) + annotator)[order]
        )
        lengths = np.diff(offsets)[kept]
        points = np.concatenate([[0], np.cumsum(lengths)])[at].tolist()
        pieces, last, theirs = [], 0, new.row_offsets.tolist()
        for point, row in zip(points, order.tolist(), strict=True):
            pieces += [tags[last:point], new.tags[theirs[row] : theirs[row + 1]]]
            last = point
        tags = np.concatenate([*pieces, tags[last:]])
        rows = (
            np.insert(rows[0], at, sentence[order]),
            np.insert(rows[1], at, annotator[order]),
        )
    return replace(before, row_sentence=rows[0], row_annotator=rows[1], tags=tags)


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - 8:,} more" if len(listed) > 8 else ""
    return f"there are {', '.join(listed[:8])}{more}"
