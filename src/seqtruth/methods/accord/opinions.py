"""Ways to score labels: a model of the annotators, with or without what else is heard beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.fitted import Source
from seqtruth.kernels.arrays import F32, F64, Tags
from seqtruth.kernels.chain import FORBIDDEN, Chain, forward_backward
from seqtruth.methods.abstention import Silence
from seqtruth.methods.accord.annotators import (
    CHAIN,
    Population,
    Told,
    first_vote,
    stretch_chain,
    tempered,
)
from seqtruth.methods.accord.documents import Documents
from seqtruth.methods.accord.trust import LEAST, Beliefs, learn_trust, log_evidence
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.methods.marked import Marked
from seqtruth.predictors.base import Potentials

#: Trusts to begin with: the chain's, a predictor's, the document's.
CHAIN_TRUST, PREDICTOR_TRUST, DOCUMENT_TRUST = 0.5, 1.0, 0.5
#: Passes in which documents and trusts settle.
PASSES = 2
#: Log score of a label that nobody gives, where annotators alone decide.
UNHEARD = -40.0
#: Names of the document, and of what a label gains that nobody else could contradict, among the sources.
DOCUMENT, UNCONTRADICTED = "document", "uncontradicted"
#: Log score that a label gains where only one annotator looked.
BENEFIT = 1.0


class Opinion(NamedTuple):
    """One way to score labels.

    table : float64[W, P, C, L], the annotators' log tables (P is 1 where their own previous label
        does not matter).
    share : how much their evidence counts.
    others : float64[T, L], log scores of everything else.
    chain : weights of the label chain.
    sources : what ``others`` is the sum of.
    """

    table: F64
    share: float
    others: F64
    chain: Chain
    sources: tuple[Source, ...] = ()

    def scores(self, crowd: Crowd) -> F64:
        """float64[T, L]: everything together."""
        return self.share * label_scores(crowd, self.table) + self.others


def annotators_alone(
    marked: Marked, population: Population, share: float, use_chain: bool
) -> Opinion:
    """Confusion matrices and nothing else: where nobody speaks, the label is ``O``."""
    scheme, usual = marked.scheme, (1 - CHAIN) * np.log(population.prior)
    others = np.tile(usual, (marked.crowd.n_tokens, 1))
    if scheme.outside >= 0:
        others[:] = UNHEARD
        others[:, scheme.outside] = 0.0
        others[marked.at] = usual
    chain = Chain.legal(scheme.grammar)
    if use_chain:
        usual_chain = stretch_chain(tempered(population.transition, scheme), scheme)
        chain = usual_chain._replace(end=chain.end)
    said = Source("usual", 1.0, others.astype(np.float32))
    opinion = Opinion(population.table, share, others, chain, (said,))
    return with_benefit_of_doubt(opinion, marked)


def with_benefit_of_doubt(opinion: Opinion, marked: Marked) -> Opinion:
    """Believe annotators a little more where nobody else looked.

    How reliable they are was learnt where others did. Elsewhere EM and predictors would only confirm
    their own doubts, and the labels could be worse than what went in.
    """
    labels = marked.labels
    alone = np.flatnonzero((marked.voices == 1)[labels.token])
    if not len(alone):
        return opinion
    gain = np.zeros(opinion.others.shape, np.float32)
    gain[marked.at[labels.token[alone]], labels.tag[alone]] = 1.0
    sources = (*opinion.sources, Source(UNCONTRADICTED, BENEFIT, gain))
    return opinion._replace(others=opinion.others + BENEFIT * gain, sources=sources)


def vote(told: Told) -> Opinion:
    """All annotators equally reliable; copies and silence understood."""
    crowd, outside = told.marked.crowd, told.scheme.outside
    n = crowd.n_labels
    others = np.zeros((crowd.n_tokens, n))
    if outside >= 0:
        others[:] = UNHEARD
        others[:, outside] = 0.0
    others[told.marked.at] = np.log(np.maximum(first_vote(told), 1e-9))
    nobody = np.zeros((crowd.n_annotators, 1, n, n))
    return Opinion(nobody, 1.0, others, Chain.legal(crowd.scheme.grammar))


def blend(a: Opinion, b: Opinion, weight: float) -> Opinion:
    """Both, their log scores averaged, those of ``b`` with a weight between 0 and 1."""
    chain = Chain(*(x ** (1 - weight) * y**weight for x, y in zip(a.chain, b.chain, strict=True)))
    sources = tuple(_blended(x, y, weight) for x, y in zip(a.sources, b.sources, strict=True))
    others = (1 - weight) * a.others + weight * b.others
    return Opinion(blend_tables(a.table, b.table, weight), a.share, others, chain, sources)


def blend_tables(a: F64, b: F64, weight: float) -> F64:
    """float64[W, P, C, L]: log tables averaged, those of ``b`` with a weight."""
    return np.ascontiguousarray((1 - weight) * a + weight * b)


def _blended(a: Source, b: Source, weight: float) -> Source:
    mine, theirs = (1 - weight) * a.trust, weight * b.trust
    trust = mine + theirs
    both = (mine * a.evidence + theirs * b.evidence) / max(trust, 1e-12)
    return Source(a.name, trust, both.astype(np.float32))


class Model(NamedTuple):
    """A model of the annotators: their log tables, and how labels follow each other.

    chain : float64[L + 1, L], transitions, and in the last row how sentences start.
    """

    table: F64
    chain: F64


class Settled(NamedTuple):
    """Sources beside the annotators, trusted as far as they foretell them.

    opinion : with the document.
    posterior : float32[T, L], of labels without the document, which would be heard twice by who
        learns from it.
    value : log likelihood of the annotators' evidence (nan where trusts were given).
    trusts : of chain, predictors and document, one for each pass.
    """

    opinion: Opinion
    posterior: F32
    value: float
    trusts: tuple[F64, ...]

    @property
    def trust(self) -> F64:
        """Of chain, predictors and document, in the end."""
        return self.trusts[-1]


class Sources:
    """What is heard beside the annotators: chain, predictors and documents.

    Parameters
    ----------
    crowd : the annotations.
    known : tag[T], labels known beforehand.
    names : of the predictors.
    chain, trust, seed : as :class:`~seqtruth.methods.accord.accord.Accord` has them.
    documents : the repeated words, where they are heard.
    """

    def __init__(
        self,
        crowd: Crowd,
        known: Tags | None,
        names: Sequence[str],
        chain: bool,
        documents: Documents | None,
        trust: bool,
        seed: int,
    ) -> None:
        self.crowd, self.known, self.names, self.seed = crowd, known, names, seed
        self.use_chain, self.learn, self.documents = chain, trust, documents

    @cached_property
    def _marked(self) -> Marked:
        return Marked(self.crowd, self.known)

    def settle(
        self,
        model: Model,
        predictions: Sequence[Potentials],
        share: float,
        chained: bool = True,
        given: Sequence[F64] | None = None,
    ) -> Settled:
        """Hear predictors beside a model of the annotators.

        Parameters
        ----------
        model, share : the annotators', and how much they count.
        predictions : what the predictors say of sequences.
        chained : hear the label chain.
        given : trusts for each pass, as they were learnt elsewhere.
        """
        scheme = self.crowd.scheme
        chain = Chain(
            model.chain[-1].copy(), model.chain[:-1].copy(), scheme.end.astype(np.float64)
        )
        if not (self.use_chain and chained):
            chain = Chain.legal(scheme.grammar)
        heard = clamp(share * label_scores(self.crowd, model.table), self.known)
        n = len(predictions)
        first = np.array([CHAIN_TRUST, *[PREDICTOR_TRUST] * n])
        follow = tuple(said.chain for said in predictions)
        beliefs = Beliefs(chain, tuple(log_opinion(said) for said in predictions), first, follow)
        passes = iter(given) if given is not None else None
        beliefs, value = self._trusted(beliefs, heard, passes)
        trusts = [beliefs.trust]
        if self.documents is not None:
            for _ in range(PASSES):
                trust = beliefs.trust
                if len(trust) == 1 + n:
                    trust = np.append(trust, DOCUMENT_TRUST)
                said = self.documents.evidence(self._posterior(beliefs, heard))
                beliefs = beliefs._replace(features=(*beliefs.features[:n], said), trust=trust)
                beliefs, value = self._trusted(beliefs, heard, passes)
                trusts.append(beliefs.trust)
        taught = Beliefs(chain, beliefs.features[:n], beliefs.trust[: 1 + n], follow)
        others = beliefs.scores(np.zeros_like(heard))
        sources = tuple(
            Source(name, float(weight), said.astype(np.float32))
            for name, weight, said in zip(
                (*self.names[:n], DOCUMENT), beliefs.trust[1:], beliefs.features, strict=False
            )
        )
        opinion = Opinion(model.table, share, others, beliefs.tempered_chain(), sources)
        opinion = with_benefit_of_doubt(opinion, self._marked)
        # where trusts are given, nobody learns from the posterior
        posterior = (
            self._posterior(taught, heard) if given is None else np.zeros((0, 0), np.float32)
        )
        return Settled(opinion, posterior, value, tuple(trusts))

    def _trusted(
        self, beliefs: Beliefs, heard: F64, given: Iterator[F64] | None
    ) -> tuple[Beliefs, float]:
        if given is not None:
            return beliefs._replace(trust=next(given)), np.nan
        known = None if self.known is None else clamp(np.zeros_like(heard), self.known)
        if not self.learn:
            offsets = self.crowd.corpus.token_offsets
            return beliefs, log_evidence(beliefs, heard, offsets, known)[0]
        learnt = learn_trust(beliefs, heard, self.crowd.corpus, self.seed, known)
        return beliefs._replace(trust=learnt.trust), learnt.log_evidence

    def _posterior(self, beliefs: Beliefs, heard: F64) -> F32:
        offsets, chain = self.crowd.corpus.token_offsets, beliefs.tempered_chain()
        return forward_backward(beliefs.scores(heard), offsets, chain).marginals


def mean_opinion(crowd: Crowd, table: F64, silence: Silence, known: Tags | None) -> F32:
    """float32[T, L]: what a single annotator says on average, for a tagger to begin with.

    The evidence divided by the number of voices; an ``O`` counts by the share of types on which it
    says anything.
    """
    outside = crowd.scheme.outside
    token = gather(crowd.corpus.token_offsets, crowd.row_sentence.astype(np.int64))[1]
    annotator = np.repeat(crowd.row_annotator, np.diff(crowd.row_offsets))
    says = (~silence.seldom).mean(axis=1)[annotator]
    heard = np.where(crowd.tags == outside, says, 1.0) * (crowd.tags >= 0)
    voices = np.maximum(np.bincount(token, heard, crowd.n_tokens), 1.0)
    scores = clamp(label_scores(crowd, table) / voices[:, None], known)
    free = Chain.free(len(crowd.scheme.labels))
    return forward_backward(scores, crowd.corpus.token_offsets, free).marginals


def clamp(scores: F64, known: Tags | None) -> F64:
    """Scores that leave known labels no other choice."""
    if known is None:
        return scores
    given = np.flatnonzero(known >= 0)
    scores = scores.copy()
    scores[given] = FORBIDDEN
    scores[given, known[given]] = 0.0
    return scores


def log_opinion(said: Potentials) -> F64:
    """float64[T, L]: log evidence of a predictor on single tokens, never final."""
    return np.maximum(said.scores.astype(np.float64), LEAST)
