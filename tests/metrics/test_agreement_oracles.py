"""Coefficients of agreement: published examples, other packages on random data, definitions by loops."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest

from seqtruth import io
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.metrics.agreement import agreement
from seqtruth.metrics.agreement.counting import Counter
from seqtruth.metrics.agreement.drawing import Draws

#: Fleiss (1971), table 1: six psychiatrists' diagnoses of thirty patients, as each patient's six labels.
FLEISS = [
    "444444",
    "222555",
    "233335",
    "555555",
    "222444",
    "113333",
    "333355",
    "113334",
    "114444",
    "555555",
    "144444",
    "124444",
    "222333",
    "144444",
    "224445",
    "333335",
    "111455",
    "111112",
    "224444",
    "133555",
    "555555",
    "244444",
    "224555",
    "114444",
    "144445",
    "222224",
    "111155",
    "224444",
    "133333",
    "555555",
]
#: Krippendorff (2011), also in Gwet (2014): four observers, twelve units, missing values.
FOUR = ["123321412***", "1233224125*3", "*3332342251*", "12332441251*"]


def plain(columns: list[str]) -> Crowd:
    """A crowd of one text with a label a letter; a star is missing."""
    rows = {f"r{i}": [[None if c == "*" else c for c in row]] for i, row in enumerate(columns)}
    return Crowd.of(rows, [["u"] * len(columns[0])], "plain")


def test_fleiss_1971() -> None:
    """P = 0.556, P_e = 0.220, kappa = 0.430 (p. 380); by category 0.248 to 0.61."""
    found = agreement(plain(["".join(column) for column in zip(*FLEISS, strict=True)]))
    assert found.observed == pytest.approx(0.556, abs=5e-4)
    assert found.overall["fleiss_kappa"].value == pytest.approx(0.430, abs=5e-4)
    by_category = [found.per_type[name]["fleiss_kappa"].value for name in "12345"]
    assert by_category == pytest.approx([0.245, 0.245, 0.520, 0.471, 0.566], abs=6e-3)


def test_krippendorff_2011_and_gwet_2014() -> None:
    """alpha 0.743; Gwet's tables for the same data: AC1 0.77544, Fleiss' kappa 0.76117, P_a 0.81818."""
    columns = [row.ljust(12, "*") for row in FOUR]
    found = agreement(plain(columns))
    assert found.alpha == pytest.approx(0.743, abs=5e-4)
    assert found.observed == pytest.approx(0.81818, abs=5e-6)
    assert found.overall["ac1"].value == pytest.approx(0.77544, abs=5e-6)
    assert found.overall["fleiss_kappa"].value == pytest.approx(0.76117, abs=5e-6)


def layered(length: int, marks: dict[str, list[tuple[int, int, str]]], types: str) -> Crowd:
    """One text, each type on a layer of its own."""
    corpus = Corpus.of([["w"] * length], ["s"], ["d"]).on_layers(("", *types[1:]))
    labels = ["O", *(f"{p}-{t}" for t in types for p in "BI")]
    sentence, annotator, tags = [], [], []
    for layer, kind in enumerate(types):
        for who, spans in enumerate(marks.values()):
            row = [0] * length
            for start, size, label in spans:
                if label == kind:
                    row[start : start + size] = [labels.index(f"I-{kind}")] * size
                    row[start] = labels.index(f"B-{kind}")
            sentence.append(layer)
            annotator.append(who)
            tags += row
    return Crowd.build(corpus, labels, list(marks), sentence, annotator, tags, "iob2")


def test_krippendorff_2004_unitising() -> None:
    """Content Analysis (2nd ed., p. 254): a continuum of 300 from 150 on, two observers, two overlapping
    types; alpha_U is 0.7286 for c (0.0144 against 0.0532), 1 for k (against 0.0490), and 0.8591, from these
    rounded figures, for both."""
    marks = {
        "i": [(225, 70, "c"), (370, 30, "c"), (180, 60, "k"), (300, 50, "k")],
        "j": [(220, 80, "c"), (355, 20, "c"), (400, 20, "c"), (180, 60, "k"), (300, 50, "k")],
    }
    moved = {who: [(a - 150, n, k) for a, n, k in spans] for who, spans in marks.items()}
    found = agreement(layered(300, moved, "ck"))
    assert found.per_type["c"]["alpha_u"].value == pytest.approx(0.7286, abs=1e-4)
    assert found.per_type["k"]["alpha_u"].value == 1.0
    assert found.alpha_u == pytest.approx(0.8591, abs=5e-4)


def random_spans(rng: np.random.Generator, length: int, types: str) -> list[tuple[int, int, str]]:
    spans, at = [], 0
    while at < length:
        size = int(rng.integers(1, 5))
        if rng.random() < 0.4 and at + size <= length:
            spans.append((at, size, str(rng.choice(list(types)))))
        at += size
    return spans


def by_definition(length: int, marks: dict[str, list[tuple[int, int, str]]], types: str) -> float:
    """alpha_U from sections of the continuum, as Krippendorff (1995) has it."""
    seen = expected = 0.0
    m = len(marks)
    for kind in types:
        sections = []
        for spans in marks.values():
            mine, at = [], 0
            for start, size, label in spans:
                if label == kind:
                    if start > at:
                        mine.append((at, start - at, 0))
                    mine.append((start, size, 1))
                    at = start + size
            if at < length:
                mine.append((at, length - at, 0))
            sections.append(mine)
        total = 0.0
        for first, second in permutations(sections, 2):
            for b, n, v in first:
                for c, k, w in second:
                    if v and w and -n < b - c < k:
                        total += (b - c) ** 2 + (b + n - c - k) ** 2
                    elif v and not w and k - n >= b - c >= 0:
                        total += n**2
                    elif w and not v and n - k >= c - b >= 0:
                        total += k**2
        units = [n for mine in sections for _, n, v in mine if v]
        gaps = [n for mine in sections for _, n, v in mine if not v]
        if not units:
            continue
        # each ordered pair of observers was walked in both roles
        seen += total / (m * (m - 1) * length**2)
        chances = sum(
            (len(units) - 1) / 3 * (2 * n**3 - 3 * n**2 + n)
            + n**2 * sum(g - n + 1 for g in gaps if g >= n)
            for n in units
        )
        ways = m * length * (m * length - 1) - sum(n * (n - 1) for n in units)
        expected += 2 / length * chances / ways
    return 1 - seen / expected


@pytest.mark.parametrize("seed", range(12))
def test_unitising_by_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    length, types = int(rng.integers(8, 40)), "xy"[: 1 + seed % 2]
    marks = {f"w{i}": random_spans(rng, length, types) for i in range(2 + seed % 3)}
    marks["w0"].append((length - 1, 1, "x")) if marks["w0"] == [] else None
    tags = {}
    for who, spans in marks.items():
        row = ["O"] * length
        for start, size, label in spans:
            row[start : start + size] = [f"I-{label}"] * size
            row[start] = f"B-{label}"
        tags[who] = [row]
    crowd = Crowd.of(tags, [["w"] * length], "iob2")
    corpus = replace(crowd.corpus, documents=("d",))
    # cut into sentences where no span is cut: gaps run on through a document
    cuts = [
        k
        for k in range(1, length)
        if not any(a < k < a + n for s in marks.values() for a, n, _ in s)
    ]
    bounds = [0, *cuts[:: 2 + seed % 3], length]
    pieces = {who: [row[0][a:b] for a, b in pairwise(bounds)] for who, row in tags.items()}
    cut = Crowd.of(pieces, [["w"] * (b - a) for a, b in pairwise(bounds)], "iob2")
    cut = replace(cut, corpus=replace(cut.corpus, documents=("d",)))
    wanted = by_definition(length, marks, types)
    assert agreement(replace(crowd, corpus=corpus)).alpha_u == pytest.approx(wanted, abs=1e-9)
    assert agreement(cut).alpha_u == pytest.approx(wanted, abs=1e-9)


def random_crowd(seed: int, missing: float, n_raters: int = 4) -> tuple[np.ndarray, Crowd]:
    """Labels 0 to 3 by rater and token (nan: missing), and the same as a crowd."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 60)
    wrong = rng.random((n_raters, 60)) < 0.3
    values = np.where(wrong, rng.integers(0, 4, (n_raters, 60)), truth).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    rows = ["".join("*" if np.isnan(v) else str(int(v)) for v in row) for row in values]
    return values, plain(rows)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_alpha_is_that_of_krippendorff_the_package(seed: int, missing: float) -> None:
    package = pytest.importorskip("krippendorff")
    values, crowd = random_crowd(seed, missing)
    wanted = package.alpha(reliability_data=values, level_of_measurement="nominal")
    assert agreement(crowd).alpha == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_fleiss_is_that_of_statsmodels(seed: int) -> None:
    package = pytest.importorskip("statsmodels.stats.inter_rater")
    values, crowd = random_crowd(seed, 0.0)
    counts, _ = package.aggregate_raters(values.T.astype(int))
    found = agreement(crowd).overall["fleiss_kappa"].value
    assert found == pytest.approx(package.fleiss_kappa(counts), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_cohen_is_that_of_scikit_learn(seed: int) -> None:
    package = pytest.importorskip("sklearn.metrics")
    values, crowd = random_crowd(seed, 0.2, 3)
    table = agreement(crowd).matrix("kappa")
    for a, b in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(values[a]) & ~np.isnan(values[b])
        wanted = package.cohen_kappa_score(values[a][both], values[b][both])
        assert table[a, b] == table[b, a] == pytest.approx(wanted, abs=1e-6)


#: AC1 and Fleiss' kappa by irrCAC 0.4.4 (``CAC(frame, digits=9)``), by seed and share missing. It asks for
#: older packages than ours, so that it cannot run here.
IRRCAC = {
    (0, 0.0): (0.589579257, 0.586803778), (0, 0.4): (0.649334894, 0.645909805),
    (1, 0.0): (0.518448743, 0.503576335), (1, 0.4): (0.53397723, 0.521270455),
    (2, 0.0): (0.426607272, 0.423872137), (2, 0.4): (0.524691403, 0.523702026),
    (3, 0.0): (0.518897164, 0.517378997), (3, 0.4): (0.610024644, 0.603712802),
    (4, 0.0): (0.612694997, 0.606280759), (4, 0.4): (0.567779725, 0.559160064),
}  # fmt: skip


@pytest.mark.parametrize(("seed", "missing"), list(IRRCAC))
def test_gwet_and_fleiss_are_those_of_irrcac(seed: int, missing: float) -> None:
    _, crowd = random_crowd(seed, missing)
    found = agreement(crowd).overall
    values = found["ac1"].value, found["fleiss_kappa"].value
    assert values == pytest.approx(IRRCAC[seed, missing], abs=1e-6)


TEXT = ["Ann Lee met Bo", "nobody came", "Bo met Ann Lee today", "Cy saw Bo in Ames"]


def named(rng: np.random.Generator, copies: int = 1) -> Crowd:
    words = [text.split() for text in TEXT] * copies
    tags = ["O", "B-PER", "I-PER", "B-LOC"]
    votes = {
        who: [[str(rng.choice(tags, p=[0.6, 0.2, 0.1, 0.1])) for _ in s] for s in words]
        for who in "abc"
    }
    crowd = Crowd.of(votes, words, "iob2")
    names = [
        f"{name}-{k}" if k else name
        for k in range(copies)
        for name in ("one", "one", "two", "three")
    ]
    corpus = Corpus.of(words, documents=names)
    return replace(crowd, corpus=corpus)


def test_draws_are_what_drawn_documents_would_give() -> None:
    crowd = named(np.random.default_rng(3))
    counter = Counter(crowd, "conlleval")
    draws = Draws.of(counter.units.n, 7, 0.9, seed=1)
    from seqtruth.metrics.agreement import coefficients as of

    whole, _ = counter.tokens
    alpha = of.krippendorff(draws.sums(whole))
    unitised = counter.unitising
    columns = (unitised.differences, unitised.length, unitised.observed)
    both = of.unitising_disagreements(
        draws.sums(unitised.lengths), *(draws.column(column) for column in columns)
    )
    kappa = np.concatenate([of.cohen(t) for _, t, _ in draws.pairs(counter.cells)], axis=1)
    for r, times in enumerate(draws.times[:, draws.group].astype(int)):
        chosen = [
            (s, copy)
            for document, n in enumerate(times)
            for copy in range(n)
            for s in np.flatnonzero(crowd.corpus.sentence_document == document)
        ]
        words = [crowd.corpus.words(s) for s, _ in chosen]
        names = [f"{crowd.corpus.sentence_document[s]}/{copy}" for s, copy in chosen]
        corpus = Corpus.of(words, documents=names)
        rows = {
            who: [[crowd.scheme.labels[t] for t in crowd.row(s, w)] for s, _ in chosen]
            for w, who in enumerate(crowd.annotators)
        }
        again = agreement(replace(Crowd.of(rows, words, "iob2"), corpus=corpus))
        assert alpha[r] == pytest.approx(again.alpha, nan_ok=True)
        assert of.alpha_u(*both)[r] == pytest.approx(again.alpha_u, nan_ok=True)
        assert kappa[r] == pytest.approx(again.pairs.kappa, nan_ok=True)


def test_many_pairs_are_counted_in_larger_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of pairs in groups of documents: the same figures, intervals from other draws."""
    from seqtruth.metrics.agreement import counting

    rng = np.random.default_rng(2)
    n = 120
    votes = {
        who: [[str(rng.choice(["O", "B-X"], p=[0.7, 0.3])) for _ in range(4)] for _ in range(n)]
        for who in "abcd"
    }
    crowd = Crowd.of(votes, [list("uvwx")] * n, "iob2")
    crowd = replace(crowd, corpus=replace(crowd.corpus, documents=tuple(map(str, range(n))),
                                          sentence_document=np.arange(n, dtype=np.int32)))  # fmt: skip
    fine = agreement(crowd, n_resamples=200)
    monkeypatch.setattr(counting, "MOST_CELLS", 100)
    coarse = agreement(crowd, n_resamples=200)
    assert Counter(crowd, "conlleval").cells.n_units == counting.FEWEST_GROUPS
    for name, estimate in fine.overall.items():
        assert coarse.overall[name] == pytest.approx(estimate, abs=0.05), name
        assert coarse.overall[name].value == pytest.approx(estimate.value), name
    assert list(coarse.per_document["span_f1"]) == pytest.approx(
        list(fine.per_document["span_f1"]), nan_ok=True
    )


def test_intervals() -> None:
    crowd = named(np.random.default_rng(5), copies=2)
    found = agreement(crowd, n_resamples=300)
    for name, estimate in found.overall.items():
        assert estimate.low <= estimate.value <= estimate.high, name
    assert agreement(crowd, n_resamples=300).to_dict() == found.to_dict()
    assert agreement(crowd, n_resamples=300, seed=1).to_dict() != found.to_dict()
    assert found.per_document["document"] == ["one", "two", "three", "one-1", "two-1", "three-1"]
    assert np.isfinite(found.pairs.kappa_low).all()
    # a single document cannot be drawn in more than one way, three in hardly more
    for few in (
        replace(crowd, corpus=replace(crowd.corpus, documents=("d",), sentence_document=None)),
        named(np.random.default_rng(5)),
    ):
        assert np.isnan(agreement(few, n_resamples=50).overall["alpha"].low)


def test_intervals_rest_on_documents_that_two_labelled() -> None:
    """Six documents, one of them labelled by both: there is nothing to draw, for the pair neither."""
    words = [["Ann", "ran"]] * 6
    both, alone = [["B-PER", "O"]], [["B-PER", "O"]] * 5
    crowd = Crowd.of({"a": both + alone, "b": [["O", "O"], *[None] * 5]}, words, "iob2")
    crowd = replace(crowd, corpus=Corpus.of(words, documents=[f"d{k}" for k in range(6)]))
    found = agreement(crowd, n_resamples=50)
    assert (found.documents, found.tokens) == (1, 2)
    assert np.isnan(found.overall["observed"].low) and np.isnan(found.pairs.kappa_low).all()
    assert "It rests on 2 tokens in 1 document" in found.words()[0]
    assert "intervals" not in found.tables()


def test_what_was_not_seen_is_missing_and_not_outside() -> None:
    words = [["Ann", "ran"], ["Bo", "sat"]]
    seen = {"a": [["B-PER", "O"], ["B-PER", "O"]], "b": [["B-PER", "O"], None]}
    unsaid = {"a": seen["a"], "b": [["B-PER", "O"], [None, None]]}
    outside = {"a": seen["a"], "b": [["B-PER", "O"], ["O", "O"]]}
    for votes in (seen, unsaid):
        found = agreement(Crowd.of(votes, words, "iob2"))
        assert found.observed == found.span_f1 == found.kappa == found.alpha_u == 1.0
    assert agreement(Crowd.of(outside, words, "iob2")).span_f1 == pytest.approx(2 / 3)


def test_partial_and_untyped_spans() -> None:
    """a: [0, 4) X and [5, 6) X; b: [2, 4) X and [5, 6) Y. Covered: of a's spans 1/2 and 0, of b's 1 and 0."""
    rows = {
        "a": [["B-X", "I-X", "I-X", "I-X", "O", "B-X"]],
        "b": [["O", "O", "B-X", "I-X", "O", "B-Y"]],
    }
    found = agreement(Crowd.of(rows, [list("uvwxyz")], "iob2"))
    values = [found.overall[f"span_f1{end}"].value for end in ("", "_overlap", "_untyped")]
    assert values == pytest.approx([0.0, 1.5 / 4, 2 / 4])
    assert found.per_type["X"]["span_f1_overlap"].value == pytest.approx(1.5 / 3)


def test_silent_sources() -> None:
    """A rule that never speaks of LOC: its O denies no LOC, nor that nothing is there at all."""
    words = [["Ann", "in", "Ames", "now"]]
    rows = {"p": [["B-PER", "O", "B-LOC", "O"]], "q": [["B-PER", "O", "O", "O"]]}
    crowd = Crowd.of(rows, words, "iob2")
    heard = agreement(crowd)
    assert heard.span_f1 == pytest.approx(2 / 3) and heard.observed == pytest.approx(3 / 4)
    silent = np.array(
        [[False, False], [crowd.scheme.types[0] == "LOC", crowd.scheme.types[1] == "LOC"]]
    )
    found = agreement(crowd, silent=silent)
    assert found.silent == ("q",)
    assert found.span_f1 == found.observed == 1.0
    assert found.per_type["PER"]["observed"].value == 1.0
    assert np.isnan(
        found.per_type["LOC"]["alpha"].value
    )  # all that is left: at PER, neither says LOC
    assert np.isnan(found.per_type["LOC"]["alpha_u"].value)


def test_a_source_that_is_silent_on_a_type_changes_nothing_of_its_spans() -> None:
    """What a gazetteer of PER leaves unmarked is no gap to measure others' LOC by."""
    words = [["Ann", "in", "New", "Ames", "now"], ["Bo", "Li", "left", "Old", "Ames"]]
    people = {
        "p": [["B-PER", "O", "B-LOC", "I-LOC", "O"], ["B-PER", "I-PER", "O", "B-LOC", "I-LOC"]],
        "q": [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "O", "B-LOC", "I-LOC"]],
    }
    rule = [["B-PER", "O", "O", "O", "O"], ["B-PER", "I-PER", "O", "O", "O"]]
    crowd = Crowd.of({**people, "rule": rule}, words, "iob2")
    silent = np.zeros((3, 2), np.bool_)
    silent[2] = [kind == "LOC" for kind in crowd.scheme.types]
    among_two = agreement(Crowd.of(people, words, "iob2")).per_type["LOC"]["alpha_u"].value
    assert agreement(crowd, silent=silent).per_type["LOC"]["alpha_u"].value == among_two
    assert agreement(crowd).per_type["LOC"]["alpha_u"].value < among_two


def test_blanks_order_and_duplicates_do_not_matter(tmp_path) -> None:
    """Marks with blanks at their edges, twice, in any order: the same crowd, so the same agreement."""
    text = "Ann Lee met Bo in Ames."
    tidy = {"a": [(0, 7, "PER"), (12, 14, "PER")], "b": [(0, 7, "PER"), (18, 22, "LOC")]}
    untidy = {
        "a": [(12, 15, "PER"), (0, 8, "PER"), (0, 7, "PER")],
        "b": [(17, 22, "LOC"), (0, 7, "PER")],
    }
    found = []
    for name, marks in (("tidy", tidy), ("untidy", untidy)):
        spans = {
            who: [{"start": a, "end": b, "label": k} for a, b, k in rows]
            for who, rows in marks.items()
        }
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps({"id": "s", "text": text, "annotations": spans}) + "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(agreement(io.read(path)))
    assert found[0].to_dict() == found[1].to_dict()
    assert found[0].span_f1 == pytest.approx(1 / 2)


def test_tables() -> None:
    found = agreement(named(np.random.default_rng(1)), n_resamples=20)
    assert "Krippendorff's alpha" in str(found) and "by document" in str(found)
    assert "| Krippendorff's alpha (tokens) |" in found.tables("markdown")
    assert r"\toprule" in found.tables("latex")
