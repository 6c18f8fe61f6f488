"""Seeded annotators with known vices, for gold data of one's own.

The errors are those of people: whole spans are missed, cut short, given another type or seen where
there is nothing, and every annotator writes legal tags in the gold's scheme. A cast is a list of
:class:`Annotator`, or a recipe in words such as ``"careful:3,misser,copier,spammer"``
(see :func:`parse`).

Every draw depends on the seed, the annotator's name, the sentence's id and the place in it, and on
nothing else: sentences and annotators in another order, or only some of them, get the same labels.
(Only ``per_sentence`` weighs the annotators of a document against each other.)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import I64, Bool, Tags
from seqtruth.kernels.random import sentence_keys
from seqtruth.simulation.cast import DEFAULT_CAST, VICES, Annotator, parse
from seqtruth.simulation.reading import Truth, number, uniform
from seqtruth.simulation.rules import simulate_rules


def simulate(
    gold: Crowd | Labelling,
    annotators: str | Iterable[Annotator] | None = None,
    *,
    seed: int = 0,
    per_sentence: int | None = None,
    difficulty: float = 0.25,
) -> Crowd:
    """Let a cast of annotators label what the gold standard labels.

    Parameters
    ----------
    gold : true labels, by one hand; sentences without any are left alone, single tokens without
        one read as ``O``. Illegal tags are read by ``conlleval``'s rules.
    annotators : a recipe (see :func:`parse`) or annotators; :data:`DEFAULT_CAST` where not given.
    seed : the same seed gives the same labels.
    per_sentence : how many annotators label each document, drawn for each (where the corpus has no
        documents, each sentence). None: all of them, each at their own ``coverage``.
    difficulty : share of the draws that all annotators have in common. Hard places are hard for
        everybody, so that errors meet and a majority can be wrong; 0 makes all independent. Nobody's
        own rates depend on it.

    Returns
    -------
    Crowd
        on the gold's corpus and in its scheme; every row is legal.

    Examples
    --------
    >>> gold = Crowd.of({"gold": [["B-PER", "O", "B-LOC"]]}, [["Ann", "likes", "Ames"]])
    >>> print(simulate(gold, "careful:2,silent"))
    1 sentence · 3 annotators · 5 tags · IOB2
    """
    labelling = gold.labelling() if isinstance(gold, Crowd) else gold
    if annotators is None or isinstance(annotators, str):
        annotators = parse(annotators or DEFAULT_CAST)
    cast = tuple(annotators)
    _check(cast, per_sentence, difficulty)
    truth = Truth.of(labelling, seed, difficulty)
    seen = _assign(labelling.corpus, truth.sentences, cast, seed, per_sentence)
    work: dict[str, Tags] = {}
    for one in _sources_first(cast):
        tags = truth.labelled_by(one)
        if one.copies is not None:
            copied = np.repeat(seen[one.copies], np.diff(truth.offsets))
            tags = np.where(copied, work[one.copies], tags)
        work[one.name] = tags
    rows = [np.flatnonzero(seen[one.name]) for one in cast]
    flat = [gather(truth.offsets, mine)[1] for mine in rows]
    crowd = Crowd.build(
        labelling.corpus,
        labelling.scheme.labels,
        [one.name for one in cast],
        truth.sentences[np.concatenate(rows)],
        np.repeat(np.arange(len(cast)), [len(mine) for mine in rows]),
        np.concatenate([work[one.name][mine] for one, mine in zip(cast, flat, strict=True)]),
        labelling.scheme.kind,
    )
    return crowd.recode(labelling.scheme)


def _check(cast: tuple[Annotator, ...], per_sentence: int | None, difficulty: float) -> None:
    names = [one.name for one in cast]
    if not cast:
        raise ParameterError("a cast needs at least one annotator")
    if len(set(names)) != len(names):
        raise ParameterError("annotators' names must be unique", got=", ".join(names))
    if not 0 <= difficulty <= 1:
        raise ParameterError("difficulty must be a share from 0 to 1", got=str(difficulty))
    if per_sentence is not None and not 1 <= per_sentence <= len(cast):
        raise ParameterError(
            f"per_sentence must be from 1 to the number of annotators ({len(cast)})",
            got=str(per_sentence),
        )


def _sources_first(cast: tuple[Annotator, ...]) -> list[Annotator]:
    """The cast in an order in which nobody comes before the one they copy."""
    by_name = {one.name: one for one in cast}
    done: dict[str, Annotator] = {}
    for one in cast:
        chain = [one]
        while (source := chain[-1].copies) is not None:
            if source not in by_name:
                raise ParameterError(
                    f"annotator {chain[-1].name!r} must copy one of the cast", got=repr(source)
                )
            if any(source == other.name for other in chain):
                raise ParameterError("annotators copy each other in a circle", got=repr(source))
            chain.append(by_name[source])
        done |= {other.name: other for other in reversed(chain) if other.name not in done}
    return list(done.values())


def _assign(
    corpus: Corpus, sentences: I64, cast: tuple[Annotator, ...], seed: int, per_sentence: int | None
) -> dict[str, Bool]:
    """By annotator: which of these sentences they label, decided document by document."""
    assert corpus.sentence_document is not None
    names = [corpus.documents[d] for d in corpus.sentence_document[sentences].tolist()]
    ids = corpus.sentence_ids.take(sentences).to_pylist()
    units = [f"document {a}" if a else f"sentence {b}" for a, b in zip(names, ids, strict=True)]
    column = pa.array(units, pa.large_string())
    luck = np.stack([uniform(sentence_keys(column, number(seed, one.name)), 0) for one in cast])
    share = np.array([one.coverage for one in cast])[:, None]
    if per_sentence is None:
        chosen = luck < share
    else:
        # the largest of u^(1/share) is a draw in proportion to the shares (Efraimidis & Spirakis)
        ranks = np.argsort(np.argsort(-(luck ** (1 / share)), axis=0), axis=0)
        chosen = ranks < per_sentence
    return {one.name: chosen[w] for w, one in enumerate(cast)}


__all__ = ["DEFAULT_CAST", "VICES", "Annotator", "parse", "simulate", "simulate_rules"]
