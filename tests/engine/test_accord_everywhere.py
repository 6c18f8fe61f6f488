"""The default method gives the same labels in memory and streamed, learning from all or from a sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.engine import sample
from seqtruth.engine.sample import draw_sample
from seqtruth.engine.streaming import ParquetParts
from seqtruth.io.longtable import scan
from seqtruth.methods.accord import labeller, run
from seqtruth.methods.accord.first_state import first_state
from seqtruth.methods.accord.options import GAPS, HEARD
from seqtruth.methods.accord.run import Run
from seqtruth.methods.crossfit import FoldModels
from seqtruth.methods.task import Task
from seqtruth.predictors.base import potentials_of
from seqtruth.simulation import simulate_rules

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.DataWarning")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo's crowd, to be streamed in seven parts and labelled in small slices."""
    monkeypatch.setattr(scan, "PART_ROWS", 6000)
    monkeypatch.setattr(labeller, "SLICE_TOKENS", 700)
    st.write(st.datasets.load("demo").crowd, tmp_path / "crowd.parquet")
    return tmp_path / "crowd.parquet"


def rows_of(result: st.Result | st.StoredResult, path: Path) -> dict[str, np.ndarray]:
    result.write(path)
    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def same(method: st.Accord, table: Path) -> st.Result:
    """Fit in memory and streamed; all that is written and said is the same."""
    whole, streamed = method.fit(st.read(table)), method.fit(st.stream(table))
    one = rows_of(whole, table.with_name("whole.parquet"))
    other = rows_of(streamed, table.with_name("streamed.parquet"))
    for name, column in one.items():
        if name == "confidence":
            np.testing.assert_allclose(column, other[name], atol=1e-5)
        else:
            assert column.tolist() == other[name].tolist()
    for name in ("weight", "agreement"):
        mine, theirs = getattr(whole.annotators, name), getattr(streamed.annotators, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    assert whole.provenance["chosen"] == streamed.provenance["chosen"]
    assert whole.warnings == streamed.warnings
    assert (whole.tagger is None) == (streamed.tagger is None)
    return whole


def crowd_of_one(crowd: Crowd) -> Crowd:
    """One sentence of one annotator's."""
    theirs = crowd.select_annotators(crowd.annotators[:1])
    return theirs[theirs.row_sentence[:1].astype(np.int64)]


def learn_from(monkeypatch: pytest.MonkeyPatch, tokens: int) -> None:
    monkeypatch.setattr(sample, "TOKENS", tokens)
    monkeypatch.setattr(sample, "FEWEST_DOCUMENTS", 10)


def test_a_small_table_is_learnt_from_whole(table: Path) -> None:
    whole = same(st.Accord(predictor="crf"), table)
    assert whole.provenance["chosen"].endswith("+predictor")
    assert whole.fitted is not None


@pytest.mark.parametrize(
    "settings", [{"predictor": "crf"}, {"predictor": None}, {"predictor": None, "chain": False}]
)
def test_a_large_one_by_a_sample(
    table: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    learn_from(monkeypatch, 4000)
    whole = same(st.Accord(**settings), table)
    assert whole.fitted is not None, "a crowd in memory can be explained and updated all the same"
    demo = st.datasets.load("demo")
    assert (
        st.evaluate(whole, demo.gold).f1
        > st.evaluate(st.MajorityVote().fit(demo.crowd), demo.gold).f1
    )


@pytest.mark.parametrize("predictor", ["crf", None])
def test_a_mixture_of_both_models(
    table: Path, monkeypatch: pytest.MonkeyPatch, predictor: str | None
) -> None:
    wanted = "both, mostly sequential" + (HEARD if predictor else "")
    monkeypatch.setattr(run, "choose", lambda *_: wanted)
    learn_from(monkeypatch, 4000)
    whole = same(st.Accord(predictor=predictor), table)
    assert whole.provenance["chosen"].startswith("both, mostly sequential")
    alone = crowd_of_one(st.datasets.load("demo").crowd)
    again = whole.update(alone)
    assert (again.tags == whole.tags).mean() > 0.99


def test_silent_sources(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_from(monkeypatch, 1500)
    rules = simulate_rules(st.datasets.load("demo").gold[:200], 2)
    st.write(rules, table)
    assert same(st.Accord(predictor="crf"), table).provenance["chosen"] == GAPS


def test_two_readings_of_silence(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_from(monkeypatch, 4000)
    gold = st.datasets.load("demo").gold
    st.write(st.simulate(gold, "careful:3,sloppy:4,misser:2,spammer", per_sentence=2), table)
    whole = same(st.Accord(predictor="crf"), table)
    assert set(whole.provenance["readings_of_O"]) == {"silence", "votes"}
    assert whole.fitted is not None
    again = whole.update(crowd_of_one(st.read(table)))
    assert (again.tags == whole.tags).mean() > 0.99


def test_hardly_any_labels(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_from(monkeypatch, 30)
    st.write(st.datasets.load("demo").crowd[:8], table)
    assert same(st.Accord(predictor="crf"), table).provenance["chosen"] == "vote"


def test_sentences_that_nobody_labelled(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_from(monkeypatch, 4000)
    crowd = st.datasets.load("demo").crowd
    kept = crowd.row_sentence % 9 != 4
    tags = crowd.tags[np.repeat(kept, np.diff(crowd.row_offsets))]
    gaps = Crowd(
        crowd.corpus, crowd.scheme, crowd.annotators, crowd.row_sentence[kept],
        crowd.row_annotator[kept], tags,
    )  # fmt: skip
    st.write(gaps, table)
    whole = same(st.Accord(predictor="crf"), table)
    assert (whole.tags >= 0).all()


def test_the_sample_is_the_same_everywhere(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_from(monkeypatch, 3000)
    crowd = st.read(table)
    memory, stream = (
        draw_sample(parts, 3) for parts in (st.engine.MemoryParts(crowd), ParquetParts(table))
    )
    assert not memory.everything and not stream.everything
    assert memory.crowd.corpus.sentence_ids.equals(stream.crowd.corpus.sentence_ids)
    assert memory.crowd.corpus.tokens.equals(stream.crowd.corpus.tokens)
    assert (memory.crowd.tags == stream.crowd.tags).all()
    assert 1500 < memory.crowd.n_tokens <= 3000
    names = [crowd.corpus.documents[n] for n in crowd.corpus.sentence_document]
    drawn = {names[s] for s in memory.places}
    assert memory.crowd.n_sentences == sum(name in drawn for name in names), "documents are whole"
    other = draw_sample(st.engine.MemoryParts(crowd), 4)
    assert not np.array_equal(other.places, memory.places)


def test_parts_hold_whole_documents(table: Path) -> None:
    seen: list[set[str]] = []

    def look(part: Crowd) -> dict[str, np.ndarray]:
        corpus = part.corpus
        seen.append({corpus.documents[n] for n in corpus.sentence_document})
        return {}

    ParquetParts(table).add_up(look)
    assert len(seen) > 4
    assert sum(map(len, seen)) == len(set.union(*seen))


def taught(crowd: Crowd) -> tuple[Run, FoldModels]:
    """A run after its first round, and the models that it taught."""
    run = Run(st.Accord(predictor="crf", max_iter=1), Task(st.engine.MemoryParts(crowd)))
    return run, run.models(run.advance(first_state(run)).state)


def test_no_sentence_is_judged_by_who_has_seen_its_document(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn_from(monkeypatch, 4000)
    crowd = st.read(table)
    run, models = taught(crowd)
    fold = models.folds.of(crowd.corpus)
    learnt = models.folds.of(run.crowd.corpus)
    documents = {}
    for name, number in zip(run.crowd.corpus.sentence_ids.to_pylist(), learnt, strict=True):
        documents[name] = number
    for name, number in zip(crowd.corpus.sentence_ids.to_pylist(), fold, strict=True):
        assert documents.get(name, number) == number
    assert len(np.unique(fold)) == 3
    by_document = {}
    for document, number in zip(crowd.corpus.sentence_document, fold, strict=True):
        assert by_document.setdefault(document, number) == number


def test_what_nobody_learnt_from_is_judged_by_all(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn_from(monkeypatch, 4000)
    crowd = st.read(table)
    run, models = taught(crowd)
    sampled = set(run.crowd.corpus.sentence_ids.to_pylist())
    unseen = models.folds.unseen(crowd.corpus)
    assert [
        name not in sampled for name in crowd.corpus.sentence_ids.to_pylist()
    ] == unseen.tolist()
    assert 0 < unseen.sum() < crowd.n_sentences
    (said,) = models.opinions(crowd.corpus)
    allowed = crowd.scheme.allowed
    all_said = [
        potentials_of(model, crowd.corpus).centred(allowed) for model in models.models[0] if model
    ]
    each = np.stack([one.scores for one in all_said])
    lengths = np.diff(crowd.corpus.token_offsets)
    fold = np.repeat(models.folds.of(crowd.corpus), lengths)
    own = each[fold, np.arange(crowd.n_tokens)]
    expected = np.where(np.repeat(unseen, lengths)[:, None], each.mean(axis=0), own)
    assert np.allclose(said.scores, expected, atol=1e-5)
    chains = np.stack([np.log(one.chain.transition) for one in all_said])
    assert np.allclose(np.log(said.chain.transition), chains.mean(axis=0))


def test_a_finished_run_goes_on(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its models are trained again from what is kept."""
    learn_from(monkeypatch, 4000)
    method, folder = st.Accord(predictor="crf"), table.with_name("rounds")
    first = method.fit(st.stream(table), checkpoint=folder)
    again = method.fit(st.stream(table), checkpoint=folder, resume=True)
    one, other = (
        rows_of(result, table.with_name(f"{n}.parquet")) for n, result in enumerate((first, again))
    )
    assert all(one[name].tolist() == other[name].tolist() for name in one)


def test_known_labels_in_a_large_crowd(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_from(monkeypatch, 4000)
    demo = st.datasets.load("demo")
    result = st.Accord(predictor="crf").fit(st.read(table), demo.gold[:100])
    known = st.evaluate(result, demo.gold[:100])
    assert known.f1 == 1.0
    assert st.evaluate(result, demo.gold).f1 < 1.0
