"""A predictor where silent sources leave gaps: it adds to what they claim, and touches nothing of it."""

from __future__ import annotations

import itertools
from typing import Self

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.engine import MemoryParts
from seqtruth.kernels.arrays import F32, F64
from seqtruth.kernels.chain import Chain
from seqtruth.methods.accord.first_state import first_state
from seqtruth.methods.accord.gaps import coverage_of, shift_of
from seqtruth.methods.accord.opinions import log_opinion
from seqtruth.methods.accord.options import GAPS
from seqtruth.methods.accord.run import Run
from seqtruth.methods.accord.state import spoken
from seqtruth.methods.marked import Marked
from seqtruth.methods.task import Task
from seqtruth.predictors import CRF
from seqtruth.predictors.base import Targets, Tokens, apart, as_corpus
from seqtruth.predictors.decoding import best_spans
from seqtruth.simulation import simulate_rules

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.DataWarning")
QUICK = CRF(max_iter=15)


@pytest.fixture(scope="module")
def gold() -> Crowd:
    return st.datasets.load("demo").gold


@pytest.fixture(scope="module")
def rules(gold: Crowd) -> Crowd:
    found = simulate_rules(gold, 2)
    return found.select_annotators([n for n in found.annotators if not n.startswith("MISC")])


@pytest.fixture(scope="module")
def result(rules: Crowd) -> st.Result:
    return st.Accord(predictor=QUICK).fit(rules)


def beside_marks(crowd: Crowd) -> np.ndarray:
    """bool[T]: tokens that somebody marks, and their neighbours in the sentence, in plain Python."""
    offsets, near = crowd.corpus.token_offsets, np.zeros(crowd.n_tokens, np.bool_)
    marked = set(Marked(crowd).at.tolist())
    for a, b in itertools.pairwise(offsets.tolist()):
        for i in range(a, b):
            near[i] = any(k in marked for k in range(max(i - 1, a), min(i + 2, b)))
    return near


def test_more_is_found_and_nothing_of_what_is_claimed_changes(
    gold: Crowd, rules: Crowd, result: st.Result
) -> None:
    alone = st.Accord(predictor=None).fit(rules)
    assert (result.provenance["chosen"], alone.provenance["chosen"]) == (GAPS, "annotators")
    near = beside_marks(rules)
    assert (result.tags[near] == alone.tags[near]).all()
    assert (alone.tags[~near] == rules.scheme.outside).all()
    assert (result.tags[~near] != rules.scheme.outside).sum() > 50
    assert st.evaluate(result, gold).f1 > st.evaluate(alone, gold).f1 + 0.005
    assert any("although no annotator marks them" in told for told in result.warnings)


def test_in_gaps_it_is_the_predictors_own_choice(gold: Crowd, rules: Crowd) -> None:
    """The annotators' evidence and the chain are taken out, whatever they are."""
    run = Run(st.Accord(predictor=QUICK), Task(MemoryParts(rules), None))
    state = first_state(run)
    rng = np.random.default_rng(0)
    truth = np.eye(rules.n_labels)[gold.recode(rules.scheme).labelling().tags]
    said = 0.7 * truth + 0.3 * rng.dirichlet([0.2] * rules.n_labels, rules.n_tokens)
    heard = apart(said.astype(np.float32))
    state |= spoken([heard])
    opinion = run.options(state)[GAPS]
    found = run.labels(GAPS, opinion).tags
    scheme = rules.scheme
    scores = log_opinion(heard) + run.gap_shift(state)
    scores[:, scheme.outside] = log_opinion(heard)[:, scheme.outside]
    near = beside_marks(rules)
    scores[near] = -40.0
    scores[near, scheme.outside] = 0.0
    legal = Chain.legal(scheme.grammar)
    expected = best_spans(scores, rules.corpus.token_offsets, legal, scheme, 0.4).tags
    # not for spans side by side, and those of three tokens pass I -> I, which is not taken out
    named = ~near & ((expected != scheme.outside) | (found != scheme.outside))
    assert named.sum() > 200
    assert (found == expected)[named].mean() > 0.9


def test_people_who_look_leave_no_gaps(gold: Crowd) -> None:
    for crowd in (st.simulate(gold, "careful:3", per_sentence=1), st.simulate(gold, "careful:2")):
        assert "gaps" not in st.Accord(predictor=QUICK).fit(crowd).provenance["chosen"]


class Guess:
    """Marks names at random, sure of itself."""

    def clone(self) -> Guess:
        return Guess()

    def fit(
        self,
        tokens: Tokens,
        tags: Targets,
        *,
        scheme: Scheme | None = None,
        weights: F64 | None = None,
    ) -> Self:
        assert scheme is not None
        self.n_labels = len(scheme.labels)
        return self

    def predict_proba(self, tokens: Tokens) -> F32:
        rng = np.random.default_rng(0)
        drawn = rng.integers(self.n_labels, size=as_corpus(tokens).n_tokens)
        return np.where(np.eye(self.n_labels)[drawn] > 0, 0.9, 0.1 / (self.n_labels - 1)).astype(
            np.float32
        )


def test_who_foretells_nothing_of_what_is_claimed_is_not_heard(rules: Crowd) -> None:
    guessed, alone = (st.Accord(predictor=one).fit(rules) for one in (Guess(), None))
    assert guessed.provenance["chosen"] == "annotators"
    assert (guessed.tags == alone.tags).all()


def test_every_o_a_vote_leaves_none(rules: Crowd) -> None:
    assert "gaps" not in st.Accord(predictor=QUICK, abstain=None).fit(rules).provenance["chosen"]


def test_known_labels_are_kept_in_gaps(gold: Crowd, rules: Crowd) -> None:
    known = gold[np.arange(100)]
    result = st.Accord(predictor=QUICK).fit(rules, gold=known)
    truth = known.recode(rules.scheme).labelling().tags
    assert (result.tags[: len(truth)] == truth).all()


def test_a_share_that_is_unseen_is_found() -> None:
    """Of independent sources that find 20 to 50 %, Chao's count is near the truth."""
    rng = np.random.default_rng(1)
    there, found = 4000, rng.random((4000, 4)) < [0.5, 0.4, 0.3, 0.2]
    n = found.sum(axis=1)
    counts = np.array([[(n == 1).sum(), (n == 2).sum(), (n > 0).sum()]], float)
    assert coverage_of(counts, np.array([4.0]))[0] == pytest.approx((n > 0).sum() / there, abs=0.02)


def test_the_fewer_are_missed_the_less_is_added(rules: Crowd) -> None:
    gaps, n = np.ones(len(rules.scheme.types), np.bool_), len(rules.scheme.types)
    shifts = [shift_of(np.full(n, c), gaps, rules.scheme) for c in (0.2, 0.5, 0.8, 0.95)]
    at = rules.scheme.index("B-PER")
    assert shifts[0][at] == shifts[1][at] == 0.0 > shifts[2][at] > shifts[3][at]
    assert all(shift[rules.scheme.index("I-PER")] == 0.0 for shift in shifts)


def test_an_update_keeps_them_and_hears_new_claims(rules: Crowd, result: st.Result) -> None:
    outside = rules.scheme.outside
    quiet = ~beside_marks(rules) & (result.tags != outside)
    sentence = np.repeat(np.arange(rules.n_sentences), np.diff(rules.corpus.token_offsets))
    chosen = np.unique(sentence[quiet])[:5]
    new = rules[chosen].select_annotators(rules.annotators[:1])
    silent = Crowd(
        new.corpus, new.scheme, ("another",), new.row_sentence, new.row_annotator,
        np.full_like(new.tags, outside),
    )  # fmt: skip
    updated = result.update(silent)
    assert updated.provenance["chosen"] == GAPS
    assert (updated.tags[quiet] == result.tags[quiet]).mean() > 0.9


def test_confidence_in_gaps_is_lower(rules: Crowd, result: st.Result) -> None:
    spans = result.to_frame("spans").to_pylist()
    offsets = rules.corpus.token_offsets
    number = {name: k for k, name in enumerate(rules.corpus.sentence_ids.to_pylist())}
    near = beside_marks(rules)
    claimed, added = [], []
    for span in spans:
        first = offsets[number[span["sentence"]]] + span["start"]
        (claimed if near[first] else added).append(span["confidence"])
    assert np.mean(added) < np.mean(claimed)
