"""The desk: one corpus, its labels, its questions and the decisions about them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.decisions.cases import Cases, find_cases
from seqtruth.decisions.model import expected_f1
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import Bool
from seqtruth.result import Result
from seqtruth.review import views
from seqtruth.review.marks import Marks, current_marks, labelling
from seqtruth.review.outlook import Found, outlook
from seqtruth.review.questions import COHERENCE, KINDS, Question, Questions
from seqtruth.review.store import double
from seqtruth.review.store.decisions import ConflictError, Decision, State, Store, Written
from seqtruth.review.wanted import Finder, Wanted

#: Sentences of a question for which the model's reasons are worked out: those that the page shows them for.
EXPLAINED = 3
#: Questions looked at before giving up on finding one that nobody else holds.
TRIES = 20


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The labels as last learnt, and what is in doubt about them.

    ``settled`` and ``together`` change: which cases are decided, and which may be asked about with others.
    """

    result: Result
    cases: Cases
    questions: Questions
    number: int
    settled: Bool
    together: Bool

    @cached_property
    def f1(self) -> float:
        """To be expected of the labels; 1 where nothing is marked and nothing should be."""
        found = expected_f1(self.result)
        return found if found == found else 1.0

    @classmethod
    def of(cls, result: Result, crowd: Crowd | None, number: int) -> Snapshot:
        """Find the cases and the questions."""
        cases = find_cases(result, crowd)
        questions = Questions(cases, result.corpus.n_sentences)
        none, all_ = np.zeros(cases.size, np.bool_), np.ones(cases.size, np.bool_)
        return cls(result, cases, questions, number, none, all_)

    def settle(self, states: Mapping[int, State]) -> None:
        """Note which cases of these sentences are decided."""
        cases = self.cases
        for s, state in states.items():
            a, b = np.searchsorted(cases.sentence, [s, s + 1]).tolist()
            for k in range(a, b):
                self.settled[k] = state.marks.covers(int(cases.start[k]), int(cases.end[k]))


class Desk:
    """Everything the API does, for one corpus and one store.

    Parameters
    ----------
    result : the labels to be reviewed.
    store : where decisions are kept.
    crowd : what the annotators said, where the result does not know it.
    number : of the round in which the labels were learnt.
    """

    def __init__(
        self, result: Result, store: Store, crowd: Crowd | None = None, number: int = 0
    ) -> None:
        self.store = store
        self.crowd = result.crowd if crowd is None else crowd
        self._lock = threading.Lock()
        self._states = store.states()
        self._finder = Finder(result.corpus, self.crowd)
        self._ahead: tuple[Any, dict[str, Any]] | None = None
        self.snapshot = Snapshot.of(result, self.crowd, number)
        self.snapshot.settle(self._states)

    @property
    def result(self) -> Result:
        """The labels as last learnt."""
        return self.snapshot.result

    def learnt(self, result: Result, number: int) -> None:
        """Go on with new labels."""
        snapshot = Snapshot.of(result, self.crowd, number)
        with self._lock:
            snapshot.settle(self._states)
            self.snapshot = snapshot

    def leave_out(self, cases: Sequence[int]) -> None:
        """Ask about these cases no longer together with others."""
        snapshot = self.snapshot
        snapshot.together[[number for number in cases if number < snapshot.cases.size]] = False

    def state(self, sentence: int) -> State:
        """What is decided about a sentence."""
        return self._states.get(sentence, State())

    def decided(self) -> dict[int, Marks]:
        """What is settled, by sentence."""
        with self._lock:
            return {s: one.marks for s, one in self._states.items() if not one.marks.empty}

    # -- asking -------------------------------------------------------------------------------------

    def ranked(
        self, user: str, wanted: Wanted, most: int, lead: bool = False
    ) -> list[dict[str, Any]]:
        """The questions worth most, in a few words each, with who is working on them."""
        snapshot = self.snapshot
        held = self.store.held()
        asked = self._ask(snapshot, self._mask(snapshot, user, wanted, lead), wanted, most)
        return [
            {
                "question": one.name, "kind": one.kind, "gain": round(one.gain, 3),
                **views.title(snapshot.result, snapshot.cases, one),
                "by": next((held[s] for s in self._sentences(snapshot, one) if s in held), None),
            }
            for one in asked
        ]  # fmt: skip

    def sentences(
        self, wanted: Wanted, decided: bool = False, most: int = 50
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Sentences in reading order, in doubt or not: all that are wanted, or those with decisions.

        Parameters
        ----------
        wanted : type (in the labels), annotator, document and text count.
        decided : only those about which something was decided.
        most : how many.
        """
        snapshot, found = self.snapshot, self._finder.sentences(wanted)
        if wanted.type is not None:
            found = found & self._finder.with_type(snapshot.result, wanted.type)
        if decided:
            touched = np.zeros(len(found), np.bool_)
            touched[[s for s, one in self._states.items() if one.status != "open"]] = True
            found = found & touched
        return [
            views.listed(snapshot.result, s, self.state(s).status)
            for s in np.flatnonzero(found)[:most].tolist()
        ]

    def next(self, user: str, wanted: Wanted, lead: bool = False) -> dict[str, Any] | None:
        """The question worth most that nobody else is working on, kept for this user; None: all done."""
        for _ in range(TRIES):
            snapshot = self.snapshot
            mask = self._mask(snapshot, user, wanted, lead)
            others = [s for s, name in self.store.held().items() if name != user]
            mask &= ~np.isin(snapshot.cases.sentence, others)
            asked = self._ask(snapshot, mask, wanted, 1)
            if not asked:
                return None
            if self.store.lease(user, asked[0].name, self._sentences(snapshot, asked[0])):
                return self._view(snapshot, asked[0], user, lead)
        return None

    def open(self, user: str, name: str, lead: bool = False) -> dict[str, Any] | None:
        """A question by name, kept for this user; None where there is none."""
        snapshot = self.snapshot
        mask = ~snapshot.settled if name[:2] != "s-" else np.ones(snapshot.cases.size, np.bool_)
        found = snapshot.questions.find(name, mask)
        if found is None or (found.kind != "sentence" and not found.cases):
            return None
        sentences = self._sentences(snapshot, found)
        if not self.store.lease(user, name, sentences):
            held = self.store.held()
            who = next((held[s] for s in sentences if s in held), "")
            raise ConflictError("somebody else is working on this", got=who)
        return self._view(snapshot, found, user, lead)

    def _ask(self, snapshot: Snapshot, mask: Bool, wanted: Wanted, most: int) -> list[Question]:
        kinds = KINDS if wanted.kind is None else (wanted.kind,)
        return snapshot.questions.ranked(mask, most, snapshot.together, kinds)

    def _sentences(self, snapshot: Snapshot, question: Question) -> list[int]:
        if question.kind == "sentence":
            return [int(question.name[2:])]
        return sorted({int(snapshot.cases.sentence[number]) for number in question.cases})

    def _view(
        self, snapshot: Snapshot, question: Question, user: str, lead: bool
    ) -> dict[str, Any]:  # fmt: skip
        by_sentence: dict[int, list[int]] = {s: [] for s in self._sentences(snapshot, question)}
        for number in question.cases:
            by_sentence[int(snapshot.cases.sentence[number])].append(number)
        # where two judge alone, each sees their own comments, and leads see all
        alone = self.store.double and not lead
        comments = self.store.comments(list(by_sentence), user if alone else None)
        return {
            "question": question.name,
            "kind": question.kind,
            "gain": round(question.gain, 3),
            "round": snapshot.number,
            "coherence": COHERENCE.get(question.kind, 1.0),
            **views.title(snapshot.result, snapshot.cases, question),
            "items": [
                self._item(snapshot, s, chosen, number < EXPLAINED)
                | {"comments": comments.get(s, []), "opinions": self._opinions(s) if lead else []}
                for number, (s, chosen) in enumerate(by_sentence.items())
            ],
        }

    def _opinions(self, sentence: int) -> list[dict[str, Any]]:
        """What each reviewer said, where two are asked and differ."""
        if self.state(sentence).status != "disputed":
            return []
        with self.store.database.reading() as db:
            return double.opinions_on(db, sentence)

    def _item(self, snapshot: Snapshot, s: int, chosen: list[int], explain: bool) -> dict[str, Any]:
        result, cases = snapshot.result, snapshot.cases
        found = views.sentence_view(result, self.crowd, s, self.state(s), cases, chosen)
        why = views.reasons(result, s, cases, chosen) if explain else []
        return found | {"layers": self._other_layers(result, s), "reasons": why}

    @cached_property
    def _layers(self) -> dict[str, list[int]]:
        """The sentences (one a layer) of each text, where marks lie on layers."""
        corpus = self.result.corpus
        found: dict[str, list[int]] = {}
        for s, name in enumerate(corpus.base_ids.to_pylist() if len(corpus.layers) > 1 else ()):
            found.setdefault(name, []).append(s)
        return found

    def _other_layers(self, result: Result, sentence: int) -> list[dict[str, Any]]:
        """The marks on the same text's other layers, to be seen beside these."""
        if not self._layers:
            return []
        name = views.base_name(result.corpus, sentence)
        return [
            views.layer_view(result, s, self.state(s)) for s in self._layers[name] if s != sentence
        ]

    def _mask(self, snapshot: Snapshot, user: str, wanted: Wanted, lead: bool) -> Bool:
        """Open cases that the user wants, and did not pass over."""
        cases = snapshot.cases
        mask = ~snapshot.settled
        if skipped := self.store.skipped(user):
            mask &= ~np.isin(cases.sentence, list(skipped))
        if self.store.double:
            mask &= ~self._judged(snapshot, user, lead)
        if wanted.type is not None:
            types = snapshot.result.scheme.types
            number = types.index(wanted.type) if wanted.type in types else -2
            mask &= (cases.label == number) | (cases.rival == number)
        if wanted.some_sentences:
            mask &= self._finder.sentences(wanted)[cases.sentence]
        if wanted.above is not None:
            mask &= 1 - cases.wrong >= wanted.above
        if wanted.below is not None:
            mask &= 1 - cases.wrong <= wanted.below
        return np.asarray(mask)

    def _judged(self, snapshot: Snapshot, user: str, lead: bool) -> Bool:
        """Where two are asked: cases this user has judged, and disputes for those who do not lead."""
        with self.store.database.reading() as db:
            mine = {s: said[user] for s, said in double.all_opinions(db, user).items()}
        cases = snapshot.cases
        disputed = {s for s, one in self._states.items() if one.status == "disputed"}
        judged = np.isin(cases.sentence, [] if lead else list(disputed))
        for s, said in mine.items():
            if s in disputed:
                continue
            a, b = np.searchsorted(cases.sentence, [s, s + 1]).tolist()
            for k in range(a, b):
                judged[k] = said.covers(int(cases.start[k]), int(cases.end[k]))
        return np.asarray(judged)

    # -- deciding -----------------------------------------------------------------------------------

    def decide(
        self, user: str, batch: str, question: str, items: Sequence[Mapping[str, Any]],
        comment: str = "", final: bool = False,
    ) -> Written:  # fmt: skip
        """Check and write what a reviewer decided; see :meth:`Store.decide`."""
        scheme, offsets = self.result.scheme, self.result.corpus.token_offsets
        decisions = []
        for one in items:
            s = self._known_sentence(one["sentence"])
            n = int(offsets[s + 1] - offsets[s])
            settled = [[0, n]] if one.get("settled") is None and n else one.get("settled") or []
            marks = Marks.of(settled, one["spans"], n, scheme)
            decisions.append(Decision(s, int(one["version"]), marks, self._found(s, marks)))
        if len({one.sentence for one in decisions}) < len(decisions):
            raise ParameterError("a sentence is decided once in a batch")
        return self._noted(self.store.decide(user, batch, question, decisions, comment, final))

    def _found(self, sentence: int, marks: Marks) -> Found:
        """Errors foreseen in the open cases that a decision settles, and those it corrects."""
        snapshot = self.snapshot
        cases, past = snapshot.cases, Found()
        a, b = np.searchsorted(cases.sentence, [sentence, sentence + 1]).tolist()
        if a == b:
            return past
        shown = current_marks(snapshot.result, sentence, self.state(sentence).marks).spans
        for k in range(a, b):
            start, end = int(cases.start[k]), int(cases.end[k])
            if snapshot.settled[k] or not marks.covers(start, end):
                continue
            was, now = (
                [one for one in spans if one[0] < end and start < one[1]]
                for spans in (shown, marks.spans)
            )
            past = Found(
                past.foreseen + float(cases.wrong[k]), past.found + (was != now), past.asked + 1
            )
        return past

    def undo(self, user: str, batch: str, undoes: str | None = None) -> Written:
        """Take back a batch; see :meth:`Store.undo`."""
        return self._noted(self.store.undo(user, batch, undoes))

    def known_sentences(self, sentences: Sequence[int]) -> list[int]:
        """The same numbers, each checked."""
        return sorted({self._known_sentence(s) for s in sentences})

    def _known_sentence(self, sentence: Any) -> int:
        if not 0 <= int(sentence) < self.result.corpus.n_sentences:
            raise ParameterError("no such sentence", got=str(sentence))
        return int(sentence)

    def _noted(self, written: Written) -> Written:
        if written.states:
            with self._lock:
                self._states.update(written.states)
                self.snapshot.settle(written.states)
        return written

    def progress(self) -> dict[str, Any]:
        """How far it is, what is to be expected, and what was learnt."""
        found = {
            "counts": self.store.counts(), "round": self.snapshot.number, "outlook": self.outlook(),
            "rounds": self.store.rounds(),
        }  # fmt: skip
        if self.store.double:
            with self.store.database.reading() as db:
                found["agreement"] = double.agreement(double.all_opinions(db))
        return found

    def outlook(self) -> dict[str, Any]:
        """Expected F1 now and later; counted anew when something was decided or learnt."""
        snapshot, past = self.snapshot, self.store.past()
        key = (snapshot.number, past, int(snapshot.settled.sum()))
        if self._ahead is None or self._ahead[0] != key:
            mask = ~snapshot.settled
            found = outlook(
                snapshot.f1, snapshot.cases, snapshot.questions, mask, snapshot.together, past
            )
            self._ahead = (key, found)
        return self._ahead[1]

    # -- out ----------------------------------------------------------------------------------------

    def gold(self) -> Labelling:
        """What is decided, as known labels; -1 where nothing is."""
        return labelling(self.decided(), self.result.corpus, self.result.scheme)

    def in_doubt(self) -> Bool:
        """bool[S]: sentences with something in doubt that nobody decided."""
        snapshot = self.snapshot
        found = np.zeros(snapshot.result.corpus.n_sentences, np.bool_)
        found[snapshot.cases.sentence[~snapshot.settled]] = True
        return found

    def labels(self) -> Result:
        """The labels with all decisions in them, sure of what was decided."""
        result, decided = self.result, self.decided()
        tags, soft = result.tags.copy(), result.probabilities.copy()
        of_span = None if result.of_span is None else result.of_span.copy()
        of_sentence = None if result.of_sentence is None else result.of_sentence.copy()
        for s, marks in decided.items():
            a, b = (int(value) for value in result.corpus.token_offsets[s : s + 2])
            tags[a:b] = current_marks(result, s, marks).tags(b - a, result.scheme)
            for x, y in marks.settled:
                at = np.arange(a + x, a + y)
                soft[at] = 0
                soft[at, tags[at]] = 1
                if of_span is not None:
                    of_span[at] = result.scheme.is_entity[tags[at]]
            if of_sentence is not None and marks.covers(0, b - a):
                of_sentence[s] = 1.0
        about = {**result.provenance, "decided": len(decided)}
        return replace(
            result,
            tags=tags,
            probabilities=soft,
            of_span=of_span,
            of_sentence=of_sentence,
            provenance=about,
        )
