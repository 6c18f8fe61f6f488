"""CRH and CATD: closed forms on tiny crowds, what the losses count, and who ends up trusted."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth import datasets, evaluate, simulate
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataWarning, ParameterError
from seqtruth.methods.crf_ma import CRFMA
from seqtruth.methods.vote.catd import CATD
from seqtruth.methods.vote.crh import CRH
from seqtruth.methods.vote.optsla import OptSLA
from seqtruth.methods.vote.truth_discovery import TruthDiscovery, zero_one_losses
from seqtruth.predictors import CRF
from seqtruth.testing import small_crowd
from strategies import crowds

BOTH = [CRH, CATD]


def test_weights_of_catd_are_chi_square_quantiles_by_loss() -> None:
    from scipy.stats import chi2

    losses, counts = np.array([2.0, 5.0, 0.5]), np.array([0.7, 30.0, 1e5])
    expected = chi2.ppf(0.025, counts) / losses
    np.testing.assert_allclose(CATD()._weigh(losses, counts), expected / expected.max(), rtol=1e-9)


@given(crowds(), st.integers(0, 2**32 - 1))
def test_losses_count_differences_and_tokens_at_stake(crowd: Crowd, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(-1, crowd.n_labels, crowd.n_tokens).astype(np.int8)
    entity = crowd.scheme.is_entity
    wrong, stakes = np.zeros(crowd.n_annotators), np.zeros(crowd.n_annotators)
    for s, a in enumerate(crowd.corpus.token_offsets[:-1]):
        for w in range(crowd.n_annotators):
            row = crowd.row(s, w)
            for i, tag in enumerate([] if row is None else row):
                if tag >= 0 and truth[a + i] >= 0:
                    wrong[w] += tag != truth[a + i]
                    stakes[w] += entity[tag] or entity[truth[a + i]]
    found = zero_one_losses(crowd, truth)
    np.testing.assert_array_equal(found[0], wrong)
    np.testing.assert_array_equal(found[1], stakes)


def plain_crowd() -> Crowd:
    """Ten tokens; against the majority a errs never, b once, c three times."""
    truth = ["X", "Y"] * 5
    b, c = list(truth), list(truth)
    b[0] = "Y"
    c[1], c[2], c[3] = "X", "Y", "X"
    return Crowd.of({"a": [truth], "b": [b], "c": [c]}, [["t"] * 10], "plain")


@pytest.mark.parametrize("norm", ["max", "sum"])
def test_crh_weights_in_closed_form(norm: str) -> None:
    result = CRH(weight_norm=norm, smoothing=1.0, decoding="none").fit(plain_crowd())
    loss = (np.array([0, 1, 3]) + 4 / 30) / 11  # one token at the crowd's mean rate added
    scale = loss.max() if norm == "max" else loss.sum()
    np.testing.assert_allclose(result.annotators.weight, -np.log(loss / scale))
    assert result.history.converged


def test_catd_weights_in_closed_form() -> None:
    stats = pytest.importorskip("scipy.stats")
    result = CATD(smoothing=1.0, alpha=0.1, decoding="none").fit(plain_crowd())
    weights = stats.chi2.ppf(0.05, 11) / (np.array([0, 1, 3]) + 4 / 30)
    np.testing.assert_allclose(result.annotators.weight, weights / weights.max())


def test_catd_is_wary_of_few_labels() -> None:
    rng = np.random.default_rng(0)
    truth = rng.choice(["X", "Y"], 400).tolist()
    rows: dict[str, list[str | None]] = {}
    for name in "abcd":
        rows[name] = [t if rng.random() > 0.1 else "Z" for t in truth]
    rows["few"] = [*truth[:4], *[None] * 396]  # right, but only four times
    crowd = Crowd.of({name: [row] for name, row in rows.items()}, [["t"] * 400], "plain")
    trusting = CRH(smoothing=1e-6).fit(crowd).annotators
    wary = CATD(smoothing=1.0).fit(crowd).annotators
    assert trusting.weight.argmax() == 4
    assert wary.weight.argmax() != 4


def careful_and_random(n_sentences: int = 60) -> tuple[Crowd, np.ndarray]:
    """Ten annotators who err now and then, ten who draw tags from a hat."""
    rng = np.random.default_rng(7)
    text = small_crowd(n_sentences=n_sentences)
    truth = text.select_annotators(["w0"])
    labels = list(truth.scheme.labels)
    annotations = {}
    for number in range(20):
        rows = []
        for s in range(n_sentences):
            row = [labels[t] for t in truth.row(s, 0)]
            rate = 0.08 if number < 10 else 1.0
            rows.append([str(rng.choice(labels)) if rng.random() < rate else t for t in row])
        annotations[f"{'careful' if number < 10 else 'random'}{number}"] = rows
    tokens = [text.corpus.words(s) for s in range(n_sentences)]
    return Crowd.of(annotations, tokens, "iob2"), truth.tags


@pytest.mark.parametrize(
    "method",
    [CRH(), CATD(), CRH(average="token", weight_norm="sum"), OptSLA(predictor=None),
     OptSLA(predictor=CRF(max_iter=15, further_iter=5), threshold=0.2, max_iter=3),
     CRFMA(predictor=CRF(max_iter=20, further_iter=8))],
    ids=["crh", "catd", "crh, the paper's", "optsla", "optsla with a tagger", "crf-ma"],
)  # fmt: skip
def test_all_careful_annotators_come_before_all_random_ones(method) -> None:
    crowd, truth = careful_and_random()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = method.fit(crowd)
    assert result.annotators.weight[:10].min() > result.annotators.weight[10:].max()
    assert (result.tags == truth).mean() > 0.9


@pytest.mark.parametrize(
    "method", [CRH(), CATD(), OptSLA(predictor=None)], ids=lambda method: method.name
)
def test_simulated_spammers_come_last(method) -> None:
    gold = small_crowd(n_sentences=150).select_annotators(["w0"])
    annotators = method.fit(simulate(gold, "careful:10,spammer:10", seed=2)).annotators
    assert all("spammer" in row["annotator"] for row in list(annotators.ranked())[:10])


@pytest.mark.parametrize("kind", BOTH)
def test_known_gold_teaches_who_is_right(kind: type[TruthDiscovery]) -> None:
    # two against one, and the one is right wherever we know
    votes = {
        "right": [["X"]] * 30,
        "wrong": [["Y"]] * 30,
        "wrong too": [["Y"]] * 30,
    }
    tokens, ids = [["t"]] * 30, [f"s{i}" for i in range(30)]
    crowd = Crowd.of(votes, tokens, "plain", ids)
    gold = Crowd.of({"gold": [["X"]] * 25}, tokens[:25], "plain", ids[:25])
    assert (kind().fit(crowd).tags == crowd.scheme.index("Y")).all()
    result = kind().fit(crowd, gold)
    assert (result.tags == crowd.scheme.index("X")).all()
    assert result.annotators.weight.argmax() == 0


@pytest.mark.parametrize("kind", [*BOTH, OptSLA])
def test_known_reliabilities_are_priors(kind) -> None:
    votes = {"a": [["X"]] * 20, "b": [["Y"]] * 20, "c": [["Y"]] * 20}
    crowd = Crowd.of(votes, [["t"]] * 20, "plain")
    told = {"a": 0.99, "b": 0.3, "c": 0.3}
    firm = kind(reliability=told, reliability_strength=1000.0).fit(crowd)
    assert (firm.tags == crowd.scheme.index("X")).all()
    none = kind(reliability=told, reliability_strength=0.0).fit(crowd)
    assert (none.tags == kind().fit(crowd).tags).all()
    with pytest.raises(ParameterError, match="accuracy"):
        kind(reliability={"a": 1.2})
    with pytest.warns(DataWarning, match="stranger"):
        kind(reliability={"stranger": 0.5}).fit(crowd)


@pytest.mark.parametrize("kind", BOTH)
def test_resumed_run_gives_the_same_bytes(kind: type[TruthDiscovery], tmp_path: Path) -> None:
    crowd = small_crowd(n_sentences=80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(tol=0.0).fit(crowd).save(tmp_path / "whole")

        class Stop(Exception):
            pass

        def stop(step: object) -> None:
            raise Stop

        with pytest.raises(Stop):
            kind(tol=0.0).fit(crowd, checkpoint=tmp_path / "kept", progress=stop)
        result = kind(tol=0.0).fit(crowd, checkpoint=tmp_path / "kept", resume=True)
    result.save(tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


@pytest.mark.parametrize("kind", BOTH)
def test_bad_settings_are_named(kind: type[TruthDiscovery]) -> None:
    for settings in ({"average": "x"}, {"smoothing": 0.0}, {"max_iter": 0}):
        with pytest.raises(ParameterError, match=next(iter(settings))):
            kind(**settings)
    with pytest.raises(ParameterError, match="alpha"):
        CATD(alpha=1.0)
    with pytest.raises(ParameterError, match="weight_norm"):
        CRH(weight_norm="min")


@pytest.mark.parametrize(
    ("method", "floor"), [(CRH(), 0.72), (CATD(), 0.70), (OptSLA(predictor=None), 0.715)]
)
def test_ner(method, floor: float, ner: datasets.Dataset) -> None:
    score = evaluate(method.fit(ner.crowd), ner.gold, sentences=ner.splits["nguyen_test"])
    assert score.f1 >= floor
