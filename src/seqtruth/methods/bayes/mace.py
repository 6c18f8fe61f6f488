"""MACE: who is competent?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32
from seqtruth.kernels.random import sentence_keys
from seqtruth.methods.base import Seeded, check_positive
from seqtruth.methods.bayes.sequence_model import CrowdHMM, fit, majority, shares
from seqtruth.methods.bayes.worker_models import Spammer
from seqtruth.methods.loop import State
from seqtruth.methods.reliability import check_reliability, known_accuracies
from seqtruth.methods.task import Outcome, Task

CLASSES = ("uniform", "independent")
#: Rounds after which the restarts are compared; the best goes on.
TRIAL_ROUNDS = 10
#: Noise is drawn for so many sentences at a time, so that it takes little room.
SENTENCES = 1 << 13


@dataclass(frozen=True, kw_only=True)
class MACE(Seeded):
    """Multi-annotator competence estimation: on every token an annotator is honest or spams.

    t_i ~ p,   s^j_i ~ Bernoulli(1 - θ_j),   c^j_i = t_i if honest, else ~ ξ_j

    so that p(c | t) = θ_j [c = t] + (1 - θ_j) ξ_j[c]. Both t and s are summed over in the E-step;
    θ_j has a Beta prior and ξ_j a Dirichlet. Tokens are independent of each other, so the labels need
    not obey the scheme (the same annotators over a Markov chain are ``bsc-spam``).

    Parameters
    ----------
    variational : variational Bayes (lower bound) or EM with smoothing.
    classes : prior of the true tags: ``"independent"`` (learnt, one for all tokens) or ``"uniform"``
        (the paper).
    honest : Beta pseudo-counts of being honest and of spamming.
    habit : Dirichlet pseudo-counts of each tag in the spamming habit.
    restarts : how many beginnings to try: the vote, and votes mixed with noise. After some rounds
        the one with the best objective goes on.
    noise : share of noise in the mixed beginnings.
    reliability, reliability_strength : annotators' honesty known beforehand, and the pseudo-counts
        it enters with.
    max_iter, tol : at most so many rounds; stop when the objective moves by less than ``tol`` of its
        size.
    seed : for the noise.

    Notes
    -----
    *Differs from the paper.* The paper's tags are equally likely beforehand; where nearly every token
    is O that costs five points of F1 and more. Their variational priors are ``honest=0.5, habit=10``.
    The authors start from random parameters; we perturb the vote instead,
    token by token, so that neither the names nor the order of annotators matter. They run 50 rounds
    of each of 10 restarts and keep the best.

    References
    ----------
    Hovy, Berg-Kirkpatrick, Vaswani & Hovy (2013), Learning whom to trust with MACE, NAACL.
    https://aclanthology.org/N13-1132
    """

    name: ClassVar[str] = "mace"

    variational: bool = True
    classes: str = "independent"
    honest: float = 1.0
    habit: float = 1.0
    restarts: int = 5
    noise: float = 0.5
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 100.0
    max_iter: int = 200
    tol: float = 1e-6

    def __post_init__(self) -> None:
        check_reliability(self.reliability, self.reliability_strength)
        check_positive(
            max_iter=self.max_iter, restarts=self.restarts, honest=self.honest, habit=self.habit
        )
        if self.classes not in CLASSES:
            raise ParameterError(
                f"classes must be one of {', '.join(CLASSES)}", got=repr(self.classes)
            )

    def model(self, task: Task) -> CrowdHMM:
        """The model on a crowd, for those who want to drive its rounds themselves."""
        return CrowdHMM(
            task.parts,
            Spammer(self.honest, 0.0, self.reliability_strength, self.habit),
            known=task.known,
            accuracy=known_accuracies(task.crowd, self.reliability),
            silent=task.silent,
            sequence=self.classes,
            variational=self.variational,
        )

    def _fit(self, task: Task) -> Outcome:
        model = self.model(task)

        def noisy(part: Crowd, number: int) -> F32:
            vote = shares(part, task.known, task.silent)
            return _mix(vote, part.corpus, self.noise, self.seed + number)

        def begin() -> State:
            best, highest = model.start(majority(task)), -np.inf
            if self.restarts == 1:
                return best
            for number in range(self.restarts):
                state, value = best, -np.inf
                if number:  # votes are counted again each time: they take more room than time
                    state = model.start(partial(noisy, number=number))
                for _ in range(TRIAL_ROUNDS):
                    state, value = model.advance(state)[:2]
                if value > highest + 1e-9 * abs(value):
                    best, highest = state, value
            return best

        return fit(model, task, begin, self.max_iter, self.tol)


def _mix(vote: F32, corpus: Corpus, share: float, seed: int) -> F32:
    """The vote, in its own place, mixed with a random distribution at each token, drawn in the order of the
    sentences' hashed ids, so that the sentences' own order does not matter."""
    order = np.argsort(sentence_keys(corpus.sentence_ids, seed), kind="stable")
    rng = np.random.default_rng(seed)
    for some in range(0, len(order), SENTENCES):
        at = gather(corpus.token_offsets, order[some : some + SENTENCES])[1]
        drawn = rng.exponential(size=(len(at), vote.shape[1]))
        noise = drawn / drawn.sum(axis=1, keepdims=True)
        vote[at] = (1 - share) * vote[at] + share * noise
    return vote
