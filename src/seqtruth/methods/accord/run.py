"""One run of Accord: what is known of the crowd, rounds of taggers, and the choice at the end."""

from __future__ import annotations

import logging
import operator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.engine import MemoryParts, Parts, Sums
from seqtruth.engine.sample import Sample, draw_sample
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.span_decoding import ANY
from seqtruth.methods.abstention import all_votes, nobody_can_tell, understand_silence
from seqtruth.methods.accord.annotators import (
    Findings,
    Population,
    Told,
    known_of,
    pseudo_counts,
)
from seqtruth.methods.accord.by_text import judge_by_text, next_to_nobody_overlaps
from seqtruth.methods.accord.documents import Documents
from seqtruth.methods.accord.gaps import (
    FORETELLS,
    leave_gaps,
    shift_of,
    with_gaps,
)
from seqtruth.methods.accord.learnable import foretold, without_noise
from seqtruth.methods.accord.leave_one_out import (
    STEP,
    LeaveOneOut,
    choose,
    doubt_sequences,
    margin_of,
    may_judge,
)
from seqtruth.methods.accord.notices import all_notices
from seqtruth.methods.accord.opinions import (
    Model,
    Opinion,
    Settled,
    Sources,
    annotators_alone,
    clamp,
    log_opinion,
    vote,
)
from seqtruth.methods.accord.options import (
    BY_TEXT,
    CAUTIOUS,
    GAPS,
    HEARD,
    UNCHAINED,
    mixed,
    mixtures_of,
    models_of,
    only_claimed,
    without_sources,
)
from seqtruth.methods.accord.relatives import find_relatives, no_relatives
from seqtruth.methods.accord.span_choice import claimed_in, judge_unlabelled, worth_naming
from seqtruth.methods.accord.state import heard_in, population_of, spoken, state_schema
from seqtruth.methods.crossfit import (
    CrossFitted,
    FoldModels,
    cross_fit,
    members_of,
    predictor_name,
    usable,
)
from seqtruth.methods.dependence import copies_among, pair_sums
from seqtruth.methods.loop import Round, State
from seqtruth.methods.marked import Marked, Totals
from seqtruth.methods.reliability import known_accuracies
from seqtruth.methods.task import Task
from seqtruth.predictors.decoding import Decoded, best_spans
from seqtruth.predictors.tagger import Tagger
from seqtruth.schema import Schema

if TYPE_CHECKING:
    from seqtruth.methods.accord.accord import Accord

#: Fewer marked places than this do not tell annotators apart: a vote.
FEW = 40
#: Fewer marked places than this teach a tagger nothing that could overrule people.
ENOUGH = 50

log = logging.getLogger("seqtruth")


class Run:
    """What is known of a crowd before any round, and the round as a function from state to state.

    Parameters
    ----------
    method, task : settings, and what they are to be used on.
    sampled : learn by example from a sample where the crowd is large (:mod:`seqtruth.engine.sample`).
    votes : where nothing tells silence from a vote, take every ``O`` for a vote.
    """

    def __init__(
        self, method: Accord, task: Task, sampled: bool = True, votes: bool = False
    ) -> None:
        self.method, self.task = method, task
        whole = task.parts.in_memory and not sampled
        sample = Sample(task.crowd, None, True) if whole else draw_sample(task.parts, method.seed)
        #: What is learnt from by example, and the labels known of it.
        self.crowd, self.known, self.everything = sample.crowd, task.known, sample.everything
        if sample.places is not None and task.known is not None:
            offsets = task.crowd.corpus.token_offsets
            self.known = task.known[gather(offsets, sample.places)[1]]
        #: What is added up.
        self.parts: Parts = MemoryParts(self.crowd) if self.everything else task.parts
        self.members = members_of(method.chosen_predictor)
        sums = self._first_sums()
        copies = copies_among(self.parts.annotators, sums.pop("pairs"))
        totals = Totals(**sums)
        copies = without_noise(copies, self.marked, totals, self.members, method.folds, method.seed)
        silence = understand_silence(self.parts, copies.leaders)
        if method.abstain is None:
            silence = all_votes(silence)
        #: Whether annotators can tell the options apart, and whether a predictor is among them.
        several = np.count_nonzero(copies.weight) > 1 or not copies.noise
        self.judged = bool(totals.places[0] >= FEW) and several and may_judge(totals, silence)
        learnable = bool(self.members) and bool(totals.places[0] >= ENOUGH)
        #: What the text says of annotators, where agreement does not.
        self.by_text = None
        if learnable and (next_to_nobody_overlaps(totals) or not several):
            asked = self.crowd, self.known, copies.weight > 0, self.members
            self.by_text = judge_by_text(*asked, method.folds, method.seed)
        self.judged = self.judged and self.by_text is None
        self.hears = learnable and (self.judged or self.by_text is not None)
        #: bool[K]: types of which a predictor is heard where nobody speaks.
        self.gaps = leave_gaps(silence, totals.claims) & (learnable and not self.hears)
        #: Whether ``O`` can be read in two ways, and left-out annotators may choose (:mod:`.readings`).
        self.in_doubt = self.hears and self.judged and silence.in_doubt
        #: What they said of the two.
        self.readings: dict[str, float] = {}
        if self.in_doubt and votes:
            silence = all_votes(silence)
        if not silence.known.any() and not self.hears and method.abstain is not None:
            silence = nobody_can_tell(silence)
        accuracy = known_accuracies(self.parts, method.reliability)
        if self.by_text is not None:
            self.by_text = self.by_text.but_for(accuracy)
        known = known_of(self.marked, self.known)
        self.told = Told(
            self.marked, copies, silence, accuracy, method.reliability_strength, known, totals
        )
        #: Who shares errors with whom, where annotators are judges.
        self.relatives = (
            find_relatives(self.told) if self.judged else no_relatives(len(copies.weight))
        )
        weight = np.minimum(copies.weight, self.relatives.weight)
        self.told = self.told._replace(copies=copies._replace(weight=weight))
        self.share = method.evidence or (0.5 if self.hears else 1.0)
        #: Trusts that were learnt, by option; and the last models, with what they were taught.
        self.trusts: dict[str, tuple[F64, ...]] = {}
        self._models_taught: FoldModels | None = None
        #: What a round ends with, the choice begins with: the last that settled, and of what.
        self._last_settled: tuple[tuple[str, bool], list[F32], Settled] | None = None

    def _first_sums(self) -> Sums:
        """Pairs of annotators, and what marked tokens add up to."""
        if self.everything:
            return _pairs_and_totals(self.marked)
        return self.parts.add_up(partial(_first_sums, known=self.task.known))

    @cached_property
    def marked(self) -> Marked:
        return Marked(self.crowd, self.known)

    @property
    def offsets(self) -> I64:
        return self.crowd.corpus.token_offsets

    @property
    def teaches(self) -> bool:
        """Whether taggers learn: to be heard beside annotators, or where these are silent."""
        return self.hears or bool(self.gaps.any())

    @cached_property
    def sources(self) -> Sources:
        method = self.method
        return Sources(
            self.crowd, self.known, [predictor_name(one) for one in self.members],
            method.chain, self.documents, method.trust, method.seed,
        )  # fmt: skip

    @cached_property
    def documents(self) -> Documents | None:
        if not self.method.documents:
            return None
        found = Documents(self.crowd.corpus, self.crowd.scheme)
        return found if found.repeat else None

    @property
    def findings(self) -> Findings:
        """What was found out about the crowd, to be told of any part."""
        told, known = self.told, self.task.known
        return Findings(told.copies, told.silence, told.accuracy, told.strength, known)

    @cached_property
    def judge(self) -> LeaveOneOut:
        return LeaveOneOut(self.told.marked, self.told.copies)

    @cached_property
    def usable(self) -> Bool:
        """bool[S]: is there anything to learn from in the sentence?"""
        return usable(self.crowd, self.known)

    def alone(self, population: Population) -> Opinion:
        share, chain = self.method.evidence or 1.0, self.method.chain
        return annotators_alone(self.told.marked, population, share, chain)

    def gap_shift(self, state: State) -> F64:
        """float64[L]: what is added to a predictor's log odds where nobody speaks."""
        return shift_of(state["coverage"], self.gaps, self.crowd.scheme)

    def schema(self) -> Schema:
        """What a state is after a round."""
        return state_schema(self)

    def advance(self, state: State) -> Round:
        """Taggers learn, each from what it has not seen the labels of; trusts and labels settle."""
        number = int(state["round"][0])
        new = state | {"round": np.array([number + 1])}
        if self.teaches:
            fitted = self._taught(state["targets"], number)
            heard = fitted.opinions
            if not self.hears:  # in gaps, tokens are judged one by one
                heard = [said.apart(self.offsets) for said in heard]
            new |= spoken(heard)
            if self.applies:  # to train these models again, should they be lost
                self._models_taught = fitted.models
                new["taught"] = state["targets"]
        if not self.hears:
            value = float(state["population/log_likelihood"][0])
            return Round(new, value, {"annotators": value})
        found = self._settled(new, self.base(state), chained=self.by_text is None)
        moved = np.abs(found.posterior - state["targets"])
        new["targets"] = found.posterior
        change = None if number == 0 else float(moved.sum() / max(moved.size, 1))
        return Round(new, found.value, {"annotators": found.value}, change)

    @property
    def applies(self) -> bool:
        """Whether labels are made of parts that were not learnt from, or are not at hand."""
        return not (self.everything and self.task.parts.in_memory)

    def _taught(self, targets: F32, number: int) -> CrossFitted:
        return cross_fit(
            self.members, self.crowd.corpus, self.crowd.scheme, targets, self.usable,
            self.method.folds, self.method.seed, number,
        )  # fmt: skip

    def models(self, state: State) -> FoldModels:
        """The models of the last round; trained again after a checkpoint."""
        if self._models_taught is None:
            self._models_taught = self._taught(state["taught"], int(state["round"][0]) - 1).models
        return self._models_taught

    # --- options ---------------------------------------------------------------------------------

    def options(self, state: State) -> dict[str, Opinion]:
        """The ways to choose labels, by name, but for mixtures of them; as they are compared."""
        if self.told.marked.places < FEW:
            return {"vote": vote(self.told)}
        alone = self.alone(population_of(state))
        if self.gaps.any() and self._foretells(state, alone):
            heard = map(log_opinion, heard_in(state, len(self.members)))
            said = list(zip(map(predictor_name, self.members), heard, strict=True))
            shift = self.gap_shift(state)
            return {GAPS: with_gaps(alone, self.told.marked, said, shift, self.known)}
        if self.by_text is not None:
            return {BY_TEXT: self._settled(state, "confusion", chained=False).opinion}
        found = {"annotators": alone}
        if not self.judged:
            return found
        twins = self._twins(state)
        found |= {name: self._unaided(state, twin).opinion for name, twin in twins.items()}
        if self.hears:
            found |= {name + HEARD: self._settled(state, t).opinion for name, t in twins.items()}
        return found

    def _foretells(self, state: State, alone: Opinion) -> bool:
        """Whether predictors know enough of what annotators claim to be heard where nobody speaks."""
        said = heard_in(state, len(self.members))
        tags = self.labels("annotators", alone).tags
        labels = Labelling(self.crowd.corpus, self.crowd.scheme, tags)
        return foretold(said, np.ones(len(said)), labels, self.usable) >= FORETELLS

    def chosen(self, state: State) -> tuple[str, Opinion, dict[str, float]]:
        """The option to believe, and the leave-one-out F1 of each."""
        found = self.options(state)
        if len(found) == 1:
            name, only = next(iter(found.items()))
            return name, only, {}
        mixtures = mixtures_of(found)
        scores = {name: self.judge.f1(mixed(name, found)) for name in (*found, *mixtures)}
        silence = self.told.silence
        judged = len(self.judge.theirs[0])
        margin = margin_of(scores["annotators"], judged, self.told.totals, silence)
        if margin > 0:  # one's habits are all there is to judge the other's sequences by
            scores = doubt_sequences(scores, ("annotators", "confusion" + HEARD))
        name = choose(scores, HEARD, margin)
        if name.endswith(HEARD) and self.method.chain:
            # predictors know how labels follow each other: a chain must earn its place beside them
            free = name.removesuffix(HEARD) + UNCHAINED + HEARD
            for model in models_of(name):
                settled = self._settled(state, self._twins(state)[model], chained=False)
                found[model + UNCHAINED + HEARD] = settled.opinion
            scores[free] = self.judge.f1(mixed(free, found))
            name = free if scores[free] >= scores[name] - STEP else name
        log.info("chosen: %s", name)
        if f"{CAUTIOUS}/table" in state and "sequential" in models_of(name):
            found["sequential" + name.removeprefix(without_sources(name))] = self._heard(
                state, name
            )
        return name, mixed(name, found), scores

    def _twins(self, state: State) -> dict[str, str]:
        """The models of the annotators, and by which each is compared with others."""
        twins = {name: name for name in ("confusion", "sequential") if f"{name}/table" in state}
        return twins | ({"sequential": CAUTIOUS} if f"{CAUTIOUS}/table" in state else {})

    def _heard(self, state: State, name: str) -> Opinion:
        """The sequential model beside what an option hears."""
        if not name.endswith(HEARD):
            return self._unaided(state, "sequential").opinion
        return self._settled(state, "sequential", chained=UNCHAINED not in name).opinion

    def _settled(self, state: State, name: str, chained: bool = True) -> Settled:
        """A model of the annotators with the predictors beside it."""
        opinions = heard_in(state, len(self.members))
        scores = [said.scores for said in opinions]
        if (last := self._last_settled) is not None:
            same = len(last[1]) == len(scores) and all(map(operator.is_, last[1], scores))
            if last[0] == (name, chained) and same:
                return last[2]
        model = Model(state[f"{name}/table"], state[f"{name}/chain"])
        found = self.sources.settle(model, opinions, self.share, chained)
        self.trusts[name + ("" if chained else UNCHAINED) + HEARD] = found.trusts
        self._last_settled = (name, chained), scores, found
        return found

    def _unaided(self, state: State, name: str) -> Settled:
        """The same without predictors."""
        if name not in self._without:
            model = Model(state[f"{name}/table"], state[f"{name}/chain"])
            share = self.method.evidence or 1.0
            self._without[name] = self.sources.settle(model, [], share)
            self.trusts[name] = self._without[name].trusts
        return self._without[name]

    @cached_property
    def _without(self) -> dict[str, Settled]:
        return {}

    def base(self, state: State) -> str:
        """The annotator model whose labels taggers learn from: the sequential one, which leaves more in
        doubt, unless annotators foretell that the other is better."""
        if self.by_text is not None:
            return "confusion"
        scores = {
            name: self.judge.f1(self._unaided(state, twin).opinion)
            for name, twin in self._twins(state).items()
        }
        sequential = scores.get("sequential", -1.0) >= scores["confusion"] - STEP
        return "sequential" if sequential else "confusion"

    # --- labels ----------------------------------------------------------------------------------

    def decode(self, name: str, opinion: Opinion, scores: F64, offsets: I64) -> Decoded:
        """Labels under given scores."""
        threshold = threshold_of(self.method, name)
        return best_spans(scores, offsets, opinion.chain, self.crowd.scheme, threshold)

    def labels(self, name: str, opinion: Opinion) -> Decoded:
        """The labels; known ones are kept, and where they are inside spans not worth naming, the
        likeliest path is taken."""
        scores = clamp(opinion.scores(self.crowd), self.known)
        threshold, scheme = threshold_of(self.method, name), self.crowd.scheme
        claimed = claimed_in(self.crowd, self.known) if only_claimed(name) else ANY
        return worth_naming(
            scores, self.offsets, opinion.chain, scheme, threshold, self.known, claimed
        )

    def judge_unlabelled(self, tagger: Tagger | None, found: Decoded) -> Bool:
        """Let the tagger label, in ``found``, sentences that nobody did; bool[S]: which."""
        return judge_unlabelled(tagger, self.crowd.corpus, self.usable, found)

    def confusion(self, counts: F64) -> F64:
        """float64[W, L, C]: P_j(c | t) from counts under the labels that were chosen."""
        a = pseudo_counts(counts, self.told)
        return np.asarray(a / a.sum(axis=-1, keepdims=True))

    def notes(self, state: State, name: str, scores: dict[str, float]) -> dict[str, Any]:
        """What was decided, for the result's provenance."""
        found: dict[str, Any] = {"chosen": name}
        if scores:
            found["leave_one_out_f1"] = {k: round(v, 4) for k, v in scores.items()}
        if "sequential" in models_of(name):
            found["prior_of_sequences"] = round(float(state["sums/strength"][0]), 4)
        found["copies"] = [group.to_dict() for group in self.told.copies.groups]
        if self.readings:
            found["readings_of_O"] = {k: round(v, 4) for k, v in self.readings.items()}
        if self.by_text is not None:
            found["by_text"] = self.by_text.to_dict(self.crowd.annotators)
        if self.relatives.pairs:
            found["relatives"] = [pair.to_dict() for pair in self.relatives.pairs]
        if self.told.copies.noise:
            found["not_heard"] = list(self.told.copies.noise)
        if self.told.silence.found:
            found["silence"] = self.told.silence.to_dict()
        return found

    def notices(self, confusion: F64, against: int) -> list[str]:
        """What a person should know of the result."""
        found = all_notices(self.told, self.relatives, confusion, against, self.by_text is not None)
        if self.readings:
            best = max(self.readings, key=self.readings.__getitem__)
            meaning = "is a vote" if best == "votes" else "may be an oversight"
            found.append(
                f"what O means was chosen by what foretells left-out annotators better: it {meaning}"
            )
        return found


def _first_sums(part: Crowd, known: Tags | None) -> Sums:
    return _pairs_and_totals(Marked(part, known))


def _pairs_and_totals(marked: Marked) -> Sums:
    return {"pairs": pair_sums(marked), **marked.totals._asdict()}


def threshold_of(method: Accord, name: str = "") -> float | None:
    """θ of :mod:`~seqtruth.kernels.span_decoding`; None where the likeliest path is wanted, which is all
    that a vote can have."""
    return method.threshold if method.decoding == "spans" and name != "vote" else None
