"""Where nobody speaks: what a predictor finds that silent sources do not know.

Rules that are silent where they have nothing to say leave gaps: names that none of them knows. A
predictor that learnt from their labels knows how names look, and finds some of these; but it has also
learnt from the gaps that they are none. If sources claim a share c of what there is, whatever it looks
like, a predictor learns to say c p(x) where a name is there with probability p(x), and what is left
unclaimed is one with

    P(name | x, unclaimed) = p(x) (1 - c) / (1 - c p(x)) = q / (1 - q) · (1 - c) / c,    q = c p(x)

(Elkan & Noto 2008). Read as odds, which is cautious, that is the predictor's own log odds, moved by
log (1 - c) / c once a span. c is found by counting: if of m witnesses who speak of a type one claims f1
spans and two claim f2, at least (m - 1)/m · f1 (f1 - 1) / 2 (f2 + 1) are claimed by nobody (Chao 1987).
Types of which only one speaks borrow from the others. c is never taken to be below one half.

The predictor is heard in gaps alone: tokens that nobody marks, nor one beside them. What sources claim is
for them to say, since their silence denies nothing that a predictor could be judged by. It must know
enough to foretell some of that, each on what it has not seen: who does not is not heard in gaps either.

References
----------
Elkan & Noto (2008), Learning classifiers from only positive and unlabeled data, KDD.
doi:10.1145/1401890.1401920
Chao (1987), Estimating the population size for capture-recapture data with unequal catchability,
Biometrics. doi:10.2307/2531532
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.engine import Sums
from seqtruth.fitted import Source
from seqtruth.kernels.arrays import F64, Bool, Tags
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.spans import BEGIN, SINGLE
from seqtruth.methods.abstention import Silence
from seqtruth.methods.accord.annotators import Population, Told, marked_posterior
from seqtruth.methods.accord.opinions import UNHEARD, Opinion
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.methods.marked import Marked

#: Sources are taken to claim at least, and at most, this share of what there is.
LEAST, MOST = 0.5, 0.98
#: Who foretells less of what sources claim (strict F1) is not heard. Spans are worth naming from half of the
#: F1 on that labels have, and in gaps a predictor will hardly be right more often than elsewhere.
FORETELLS = 1 / 3


def leave_gaps(silence: Silence, claims: F64) -> Bool:
    """bool[K]: types that somebody speaks of and on which all sources are silent.

    Parameters
    ----------
    claims : float64[W, K], on how many tokens each annotator claims each type.
    """
    return np.asarray(silence.silent.all(axis=0) & claims.any(axis=0))


def claim_counts(part: Crowd, tell: Callable[[Crowd], Told], population: Population) -> Sums:
    """``claimed``, float64[K, 3]: expected spans of each type that one, two and any number of witnesses
    claim.

    Parameters
    ----------
    tell : what is known of a part.
    population : the annotators, as learnt.
    """
    told = tell(part)
    marked, scheme = told.marked, told.scheme
    found = marked_posterior(
        marked, population.table, population.prior, population.transition, told.known
    )
    n_types = len(scheme.types)
    out = np.zeros((n_types, 3))
    labels = marked.labels
    kind = scheme.type_of[labels.tag].astype(np.int64)
    said = (kind >= 0) & told.copies.leaders[told.copies.witness[labels.annotator]]
    witness = told.copies.witness[labels.annotator[said]]
    place = labels.token[said] * n_types + kind[said]
    once = np.unique(place * marked.crowd.n_annotators + witness) // max(
        marked.crowd.n_annotators, 1
    )
    where, voices = np.unique(once, return_counts=True)
    token, of = where // max(n_types, 1), where % max(n_types, 1)
    begins = _begin_mass(found.marginals.astype(np.float64), scheme)[token, of]
    for column, chosen in enumerate((voices == 1, voices == 2, voices > 0)):
        np.add.at(out[:, column], of[chosen], begins[chosen])
    return {"claimed": out}


def _begin_mass(marginals: F64, scheme: Scheme) -> F64:
    """float64[A, K]: probability that a span of each type begins; of schemes that do not say where spans
    begin, that the token is in one."""
    out = np.zeros((len(marginals), len(scheme.types)))
    for label in np.flatnonzero(_opens(scheme)):
        out[:, scheme.type_of[label]] += marginals[:, label]
    return out


def _opens(scheme: Scheme) -> Bool:
    """bool[L]: labels of which every span has one."""
    opens = np.isin(scheme.roles, (BEGIN, SINGLE)) & (scheme.type_of >= 0)
    return opens if opens.any() else np.asarray(scheme.type_of >= 0)


def coverage_of(claimed: F64, speakers: F64) -> F64:
    """float64[K]: share of what there is that sources claim.

    Parameters
    ----------
    claimed : float64[K, 3], see :func:`claim_counts`.
    speakers : float64[K], how many witnesses speak of each type.

    Examples
    --------
    >>> coverage_of(np.array([[30.0, 10.0, 60.0], [9.0, 0.0, 9.0]]), np.array([4.0, 1.0])).round(2).tolist()
    [0.67, 0.67]
    """
    one, two, any_ = claimed.T
    several = speakers > 1
    missed = (1 - 1 / np.maximum(speakers, 1)) * np.maximum(one * (one - 1), 0.0) / (2 * (two + 1))
    pooled = any_[several].sum() / max(any_[several].sum() + missed[several].sum(), 1e-9)
    own = any_ / np.maximum(any_ + missed, 1e-9)
    return np.asarray(np.where(several & (any_ > 0), own, pooled if several.any() else 1.0))


def shift_of(coverage: F64, gaps: Bool, scheme: Scheme) -> F64:
    """float64[L]: what is added to a predictor's log odds in gaps; labels of other types have none.

    Parameters
    ----------
    coverage : float64[K], see :func:`coverage_of`.
    gaps : bool[K], types that leave any (:func:`leave_gaps`).
    """
    c = np.clip(coverage, LEAST, MOST)
    by_type = np.append(np.where(gaps, np.log((1 - c) / c), UNHEARD), 0.0)
    opens = _opens(scheme)
    shift = np.where(opens, by_type[scheme.type_of], 0.0)
    closed = np.append(~gaps, False)[scheme.type_of]
    return np.asarray(np.where(closed, UNHEARD, shift))


def with_gaps(
    opinion: Opinion,
    marked: Marked,
    predictions: Sequence[tuple[str, F64]],
    shift: F64,
    known: Tags | None,
) -> Opinion:
    """Annotators alone (:func:`~seqtruth.methods.accord.opinions.annotators_alone`), and in gaps a predictor.

    What annotators and chain would say of a gap is taken out there: their silence is in ``shift``, and a
    predictor knows how labels follow each other.

    Parameters
    ----------
    opinion : of annotators alone.
    predictions : log opinion of each predictor by name, float64[T, L]; rows of zeros say nothing.
    shift : float64[L], see :func:`shift_of`.
    known : tag[T], labels known beforehand (-1: none).
    """
    crowd, scheme = marked.crowd, marked.scheme
    at = _gaps(marked, known)
    at = at[np.any([said[at].any(axis=1) for _, said in predictions], axis=0)]
    outside, weight = scheme.outside, 1.0 / len(predictions)
    rest = shift - _chain_says(opinion.chain, scheme)
    rest[outside] = 0.0
    quiet = opinion.share * label_scores(crowd, opinion.table)[at]
    usual = opinion.others.copy()
    usual[at] = rest - (quiet - quiet[:, [outside]])
    sources, others = [], usual.copy()
    for name, said in predictions:
        evidence = np.zeros((crowd.n_tokens, len(scheme.labels)), np.float32)
        evidence[at] = said[at] - said[at][:, [outside]]
        others += weight * evidence
        sources.append(Source(name, weight, evidence))
    sources += [
        source._replace(evidence=usual.astype(np.float32)) if k == 0 else source
        for k, source in enumerate(opinion.sources)
    ]
    return opinion._replace(others=others, sources=tuple(sources))


def _gaps(marked: Marked, known: Tags | None) -> np.ndarray:
    """int64[G]: tokens of labelled sentences that nobody marks, nor one beside them in the sentence."""
    crowd = marked.crowd
    offsets = crowd.corpus.token_offsets
    sentence = np.repeat(np.arange(crowd.n_sentences), np.diff(offsets))
    free = crowd.covered[sentence]
    free[marked.at] = False
    for step in (-1, 1):
        beside = marked.at + step
        inside = (beside >= 0) & (beside < len(free))
        beside, of = beside[inside], marked.at[inside]
        free[beside[sentence[beside] == sentence[of]]] = False
    if known is not None:
        free &= known < 0
    return np.flatnonzero(free)


def _chain_says(chain: Chain, scheme: Scheme) -> F64:
    """float64[L]: log weight that a label's place in a span between ``O`` has in the chain."""
    outside = scheme.outside
    logs = np.where(chain.transition > 0, np.log(np.maximum(chain.transition, 1e-300)), 0.0)
    allowed = scheme.allowed
    usual = logs[outside, outside]
    leave = np.where(allowed[:, outside], logs[:, outside] - usual, 0.0)
    leave[outside] = 0.0
    says = np.zeros(len(scheme.labels))
    for label in np.flatnonzero(scheme.type_of >= 0):
        before = outside
        if not allowed[outside, label]:
            same = (scheme.type_of == scheme.type_of[label]) & allowed[outside] & allowed[:, label]
            before = int(np.argmax(same))
        says[label] = logs[before, label] - usual + leave[label] - leave[before]
    return says
