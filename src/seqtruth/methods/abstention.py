"""Sources that abstain: whose ``O`` is a vote and whose is silence, and what to do with silence.

**Found from the data** (:func:`understand_silence`). A rule that knows some names says ``O`` elsewhere
because it has nothing to say; a person who says ``O`` has looked and found nothing. What tells them
apart is what becomes of *lone claims*. For a source j held out and a token at which s others claim type
k, count n_jk(s) tokens and h_jk(s) that j confirms. What is true is confirmed at j's coverage
c_jk = h_jk(2+) / n_jk(2+), however many others have seen it, and what is false at their habit b_jk of
claiming it where nobody does; so the share of claims of one other that are true is
π_k = Σ_j (h_jk(1) - n_jk(1) b_jk) / Σ_j n_jk(1) (c_jk - b_jk). (Tokens at which two types are claimed
are passed over: who says another type has not denied that there is something.) Where lone claims are
right often enough to be worth naming, the silence of the others denied nothing: the type is *open*, and
``O`` is no vote against it. Nor is it one of a source that never speaks of the type. All counts are sums
over sentences.

A source that marks part of a name and says ``O`` beside it has said where the name ends. That ``O`` is a
vote, unless lone claims are so often right (:data:`SURELY`) that sources seem to know different names.

**Told by the user.** With ``abstain="O"`` an ``O`` is no vote. Where all who saw a token abstain, the
abstaining label stands; a method that learns how often labels occur must not learn it there, or the
mass of silence would outvote every opinion. So methods work on the stretches where somebody speaks,
each a sequence of its own, and the labels are put back between the silences. Methods with a predictor
need whole sentences; for them silence is a known label.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.engine import Parts, Sums, as_parts
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.confirmation import Confirmations, count_confirmations, drop_silence
from seqtruth.kernels.threads import chunk_bounds, map_chunks

Column = TypeVar("Column", Tags, F32)

#: More sources times types than this are counted in one piece.
MANY_CELLS = 1 << 18
#: A claim is worth naming from this probability on (F1 is highest at half of itself), lone claims too.
BELIEVED = 0.4
#: So many voices on a marked token, on average, are about three; and so many, about five.
THREE, FIVE = 2.5, 4.0
#: From this one on, sources are so silent that not even their ``O`` beside their own marks is a vote.
SURELY = 0.55
#: Fewer expected confirmations in all than this tell nothing.
FEWEST = 5
#: So many expected confirmations (and more where chance confirms, too) tell as much about a type as all
#: types together do, where sources speak of few types each; and where they speak of most of them.
POOLED, POOLED_PEOPLE = 20, 200
#: Mean share of the types that sources speak of, from which on these are most of them.
MOST_TYPES = 0.5
#: Coverage is learnt from at least so many claims that two others share.
ENOUGH = 5
#: A source is taken to claim at random until so many tokens where nobody else does have shown otherwise.
UNSEEN = 20
#: So many chances to speak of a type, and none taken: the source does not speak of it.
OCCASIONS = 10
#: Where so many pairs of a source and a type have no claim at all, sources are rules.
RULES = 0.25
#: Sources that share less than this of what others claim are taken for silent where nothing can be learnt.
LITTLE = 0.35
#: Precision of sources that is taken for granted where nothing can be learnt about it.
USUAL_PRECISION = 0.85


class Silence(NamedTuple):
    """What ``O`` means in a crowd, for each source and type.

    annotators, types : names of the W sources and K types.
    silent : bool[W, K], the decision: whether the source's ``O`` is no vote against the type. It never
        speaks of the type though it had occasion to; or the type is open; or, where some type is or a
        quarter of all never speak of a type, the source covers less than half of it.
    seldom : bool[W, K], softer: the type is open, or the source covers less than half of it or never
        speaks of it. People who miss much are among these, though their ``O`` is a vote.
    open : bool[K], types of which lone claims are worth naming (learnt or assumed).
    lone : float64[K], the probability that a claim of the type which nobody shares is right.
    known : bool[K], whether that was learnt from the crowd (else assumed).
    coverage : float64[W, K], share of what others claim that a source claims, too.
    first_weight : float64[K], what an ``O`` counts against a claim in a first vote.
    border_weight : float64[K], the same where it stands beside a mark of the source's own.
    overlaps : whether anybody labelled a token at which somebody else claims something.
    voices : annotators who labelled a token at which anybody claims something, on average.
    majorities : whether sources speak of most types and about three of them see a marked token, so that
        where nothing else is known a majority does.
    """

    annotators: tuple[str, ...]
    types: tuple[str, ...]
    silent: Bool
    seldom: Bool
    open: Bool
    lone: F64
    known: Bool
    coverage: F64
    first_weight: F64
    border_weight: F64
    overlaps: bool
    voices: float
    majorities: bool

    @property
    def in_doubt(self) -> bool:
        """Whether nothing tells silence from a vote: lone claims are taken to be worth naming, not known
        to be, and sources do not look like rules."""
        rules = self.silent[:, self.open].all()
        return bool(self.open.any() and not self.known.any() and not rules)

    @property
    def found(self) -> bool:
        """Whether anybody's ``O`` is no vote."""
        return bool(self.silent.any())

    def sentence(self) -> str:
        """What was decided, for people; empty where every ``O`` is a vote.

        >>> votes = {"a": [["B-X", "O"]] * 12, "b": [["O", "B-Y"]] * 12}
        >>> understand_silence(Crowd.of(votes, [["u", "v"]] * 12)).sentence()
        '2 sources are silent where they have nothing to say: their O is not counted as a vote'
        """
        if not self.found:
            return ""
        n = int(self.silent.any(axis=1).sum())
        return (
            f"{n:,} {'source is' if n == 1 else 'sources are'} silent where they have nothing to say: "
            "their O is not counted as a vote"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: for each source the types its ``O`` does not deny, for each type the
        evidence."""
        quiet = {
            name: [kind for kind, yes in zip(self.types, row, strict=True) if yes]
            for name, row in zip(self.annotators, self.silent.tolist(), strict=True)
        }
        return {
            "silent": {name: kinds for name, kinds in quiet.items() if kinds},
            "lone_claims_right": dict(zip(self.types, self.lone.round(4).tolist(), strict=True)),
            "learnt": bool(self.known.all()),
        }


def understand_silence(crowd: Crowd | Parts, counted: Bool | None = None) -> Silence:
    """Find out whose ``O`` is a vote (see the head of this module).

    Parameters
    ----------
    crowd : the annotations, whole or in parts.
    counted : bool[W], sources that count as witnesses: one of each group of copies, which confirm
        each other and nothing else. All where not given.

    Examples
    --------
    Three people who mark the same and three rules that each know other names:

    >>> people = {w: [["B-X", "O", "B-X"]] * 20 for w in "abc"}
    >>> understand_silence(Crowd.of(people, [["u", "v", "w"]] * 20)).found
    False
    >>> rules = {w: [["B-X" if (i + n) % 3 else "O" for i in range(6)]] * 9 for n, w in enumerate("abc")}
    >>> understand_silence(Crowd.of(rules, [list("uvwxyz")] * 9)).found
    True
    """
    parts = as_parts(crowd)
    every = np.ones(parts.n_annotators, np.bool_)
    sums = parts.add_up(partial(confirmations, counted=every if counted is None else counted))
    return silence_of(parts.annotators, parts.scheme, Confirmations(**sums))


def nobody_can_tell(silence: Silence) -> Silence:
    """Where lone claims can be judged by nobody and no predictor, each is worth naming, unless there are
    majorities."""
    if silence.majorities:
        return silence
    none = np.zeros_like(silence.first_weight)
    return silence._replace(open=np.ones_like(silence.open), first_weight=none, border_weight=none)


def all_votes(silence: Silence) -> Silence:
    """As if every ``O`` were a vote."""
    return silence._replace(
        silent=np.zeros_like(silence.silent),
        seldom=np.zeros_like(silence.seldom),
        open=np.zeros_like(silence.open),
        first_weight=np.ones_like(silence.first_weight),
        border_weight=np.ones_like(silence.border_weight),
    )


def confirmations(part: Crowd, counted: Bool) -> Sums:
    """Σ over the sentences of a part: what :class:`~seqtruth.kernels.confirmation.Confirmations` counts."""
    view, types = part.view, part.scheme.type_of
    n_types = len(part.scheme.types)

    def run(first: int, last: int) -> Confirmations:
        shape = part.n_annotators, n_types
        out = Confirmations(
            np.zeros((*shape, 2), np.int64), np.zeros((*shape, 2), np.int64),
            np.zeros(shape, np.int64), np.zeros(shape[0], np.int64), np.zeros(2, np.int64),
        )  # fmt: skip
        count_confirmations(view, first, last, types, counted, out)
        return out

    bounds = chunk_bounds(view.token_offsets)
    if part.n_annotators * n_types > MANY_CELLS:  # a table for every chunk would be too much memory
        bounds = bounds[[0, -1]]
    found = [run(0, 0), *map_chunks(run, bounds)]
    columns = (sum(column[1:], column[0]) for column in zip(*found, strict=True))
    return dict(zip(Confirmations._fields, columns, strict=True))


def silence_of(annotators: tuple[str, ...], scheme: Scheme, sums: Confirmations) -> Silence:
    """What the counts say."""
    asked, given = sums.asked.astype(np.float64), sums.given.astype(np.float64)
    one, more = asked[..., 0], asked[..., 1]
    share = given[..., 1] / np.maximum(more, 1)
    # a source's types share what is known of its coverage, see below
    enough = np.repeat(more.sum(axis=1, keepdims=True) >= ENOUGH, more.shape[1], axis=1)
    # a type of which hardly two ever agree: they cover it as they cover the others
    usual_share = given[..., 1].sum(axis=1) / np.maximum(more.sum(axis=1), 1)
    drawn = (given[..., 1] + ENOUGH * usual_share[:, None]) / (more + ENOUGH)
    covers = np.where(sums.claims > 0, drawn, 0.0)
    # who claims a type as often where nobody else does confirms nothing (spammers); so does, for all
    # that is known, who was hardly seen there
    unasked = sums.labelled[:, None] - asked.sum(axis=-1)
    alone = sums.claims - given.sum(axis=-1)
    habit = np.minimum((alone + UNSEEN * covers) / (unasked + UNSEEN), covers)
    expected = (one * (covers - habit) * enough).sum(axis=0)
    confirmed = np.maximum(((given[..., 0] - one * habit) * enough).sum(axis=0), 0.0)
    learnt = expected.sum() >= FEWEST
    claimed = sums.claims.any(axis=0)
    speaks = (sums.claims[:, claimed] > 0).mean() if claimed.any() else 1.0
    if learnt:  # types share what they have
        usual = np.full(len(scheme.types), confirmed.sum() / expected.sum())
    else:  # what agreement there is, and a usual precision
        agreement = _agreement(sums, speaks >= MOST_TYPES)
        usual = np.clip((USUAL_PRECISION - agreement) / (1 - agreement), 0.05, 1.0)
    noise = np.sqrt((one * habit * (1 - habit) * enough).sum(axis=0))
    # what chance confirms must not look learnt
    pull = (POOLED_PEOPLE if speaks >= MOST_TYPES else POOLED) + 3 * noise
    lone = np.clip((confirmed + pull * usual) / (expected + pull), 0, 1)
    people = bool(learnt and speaks >= MOST_TYPES)
    if learnt:  # from "one other claims it" to "nobody else does": those that were left unconfirmed
        found = np.stack([(covers * one).sum(axis=0), one.sum(axis=0)])
        found = np.broadcast_to(found.sum(axis=1, keepdims=True), found.shape) if people else found
        missed = 1 - found[0] / np.maximum(found[1], 1)
        lone = lone * missed / np.maximum(lone * missed + 1 - lone, 1e-9)
    overlaps = bool(sums.marked[1] > sums.marked[0])
    if (
        overlaps and not sums.asked.any()
    ):  # where there is a claim there is a rival: nothing is known
        lone = np.zeros(len(scheme.types))
    known = np.full(len(scheme.types), learnt)
    is_open = lone >= BELIEVED
    width = max(2.0, sums.marked[1] / max(sums.marked[0], 1))
    rough = given.sum(axis=-1) / np.maximum(asked.sum(axis=-1), 1)
    coverage = np.where(more >= ENOUGH, share, rough)
    never = (sums.claims == 0) & (asked.sum(axis=-1) >= OCCASIONS)
    like_rules = not learnt and _speak_of_little(never, sums)
    majorities = bool(speaks >= MOST_TYPES and width >= THREE and not like_rules)
    if majorities and not learnt:
        is_open[:] = False
    elif majorities:  # they miss much, or they do not; not one type so and the other so
        mean = (lone * one.sum(axis=0)).sum() / max(one.sum(), 1)
        seen = given[..., 1].sum() / max((more * (sums.claims > 0)).sum(), 1)
        is_open[:] = seen < 0.5 and _better_named(sums, width, seen, mean)
    odds = (1 - lone) / np.maximum(lone * (width - 1), 1e-9)
    weight = np.where(is_open, 0.0, 1.0 if learnt or majorities else np.minimum(odds, 1.0))
    border = np.where((lone >= SURELY) & (is_open | (not majorities)), 0.0, 1.0)
    by_chance = expected < 3 * noise
    sure = claimed & is_open & ~by_chance & (learnt or like_rules)
    rules = sure.any() or (claimed.any() and never[:, claimed].mean() >= RULES)
    silent = never | sure | (rules & (coverage < 0.5))
    return Silence(
        tuple(annotators), scheme.types, silent & (scheme.outside >= 0),
        is_open | (coverage < 0.5) | (sums.claims == 0), is_open, lone, known, coverage, weight,
        border, overlaps, float(width), majorities,
    )  # fmt: skip


def _speak_of_little(never: Bool, sums: Confirmations) -> bool:
    """Whether these look like rules where nobody can tell how often they are right: half of them or more
    never speak of a type, or they share little of what others claim, even where two do."""
    claimed = sums.claims.any(axis=0)
    if claimed.sum() > 1 and never[:, claimed].mean() >= 0.5:
        return True
    # of what two others claim, where there is enough of it
    two = sums.asked[..., 1].sum(axis=1) >= ENOUGH
    asked, given = (
        np.where(two, counts[..., 1].sum(axis=1), counts.sum(axis=(1, 2)))
        for counts in (sums.asked, sums.given)
    )
    share = given[asked > 0] / asked[asked > 0]
    agree = sums.given[..., 1].sum() >= 0.5 * max(sums.asked[..., 1].sum(), 1)
    return bool(asked.sum() >= OCCASIONS and share.mean() < LITTLE and not agree)


def _better_named(sums: Confirmations, width: float, seen: float, lone: float) -> bool:
    """Whether naming all claims can be expected to have a higher F1 than naming those of majorities.

    Parameters
    ----------
    width : voices on a marked token, on average.
    seen : share of what two others claim that a source claims, too.
    lone : share of the claims that nobody shares which are right; those of two or more are taken to be.
    """
    one = sums.claims.sum() - sums.given.sum()
    two = sums.given[..., 0].sum() / 2
    more = max(sums.asked[..., 1].sum() - two * (width - 2), 0.0) / width
    right = lone * one + two + more
    there = right / max(1 - (1 - seen) ** width, 1e-9)
    settled = more if width >= FIVE else two + more
    every = right / max(one + two + more + there, 1e-9)
    return bool(every >= settled / max(settled + there, 1e-9))


def _agreement(sums: Confirmations, people: bool) -> F64:
    """float64[K]: how often those who speak of a type confirm the claim of one other; the same of all
    types where sources speak of most of them."""
    speaks = sums.claims > 0
    given = (sums.given[..., 0] * speaks).sum(axis=0)
    asked = (sums.asked[..., 0] * speaks).sum(axis=0)
    if people:
        given, asked = np.full_like(given, given.sum()), np.full_like(asked, asked.sum())
    return np.asarray(np.minimum(given / np.maximum(asked, 1), 0.99))


def without_silence(part: Crowd, silent: Bool) -> Crowd:
    """The crowd without every ``O`` of sources that are silent on all that others claim at the token.

    Parameters
    ----------
    silent : bool[W, K], as in :class:`Silence`.
    """
    tags = part.tags.copy()
    _drop(part, silent, tags, np.zeros((0, part.n_labels), np.bool_))
    return replace(part, tags=tags)


def possible_labels(part: Crowd, silent: Bool) -> Bool:
    """bool[T, L]: what can be true of each token once silence is understood.

    Where nobody claims anything, ``O``; where somebody does and every ``O`` is silence, the types that
    are claimed; elsewhere any label.
    """
    allowed = np.ones((part.n_tokens, part.n_labels), np.bool_)
    _drop(part, silent, part.tags.copy(), allowed)
    return allowed


def _drop(part: Crowd, silent: Bool, tags: Tags, allowed: Bool) -> None:
    view, types = part.view, part.scheme.type_of
    map_chunks(
        lambda a, b: drop_silence(view, a, b, types, silent, tags, allowed),
        chunk_bounds(view.token_offsets),
    )


def spoken_and_seen(crowd: Crowd, label: str) -> tuple[Bool, Bool]:
    """bool[T] twice: does anybody give another label than ``label``, and did anybody see the token?"""
    _, token = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))
    number = crowd.scheme.index(label)
    spoken, seen = np.zeros(crowd.n_tokens, np.bool_), np.zeros(crowd.n_tokens, np.bool_)
    seen[token[crowd.tags >= 0]] = True
    spoken[token[(crowd.tags >= 0) & (crowd.tags != number)]] = True
    return spoken, seen


class Stretches(NamedTuple):
    """The crowd on the stretches where somebody speaks, and the tokens they are made of."""

    crowd: Crowd
    token: I64

    def back(self, values: Column, rest: Column) -> Column:
        """Values of the stretches laid over ``rest``, which covers all tokens."""
        out = rest.copy()
        out[self.token] = values
        return out


def stretches(crowd: Crowd, spoken: Bool) -> Stretches:
    """Cut sentences at silent tokens; annotators keep their rows on every stretch of a sentence."""
    corpus = crowd.corpus
    sentence = np.repeat(np.arange(crowd.n_sentences), np.diff(corpus.token_offsets))
    token = np.flatnonzero(spoken)
    breaks = np.ones(len(token), np.bool_)
    breaks[1:] = (np.diff(token) > 1) | (np.diff(sentence[token]) > 0)
    first = np.flatnonzero(breaks)
    offsets = np.append(first, len(token)).astype(np.int64)
    home = sentence[token[first]]
    ids = corpus.sentence_ids.take(home).to_pylist()
    parts = Corpus(
        offsets,
        pa.array([f"{name}\x1f{token[at]}" for name, at in zip(ids, first, strict=True)]),
        None if corpus.tokens is None else corpus.tokens.take(token),
        corpus.documents,
        corpus.sentence_document[home],
    )
    of_sentence = np.searchsorted(home, np.arange(crowd.n_sentences + 1)).astype(np.int64)
    counts, part = gather(of_sentence, crowd.row_sentence.astype(np.int64))
    row = np.repeat(np.arange(crowd.n_rows), np.diff(counts))
    begin = crowd.row_offsets[row] + token[first[part]] - corpus.token_offsets[home[part]]
    lengths = np.diff(offsets)[part]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.repeat(begin - ends[:-1], lengths) + np.arange(ends[-1])
    made = Crowd.build(
        parts, crowd.scheme.labels, crowd.annotators, part, crowd.row_annotator[row], crowd.tags[flat],
        crowd.scheme.kind,
    )  # fmt: skip
    return Stretches(made.recode(crowd.scheme), token)
