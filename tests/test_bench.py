"""The benchmark's data and peers: same answers before anybody's time is compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

import seqtruth as st
from seqtruth.kernels.chain import Chain, forward_backward

data = pytest.importorskip("bench.data", reason="bench/ is not beside the tests")
from bench import peers_numpy  # noqa: E402


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory):
    return data.write(tmp_path_factory.mktemp("bench"), 2_000)


@pytest.fixture(scope="module")
def crowd(files):
    return st.read(files.crowd)


def test_the_generator_makes_what_it_says(files, crowd) -> None:
    gold = st.read(files.gold)
    assert crowd.n_sentences == files.n_sentences == gold.n_sentences == 20
    assert len(crowd.tags) == files.n_annotations == data.PER_SENTENCE * files.n_tokens
    assert (np.bincount(crowd.row_sentence) == data.PER_SENTENCE).all()
    assert crowd.scheme.kind == "iob2"
    assert set(gold.scheme.labels) <= set(data.LABELS)


def test_a_smaller_crowd_is_the_beginning_of_a_larger_one(files, tmp_path: Path) -> None:
    small = data.write(tmp_path, 1_000)
    n = small.n_annotations
    assert pq.read_table(files.crowd).slice(0, n).equals(pq.read_table(small.crowd))
    assert data.write(tmp_path, 1_000) == small


def test_the_truth_is_legal_and_mostly_outside() -> None:
    part = data.block(0, 0, 10_000, data.habits(0))
    inside = (part.gold >= 4) & (part.gold < data.OUTSIDE)
    before = np.append(np.int8(data.OUTSIDE), part.gold[:-1])
    assert np.isin(part.gold[inside] - before[inside], (0, 4)).all()
    assert 0.85 < (part.gold == data.OUTSIDE).mean() < 0.9
    right = (part.tags == part.gold).mean(axis=1)
    assert (right > 0.9).all() and (right < 0.99).all()


@pytest.mark.parametrize("rounds", [2, 5])
def test_dawid_skene_in_numpy_gives_our_posteriors(crowd, rounds: int) -> None:
    theirs, seconds = peers_numpy.dawid_skene(peers_numpy.columns(crowd), rounds, 0.01)
    with pytest.warns(st.errors.ConvergenceWarning):
        ours = st.DawidSkene(smoothing=0.01, tol=0, max_iter=rounds - 1).fit(crowd)
    assert len(seconds) == rounds
    np.testing.assert_allclose(ours.probabilities, theirs, atol=1e-5)


@pytest.mark.parametrize("rounds", [1, 4])
def test_aggslc_in_numpy_gives_our_labels_and_weights(crowd, rounds: int) -> None:
    tags, weights, _ = peers_numpy.aggslc(peers_numpy.columns(crowd), rounds)
    seen: list[object] = []
    ours = st.AggSLC(predictor=None, tol=0, max_iter=rounds).fit(crowd, progress=seen.append)
    if len(seen) < rounds:  # nothing changed any more
        tags, weights, _ = peers_numpy.aggslc(peers_numpy.columns(crowd), len(seen))
    assert (ours.tags == tags).all()
    np.testing.assert_allclose(ours.annotators.weight, weights, rtol=1e-6, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(hs.lists(hs.integers(1, 7), min_size=1, max_size=6), hs.integers(0, 2**32 - 1))
def test_forward_backward_in_numpy_gives_our_marginals(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    scores = rng.normal(size=(offsets[-1], 4)).astype(np.float32)
    chain = Chain(*(rng.uniform(0.1, 1.0, size) for size in (4, (4, 4), 4)))
    ours = forward_backward(scores, offsets, chain)
    marginals, pairs = peers_numpy.forward_backward(scores, offsets, *chain, batch=2)
    np.testing.assert_allclose(ours.marginals, marginals, atol=1e-5)
    np.testing.assert_allclose(ours.transition, pairs, atol=1e-5)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory):
    """Large enough for everybody to have met every label."""
    return data.write(tmp_path_factory.mktemp("bench"), 100_000)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", ["polars-mv", "pandas-mv", "crowdkit-mv", "crowdkit-ds"])
def test_peers_give_our_labels(key: str, larger, tmp_path: Path) -> None:
    for module in ("pandas", "polars", *(["crowdkit"] if key.startswith("crowdkit") else [])):
        pytest.importorskip(module)
    from bench.quality import judge
    from bench.run import REFERENCES
    from bench.systems import BY_KEY

    rounds, reference = 3, REFERENCES[key]
    outputs = {}
    for one in (key, reference):
        job = BY_KEY[one].make()
        table = job.read(str(larger.crowd))
        outputs[one] = str(tmp_path / f"{one}.parquet")
        job.write(job.fit(table, rounds)[0], table, outputs[one])
    spec = {
        "gold": larger.gold,
        "crowd": larger.crowd,
        "labels": outputs,
        "pairs": [(key, reference)],
    }
    found = judge(spec)
    assert found[key]["equal_untied"] == 1.0
    assert 0.9 < found[reference]["token_accuracy"] < 1.0
    assert 0.5 < found[reference]["span_f1"] < 1.0


def _flagship(size: int, cpu: float, f1: float, everything: bool = False) -> dict[str, object]:
    return {
        "annotations": size, "engine": "stream", "learnt_from": 400_000, "threads": 2, "load": 11.5,
        "everything_learnt": everything, "seconds": 12.5, "cpu_seconds": cpu, "peak_gib": 1.9,
        "f1": f1,
    }  # fmt: skip


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import kept, run

    monkeypatch.setattr(kept, "RESULTS", tmp_path / "results.json")
    options = {"sizes": (100, 1000), "parts": ["tables"]}
    results: dict[str, object] = {}
    assert not kept.begin(results, options)
    kept.done(results, "tables")
    later = kept.load()
    assert kept.begin(later, options) and kept.is_done(later, "tables")
    monkeypatch.setattr(kept, "code", lambda: "other")
    assert not kept.begin(later, options) and not kept.is_done(later, "tables")

    asked: list[tuple[int, int]] = []

    def measured(system, files, warm, threads, plan, before):
        asked.append((files.n_annotations, threads))
        return {"system": system.key, "threads": threads, "annotations": files.n_annotations,
                "seconds": 1.0, "round_seconds": None, "peak_bytes": 0}  # fmt: skip

    monkeypatch.setattr(run, "_measured", measured)
    plan = run.Plan((1_000, 2_000), (1, 2), 9.0, ("ours-mv",), tmp_path)
    runs = [{"system": "ours-mv", "size": 1_000, "threads": 1, "annotations": 950}]
    run.run(plan, {"runs": runs}, lambda results: None)
    assert [threads for _, threads in asked] == [2, 1, 2] and len(runs) == 4
    assert [plan.asks_for(one) for one in runs] == [True] * 4
    slow = {"system": "ours-mv", "threads": 1, "annotations": 900, "size": 900, "seconds": 5.0}
    larger = {**slow, "annotations": 9_000, "size": 9_000, "not_run": "too large"}
    system = next(system for system in run.SYSTEMS if system.key == "ours-mv")
    assert run._not_run(system, 1_800, 1, 11.0, [slow, larger]) is None
    assert "10 s" in (run._not_run(system, 1_800, 1, 9.0, [slow, larger]) or "")


def test_the_page_says_what_was_measured_and_what_was_not(tmp_path: Path) -> None:
    from bench import page
    from bench.targets import all_targets

    def found(key: str, size: int, threads: int, seconds: float) -> dict[str, object]:
        return {
            "system": key, "size": size, "threads": threads, "annotations": size,
            "tokens": size // 5, "seconds": seconds, "read_seconds": 0.0, "fit_seconds": seconds,
            "write_seconds": 0.0, "round_seconds": seconds / 10, "rounds": 10,
            "peak_bytes": 2**30, "baseline_bytes": 2**28, "equal": 1.0,
        }  # fmt: skip

    sizes = [10**5, 10**7, 10**8]
    runs = [found("ours-aggslc", size, 2, size / 1e7) for size in sizes]
    runs += [found("ours-ds", 10**7, 2, 1.0), found("crowdkit-ds", 10**7, 1, 19.0)]
    runs += [{"system": "crowdkit-ds", "size": 10**8, "threads": 1, "not_run": "not above 1e7"}]
    about = {"cpu": "a", "cores": 2, "memory_gib": 1, "system": "b", "python": "3", "versions": {}}
    results = {
        "machine": about, "rounds": 10, "sizes": sizes, "budget_seconds": 9.0, "runs": runs,
        "first_use": [{"what": "seqtruth --help", "is": 0.31, "unit": "CPU s", "most": 0.2}],
        "first_use_load": 3,
        "flagship": [
            _flagship(10**5, 5.0, 96.9), _flagship(10**7, 150.0, 97.71),
            _flagship(10**8, 900.0, 97.7), _flagship(10**7, 404.0, 97.99, everything=True),
        ],
        "singles": {
            "conll": {"what": "reading conll", "is": 149.0, "unit": "MB/CPU s", "least": 150,
                      "load": 9.1, "command": "python -m bench.exports"},
            "bilstm": {"what": "BiLSTM", "not_run": "torch is not installed", "load": 9.1},
        },
        "later": {"when": "today", "rows": [
            {"what": "reading", "before": "9 s", "now": "3 s", "command": "python -m bench"},
        ]},
    }  # fmt: skip
    met = {target.target.partition(":")[0]: target.met for target in all_targets(results)}
    assert met["Dawid-Skene at 1e7"] is False  # 19 times is not 20
    assert met["Cost grows linearly from 1e5 to 1e8"] is True
    assert met["Out of core"] is None and met["seqtruth --help"] is False
    rates = [target.met for target in all_targets(results) if target.target.startswith("AggSLC")]
    assert rates == [False, True]  # 100 million a second; 10 s
    assert met["Accord, streamed, 1e7"] is False  # 0.28 is more than 0.2
    assert met["Accord, streamed, 1e+07"] is met["Accord, streamed, 1e+08"] is True
    assert met["Accord, streamed"] is True  # the slope
    assert met["reading conll"] is False
    page.write(results, tmp_path)
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "19 ×" in text and "not above 1e7" in text and "at a load of 3 on two cores" in text
    assert "| reading | 9 s | 3 s | `python -m bench` |" in text
    assert "| 1e+07 | all | 12.5 | 404 | 1.90 | 97.99 | 2 | 11.5 |" in text
    assert "| BiLSTM | not run: torch is not installed | – | – | – |" in text
    assert (tmp_path / "benchmarks" / "round.svg").read_text(encoding="utf-8").startswith("<svg")
