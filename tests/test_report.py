"""The report page: sound HTML that asks nothing of the network, for every odd result."""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqtruth import report
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.origin import Origin
from seqtruth.datasets import demo
from seqtruth.decisions.mistakes import Compared
from seqtruth.errors import DataError, SeqTruthWarning
from seqtruth.history import History, Step
from seqtruth.io import read
from seqtruth.methods import AggSLC, DawidSkene, MajorityVote
from seqtruth.metrics import evaluate
from seqtruth.report.answers import answers
from seqtruth.report.confidence import honesty, meaning, triage
from seqtruth.report.confusion import confusion
from seqtruth.report.content import annotators, percent
from seqtruth.report.figures import heat_map, number, reliability_lines, ticks
from seqtruth.report.sentences import embed, inert
from strategies import crowds

VOID = {"meta", "br", "link", "img", "input", "hr"}
#: Elements and attributes that could fetch or run something.
FORBIDDEN = {"link", "iframe", "img", "object", "embed", "base", "form", "use", "image"}


class Page(HTMLParser):
    """Checks nesting and collects what matters."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.text.append(data)

    @property
    def data(self) -> dict:
        """What the text view is made of."""
        block = self.scripts[0]
        return json.loads(block if block[0] == "{" else gzip.decompress(base64.b64decode(block)))

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def checked(text: str) -> Page:
    """The page, parsed, well nested, with nothing that runs or fetches."""
    page = Page(text)
    assert not FORBIDDEN & set(page.tags)
    # data, which no browser runs, and the one script that the policy names by its digest
    assert page.tags.count("script") == 2 == len(page.scripts)
    assert "<" not in page.scripts[0]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    policy = next(v for t, n, v in page.attributes if n == "content" and "default-src" in v)
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    assert not re.search(
        r"innerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|XMLHttp|import\(", text
    )
    for _, name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "data", "action", "xlink:href", "http-equivx")
        if name == "href":
            assert value is not None and value.startswith("#")
    assert not re.search(r"url\(|@import|expression\(", text)
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for _, name, value in page.attributes if name == "href"}
    assert targets <= set(ids)
    assert "nan" not in page.words.lower().replace("finance", "").split()
    for tag, name, value in page.attributes:
        if tag == "svg" and name == "aria-label":
            assert value
    assert page.tags.count("svg") == sum(
        n == "aria-label" for t, n, _ in page.attributes if t == "svg"
    )
    return page


def fit(method, crowd, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeqTruthWarning)
        return method.fit(crowd, **more)


@pytest.fixture(scope="module")
def data():
    return demo.load()


@pytest.fixture(scope="module")
def result(data):
    return AggSLC(predictor=None).fit(data.crowd)


def test_the_whole_page(data, result):
    scores = evaluate(result, data.gold)
    text = report.render(result, data.crowd, scores, "Spring & autumn")
    page = checked(text)
    assert "<title>Spring &amp; autumn</title>" in text
    assert "http" not in text.replace("http-equiv", "")
    assert page.tags.count("svg") == 7
    assert len(page.data["text"]) == data.crowd.n_sentences
    for name in data.crowd.annotators:
        assert name in page.words
    for part in ("Can I use these labels?", "Whom do I trust?", "What do I do next?", "Whom to trust",
                 "How far they agree", "Read the sentences", "What was found", "How it converged",
                 "Where it comes from", "Against the gold standard", "seem to be copies"):  # fmt: skip
        assert part in page.words
    for command in ("triage", "annotators", "agreement"):
        assert f"seqtruth {command} " in page.words
    for command in ("next", "update", "explain"):  # AggSLC keeps no model that could be asked
        assert f"seqtruth {command} " not in page.words
    assert result.provenance["input"] in page.words
    assert f"{100 * scores.f1:.1f}" in page.words
    assert len(text) < 300_000


def test_the_spammer_stands_first_and_his_vice_is_named(data, result):
    rows = annotators(result, data.crowd)
    assert rows[0].name == "spammer"
    assert rows[0].verdict == "do not rely on"
    shares = {row.name: [share for share, _ in row.mistakes] for row in rows}
    assert shares["spammer"][3] > 0.5
    assert max(shares, key=lambda name: shares[name][1]) == "boundary"
    assert max(shares, key=lambda name: shares[name][2]).startswith("confuser")
    assert shares["misser"][0] > 0.4
    assert rows[-1].name.startswith("careful") and rows[-1].verdict == "rely on"


def test_same_result_same_bytes(data, result, tmp_path):
    report.write(result, tmp_path / "a.html", data.crowd)
    report.write(AggSLC(predictor=None).fit(data.crowd), tmp_path / "b.html", data.crowd)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "b.html"}


EVIL = '<script>alert("1")</script>'


def test_everything_is_escaped():
    tokens = [[EVIL, "'\" onload=x", "</style>", "&lt;"]]
    votes = {
        EVIL: [[f"B-{EVIL}", "O", "O", "O"]],
        '"><img src=x>': [["O", "B-</mark>", "O", "O"]],
        "bob": [[f"B-{EVIL}", "I-" + EVIL, "O", "O"]],
    }
    crowd = Crowd.of(votes, tokens, "iob2", ids=["<b>id</b>"])
    result = fit(AggSLC(predictor=None), crowd)
    result = replace(result, provenance={EVIL: EVIL, "parameters": {EVIL: EVIL}})
    step = Step(1, 1.0, {EVIL: 1.0})
    result = replace(result, history=History((step,), EVIL, EVIL))
    text = report.render(result, crowd, evaluate(result, result), title=f"</title>{EVIL}")
    page = checked(text)
    assert text.lower().count("<script") == 2 and "<img" not in text.lower() and "<b>id" not in text
    assert EVIL in page.words and page.data["text"][0].endswith("&lt;")
    assert EVIL in page.data["who"] and page.data["id"] == ["<b>id</b>"]


def test_json_stays_inside_its_block():
    wild = "</script><!--\u2028\u2029&amp;"
    text = str(inert({wild: [wild]}))
    assert json.loads(text) == {wild: [wild]}
    assert not set("<>&\u2028\u2029") & set(text)


def sure(fitted, sentence, calibrate=True):
    """The result with probabilities of its own; a span's is half its weakest tag's."""
    return replace(
        fitted,
        of_span=fitted.token_confidence / 2,
        of_sentence=np.asarray(sentence, np.float64),
        provenance={"method": "some", "parameters": {"calibrate": calibrate}},
    )


def test_what_confidence_means(data, result):
    n = data.crowd.n_sentences
    corrected = sure(result, np.linspace(0, 1, n))
    groups = triage(corrected)
    assert [group["expected"] for group in groups] == [
        round(corrected.of_sentence[mask].sum())
        for mask in (
            corrected.of_sentence >= 0.9,
            (corrected.of_sentence >= 0.7) & (corrected.of_sentence < 0.9),
            corrected.of_sentence < 0.7,
        )
    ]
    page = checked(report.render(corrected, data.crowd)).words
    accept = groups[0]
    assert f"expected right: {accept['expected']} of {accept['n']}" in page
    assert "the probability that all its spans are right and none is missing" in page
    assert "each held out in turn" in page and "probability that its type and borders" in page
    own = checked(report.render(sure(result, np.ones(n), calibrate=False), data.crowd)).words
    assert "uncorrected and often too sure" in own and "expected right" not in own
    margin = checked(report.render(result)).words
    assert "mean margin" in margin and "weakest token" in margin and "uncorrected" in margin
    assert "expected right" not in margin and "Can the confidence be trusted" not in margin


def test_confidence_against_gold(data, result):
    scores = evaluate(sure(result, np.full(data.crowd.n_sentences, 0.5)), data.gold)
    found = honesty(scores)
    span = scores.calibration.span
    assert [(kind, verdict) for kind, _, verdict in found["verdicts"]] == [
        ("spans", "too cautious"), ("sentences", "too cautious"),
    ]  # fmt: skip
    page = checked(report.render(result, data.crowd, scores))
    assert page.tags.count("svg") == 7 and f"calibration error: {span.ece:.3f}" in page.words
    bars = str(found["figure"])
    assert bars.count('class="column"') == len(span.curve.count) == bars.count('class="count"')
    assert all(f">{count}</text>" in bars for count in span.curve.count.tolist())
    assert f"{100 * scores.calibration.selective[0].f1:.1f}" in page.words
    assert honesty(None) is None
    assert honesty(evaluate(data.gold, data.gold)) is None  # plain labels claim nothing
    boast = evaluate(replace(result, of_span=np.ones_like(result.token_confidence)), data.gold)
    assert honesty(boast)["verdicts"][0][2] == "too sure"


def test_names_of_lines_stand_apart(data, result):
    curve = evaluate(result, data.gold).calibration.span.curve
    drawn = str(reliability_lines(dict.fromkeys("abcd", curve), "x", "y", "told"))
    places = [
        float(y) for y in re.findall(r'<text class="name s\d" x="[\d.]+" y="([\d.]+)"', drawn)
    ]
    assert len(places) == 4 and min(places) >= 10
    assert min(b - a for a, b in itertools.pairwise(sorted(places))) >= 13.9


def test_squares_are_never_minus_nought():
    drawn = str(heat_map(["a", "b", "c"], np.full((3, 3), -0.001), "kappa", "told"))
    assert ">.00</text>" in drawn and "−.00" not in drawn


def test_agreement_is_told_in_words(data, result):
    page = checked(report.render(result, data.crowd)).words
    assert "It rests on 9,006 tokens in 58 documents that two or more labelled." in page
    assert "Say in the guideline how types are told apart." in page
    few = data.crowd[data.crowd.corpus.sentence_document < 3]
    page = checked(report.render(MajorityVote().fit(few), few)).words
    assert "– to –" not in page and "Bands are" not in page


def test_who_learns_is_told_beside_their_habits():
    truth = ["B-PER", "O"]
    novice = [truth if k >= 60 or k % 3 == 0 else ["O", "O"] for k in range(120)]
    crowd = Crowd.of(
        {"a": [truth] * 120, "b": [truth] * 120, "novice": novice}, [["Ada", "ran"]] * 120
    )
    names = [f"d{k:03}" for k in range(120)]
    times = {"novice": {name: f"2026-01-01T{name}" for name in names}}
    corpus = replace(
        crowd.corpus, documents=tuple(names), sentence_document=np.arange(120, dtype=np.int32),
        origin=Origin(times=times),
    )  # fmt: skip
    crowd = replace(crowd, corpus=corpus)
    rows = {row.name: row for row in annotators(MajorityVote().fit(crowd), crowd)}
    assert "learning: F1 0." in rows["novice"].habits and "learning" not in rows["a"].habits


def view(result, crowd=None, probable=True):
    shown = json.loads(embed(result, crowd, probable, "result.seqtruth").block)
    shown["spans"] = [numbers(one) for one in shown["spans"]]
    shown["said"] = [
        [(numbers(who), spans if spans == "=" else numbers(spans)) for who, spans in readings]
        for readings in (
            [tuple(one.split(":")) for one in text.split("|") if one] for text in shown["said"]
        )
    ]
    return shown


def numbers(text):
    return [int(value) for value in text.split()]


def test_shown_spans_have_the_confidence_of_spans(data, result):
    fitted = sure(result, result.sentence_confidence)
    shown = view(fitted)
    wanted = [span.confidence for span in fitted.spans()]
    found = [c / 1000 for spans in shown["spans"] for c in spans[3::4]]
    assert found == pytest.approx(wanted, abs=6e-4) and len(found) > 100


def test_texts_are_as_they_are_written(tmp_path):
    text = "Ann Lee  met\tBo, in Ames."
    marks = {"a": [(0, 7, "PER"), (13, 15, "PER")], "b": [(0, 7, "PER"), (20, 24, "LOC")]}
    spans = {w: [{"start": a, "end": b, "label": k} for a, b, k in m] for w, m in marks.items()}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "s", "text": text, "annotations": spans}) + "\n")
    crowd = read(path)
    shown = view(fit(MajorityVote(), crowd), crowd)
    assert shown["text"] == [text]
    b = shown["who"].index("b")
    flat = next(flat for whos, flat in shown["said"][0] if b in whos)
    assert [text[x:y] for x, y in zip(flat[::3], flat[1::3], strict=True)] == ["Ann Lee", "Ames"]
    # tokens without a text get the blanks that print has
    words = ["Dr", ".", "Lee", "(", "left", ")", "said", ":", '"', "no", '"', "."]
    plain = Crowd.of({"a": [["O"] * 12], "b": [["O"] * 12]}, [words], "iob2")
    assert view(fit(MajorityVote(), plain), plain)["text"] == ['Dr. Lee (left) said: "no".']


def test_layers_are_shown_once(tmp_path):
    path = tmp_path / "a.jsonl"
    spans = [{"start": 0, "end": 3, "label": "A"}, {"start": 0, "end": 7, "label": "B"}]
    record = {"id": "s", "text": "Ada ran", "annotations": {"w": spans, "v": spans[:1]}}
    path.write_text(json.dumps(record) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crowd = read(path)
    result = fit(MajorityVote(), crowd)
    shown = view(result, crowd)
    assert shown["text"] == ["Ada ran"] and len(shown["said"][0]) == 2
    kinds = {shown["types"][k] for k in shown["spans"][0][2::4]}
    assert kinds >= {"A"} and kinds <= {"A", "B"}
    checked(report.render(result, crowd))


def test_only_checked_probabilities_look_like_it(data, result):
    """Margins and labels of a single annotator promise nothing: no colours, no "accept"."""
    corrected = sure(result, np.full(data.crowd.n_sentences, 0.97))
    assert meaning(corrected) == "corrected" and meaning(result) == "margin"
    corrected = replace(corrected, of_span=np.full(data.crowd.n_tokens, 0.97, np.float32))
    yes = report.render(corrected, data.crowd)
    assert 'class="accept"' in yes and "100 % of the spans" in yes and '"probable":true' in yes
    rules = {"silent": {"spammer": ["PER"]}}
    guess = replace(corrected, provenance={**corrected.provenance, "silence": rules})
    assert meaning(guess) == "guess"
    assert "can only guess" in report.render(guess, data.crowd)
    no = report.render(result, data.crowd)
    assert 'class="accept"' not in no and "The method cannot promise" in no
    assert '"probable":false' in no and 'class="ranking"' in no
    alone = Crowd.of({"a": [["B-PER", "O"]] * 9}, [["Ann", "ran"]] * 9)
    one = fit(DawidSkene(), alone)
    page = report.render(sure(one, np.ones(9)), alone)
    assert meaning(sure(one, np.ones(9))) == "unchecked"
    assert "Nobody checked them" in page and 'class="accept"' not in page


def test_what_is_mixed_up(data, result):
    found = confusion(data.crowd, result.tags)
    assert found["columns"][-1] == "O" and len(found["rows"]) == 5
    for row in found["rows"]:
        assert sum(cell.share for cell in row.cells) == pytest.approx(1)
    crowd = Crowd.of({"a": [["B-X", "O"]], "b": [["B-Y", "O"]]}, [["u", "v"]])
    mixed = confusion(crowd, crowd.scheme.encode(["B-X", "O"]))
    assert mixed["worst"] == (0.5, "X", "Y")


def test_the_first_screen_names_names(data, result):
    rows = annotators(result, data.crowd)
    page = checked(report.render(result, data.crowd, saved="mine.seqtruth"))
    assert "Do not rely on spammer" in page.words and "seqtruth triage mine.seqtruth" in page.words
    told = answers(result, rows, None, [], None, "r")
    assert [one.question[-1] for one in told] == ["?", "?", "?"]


@pytest.mark.parametrize("method", [MajorityVote(), DawidSkene(), AggSLC(predictor=None)])
def test_every_method_has_a_page(data, method):
    fitted = fit(method, data.crowd)
    page = checked(report.render(fitted, data.crowd))
    assert ("How it converged" in page.words) == bool(fitted.history.steps)


def test_without_crowd_or_tokens(data):
    corpus = replace(data.crowd.corpus, tokens=None)
    blind = replace(data.crowd, corpus=corpus)
    fitted = fit(MajorityVote(), blind)
    page = checked(report.render(replace(fitted, crowd=None)))
    assert "The input has no text, so tokens" in page.words and "Missed" not in page.words
    checked(report.render(fitted, blind))


def test_sentences_nobody_labelled_are_counted_and_not_reviewed():
    votes = {"a": [["B-PER"], None, []], "b": [["O"], None, []]}
    crowd = Crowd.of(votes, [["Ann"], ["Bob"], []], "iob2")
    fitted = fit(MajorityVote(), crowd)
    assert triage(fitted)[-1]["n"] == 1
    page = checked(report.render(fitted, crowd))
    assert "unlabelled" in page.words and page.data["text"] == ["Ann"]


@pytest.mark.parametrize(
    "crowd",
    [
        Crowd.of({"a": [["B-PER", "O"]]}, [["Ann", "ran"]]),
        Crowd.of({"a": [["O", "O"]], "b": [["O", "O"]]}, [["it", "ran"]], "iob2"),
        Crowd.of({"a": [None], "b": [None]}, [["it", "ran"]], "iob2"),
        Crowd.of({"a": [[]], "b": [[]]}, [[]], "iob2"),
        Crowd.of({"a": [["N", "V"]], "b": [["V", "V"]]}, [["it", "ran"]], "plain"),
        Crowd(Corpus.of([]), Crowd.of({"a": [["B-PER"]]}, [["x"]]).scheme, ("a",), [], [], []),
    ],
    ids=["one annotator", "no spans", "no labels", "no tokens", "plain", "no sentences"],
)
@pytest.mark.parametrize("method", [MajorityVote(), AggSLC(predictor=None)])
def test_odd_crowds(crowd, method):
    fitted = fit(method, crowd)
    checked(report.render(fitted, crowd))
    checked(report.render(fitted))


@given(crowds())
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_crowd_has_a_page(crowd):
    checked(report.render(fit(MajorityVote(), crowd), crowd))


def test_numbers_that_are_none(result):
    annotators = replace(
        result.annotators,
        agreement=np.full(len(result.annotators), np.nan),
        weight=np.where(np.arange(len(result.annotators)) % 2, np.nan, -1.0),
    )
    steps = (Step(1, float("nan"), {"part": float("inf")}), Step(2, -1e12, {"part": 0.0}))
    odd = replace(result, annotators=annotators, history=History(steps, "max_iter", "lower bound"))
    page = checked(report.render(odd))
    assert "too little to judge" in page.words and "limit of rounds" in page.words


def test_the_page_is_bounded():
    n, many = 400, 300
    rng = np.random.default_rng(0)
    words = [["x" * 500] * 300 for _ in range(n)]
    corpus = Corpus.of(words)
    rows = np.repeat(np.arange(n), 2)
    annotator = np.stack([np.arange(n) % many, (np.arange(n) + 1) % many], axis=1)
    annotator.sort(axis=1)
    labels = ["O", *(f"B-type{k}" for k in range(50))]
    tags = rng.integers(0, len(labels), 2 * n * 300)
    names = [f"{'somebody' * 30}-{w}" for w in range(many)]
    crowd = Crowd.build(corpus, labels, names, rows, annotator.ravel(), tags, "iob2")
    fitted = fit(MajorityVote(), crowd)
    steps = tuple(Step(k + 1, float(k), {"a": 1.0, "b": 2.0}) for k in range(5000))
    text = report.render(replace(fitted, history=History(steps, "converged")), crowd)
    assert max(map(len, checked(text).data["text"])) <= 3000
    assert len(text) < 8_000_000


def test_another_crowd_is_refused(data, result):
    with pytest.raises(DataError, match="does not have the result's sentences"):
        report.render(result, data.crowd[:10])
    with pytest.raises(DataError, match="same labels"):
        plain = Crowd.of({"a": [["N"]]}, [["x"]], "plain")
        report.render(fit(MajorityVote(), Crowd.of({"a": [["B-PER"]]}, [["x"]])), plain)


def test_a_crowd_in_another_order_or_scheme_says_the_same(data, result):
    backwards = np.arange(data.crowd.n_sentences)[::-1]
    page = report.render(result, data.crowd)
    assert report.render(result, data.crowd[backwards]) == page
    assert report.render(result, data.crowd.respell("bioes")) == page


def test_kinds_of_mistakes():
    tokens = [["a", "b", "c", "d", "e"]]
    truth = ["B-PER", "I-PER", "O", "B-LOC", "O"]
    crowd = Crowd.of(
        {
            "right": [truth],
            "nothing": [["O"] * 5],
            "short": [["B-PER", "O", "O", "B-LOC", "O"]],
            "mixed": [["B-LOC", "I-LOC", "O", "O", "B-PER"]],
        },
        tokens,
    )
    tags = np.array([crowd.scheme.index(tag) for tag in truth], np.int8)
    found = Compared(crowd, tags).shares()
    assert found.missed.tolist() == [0.0, 1.0, 0.0, 0.5]
    np.testing.assert_array_equal(found.boundary, [0.0, np.nan, 0.5, 0.0])
    np.testing.assert_array_equal(found.type, [0.0, np.nan, 0.0, 0.5])
    np.testing.assert_array_equal(found.invented, [0.0, np.nan, 0.0, 0.5])


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_ticks_span_the_range(a, b):
    low, high = min(a, b), max(a, b)
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 12
    assert all(x < y for x, y in itertools.pairwise(marks))
    near = 1e-6 * (marks[-1] - marks[0])
    assert marks[0] <= low + near and marks[-1] >= high - near


def test_words_for_numbers():
    assert [percent(v) for v in (0, 0.004, 0.0001, 0.5, 0.999, 0.99999, 1)] == [
        "0 %", "0.4 %", "<0.1 %", "50 %", "99.9 %", ">99.9 %", "100 %",
    ]  # fmt: skip
    assert number(0.1 + 0.2) == "0.3"
