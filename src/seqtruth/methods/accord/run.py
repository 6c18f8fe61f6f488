"""One run of Accord: what is known of the crowd, rounds of taggers, and the choice at the end."""

from __future__ import annotations

import logging
import warnings
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqtruth.data.ragged import gather
from seqtruth.engine import Sums
from seqtruth.errors import ConvergenceWarning
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.chain import Chain
from seqtruth.methods.abstention import Silence, understand_silence
from seqtruth.methods.accord.annotators import (
    Population,
    Told,
    first_vote,
    learn_population,
    pseudo_counts,
)
from seqtruth.methods.accord.leave_one_out import STEP, LeaveOneOut, choose, may_judge
from seqtruth.methods.accord.notices import all_notices
from seqtruth.methods.accord.opinions import (
    UNHEARD,
    Model,
    Opinion,
    Settled,
    Sources,
    annotators_alone,
    average,
    clamp,
    mean_opinion,
)
from seqtruth.methods.accord.remembering import SEQUENTIAL_SUMS
from seqtruth.methods.accord.span_choice import Decoded, best_spans, keep_known, tagged
from seqtruth.methods.bayes.bsc import BSCSeq
from seqtruth.methods.bayes.sequence_model import majority
from seqtruth.methods.crossfit import cross_fit, predictor_name, train_on_all
from seqtruth.methods.dependence import find_copies
from seqtruth.methods.loop import Round, Rules, State, iterate
from seqtruth.methods.marked import Marked
from seqtruth.methods.reliability import known_accuracies
from seqtruth.methods.task import Task
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.ensemble import Ensemble
from seqtruth.predictors.tagger import Tagger
from seqtruth.schema import Column, Schema

if TYPE_CHECKING:
    from seqtruth.methods.accord.accord import Accord

#: Fewer marked places than this do not tell annotators apart: a vote.
FEW = 20
#: Fewer marked places than this teach a tagger nothing that could overrule people.
ENOUGH = 50
#: Tables of the sequential model hold at most so many numbers (half a gigabyte).
LARGEST_TABLE = 1 << 26
#: Options without a model of sequences.
WITHOUT_SEQUENCE = ("annotators", "confusion")
#: Ending of the names of options with a predictor.
HEARD = "+predictor"
#: What comes before it where the label chain is not heard.
UNCHAINED = ", no chain"

#: Shapes of what is learnt of the annotators, see :class:`~seqtruth.methods.accord.annotators.Population`.
POPULATION = {
    "table": ("annotators", 1, "labels", "labels"),
    "confusion": ("annotators", "labels", "labels"),
    "transition": ("labels", "labels"),
    "prior": ("labels",),
    "posterior": ("marked", "labels"),
    "log_likelihood": (1,),
    "counts": ("annotators", "labels", "labels"),
}

log = logging.getLogger("seqtruth")


class Run:
    """What is known of a crowd before any round, and the round as a function from state to state.

    Parameters
    ----------
    method, task : settings, and what they are to be used on.
    """

    def __init__(self, method: Accord, task: Task) -> None:
        self.method, self.task, self.crowd, self.known = method, task, task.crowd, task.known
        self.members = _members(method.chosen_predictor)
        marked = Marked(self.crowd, self.known)
        copies = find_copies(marked)
        silence = understand_silence(self.crowd, copies.leaders)
        if method.abstain is None:
            silence = _all_votes(silence)
        known = np.full(len(marked.at), -1) if self.known is None else self.known[marked.at]
        accuracy = known_accuracies(self.crowd, method.reliability)
        self.told = Told(
            marked, copies, silence, accuracy, method.reliability_strength, known.astype(np.int64)
        )
        #: Whether annotators can tell the options apart, and whether a predictor is among them.
        self.judged = marked.places >= FEW and may_judge(marked, silence)
        self.hears = bool(self.members) and self.judged and marked.places >= ENOUGH
        if not silence.known.any() and not self.hears and method.abstain is not None:
            self.told = self.told._replace(silence=_nobody_can_tell(silence))
        self.share = method.evidence or (0.5 if self.hears else 1.0)

    @property
    def offsets(self) -> I64:
        return self.crowd.corpus.token_offsets

    @cached_property
    def sources(self) -> Sources:
        method = self.method
        return Sources(
            self.crowd, self.known, [predictor_name(one) for one in self.members],
            method.chain, method.documents, method.trust, method.seed,
        )  # fmt: skip

    @cached_property
    def judge(self) -> LeaveOneOut:
        return LeaveOneOut(self.told.marked, self.told.copies)

    @cached_property
    def usable(self) -> Bool:
        """bool[S]: is there anything to learn from in the sentence?"""
        covered = self.crowd.covered
        if self.known is None:
            return covered
        count = np.concatenate([[0], np.cumsum(self.known >= 0)])[self.offsets]
        return np.asarray(covered | (np.diff(count) > 0))

    def start(self) -> State:
        """The annotators' models, and what taggers begin to learn from."""
        log.info("weighing %d annotators", self.crowd.n_annotators)
        population = learn_population(self.told)
        state: State = {f"population/{k}": v for k, v in population._asdict().items()}
        state["round"] = np.zeros(1, np.int64)
        if not self.judged:
            return state
        rows = self._with_start(population.transition)
        models = {"confusion": Model(population.table, rows)}
        if self._tells_sequences:
            models["sequential"], sums = self._sequential()
            state |= {f"sums/{k}": sums[k] for k in SEQUENTIAL_SUMS}
        for name, model in models.items():
            state |= {f"{name}/{k}": v for k, v in model._asdict().items()}
        if self.hears:
            state["targets"] = self._first_targets(state, population)
        return state

    def schema(self) -> Schema:
        """What a state is after a round."""
        sizes = {
            "annotators": self.crowd.n_annotators, "labels": self.crowd.n_labels,
            "tokens": self.crowd.n_tokens, "marked": len(self.told.marked.at),
        }  # fmt: skip
        columns = {f"population/{k}": Column("float64", v) for k, v in POPULATION.items()}
        columns["round"] = Column("int64", (1,), 1, self.method.max_iter + 1)
        if self.judged:
            chain = Column("float64", ("labels+1", "labels"), 0.0)
            columns["confusion/table"] = Column("float64", ("annotators", 1, "labels", "labels"))
            columns["confusion/chain"] = chain
            if self._tells_sequences:
                shape = ("annotators", *["labels"] * 3)
                columns |= {"sequential/table": Column("float64", shape), "sequential/chain": chain}
                sums = (shape, ("labels",), ("labels", "labels"))
                for name, size in zip(SEQUENTIAL_SUMS, sums, strict=True):
                    columns[f"sums/{name}"] = Column("float64", size, 0.0)
        if self.hears:
            soft = Column("float32", ("tokens", "labels"), 0.0, 1.01)
            columns |= {f"opinion{m}": soft for m in range(len(self.members))}
            columns["targets"] = soft
        return Schema(columns, sizes)

    @property
    def _tells_sequences(self) -> bool:
        return self.crowd.n_annotators * self.crowd.n_labels**3 <= LARGEST_TABLE

    def advance(self, state: State) -> Round:
        """Taggers learn, each from what it has not seen the labels of; trusts and labels settle."""
        number = int(state["round"][0])
        new = state | {"round": np.array([number + 1])}
        if not self.hears:
            value = float(state["population/log_likelihood"][0])
            return Round(new, value, {"annotators": value})
        opinions = cross_fit(
            self.members, self.crowd.corpus, self.crowd.scheme, state["targets"], self.usable,
            self.method.folds, self.method.seed, number,
        )  # fmt: skip
        new |= {f"opinion{m}": said for m, said in enumerate(opinions)}
        found = self._settled(new, self._base(state))
        moved = np.abs(found.posterior - state["targets"])
        new["targets"] = found.posterior
        change = None if number == 0 else float(moved.sum() / max(moved.size, 1))
        return Round(new, found.value, {"annotators": found.value}, change)

    # --- options ---------------------------------------------------------------------------------

    def options(self, state: State) -> dict[str, Opinion]:
        """All ways to choose labels, by name."""
        if self.told.marked.places < FEW:
            return {"vote": self._vote()}
        alone = annotators_alone(
            self.told.marked, _population(state), self.method.evidence or 1.0, self.method.chain
        )
        found = {"annotators": alone}
        if not self.judged:
            return found
        found |= {name: self._unaided(state, name).opinion for name in self._models(state)}
        if "sequential" in found:
            found["both"] = average(found["confusion"], found["sequential"])
        if self.hears:
            aided = {n + HEARD: self._settled(state, n).opinion for n in self._models(state)}
            if len(aided) > 1:
                aided["both" + HEARD] = average(*aided.values())
            found |= aided
        return found

    def chosen(self, state: State) -> tuple[str, Opinion, dict[str, float]]:
        """The option to believe, and the leave-one-out F1 of each."""
        found = self.options(state)
        if len(found) == 1:
            name, only = next(iter(found.items()))
            return name, only, {}
        scores = {name: self.judge.f1(option) for name, option in found.items()}
        pairs = not self.told.silence.known.any()
        if pairs:  # one's habits are all there is to judge the other's sequences by
            scores = {
                n: f1 for n, f1 in scores.items() if n.removesuffix(HEARD) in WITHOUT_SEQUENCE
            }
        name = choose(scores, HEARD, pairs)
        if name.endswith(HEARD) and self.method.chain:
            # predictors know how labels follow each other: a chain must earn its place beside them
            free = name.removesuffix(HEARD) + UNCHAINED + HEARD
            found[free] = self._settled(state, name.removesuffix(HEARD), chained=False).opinion
            scores[free] = self.judge.f1(found[free])
            name = free if scores[free] >= scores[name] - STEP else name
        log.info("chosen: %s", name)
        return name, found[name], scores

    def _models(self, state: State) -> list[str]:
        return [name for name in ("confusion", "sequential") if f"{name}/table" in state]

    def _settled(self, state: State, name: str, chained: bool = True) -> Settled:
        """A model of the annotators with the predictors beside it."""
        model = Model(state[f"{name}/table"], state[f"{name}/chain"])
        opinions = [state[f"opinion{m}"] for m in range(len(self.members))]
        return self.sources.settle(model, opinions, self.share, chained)

    def _unaided(self, state: State, name: str) -> Settled:
        """The same without predictors."""
        if name not in self._without:
            model = Model(state[f"{name}/table"], state[f"{name}/chain"])
            share = self.method.evidence or 1.0
            self._without[name] = self.sources.settle(model, [], share)
        return self._without[name]

    @cached_property
    def _without(self) -> dict[str, Settled]:
        return {}

    def _base(self, state: State) -> str:
        """The annotator model that foretells annotators better."""
        scores = {n: self.judge.f1(self._unaided(state, n).opinion) for n in self._models(state)}
        return max(scores, key=scores.__getitem__)

    def _first_targets(self, state: State, population: Population) -> F32:
        """Soft labels to begin with: a mean opinion under the sequential model, or the posterior of
        the confusion matrices, whose mean opinion would blur where spans end."""
        if self._base(state) == "sequential":
            return mean_opinion(
                self.crowd, state["sequential/table"], self.told.silence, self.known
            )
        n, outside = self.crowd.n_labels, self.crowd.scheme.outside
        targets = np.full((self.crowd.n_tokens, n), 1.0 / n if outside < 0 else 0.0, np.float32)
        if outside >= 0:
            targets[:, outside] = 1.0
        targets[self.told.marked.at] = population.posterior
        return targets

    def _sequential(self) -> tuple[Model, Sums]:
        """BSC-seq, its tables weighed by the share of a witness, and what they were made from."""
        method = self.method
        model = BSCSeq(
            reliability=method.reliability, reliability_strength=method.reliability_strength
        ).model(self.task)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            begin = partial(model.start, majority(self.task))
            rules = Rules(100, 1e-6, "lower bound", False)
            state, _ = iterate(begin, model.advance, rules, model.schema)
        tables = model.tables(state)
        assert tables.transition is not None
        weight = self.told.copies.weight[:, None, None, None]
        rows = np.vstack([tables.transition, tables.start])
        return Model(tables.annotators * weight, rows), model.expect(state)

    def _with_start(self, transition: F64) -> F64:
        """float64[L + 1, L]: a sentence starts as if after ``O``."""
        outside = self.crowd.scheme.outside
        n = len(transition)
        return np.vstack([transition, transition[outside] if outside >= 0 else np.full(n, 1 / n)])

    def _vote(self) -> Opinion:
        """All annotators equally reliable; copies and silence understood."""
        marked, n, outside = self.told.marked, self.crowd.n_labels, self.crowd.scheme.outside
        others = np.zeros((self.crowd.n_tokens, n))
        if outside >= 0:
            others[:] = UNHEARD
            others[:, outside] = 0.0
        others[marked.at] = np.log(np.maximum(first_vote(self.told), 1e-9))
        nobody = np.zeros((self.crowd.n_annotators, 1, n, n))
        return Opinion(nobody, 1.0, others, Chain.legal(self.crowd.scheme.grammar))

    # --- labels ----------------------------------------------------------------------------------

    def decode(self, name: str, opinion: Opinion, scores: F64, offsets: I64) -> Decoded:
        """Labels under given scores."""
        spans = self.method.decoding == "spans" and name != "vote"
        threshold = self.method.threshold if spans else None
        return best_spans(scores, offsets, opinion.chain, self.crowd.scheme, threshold)

    def labels(self, name: str, opinion: Opinion) -> Decoded:
        """The labels; known ones are kept, and where they are inside spans not worth naming, the
        likeliest path is taken."""
        scores = clamp(opinion.scores(self.crowd), self.known)
        found = self.decode(name, opinion, scores, self.offsets)
        return keep_known(found, scores, self.offsets, opinion.chain, self.crowd.scheme, self.known)

    def tagger(self, state: State, name: str, tags: Tags) -> Tagger | None:
        """Trained on the labels themselves: probabilities of single tags would blur where spans end."""
        if not self.members or not self.usable.any():
            return None
        corpus, scheme = self.crowd.corpus, self.crowd.scheme
        trained = train_on_all(self.members, corpus, scheme, tags, self.usable, self.method.seed)
        if len(trained) == 1:
            return Tagger(trained[0], scheme)
        if not name.endswith(HEARD):
            return Tagger(Ensemble(trained), scheme)
        model = name.removesuffix(HEARD)
        settled = self._settled(state, model.removesuffix(UNCHAINED), not model.endswith(UNCHAINED))
        weights = settled.trust[1 : 1 + len(trained)]
        return Tagger(Ensemble(trained, weights), scheme)

    def judge_unlabelled(self, tagger: Tagger | None, found: Decoded) -> Bool:
        """Let the tagger label, in ``found``, sentences that nobody did; bool[S]: which."""
        blank = ~self.usable & (np.diff(self.offsets) > 0)
        if tagger is None or not blank.any():
            return np.zeros(len(blank), np.bool_)
        places = np.flatnonzero(blank)
        at = gather(self.offsets, places)[1]
        threshold = self.method.threshold if self.method.decoding == "spans" else None
        part = tagged(tagger, self.crowd.corpus[places], threshold)
        for mine, theirs in zip(found, part, strict=True):
            mine[at] = theirs
        return blank

    def confusion(self, posterior: F32) -> F64:
        """float64[W, L, C]: P_j(c | t) under the labels that were chosen."""
        counts = self.told.marked.counts(posterior[self.told.marked.at].astype(np.float64))
        a = pseudo_counts(counts, self.told)
        return np.asarray(a / a.sum(axis=-1, keepdims=True))

    def notes(self, name: str, scores: dict[str, float]) -> dict[str, Any]:
        """What was decided, for the result's provenance."""
        found: dict[str, Any] = {"chosen": name}
        if scores:
            found["leave_one_out_f1"] = {k: round(v, 4) for k, v in scores.items()}
        found["copies"] = [group.to_dict() for group in self.told.copies.groups]
        if self.told.silence.found:
            found["silence"] = self.told.silence.to_dict()
        return found

    def notices(self, name: str, tags: Tags, confusion: F64) -> list[str]:
        """What a person should know of the result."""
        return all_notices(self.told, tags, confusion, name.endswith(HEARD))


def _nobody_can_tell(silence: Silence) -> Silence:
    """Where lone claims can be judged by nobody and no predictor, each is worth naming."""
    none = np.zeros_like(silence.first_weight)
    return silence._replace(open=np.ones_like(silence.open), first_weight=none, border_weight=none)


def _all_votes(silence: Silence) -> Silence:
    """As if every ``O`` were a vote."""
    return silence._replace(
        silent=np.zeros_like(silence.silent),
        seldom=np.zeros_like(silence.seldom),
        open=np.zeros_like(silence.open),
        first_weight=np.ones_like(silence.first_weight),
        border_weight=np.ones_like(silence.border_weight),
    )


def _members(predictor: Predictor | None) -> tuple[Predictor, ...]:
    if isinstance(predictor, Ensemble):
        return tuple(predictor.members)
    return () if predictor is None else (predictor,)


def _population(state: State) -> Population:
    return Population(**{field: state[f"population/{field}"] for field in Population._fields})
