"""Is one labelling better than another, or was it luck with the documents?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seqtruth.data.corpus import Corpus
from seqtruth.data.labelling import Labelling
from seqtruth.errors import DataError, ParameterError
from seqtruth.metrics.align import Aligned, Source, align, as_labelling
from seqtruth.metrics.score import ratio
from seqtruth.metrics.sentences import Sentences
from seqtruth.metrics.span import match, sentence_counts

#: Documents below which an interval over documents says nothing: two of them have three ways to be drawn.
FEWEST_UNITS = 5
#: Resampled document counts held in memory at a time.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Comparison:
    """Difference of two span F1s with its uncertainty.

    Parameters
    ----------
    level : of the interval.
    n_resamples : how often was resampled.
    strict : how spans were read.
    first, second : F1 of the two labellings on the common sentences.
    low, high : percentile interval of ``first - second`` at confidence ``level``.
    p : two-sided p-value for "no difference".
    n_units : documents (or sentences, where documents are unknown) that were resampled.
    """

    first: float
    second: float
    low: float
    high: float
    p: float
    level: float
    n_units: int
    n_resamples: int
    strict: str = "conlleval"

    @property
    def difference(self) -> float:
        """F1 of the first minus F1 of the second."""
        return self.first - self.second

    def __str__(self) -> str:
        return (
            f"F1 {100 * self.first:.2f} against {100 * self.second:.2f}: "
            f"{100 * self.difference:+.2f} "
            f"({100 * self.level:g} % interval {100 * self.low:+.2f} to {100 * self.high:+.2f}, "
            f"p = {self.p:.3f})"
        )


def paired_bootstrap(
    first: Source,
    second: Source,
    gold: Source,
    sentences: Sentences | None = None,
    strict: str = "conlleval",
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> Comparison:
    """Paired bootstrap over documents of the difference in strict span F1.

    Documents, not sentences, are drawn with replacement, because the sentences of one article
    share their names and their annotators. Where the corpus knows no documents, every sentence is
    one.

    Parameters
    ----------
    first, second : the labellings to compare; both are scored on the sentences they share.
    gold : the truth.
    sentences : score these only (mask, numbers or ids over the sentences of ``first``).
    strict : the reading of spans.
    n_resamples : number of resampled corpora.
    level : confidence of the interval.
    seed : seed or generator.

    References
    ----------
    Berg-Kirkpatrick, Burkett and Klein (2012), "An Empirical Investigation of Statistical
    Significance in NLP". https://aclanthology.org/D12-1091

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> tokens = [["Ann"], ["Bo"], ["Cy"]]
    >>> good = Crowd.of({"a": [["B-PER"], ["B-PER"], ["B-PER"]]}, tokens)
    >>> poor = Crowd.of({"a": [["B-PER"], ["O"], ["O"]]}, tokens)
    >>> print(paired_bootstrap(good, poor, gold=good, n_resamples=200).difference)
    0.5
    """
    if n_resamples < 1:
        raise ParameterError("n_resamples must be at least 1", got=str(n_resamples))
    if not 0 < level < 1:
        raise ParameterError("level must be between 0 and 1", got=str(level))
    counts = _document_counts(first, second, gold, sentences, strict)
    n_units = len(counts)
    if not n_units:
        raise DataError("there is no sentence with gold to compare on")
    rng = np.random.default_rng(seed)
    differences = np.empty(n_resamples)
    step = max(1, _BLOCK // n_units)
    share = np.full(n_units, 1 / n_units)
    for a in range(0, n_resamples, step):
        b = min(a + step, n_resamples)
        drawn = rng.multinomial(n_units, share, size=b - a)
        sums = drawn @ counts
        differences[a:b] = _f1(sums[:, :3]) - _f1(sums[:, 3:])
    tail = (1 - level) / 2
    low, high = np.quantile(differences, [tail, 1 - tail])
    beyond = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    total = counts.sum(axis=0)[np.newaxis]
    return Comparison(
        first=float(_f1(total[:, :3])[0]),
        second=float(_f1(total[:, 3:])[0]),
        low=float(low),
        high=float(high),
        p=min(1.0, 2 * (beyond + 1) / (n_resamples + 1)),
        level=level,
        n_units=n_units,
        n_resamples=n_resamples,
        strict=strict,
    )


def _document_counts(
    first: Source, second: Source, gold: Source, sentences: Sentences | None, strict: str
) -> npt.NDArray[np.int64]:
    """int64[D, 6]: correct, predicted and gold spans of first, then of second, per document."""
    truth, other = as_labelling(gold), as_labelling(second)
    ours = align(first, truth, sentences)
    same = other.corpus.find(ours.result.corpus.sentence_ids)
    theirs = align(other, truth, same if len(same) and (same >= 0).all() else None)
    # both carry the gold's ids now, so the common sentences are found by them
    place = theirs.gold.corpus.find(ours.gold.corpus.sentence_ids)
    shared = place >= 0
    counts = np.concatenate(
        [_counts(ours, strict)[shared], _counts(theirs, strict)[place[shared]]], axis=1
    )
    unit = _units(ours.result, ours.gold)[shared]
    names, number = np.unique(unit, return_inverse=True)
    sums = np.zeros((len(names), 6), np.int64)
    np.add.at(sums, number, counts)
    return sums


def _counts(pair: Aligned, strict: str) -> npt.NDArray[np.int64]:
    n_sentences = pair.gold.corpus.n_sentences
    return sentence_counts(match(pair.result, pair.gold, strict), n_sentences)


def _units(result: Labelling, gold: Labelling) -> npt.NDArray[np.int64]:
    """Number of each sentence's document; its own number where documents are unknown."""
    for corpus in (gold.corpus, result.corpus):
        if knows_documents(corpus):
            return np.asarray(corpus.sentence_document, np.int64)
    return np.arange(gold.corpus.n_sentences)


def knows_documents(corpus: Corpus) -> bool:
    """Whether the corpus has documents, or only sentences."""
    return len(corpus.documents) > 1 or corpus.documents[:1] not in ((), ("",))


def _f1(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return ratio(2 * counts[:, 0], counts[:, 1] + counts[:, 2])
