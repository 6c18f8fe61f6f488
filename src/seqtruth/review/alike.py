"""What cases have in common, and how decisions about some speak for others.

Cases are alike where they share attributes: the same two types waver, in the same document, over the same
text, between the same neighbours, in a line of the same kind. With ``log p`` the log probabilities of a
case's types (the last is "nothing"), the type is taken to be drawn from

    softmax(log p + f),    f = Σ over attributes a of w_a,    w_a ~ N(0, variance of its kind)

which is logistic regression with a Gaussian prior, solved by its dual: k(i, j), the summed variances of the
attributes that i and j share, says how alike they are, and f of any case is Σ_i k(·, i) α_i over the decided
ones. Each step minimises Böhning's bound on the log likelihood (the Hessian is at most ½ I), so that the one
inverse is made once and the likelihood never falls.

References
----------
D. Böhning: Multinomial logistic regression algorithm. Annals of the Institute of Statistical Mathematics
44 (1992). https://doi.org/10.1007/BF00048682
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.decisions.cases import Cases
from seqtruth.kernels.arrays import F64, I64

#: Variance of what an attribute of each kind says; chosen on ``nguyen_val`` and PICO's even documents.
VARIANCE = {
    "label": 0.1, "pair": 0.2, "document": 1.2, "document, pair": 2.0, "document, text": 4.0, "text": 2.0,
    "before": 0.8, "after": 0.8, "shapes": 1.6, "line": 1.6,
}  # fmt: skip
#: Decided cases that are learnt from at most; the work grows with their cube.
MOST = 2000
#: Steps at most, and the change of f that is too small to matter.
STEPS, SMALL = 60, 1e-3


def attributes(corpus: Corpus, cases: Cases) -> dict[str, I64]:
    """For each kind of attribute, a number a case; equal numbers are the same attribute.

    Parameters
    ----------
    corpus, cases : the text and what is in doubt in it.
    """
    label, rival = cases.label.tolist(), cases.rival.tolist()
    document, text = cases.document.tolist(), cases.surface.tolist()
    found: dict[str, Iterable[Any]] = {
        "label": label,
        "pair": zip(label, rival, strict=True),
        "document": zip(document, label, strict=True),
        "document, pair": zip(document, label, rival, strict=True),
    }
    if corpus.tokens is not None:
        before, after, shapes, line = _surroundings(corpus, cases)
        found |= {
            "document, text": zip(document, text, strict=True),
            "text": text,
            "before": zip(before, label, strict=True),
            "after": zip(after, label, strict=True),
            "shapes": zip(shapes, label, strict=True),
            "line": zip(line, label, strict=True),
        }
    return {kind: _numbers(values) for kind, values in found.items()}


def _numbers(values: Iterable[Any]) -> I64:
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(value, len(seen)) for value in values], np.int64)


def _surroundings(
    corpus: Corpus, cases: Cases
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """The words before and behind each mark, shapes of both and of the mark, and what its line is like."""
    before, after, shapes, line = [], [], [], []
    at, words, kind = -1, list[str](), (0, 0, 0)
    columns = (cases.sentence.tolist(), cases.first.tolist(), cases.last.tolist())
    for sentence, first, last in zip(*columns, strict=True):
        if sentence != at:
            at, words = sentence, corpus.words(sentence)
            kind = _line([shape(word) for word in words])
        left = words[first - 1] if first else ""
        right = words[last] if last < len(words) else ""
        before.append(left.lower())
        after.append(right.lower())
        shapes.append((shape(left), *map(shape, words[first : min(last, first + 3)]), shape(right)))
        line.append(kind)
    return before, after, shapes, line


def _line(shapes: list[str]) -> tuple[int, int, int]:
    """How long it is, and which share of its words are numbers, and capitals: coarsely."""
    n = len(shapes)
    return min(n // 5, 6), 4 * sum("9" in one for one in shapes) // n, 4 * shapes.count("AA") // n


def shape(word: str) -> str:
    """What a word looks like: a coarse class.

    >>> [shape(word) for word in ("NEW", "York", "won", "2-1", "1996", ",", "")]
    ['AA', 'Aa', 'a', 'a9', '9', ',', '']
    """
    if word.isdigit():
        return "9"
    if any(letter.isdigit() for letter in word):
        return "a9"
    if word.isupper() and len(word) > 1:
        return "AA"
    if word[:1].isupper():
        return "Aa"
    return "a" if word.isalpha() else word[:1]


def shifts(
    of: Mapping[str, I64], log_p: F64, answer: I64, variance: Mapping[str, float] = VARIANCE
) -> F64:
    """float64[C, K]: f of all cases, learnt from those with an answer.

    Parameters
    ----------
    of : attributes of the cases.
    log_p : float64[C, K], log probabilities of the types.
    answer : int64[C], the type that was decided; below 0 where none was.
    variance : of each kind of attribute.

    Examples
    --------
    Two of three like cases were decided to be 0 where 1 was likelier:

    >>> alike = {"text": np.array([0, 0, 0, 1])}
    >>> f = shifts(alike, np.log([[0.3, 0.7]] * 4), np.array([0, 0, -1, -1]), {"text": 2.0})
    >>> bool(f[2, 0] > f[2, 1]), f[3].tolist()
    (True, [0.0, 0.0])
    """
    taught = np.flatnonzero(answer >= 0)
    if len(taught) > MOST:  # those that surprised most say most
        chance = log_p[taught, answer[taught]]
        taught = np.sort(taught[np.argsort(chance, kind="stable")[:MOST]])
    out = np.zeros_like(log_p)
    if not len(taught):
        return out
    alpha = _dual({kind: values[taught] for kind, values in of.items()}, log_p[taught],
                  answer[taught], variance)  # fmt: skip
    for kind, values in of.items():
        n = int(values.max()) + 1
        for column in range(log_p.shape[1]):
            said = np.bincount(values[taught], alpha[:, column], minlength=n)
            out[:, column] += variance[kind] * said[values]
    return out


def _dual(
    of: Mapping[str, I64], log_p: F64, answer: I64, variance: Mapping[str, float]
) -> F64:  # fmt: skip
    """float64[N, K]: α of the decided cases."""
    n, n_types = log_p.shape
    kernel = np.zeros((n, n))
    for kind, values in of.items():
        kernel += variance[kind] * (values[:, None] == values[None, :])
    inverse = np.linalg.inv(np.eye(n) + kernel / 2)
    given = np.eye(n_types)[answer]
    f, alpha = np.zeros((n, n_types)), np.zeros((n, n_types))
    for _ in range(STEPS):
        alpha = inverse @ (f / 2 - (softmax(log_p + f) - given))
        new = kernel @ alpha
        moved, f = float(np.abs(new - f).max()), new
        if moved < SMALL:
            break
    return alpha


def softmax(logs: F64) -> F64:
    """float64[N, K]: rows that add up to one."""
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
