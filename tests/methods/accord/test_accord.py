"""Accord: what it reaches, what each switch does, and what it must not break."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, DataWarning, ParameterError
from seqtruth.history import Step
from seqtruth.kernels.grammar import is_legal
from seqtruth.methods.accord.accord import Accord
from seqtruth.methods.crossfit import cross_fit, train_on_all
from seqtruth.methods.folds import document_folds
from seqtruth.predictors import CRF, BiLSTM, Ensemble, Tagger
from seqtruth.stopping import together
from seqtruth.testing import small_crowd

QUICK = CRF(max_iter=12, further_iter=5)


@pytest.fixture(scope="module")
def demo() -> st.datasets.Dataset:
    return st.datasets.load("demo")


@pytest.fixture(scope="module")
def flagship(demo: st.datasets.Dataset) -> st.Result:
    return Accord(predictor=QUICK).fit(demo.crowd)


def without_text(crowd: Crowd) -> Crowd:
    return replace(crowd, corpus=replace(crowd.corpus, tokens=None))


def unlabelled(crowd: Crowd, sentences: list[int]) -> Crowd:
    """The crowd as if nobody had seen these sentences."""
    keep = ~np.isin(crowd.row_sentence, sentences)
    return replace(
        crowd, row_sentence=crowd.row_sentence[keep], row_annotator=crowd.row_annotator[keep],
        tags=crowd.tags[np.repeat(keep, np.diff(crowd.row_offsets))],
    )  # fmt: skip


# --- what it reaches -------------------------------------------------------------------------------


def test_better_than_its_parts(demo: st.datasets.Dataset, flagship: st.Result) -> None:
    f1 = st.evaluate(flagship, demo.gold).f1
    assert f1 > st.evaluate(st.BSCSeq().fit(demo.crowd), demo.gold).f1 + 0.005
    assert f1 > st.evaluate(st.MajorityVote().fit(demo.crowd), demo.gold).f1 + 0.005


def test_everything_is_there_and_in_range(demo: st.datasets.Dataset, flagship: st.Result) -> None:
    crowd, labels = demo.crowd, demo.crowd.n_labels
    assert is_legal(flagship.tags, crowd.corpus.token_offsets, crowd.scheme.grammar).all()
    assert flagship.probabilities.shape == (crowd.n_tokens, labels)
    np.testing.assert_allclose(flagship.probabilities.sum(axis=1), 1.0, atol=1e-5)
    shapes = {
        "token": (flagship.token_confidence, crowd.n_tokens),
        "sentence": (flagship.sentence_confidence, crowd.n_sentences),
        "span": (flagship.span_confidence(), len(flagship.spans())),
        "of span": (flagship.of_span, crowd.n_tokens),
    }
    for column, length in shapes.values():
        assert column.shape == (length,) and column.min() >= 0 and column.max() <= 1
        assert len(np.unique(column)) > 10
    entity = crowd.scheme.is_entity[flagship.tags]
    assert (flagship.of_span[entity] > 0).all() and not flagship.of_span[~entity].any()
    assert flagship.annotators.confusion.shape == (crowd.n_annotators, labels, labels)
    assert [step.iteration for step in flagship.history.steps] == [1, 2]
    assert np.isfinite(flagship.history.objective).all()


def test_the_tagger_is_kept(flagship: st.Result, tmp_path: Path) -> None:
    flagship.save(tmp_path / "r")
    again = st.Result.load(tmp_path / "r")
    for name in ("tags", "probabilities", "of_span", "of_sentence"):
        np.testing.assert_array_equal(getattr(again, name), getattr(flagship, name))
    np.testing.assert_array_equal(again.span_confidence(), flagship.span_confidence())
    np.testing.assert_array_equal(again.sentence_confidence, flagship.sentence_confidence)
    flagship.tagger.save(tmp_path / "t")
    words = flagship.corpus.words(0)
    assert Tagger.load(tmp_path / "t").tag(words) == again.tagger.tag(words)
    labels = flagship.tagger.label(flagship.corpus).tags
    assert (labels == flagship.tags).mean() > 0.9


def test_careful_annotators_weigh_more() -> None:
    gold = st.datasets.load("demo").gold[:200]
    crowd = st.simulate(gold, "careful:2,sloppy,spammer:2", seed=2)
    for predictor in (None, QUICK):
        result = Accord(predictor=predictor, max_iter=1).fit(crowd)
        weight = dict(zip(crowd.annotators, result.annotators.weight, strict=True))
        assert weight["careful-1"] > weight["sloppy"] > weight["spammer-1"]
        assert {row["annotator"] for row in list(result.annotators.ranked())[:2]} == {
            "spammer-1",
            "spammer-2",
        }


# --- same run, same bytes --------------------------------------------------------------------------


def test_threads_and_repetition_do_not_change_a_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = st.datasets.load("demo").crowd[:80]
    method = Accord(predictor=Ensemble([CRF(max_iter=6), CRF(max_iter=4, l2=2.0)]))
    written = []
    for number, count in enumerate(("1", "2", "2")):
        monkeypatch.setenv("SEQTRUTH_THREADS", count)
        method.fit(crowd).save(tmp_path / str(number))
        written.append((tmp_path / str(number)).read_bytes())
    assert written[0] == written[1] == written[2]


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed (make test EXTRAS=all)",
)
def test_networks_side_by_side_do_not_change_a_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = BiLSTM(hidden=8, epochs=1, vectors="none")
    method = Accord(predictor=Ensemble([CRF(max_iter=4), network]), folds=2, max_iter=1)
    written = []
    for count in ("1", "3"):
        monkeypatch.setenv("SEQTRUTH_THREADS", count)
        result = method.fit(small_crowd(n_sentences=20))
        result.save(tmp_path / count)
        written.append((tmp_path / count).read_bytes())
    assert written[0] == written[1]
    again = st.Result.load(tmp_path / "1")
    words = again.corpus.words(0)
    assert again.tagger.tag(words) == result.tagger.tag(words)


def test_another_seed_deals_other_folds() -> None:
    crowd = small_crowd()
    one, two = (Accord(predictor=QUICK, seed=seed, max_iter=1).fit(crowd) for seed in (0, 1))
    assert not np.array_equal(one.probabilities, two.probabilities)


class _Interrupted(Exception):
    pass


@pytest.mark.parametrize(
    "predictor", [QUICK, Ensemble([QUICK, CRF(max_iter=4)])], ids=["one", "two"]
)
def test_resumed_run_gives_the_same_bytes(predictor: Any, tmp_path: Path) -> None:
    def stop(step: Step) -> None:
        raise _Interrupted

    crowd, method = st.datasets.load("demo").crowd[:60], Accord(predictor=predictor, max_iter=2)
    method.fit(crowd).save(tmp_path / "whole")
    with pytest.raises(_Interrupted):
        method.fit(crowd, checkpoint=tmp_path / "kept", progress=stop)
    rounds: list[Step] = []
    method.fit(crowd, checkpoint=tmp_path / "kept", resume=True, progress=rounds.append).save(
        tmp_path / "resumed"
    )
    assert [step.iteration for step in rounds] == [2]
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()
    again = method.fit(crowd, checkpoint=tmp_path / "kept", resume=True)  # all rounds are there
    again.save(tmp_path / "again")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "again").read_bytes()


# --- switches --------------------------------------------------------------------------------------

SWITCHES: list[dict[str, Any]] = [
    {"chain": False}, {"documents": False}, {"trust": False}, {"decoding": "path"},
    {"evidence": 1.0}, {"calibrate": False}, {"predictor": None}, {"threshold": 0.7},
    {"max_iter": 1}, {"folds": 2},
]  # fmt: skip


@pytest.fixture(scope="module")
def part(demo: st.datasets.Dataset) -> tuple[Crowd, st.Result]:
    crowd = demo.crowd[:150]
    return crowd, Accord(predictor=CRF(max_iter=6)).fit(crowd)


@pytest.mark.parametrize("switch", SWITCHES, ids=str)
def test_every_switch_does_something(switch: dict[str, Any], part: tuple[Crowd, st.Result]) -> None:
    crowd, usual = part
    result = Accord(**({"predictor": CRF(max_iter=6)} | switch)).fit(crowd)
    assert is_legal(result.tags, crowd.corpus.token_offsets, crowd.scheme.grammar).all()
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0, atol=1e-5)
    assert np.isfinite(result.history.objective).all()
    different = not np.array_equal(result.probabilities, usual.probabilities)
    assert different or not np.array_equal(result.tags, usual.tags)


def test_without_predictor_there_is_one_round_and_no_tagger() -> None:
    result = Accord(predictor=None, max_iter=5).fit(small_crowd())
    assert len(result.history) == 1 and result.tagger is None


@pytest.mark.parametrize("settings", [
    {"decoding": "left"}, {"threshold": 1.0}, {"threshold": -0.1}, {"threshold": float("nan")},
    {"evidence": 0.0}, {"evidence": float("inf")}, {"evidence": float("nan")}, {"folds": 1},
    {"max_iter": 0}, {"seed": -1}, {"reliability": {"w0": 1.5}},
], ids=str)  # fmt: skip
def test_bad_settings_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(settings))):
        Accord(predictor=None, **settings).fit(small_crowd())


def test_reliabilities_known_beforehand_are_heard() -> None:
    crowd = small_crowd()
    usual = Accord(predictor=None).fit(crowd).annotators.weight[4]
    for accuracy, least, most in ((0.999, 1.1, 2.0), (0.3, 0.0, 0.5)):
        told = Accord(predictor=None, reliability={"w4": accuracy}, reliability_strength=1e4).fit(
            crowd
        )
        assert least * usual < told.annotators.weight[4] < most * usual


# --- known labels ----------------------------------------------------------------------------------


def test_known_labels_are_kept_and_certain() -> None:
    crowd = small_crowd()
    words = crowd.corpus.words(0)
    row = ["O"] * (len(words) - 2) + ["B-ORG", "I-ORG"]
    gold = Crowd.of({"gold": [row]}, [words], "iob2", ["s0"])
    for predictor in (None, QUICK):
        result = Accord(predictor=predictor).fit(crowd, gold)
        assert [result.scheme.labels[t] for t in result.tags[: len(words)]] == row
        np.testing.assert_array_equal(result.token_confidence[: len(words)], 1.0)
        assert result.sentence_confidence[0] == 1.0 and result.sentence_confidence[1] < 1.0
        assert result.spans()[0].label == "ORG" and result.spans()[0].confidence == 1.0
        assert result.span_confidence()[1:].max() < 1.0


def test_one_known_tag_leaves_the_path_legal() -> None:
    """Known to be inside a span whose borders nobody knows: no span is likely, one there must be."""
    n = 9
    votes = {w: [["O"] * n, ["B-A", "I-A", "I-A", *["O"] * (n - 3)]] for w in "ab"}
    crowd = Crowd.of(votes, [["x"] * n, ["y"] * n], "iob2", ["s0", "s1"])
    row: list[str | None] = [None] * n
    row[4] = "I-A"
    gold = Crowd.of({"gold": [row]}, [["x"] * n], "iob2", ["s0"])
    result = Accord(predictor=None, evidence=1e-3, threshold=0.6).fit(crowd, gold)
    assert result.scheme.labels[result.tags[4]] == "I-A"
    assert is_legal(result.tags, crowd.corpus.token_offsets, crowd.scheme.grammar).all()


def test_sentences_with_gold_and_no_vote_teach_the_tagger() -> None:
    crowd = small_crowd()
    gold = crowd.select_annotators(["w0"])
    result = Accord(predictor=QUICK, folds=2).fit(unlabelled(crowd, list(range(40))), gold)
    np.testing.assert_array_equal(result.tags, gold.tags)
    assert result.tagger.tag(["Ida", "Kim", "saw", "Oslo", "."])[3] == "B-LOC"


# --- crowds of every kind --------------------------------------------------------------------------


def test_without_text() -> None:
    bare = without_text(small_crowd())
    assert Accord(predictor=None).fit(bare).labelled.all()
    with pytest.raises(DataError, match=r"needs the words.*switch the predictor off"):
        Accord(predictor=QUICK).fit(bare)


def test_the_tagger_judges_what_nobody_labelled() -> None:
    crowd = small_crowd(n_sentences=60)
    hidden = [3, 17, 40]
    part = unlabelled(crowd, hidden)
    result = Accord(predictor=CRF(max_iter=30)).fit(part)
    assert result.labelled.all()
    truth = crowd.select_annotators(["w0"]).labelling().tags
    for s in hidden:
        a, b = crowd.corpus.token_offsets[s : s + 2]
        np.testing.assert_array_equal(result.tags[a:b], truth[a:b])
        assert 0 < result.sentence_confidence[s] < 1
    alone = Accord(predictor=None).fit(part)
    assert np.flatnonzero(~alone.labelled).tolist() == hidden
    assert (alone.sentence_confidence[hidden] == 0).all()


def test_a_tagger_that_nobody_asks_for_is_trained_only_where_labels_need_it(
    demo: st.datasets.Dataset, flagship: st.Result
) -> None:
    without = Accord(predictor=QUICK).fit(demo.crowd, tagger=False)
    assert without.tagger is None and flagship.tagger is not None
    np.testing.assert_array_equal(without.probabilities, flagship.probabilities)
    np.testing.assert_array_equal(without.tags, flagship.tags)
    part = unlabelled(small_crowd(n_sentences=60), [3])
    judged = Accord(predictor=QUICK).fit(part, tagger=False)
    assert judged.tagger is not None and judged.labelled.all()


def test_where_no_tagger_could_learn_nothing_is_judged() -> None:
    crowd = small_crowd(n_sentences=6)
    nothing = Accord(predictor=QUICK).fit(unlabelled(crowd, list(range(6))))
    assert (nothing.tags == -1).all() and nothing.tagger is None
    only = unlabelled(crowd, [0, 1, 2, 3, 4])  # one sentence is enough to learn something from
    assert Accord(predictor=QUICK).fit(only).labelled.all()
    assert Accord(predictor=None).fit(only).labelled.tolist() == [False] * 5 + [True]


def test_plain_tags() -> None:
    rng = np.random.default_rng(0)
    kinds = {"the": "DET", "a": "DET", "dog": "NOUN", "cat": "NOUN", "saw": "VERB", "ran": "VERB"}
    tokens = [rng.choice(sorted(kinds), rng.integers(1, 7)).tolist() for _ in range(60)]
    truth = [[kinds[word] for word in sentence] for sentence in tokens]

    def noisy(error: float) -> list[list[str]]:
        labels = sorted(set(kinds.values()))
        return [
            [str(rng.choice(labels)) if rng.random() < error else tag for tag in row]
            for row in truth
        ]

    votes = {f"w{k}": noisy(error) for k, error in enumerate((0.1, 0.3, 0.4, 0.9))}
    crowd = Crowd.of(votes, tokens)
    assert crowd.scheme.kind == "plain"
    result = Accord(predictor=QUICK).fit(crowd)
    labels = [result.scheme.labels[t] for t in result.tags]
    assert np.mean([a == b for a, b in zip(labels, chain.from_iterable(truth), strict=True)]) > 0.97
    assert result.annotators.weight.argmax() == 0 and result.annotators.weight.argmin() == 3
    assert len(result.span_confidence()) == crowd.n_tokens


@pytest.mark.parametrize("labels", [["N"], ["O"]])
def test_one_label_only(labels: list[str]) -> None:
    votes = {w: [[labels[0]] * 2, [labels[0]]] for w in "ab"}
    result = Accord(predictor=QUICK).fit(Crowd.of(votes, [["x", "y"], ["z"]]))
    assert (result.tags == 0).all() and (result.probabilities == 1).all()


def test_one_annotator() -> None:
    crowd = small_crowd().select_annotators(["w0"])
    with pytest.warns(DataWarning, match="only one annotator"):
        alone = Accord(predictor=None).fit(crowd)
    np.testing.assert_array_equal(alone.tags, crowd.tags)
    with pytest.warns(DataWarning, match="only one annotator"):
        taught = Accord(predictor=QUICK).fit(crowd)
    assert taught.tagger is not None and (taught.tags == crowd.tags).mean() > 0.95


def test_nothing_and_empty_sentences() -> None:
    empty = Crowd.build(Corpus.of([]), ["O", "B-PER"], ["a", "b"], [], [], np.zeros(0, np.int16))
    for predictor in (None, QUICK):
        result = Accord(predictor=predictor).fit(empty)
        assert len(result.tags) == len(result.sentence_confidence) == 0
    votes = {w: [[], ["B-PER", "O"], []] for w in "ab"}
    gaps = Crowd.of(votes, [[], ["Ann", "ran"], []])
    result = Accord(predictor=QUICK).fit(gaps)
    assert [result.scheme.labels[t] for t in result.tags] == ["B-PER", "O"]
    assert ((result.sentence_confidence >= 0) & (result.sentence_confidence <= 1)).all()


@pytest.mark.parametrize("evidence", [1e-6, 1e4, 1e9])
def test_evidence_of_any_size(evidence: float) -> None:
    result = Accord(predictor=QUICK, evidence=evidence).fit(small_crowd())
    assert np.isfinite(result.probabilities).all() and np.isfinite(result.history.objective).all()
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0, atol=1e-5)


# --- predictors ------------------------------------------------------------------------------------


class Foreign:
    """A predictor from elsewhere: no dataclass, no seed, no name; says the same of every token."""

    def __init__(self, said: float) -> None:
        self.said = said
        self.members = 3  # any attribute may be called anything

    def clone(self) -> Foreign:
        return Foreign(self.said)

    def fit(self, tokens, tags, *, scheme=None, weights=None) -> Foreign:
        self.labels = len(scheme.labels)
        return self

    def predict_proba(self, tokens) -> np.ndarray:
        return np.full((tokens.n_tokens, self.labels), self.said, np.float32)


@pytest.mark.parametrize("said", [0.0, 0.2, 1.0])
def test_a_foreign_predictor_that_says_nothing_changes_little(said: float) -> None:
    crowd = small_crowd()
    result = Accord(predictor=Foreign(said), evidence=1.0).fit(crowd)
    alone = Accord(predictor=None).fit(crowd)
    np.testing.assert_array_equal(result.tags, alone.tags)
    assert isinstance(result.tagger.predictor, Foreign)


@pytest.mark.parametrize("said", [float("nan"), float("inf")])
def test_a_predictor_that_gives_no_numbers_is_named(said: float) -> None:
    with pytest.raises(DataError, match="predictor Foreign must give"):
        Accord(predictor=Foreign(said)).fit(small_crowd())


def test_every_member_earns_its_own_trust() -> None:
    method = Accord(predictor=Ensemble([QUICK, Foreign(0.2), CRF(max_iter=1)]), max_iter=1)
    result = method.fit(small_crowd(n_sentences=80))
    assert isinstance(result.tagger.predictor, Ensemble)
    weights = result.tagger.predictor.weights
    assert weights.shape == (3,) and weights.sum() == pytest.approx(1.0)
    assert len(set(weights.round(6))) == 3


def test_predictor_given_is_not_trained() -> None:
    given = CRF(max_iter=3)
    Accord(predictor=Ensemble([given]), max_iter=1).fit(small_crowd())
    assert given.scheme is None


@dataclass
class Seeded:
    """Keeps what it was made with and what it learnt."""

    seed: int = 7
    learnt: list[str] = field(default_factory=list)
    log: list[tuple[int, tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)

    def clone(self) -> Seeded:
        return Seeded(self.seed, [], self.log)

    def fit(self, tokens, tags, *, scheme=None, weights=None) -> Seeded:
        assert not self.learnt
        self.learnt += tokens.sentence_ids.to_pylist()
        self.labels = len(scheme.labels)
        return self

    def predict_proba(self, tokens) -> np.ndarray:
        self.log.append((self.seed, tuple(self.learnt), tuple(tokens.sentence_ids.to_pylist())))
        return np.full((tokens.n_tokens, self.labels), 1 / self.labels, np.float32)


def test_no_sentence_is_judged_by_who_has_seen_its_document() -> None:
    crowd = st.datasets.load("demo").crowd[:100]
    corpus, scheme = crowd.corpus, crowd.scheme
    targets = np.full((crowd.n_tokens, crowd.n_labels), 0.1, np.float32)
    usable = np.arange(100) % 7 != 0
    told = Seeded(learnt=["something"])
    for number in (0, 1):
        cross_fit([told], corpus, scheme, targets, usable, 3, 0, number)
    assert told.learnt == ["something"] and len(told.log) == 6
    assert len({seed for seed, _, _ in told.log}) == 6
    names = corpus.sentence_ids.to_pylist()
    document = dict(zip(names, corpus.sentence_document.tolist(), strict=True))
    for _, learnt, asked in told.log:
        assert not {document[s] for s in learnt} & {document[s] for s in asked}
        assert all(usable[names.index(s)] for s in learnt)
    assert sorted(s for _, _, asked in told.log[:3] for s in asked) == sorted(names)
    (trained,) = train_on_all([told], corpus, scheme, targets, usable, 0)
    assert trained.learnt == [s for s, good in zip(names, usable, strict=True) if good]


def test_folds_of_a_part_are_made_of_the_documents_in_it() -> None:
    corpus = st.datasets.load("demo").crowd.corpus
    one = np.flatnonzero(corpus.sentence_document == 3)
    assert set(document_folds(corpus[one], 3, 0).tolist()) == {0, 1, 2}


def test_after_a_failure_no_other_job_begins() -> None:
    done = []

    def job(number: int) -> None:
        if number == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)
        done.append(number)

    with pytest.raises(KeyboardInterrupt):
        together([partial(job, number) for number in range(200)], 1)
    assert len(done) < 150


# --- one call --------------------------------------------------------------------------------------


def test_aggregate_takes_the_best_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Accord, Any]] = []
    monkeypatch.setattr(
        Accord, "_fit", lambda self, task: asked.append((self, task.known)) or 1 / 0
    )
    crowd, real = small_crowd(), importlib.util.find_spec
    for torch in (None, real("json")):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, t=torch: t if name == "torch" else real(name)
        )
        with pytest.raises(ZeroDivisionError):
            st.aggregate(crowd, seed=5)
    with pytest.raises(ZeroDivisionError):
        st.aggregate(without_text(crowd), gold=crowd.select_annotators(["w0"]))
    alone, small, bare = (method for method, _ in asked)
    assert isinstance(alone.predictor, CRF) and alone.seed == 5
    assert isinstance(small.predictor, CRF)  # a network learns nothing from so little
    large = Accord().resolved(has_text=True, n_sentences=2000).predictor
    assert [type(member) for member in large.members] == [CRF, BiLSTM]
    assert bare.predictor is None and asked[2][1] is not None


def test_aggregate_is_accord(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqtruth.methods.predicting.best_predictor", lambda n: QUICK)
    crowd = small_crowd()
    result = st.aggregate(crowd, seed=3)
    expected = Accord(predictor=QUICK, seed=3).fit(crowd)
    assert result.provenance == expected.provenance and result.provenance["method"] == "accord"
    np.testing.assert_array_equal(result.probabilities, expected.probabilities)
