"""What to label next, why a label, whom to trust: the parts add up, doubts come first, habits are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.origin import Origin
from seqtruth.decisions import annotators, explain, next_labels
from seqtruth.decisions.costs import costs_of
from seqtruth.decisions.mistakes import Compared
from seqtruth.decisions.model import ask
from seqtruth.decisions.next_labels import gains_of
from seqtruth.errors import DataError, InputError, ParameterError
from tests.decisions.material import QUICK, demo, fitted, some_rows

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.SeqTruthWarning")


# --- explain ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", QUICK)
def test_the_parts_of_an_explanation_sum_to_the_log_odds(method: str) -> None:
    result = fitted(method)
    labels = list(result.scheme.labels)
    seen = 0
    for s in range(30):
        found = explain(result, s)
        q = ask(result, np.array([s])).marginals().astype(np.float64)
        for token in found.tokens:
            assert sum(part.weight for part in token.parts) == pytest.approx(token.log_odds)
            a, b = (
                q[token.index, labels.index(token.label)],
                q[token.index, labels.index(token.rival)],
            )
            if min(a, b) > 1e-6:
                assert token.log_odds == pytest.approx(np.log(a / b), abs=2e-3)
                seen += 1
    assert seen > 20


def test_an_explanation_names_everybody_who_spoke() -> None:
    result = fitted("bsc-seq")
    found = explain(result, result.corpus.sentence_ids[2].as_py())
    assert set(found.votes) == {
        demo().crowd.annotators[w]
        for w in demo().crowd.row_annotator[slice(*demo().crowd.sentence_rows[2:4])]
    }
    token = found.tokens[0]
    assert {part.name for part in token.parts if part.kind == "annotator"} == set(found.votes)
    assert token.token in token.words()
    assert found.to_dict()["tokens"][0]["words"] == token.words()


def test_decisions_are_explained_as_such() -> None:
    data = demo()
    wrong = np.flatnonzero(data.gold.tags != fitted("bsc-seq").tags)[0]
    s = int(np.searchsorted(data.gold.corpus.token_offsets, wrong, side="right") - 1)
    now = fitted("bsc-seq").update(known=data.gold.take([s]))
    assert any(token.known and "given as true" in token.words() for token in explain(now, s).tokens)


def test_unknown_sentences_and_methods_without_a_model() -> None:
    with pytest.raises(DataError, match="no such sentence; got 'nowhere'"):
        explain(fitted("bsc-seq"), "nowhere")
    with pytest.raises(ParameterError, match="mv keeps no model that could be asked"):
        explain(fitted("mv"), 0)


# --- next ---------------------------------------------------------------------------------------------


def test_gains_are_never_negative_and_nothing_is_to_be_gained_where_all_is_sure() -> None:
    draw = np.random.default_rng(0)
    q = draw.dirichlet(np.ones(4), 50)
    confusion = draw.dirichlet(np.ones(4), (3, 4))
    assert (gains_of(q, confusion, 0.5) >= 0).all()
    assert gains_of(np.eye(4), confusion, 1.0).max() < 1e-9


def test_a_plan_asks_for_what_can_be_had_and_is_in_order() -> None:
    result = fitted("bsc-seq")
    crowd = result.crowd
    assert crowd is not None
    plan = next_labels(result, 40)
    had = {
        (crowd.corpus.sentence_ids[int(s)].as_py(), crowd.annotators[w])
        for s, w in zip(crowd.row_sentence, crowd.row_annotator, strict=True)
    }
    asked = [(one.sentence, one.annotator) for one in plan.suggestions]
    assert len(set(asked)) == len(asked)
    assert not had & set(asked)
    first = {one.sentence: one.gain for one in reversed(plan.suggestions)}
    gains = [first[name] for name in dict.fromkeys(name for name, _ in asked)]
    assert gains == sorted(gains, reverse=True)
    curve = plan.curve(5)
    assert [one["labels"] for one in curve] == [0, 8, 16, 24, 32, 40]
    f1 = [one["expected_f1"] for one in curve]
    assert f1 == sorted(f1)


def test_only_candidates_are_asked_for() -> None:
    data = demo()
    crowd = data.crowd
    shown = np.arange(crowd.n_rows) % 3 > 0
    result = st.aggregate(some_rows(crowd, shown), "bsc-seq")
    hidden = some_rows(crowd, ~shown)
    rows = {
        (crowd.corpus.sentence_ids[int(s)].as_py(), crowd.annotators[w])
        for s, w in zip(hidden.row_sentence, hidden.row_annotator, strict=True)
    }
    plan = next_labels(result, 30, candidates=hidden)
    assert plan.suggestions
    assert {(one.sentence, one.annotator) for one in plan.suggestions} <= rows


def test_costs_and_availability_are_heeded(tmp_path: Path) -> None:
    result = fitted("bsc-seq")
    first = next_labels(result, 20).suggestions[0].annotator
    toml = tmp_path / "costs.toml"
    toml.write_text(f'cost = 2.0\n["{first}"]\navailable = false\n')
    plan = next_labels(result, 20, costs=toml)
    assert first not in {one.annotator for one in plan.suggestions}
    assert {one.cost for one in plan.suggestions} == {2.0}
    few = next_labels(result, 20, costs={first: {"labels": 2}})
    assert sum(one.annotator == first for one in few.suggestions) <= 2
    table = tmp_path / "costs.csv"
    table.write_text(f"annotator,cost,cost_per_token\n{first},0.1,0.01\n")
    prices = {one.cost for one in next_labels(result, 20, costs=table).suggestions}
    assert len(prices) > 1
    cheap = next_labels(result, 20, budget=5.0)
    assert sum(one.cost for one in cheap.suggestions) <= 5.0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[nobody]\ncost = 1\n", "labelled nothing here"),
        ("cost = -1\n", "cost must be a number, 0 or more"),
        ("price = 1\n", "a price is one of available, cost, cost_per_token, labels"),
        ("[broken\n", "the costs cannot be read"),
    ],
)
def test_costs_that_make_no_sense(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        costs_of(path, demo().crowd)


# --- annotators ---------------------------------------------------------------------------------------


def test_habits_of_a_cast_with_known_vices() -> None:
    data = demo()
    cast = "careful:2,misser,boundary,confuser"
    crowd = st.simulate(data.gold.as_crowd(), cast, seed=1)
    habits = dict(
        zip(
            crowd.annotators,
            Compared(crowd, data.gold.recode(crowd.scheme).tags).habits(),
            strict=True,
        )
    )

    def told(stem: str) -> str:
        return " ".join(
            one.words for name, some in habits.items() if name.startswith(stem) for one in some
        )

    assert "misses" in told("misser")
    assert "one token" in told("boundary")
    assert "calls" in told("confuser")


def test_the_worst_come_first_with_intervals_around_their_f1() -> None:
    report = annotators(fitted("bsc-seq"))
    f1 = [row.f1 for row in report.rows]
    assert f1 == sorted(f1)
    assert all(row.low <= row.f1 <= row.high for row in report.rows)
    assert {row.annotator for row in report.rows} == set(demo().crowd.annotators)
    assert {"misser", "copier"} in [set(group["annotators"]) for group in report.copies]
    adds = {row.annotator: row.adds for row in report.rows}
    assert adds["careful-1"] > adds["spammer"]
    assert not np.isnan(list(adds.values())).any()
    bare = annotators(fitted("mv"))  # no model: what each adds is not known
    assert np.isnan([row.adds for row in bare.rows]).all()


def test_learning_is_seen_where_labels_have_times() -> None:
    tokens = [["Ada", "ran", "to", "Rome"]] * 120
    truth = ["B-PER", "O", "O", "B-LOC"]
    novice = [truth if k >= 60 or k % 3 == 0 else ["O", "O", "O", "O"] for k in range(120)]
    votes = {"a": [truth] * 120, "b": [truth] * 120, "novice": novice}
    crowd = st.Crowd.of(votes, tokens)
    names = [f"d{k}" for k in range(120)]
    times = {
        "novice": {name: f"2026-01-01T00:{k // 60:02}:{k % 60:02}" for k, name in enumerate(names)}
    }
    corpus = replace(
        crowd.corpus, documents=tuple(names), sentence_document=np.arange(120, dtype=np.int32),
        origin=Origin(times=times),
    )  # fmt: skip
    report = annotators(st.aggregate(replace(crowd, corpus=corpus), "bsc-seq"))
    rows = {row.annotator: row for row in report.rows}
    trend = rows["novice"].trend
    assert trend is not None
    assert trend.words == "learning"
    assert trend.first < trend.last
    assert rows["a"].trend is None
    told = Origin.from_dict(corpus.origin.to_dict())
    assert told.times == times
