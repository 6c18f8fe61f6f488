"""The desk tried with a gold standard in the reviewer's chair: how much a number of decisions is worth."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.decisions.cases import find_cases
from seqtruth.decisions.claims import spans_in
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import Bool, Tags
from seqtruth.metrics import evaluate
from seqtruth.metrics.align import align
from seqtruth.result import Result
from seqtruth.review.learning import tried
from seqtruth.review.marks import Marks, Span, current_marks, labelling
from seqtruth.review.questions import Question, Questions

STRATEGIES = ("ours", "sentences", "worst", "random")

log = logging.getLogger("seqtruth")


class Point(NamedTuple):
    """Where a replay stands: F1 of all sentences, and of those nobody decided anything about, in %.

    ``rest_before`` is the F1 that those same sentences had without any decision; ``marks`` counts the
    spans and sentences that the reviewer was shown.
    """

    decisions: int
    f1: float
    rest: float
    rest_before: float
    sentences: int
    marks: int


@dataclass(eq=False)
class Replay:
    """A gold standard answers questions.

    Parameters
    ----------
    result, crowd : the labels without any decision, and what the annotators said.
    gold : the reviewer's answers, sentence by sentence as in the result; -1 where there are none.
    chosen : bool[S], sentences that may be asked about and are scored.
    strategy : ``ours``; ``sentences`` (ours without groups); ``worst`` (least confident sentence first);
        ``random``.
    every : decisions between two fits; 0 for never.
    seed : of the draws and of the fits.
    learn : how the labels learn.
    """

    result: Result
    crowd: Crowd
    gold: Labelling
    chosen: Bool
    strategy: str = "ours"
    every: int = 25
    seed: int = 0
    learn: Callable[..., tuple[Result, Any]] = tried

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ParameterError(
                f"a strategy is one of {', '.join(STRATEGIES)}", got=repr(self.strategy)
            )
        self.first, self.decided = self.result, dict[int, Marks]()
        self.marks = 0
        self._random = np.random.default_rng(self.seed)
        self._look()

    def run(self, n: int, at: int | None = None) -> Iterator[Point]:
        """Decide ``n`` times; a point at the start, before each fit, and after it.

        Parameters
        ----------
        n : how many decisions.
        at : decisions between two points; as often as there are fits where not given.
        """
        step = at or self.every or 25
        yield self.point(0)
        for k in range(1, n + 1):
            self.decide()
            if self.every and k % self.every == 0:
                known = labelling(self.decided, self.result.corpus, self.result.scheme)
                log.info("%s: fit after %d decisions", self.strategy, k)
                self.result, trial = self.learn(self.first, self.crowd, known, seed=self.seed)
                log.info("on decisions not learnt from: %s", trial)
                self._look()
            if k % step == 0 or k == n:
                yield self.point(k)

    def decide(self) -> None:
        """Ask one question and write down the answer."""
        question = self._ask()
        if question is None:
            return
        if question.kind == "sentence":
            s = int(question.name[2:])
            spans, n = self._gold_spans(s)
            self.decided[s] = Marks(((0, n),), tuple(spans))
            self.marks += 1
            self._open[self._cases.sentence == s] = False
            self._unseen[s] = False
            return
        self.marks += len(question.cases)
        answers = {k: self._answer(k) for k in question.cases}
        given = [one for one in answers.values() if one != "?"]
        common = max(sorted(set(given), key=str), key=given.count) if given else "?"
        for k, answer in answers.items():
            self._together[k] = False
            if answer == common != "?":
                self._settle(k, answer)

    def point(self, decisions: int) -> Point:
        """Score the labels, with the decisions in them."""
        tags = self.result.tags.copy()
        for s, marks in self.decided.items():
            a, b = (int(v) for v in self.result.corpus.token_offsets[s : s + 2])
            tags[a:b] = current_marks(self.result, s, marks).tags(b - a, self.result.scheme)
        rest = self.chosen.copy()
        rest[list(self.decided)] = False
        return Point(
            decisions, self._f1(tags, self.chosen), self._f1(tags, rest),
            self._f1(self.first.tags, rest), len(self.decided), self.marks,
        )  # fmt: skip

    def _f1(self, tags: Tags, mask: Bool) -> float:
        if not mask.any():
            return float("nan")
        found = Labelling(self.result.corpus, self.result.scheme, tags).take(mask)
        return 100 * float(evaluate(found, self.gold.take(mask)).f1)

    def _look(self) -> None:
        """Find the cases of the labels as they are now."""
        self._cases = find_cases(self.result, self.crowd)
        self._questions = Questions(self._cases, self.result.corpus.n_sentences)
        cases = self._cases
        self._open = self.chosen[cases.sentence]
        for k in np.flatnonzero(self._open).tolist():
            marks = self.decided.get(int(cases.sentence[k]))
            if marks is not None and marks.covers(int(cases.start[k]), int(cases.end[k])):
                self._open[k] = False
        self._together = np.ones(cases.size, np.bool_)
        self._unseen = self.chosen.copy()
        whole = [s for s, marks in self.decided.items() if len(marks.settled) == 1
                 and marks.covers(0, self._gold_spans(s)[1])]  # fmt: skip
        self._unseen[whole] = False

    def _ask(self) -> Question | None:
        if self.strategy == "random":
            left = np.flatnonzero(self._unseen)
            s = int(self._random.choice(left)) if len(left) else -1
        elif self.strategy == "worst":
            sure = np.where(self._unseen, self.result.sentence_confidence, np.inf)
            s = int(np.argmin(sure)) if np.isfinite(sure.min()) else -1
        else:
            found = self._questions.ranked(
                self._open, 1, self._together if self.strategy == "ours" else None
            )
            return found[0] if found else None
        return None if s < 0 else Question(f"s-{s}", "sentence", (), 0.0)

    def _gold_spans(self, sentence: int) -> tuple[list[Span], int]:
        a, b = (int(v) for v in self.gold.corpus.token_offsets[sentence : sentence + 2])
        return spans_in(self.gold.tags[a:b], self.gold.scheme), b - a

    def _answer(self, case: int) -> str | None:
        """The type of the mark asked about, None for nothing there, ``"?"`` for neither."""
        cases = self._cases
        start, end = int(cases.start[case]), int(cases.end[case])
        spans, _ = self._gold_spans(int(cases.sentence[case]))
        here = [one for one in spans if one[0] < end and start < one[1]]
        if not here:
            return None
        mark = (int(cases.first[case]), int(cases.last[case]))
        return here[0][2] if len(here) == 1 and here[0][:2] == mark else "?"

    def _settle(self, case: int, answer: str | None) -> None:
        cases, s = self._cases, int(self._cases.sentence[case])
        spans = () if answer is None else ((int(cases.first[case]), int(cases.last[case]), answer),)
        new = Marks(((int(cases.start[case]), int(cases.end[case])),), spans)
        self.decided[s] = self.decided.get(s, Marks()).with_(new)
        self._open[case] = False


def prepared(result: Result, gold: Any) -> tuple[Labelling, Bool]:
    """Gold laid over the result's tokens, and which sentences have any.

    Parameters
    ----------
    result : the labels.
    gold : anything that can be scored against.
    """
    pair = align(result, gold)
    if pair.gold.scheme != result.scheme:
        raise ParameterError(
            "the gold standard has other labels than the result",
            got=", ".join(sorted(set(pair.gold.scheme.labels) ^ set(result.scheme.labels))),
        )
    tags = result.scheme.unlabelled(result.corpus.n_tokens)
    has = np.zeros(result.corpus.n_sentences, np.bool_)
    has[pair.places] = True
    flat = np.repeat(has, np.diff(result.corpus.token_offsets))
    tags[flat] = pair.gold.tags
    return Labelling(result.corpus, result.scheme, tags), has
