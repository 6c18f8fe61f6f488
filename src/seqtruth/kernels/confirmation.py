"""How often what others claim is claimed by one more source, too."""

from __future__ import annotations

from typing import NamedTuple

from seqtruth.kernels.arrays import I16, I64, Bool, Tags
from seqtruth.kernels.native import call
from seqtruth.kernels.views import CrowdView


class Confirmations(NamedTuple):
    """Counts of claims, added to by :func:`count_confirmations`.

    asked : int64[W, K, 2], tokens a source labelled at which one other (two or more others) claim a type and
        nobody another one.
    given : int64[W, K, 2], those at which the source claims it, too.
    claims : int64[W, K], tokens at which a source claims a type.
    labelled : int64[W], tokens that a source labelled.
    marked : int64[2], tokens at which anybody claims anything, and labels given there.
    """

    asked: I64
    given: I64
    claims: I64
    labelled: I64
    marked: I64


def count_confirmations(
    crowd: CrowdView, first: int, last: int, type_of: I16, counted: Bool, out: Confirmations
) -> None:
    """Count on the sentences first … last - 1.

    Parameters
    ----------
    type_of : int16[L], each label's type; -1: claims nothing.
    counted : bool[W], sources that count; of all others only ``claims`` and ``labelled`` are.
    """
    call("count_confirmations", crowd, first, last, type_of, counted, out)


def drop_silence(
    crowd: CrowdView, first: int, last: int, type_of: I16, silent: Bool, tags: Tags, allowed: Bool
) -> None:
    """Make -1 of every label that claims nothing and denies nothing, on the sentences first … last - 1.

    Parameters
    ----------
    type_of : int16[L], each label's type; -1: claims nothing.
    silent : bool[W, K], whether a source that claims nothing denies nothing of a type.
    tags : tag[A], changed in place.
    allowed : bool[T, L], set to what can be true: where nobody claims anything, what claims nothing;
        where somebody does and nobody denies it, labels of the types claimed; anything elsewhere, and
        where nobody looked. Or bool[0, L], where that is not asked for.
    """
    call("drop_silence", crowd, first, last, type_of, silent, tags, allowed)
