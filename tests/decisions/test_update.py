"""Updates: nothing new changes nothing, what was added can be taken back, and the end is that of a refit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.labelling import Labelling
from seqtruth.errors import DataError, ParameterError
from seqtruth.metrics.annotators import annotator_scores
from tests.decisions.material import QUICK, demo, fitted, parted, some_rows

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.SeqTruthWarning")


@pytest.mark.parametrize("method", QUICK)
def test_nothing_new_changes_nothing(method: str) -> None:
    result = fitted(method)
    assert result.update() is result
    assert result.update(result.crowd) is result  # a whole export handed in again


@pytest.mark.parametrize("method", QUICK)
def test_new_labels_end_near_the_refit(method: str) -> None:
    data = demo()
    early, late = parted(data.crowd, 0.05)
    before = st.aggregate(early, method)
    now = before.update(late)
    refit = fitted(method)
    assert now.crowd is not None
    assert now.crowd.digest() == data.crowd.digest()
    same = now.provenance.get("chosen") == refit.provenance.get("chosen")  # a refit chooses anew
    assert np.mean(now.tags != refit.tags) <= (0.01 if same else 0.02)
    if same:
        assert abs(now.evaluate(data.gold).f1 - refit.evaluate(data.gold).f1) < 0.015
    assert np.abs(now.annotators.weight - refit.annotators.weight).max() < (0.03 if same else 0.05)
    assert now.annotators.sentences.tolist() == refit.annotators.sentences.tolist()


@pytest.mark.parametrize("method", QUICK)
@pytest.mark.parametrize("reach", ["near", "all", "settle"])
def test_agreement_is_what_counting_everything_again_says(method: str, reach: str) -> None:
    early, late = parted(demo().crowd, 0.05)
    whole = late[np.unique(late.row_sentence)]
    now = st.aggregate(early, method).update(whole, reach=reach)
    gone = now.annotators.names[0]
    for result in (now, now.update(withdraw=[gone], reach=reach), now.update(remove=whole)):
        assert result.crowd is not None
        again = annotator_scores(result.crowd, result).f1
        assert result.annotators.agreement.tolist() == pytest.approx(again.tolist(), nan_ok=True)


@pytest.mark.parametrize("method", QUICK)
def test_a_model_that_settles_is_where_a_refit_is(method: str) -> None:
    early, late = parted(demo().crowd, 0.05)
    now, refit = st.aggregate(early, method).update(late, reach="settle"), fitted(method)
    assert np.mean(now.tags != refit.tags) <= 0.001
    assert np.abs(now.annotators.weight - refit.annotators.weight).max() < 0.02
    assert now.provenance.get("chosen") == refit.provenance.get("chosen")


@pytest.mark.parametrize("method", QUICK)
@pytest.mark.parametrize("reach", ["near", "all", "settle"])
def test_what_was_added_can_be_taken_back(method: str, reach: str) -> None:
    early, late = parted(demo().crowd, 0.03)
    before = st.aggregate(early, method)
    back = before.update(late, reach=reach).update(remove=late, reach=reach)
    assert back.crowd is not None
    assert back.crowd.digest() == early.digest()
    assert np.mean(back.tags != before.tags) <= 0.005
    assert np.abs(back.annotators.weight - before.annotators.weight).max() < 0.02


@pytest.mark.parametrize("method", ["bsc-seq", "accord:predictor=none"])
def test_the_order_of_updates_hardly_matters(method: str) -> None:
    data = demo()
    early, late = parted(data.crowd, 0.2)
    parts = [some_rows(late, np.arange(late.n_rows) % 4 == k) for k in range(4)]
    start = st.aggregate(early, method)
    ends = []
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        now = start
        for k in order:
            now = now.update(parts[k])
        ends.append(now.evaluate(data.gold).f1)
    refit = fitted(method).evaluate(data.gold).f1
    assert max(abs(end - refit) for end in ends) < 0.01


@pytest.mark.parametrize("method", QUICK)
def test_an_annotator_comes_and_is_withdrawn(method: str) -> None:
    crowd = demo().crowd
    name = crowd.annotators[2]
    without = crowd.select_annotators([other for other in crowd.annotators if other != name])
    alone = crowd.select_annotators([name])
    alone = alone[np.unique(alone.row_sentence)]
    result = st.aggregate(without, method)
    joined = result.update(alone)
    assert joined.annotators.names[-1] == name
    assert joined.annotators[name]["sentences"] == crowd.annotator_sentences[2]
    left = joined.update(withdraw=[name])
    assert left.annotators.names == without.annotators
    assert np.mean(left.tags != result.tags) <= 0.005


@pytest.mark.parametrize("method", QUICK)
def test_new_sentences_are_labelled(method: str) -> None:
    data = demo()
    result = st.aggregate(data.crowd[:120], method)
    now = result.update(data.crowd[120:])
    assert now.corpus.n_sentences == 150
    assert now.labelled.all()
    assert np.mean(now.tags != fitted(method).tags) < 0.02


def test_new_sentences_are_heard_by_the_tagger(tmp_path: Path) -> None:
    data = demo()
    result = st.aggregate(data.crowd[:130], "accord:predictor=crf;max_iter=1")
    path = tmp_path / "result.seqtruth"
    result.save(path, crowd=True)
    loaded = st.Result.load(path)
    assert loaded.fitted is not None
    assert [source.name for source in loaded.fitted.sources][:1] == ["crf"]
    now, same = loaded.update(data.crowd[130:]), result.update(data.crowd[130:])
    assert np.array_equal(now.tags, same.tags)
    assert now.fitted is not None
    fresh = now.fitted.sources[0].evidence[result.corpus.n_tokens :]
    assert (fresh.max(axis=1) > fresh.min(axis=1)).all()
    bare = data.crowd.select_annotators([])[130:]  # sentences that nobody labels
    judged = result.update(bare)
    assert judged.labelled.all()


@pytest.mark.parametrize("method", QUICK)
def test_decisions_are_kept_and_judge_annotators(method: str) -> None:
    data, result = demo(), fitted(method)
    wrong = np.flatnonzero(
        np.add.reduceat(result.tags != data.gold.tags, data.gold.corpus.token_offsets[:-1]) > 0
    )[:10]
    decided = data.gold.take(wrong)
    now = result.update(known=decided)
    at = np.concatenate([np.arange(*data.gold.corpus.token_offsets[s : s + 2]) for s in wrong])
    assert np.array_equal(now.tags[at], data.gold.tags[at])
    assert now.token_confidence[at] == pytest.approx(1.0)
    again = now.update(known=data.gold.take(wrong[:1]))
    assert again is now
    later = now.update(data.crowd.select_annotators([])[:0])  # nothing: decisions stay
    assert np.array_equal(later.tags[at], data.gold.tags[at])


def test_a_label_given_again_takes_the_old_ones_place() -> None:
    crowd = demo().crowd
    result = fitted("bsc-seq")
    row = some_rows(crowd, np.arange(crowd.n_rows) == 7)
    row = row[np.unique(row.row_sentence)]
    tags = np.full(len(row.tags), row.scheme.outside)
    changed = st.Crowd(
        row.corpus, row.scheme, row.annotators, row.row_sentence, row.row_annotator, tags
    )
    now = result.update(changed)
    assert now.crowd is not None
    assert now.crowd.n_rows == crowd.n_rows
    assert now.provenance["updates"][-1]["rows"] == 1
    assert now.provenance["updates"][-1]["removed"] == 1
    assert now.update(row).crowd.digest() == crowd.digest()  # type: ignore[union-attr]


def test_everything_can_be_fitted_anew() -> None:
    early, late = parted(demo().crowd, 0.1)
    now = st.aggregate(early, "mv").update(late, retrain=True)
    assert np.array_equal(now.tags, fitted("mv").tags)
    chosen = st.aggregate(early, "bsc-seq").update(late, retrain=True)
    assert np.array_equal(chosen.tags, fitted("bsc-seq").tags)


def test_what_cannot_be_updated_says_so_first() -> None:
    crowd = demo().crowd
    with pytest.raises(ParameterError, match="mv keeps no model that could be updated"):
        fitted("mv").update(crowd)
    with pytest.raises(ParameterError, match="learns its words from the whole text"):
        st.aggregate(crowd[:40], "bsc-seq-if").update(crowd)
    result = fitted("bsc-seq")
    with pytest.raises(DataError, match="no such annotator to withdraw; got 'nobody'"):
        result.update(withdraw=["nobody"])
    strange = st.Crowd.of({"new": [["B-NEW"]]}, [["x"]], ids=["elsewhere"])
    with pytest.raises(DataError, match="never seen the label 'B-NEW'"):
        result.update(strange)
    other = st.Crowd.of({"new": [["O"]]}, [["x"]], ids=[crowd.corpus.sentence_ids[0].as_py()])
    with pytest.raises(DataError, match="other tokens than before"):
        result.update(other)
    with pytest.raises(DataError, match="labels to take back are not in the result"):
        result.update(remove=st.Crowd.of({"new": [["O"]]}, [["x"]], ids=["elsewhere"]))
    unknown = st.Crowd.of({"gold": [["O"]]}, [["x"]], ids=["elsewhere"]).labelling()
    with pytest.raises(DataError, match="a sentence that the result does not have"):
        result.update(known=unknown)


def test_a_result_without_its_crowd_says_so(tmp_path: Path) -> None:
    fitted("bsc-seq").save(tmp_path / "r.seqtruth")
    bare = st.Result.load(tmp_path / "r.seqtruth")
    with pytest.raises(DataError, match="does not know the labels it was made from"):
        bare.update(demo().crowd)


def test_decisions_may_cover_a_part_of_a_sentence() -> None:
    result = fitted("accord:predictor=none")
    tags = result.scheme.unlabelled(result.corpus.n_tokens)
    tags[3] = result.scheme.outside
    now = result.update(known=Labelling(result.corpus, result.scheme, tags))
    assert now.tags[3] == result.scheme.outside
    assert now.labelled.all()


def test_the_last_annotator_cannot_be_withdrawn() -> None:
    crowd = demo().crowd
    with pytest.raises(
        DataError, match=r"nobody is left who labelled anything; got \d+ labels taken back"
    ):
        fitted("bsc-seq").update(withdraw=crowd.annotators)
