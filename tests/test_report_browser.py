"""The report in a browser: filters, keys, accessibility, hostile text, fifty thousand sentences.

Needs Chromium (``apt-get install chromium``) and the packages of the ``pages`` extra; skipped elsewhere.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from seqtruth import report
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.datasets import demo
from seqtruth.methods import Accord, MajorityVote
from seqtruth.metrics import evaluate

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),
]
#: Seconds of the processor within which a page of 50,000 sentences shows them.
SOON = 2.0


class Shown(NamedTuple):
    """A page, what its console said, and what it asked of the network."""

    page: Any
    said: list[str]
    asked: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as runner:
        chromium = runner.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


def show(browser: Any, path: Path, **options: Any) -> Shown:
    page = browser.new_page(**options)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#list article")
    return Shown(page, said, asked)


@pytest.fixture(scope="module")
def result() -> Any:
    data = demo.load()
    return replace(Accord(predictor=None).fit(data.crowd), crowd=data.crowd)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, result: Any) -> Path:
    where = tmp_path_factory.mktemp("pages") / "demo.html"
    data = demo.load()
    report.write(result, where, data.crowd, evaluate(result, data.gold))
    return where


@pytest.fixture
def shown(browser: Any, path: Path) -> Iterator[Shown]:
    found = show(browser, path)
    yield found
    assert found.said == []
    assert set(found.asked) == {path.as_uri()}
    found.page.close()


def count(page: Any) -> int:
    return int(page.inner_text("#count").split()[0].replace(",", ""))


def test_filters(shown: Shown) -> None:
    page = shown.page
    everything = count(page)
    assert everything == 544 and page.locator("#list article").count() == 10
    page.select_option("#by-type", label="ORG")
    some = count(page)
    assert 0 < some < everything
    assert all("ORG" in text for text in page.locator("#list article").all_inner_texts())
    page.select_option("#by-who", label="careful-1")
    fewer = count(page)
    assert 0 < fewer < some
    assert all("careful-1" in text for text in page.locator("#list article").all_inner_texts())
    page.check("#differ")
    assert 0 < count(page) < fewer
    page.uncheck("#differ")
    page.select_option("#by-type", "")
    page.select_option("#by-who", "")
    page.select_option("#by-sure", "900-1001")
    sure = count(page)
    page.select_option("#by-sure", "0-500")
    assert sure + count(page) < everything
    page.select_option("#by-sure", "")
    page.fill("#search", "OSLO")
    page.wait_for_selector("#count:has-text(' of ')")
    assert 0 < count(page) < 40
    assert all("oslo" in text.lower() for text in page.locator("#list article").all_inner_texts())
    page.fill("#search", "no such words anywhere")
    page.wait_for_selector("#count:has-text('0 of ')")
    assert page.locator("#list article").count() == 0


def test_pages_and_order(shown: Shown) -> None:
    page = shown.page
    first = page.inner_text("#list article h3 >> nth=0")
    page.click("#after")
    assert page.inner_text("#place") == "Page 2 of 55"
    assert page.inner_text("#list article h3 >> nth=0") != first
    page.select_option("#order", "text")
    assert page.inner_text("#list article h3 >> nth=0").endswith("#1")
    values = [float(text.split()[1]) for text in page.locator(".meter").all_inner_texts()]
    page.select_option("#order", "sure")
    values = [float(text.split()[1]) for text in page.locator(".meter").all_inner_texts()]
    assert values == sorted(values)


def test_why_says_what_explain_says(shown: Shown, result: Any) -> None:
    page = shown.page
    name = page.inner_text("#list article h3 >> nth=0")
    page.click("#list article >> nth=0 >> summary")
    page.wait_for_selector("#list article:first-child .told")
    rows = page.locator("#list article:first-child .told tbody tr").all()
    found = result.explain(name).tokens
    assert len(rows) == len(found) > 0
    for row, reason in zip(rows, found, strict=True):
        told, text = reason.told(), row.inner_text()
        for part in (reason.token, told.label, told.pro.removeprefix("for it: "), told.others):
            assert part in text
    page.fill("#search", "")
    page.select_option("#by-sure", "900-1001")
    page.click("#list article:last-child summary")
    page.wait_for_selector("#list article:last-child .why .note")
    last = page.inner_text("#list article:last-child h3")
    if page.locator("#list article:last-child .told").count() == 0:  # not among the least sure
        command = page.inner_text("#list article:last-child .why .note code")
        assert shlex.split(command) == ["seqtruth", "explain", "result.seqtruth", last]


def test_keys(shown: Shown) -> None:
    page = shown.page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    here = "[...document.querySelectorAll('#list article')].indexOf(document.activeElement)"
    assert page.evaluate(here) == 1
    page.keyboard.press("w")
    page.wait_for_selector("#list article:nth-child(2) .why table")
    assert "Marked by" in page.inner_text("#list article:nth-child(2) .why")
    page.keyboard.press("k")
    assert page.evaluate(here) == 0
    page.keyboard.press("n")
    assert page.inner_text("#place").startswith("Page 2")
    page.keyboard.press("p")
    assert page.inner_text("#place").startswith("Page 1")
    # everything that acts can be reached with Tab alone
    page.reload()
    page.wait_for_selector("#list article")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"search", "by-type", "by-who", "by-sure", "order", "differ"} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_serious_fault_of_accessibility(
    browser: Any, path: Path, scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_core_python.sync_playwright")
    found = show(
        browser, path, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True
    )  # fmt: skip
    found.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    faults = axe.Axe().run(found.page)["violations"]
    serious = [
        (fault["id"], fault["nodes"][0]["html"][:200], fault["nodes"][0]["failureSummary"][:300])
        for fault in faults
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []
    # nothing hangs over the edge of a phone
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    found.page.close()


def test_hostile_text_is_inert(browser: Any, tmp_path: Path) -> None:
    evil = "<img src=x onerror=\"window.hacked=1;alert('h')\"></script><script>window.hacked=2</script>"
    tokens = [[evil, "</mark>", "javascript:alert(1)"]] * 12
    votes = {
        evil: [[f"B-{evil}", "O", "O"]] * 12,
        "'\"><svg onload=alert(1)>": [["O", "B-x", "I-x"]] * 12,
        "c": [[f"B-{evil}", "O", "B-x"]] * 12,
    }
    crowd = Crowd.of(votes, tokens, "iob2", ids=[f"{evil}{k}" for k in range(12)])
    report.write(MajorityVote().fit(crowd), tmp_path / "evil.html", crowd, title=evil)
    found = show(browser, tmp_path / "evil.html")
    found.page.locator("#list summary").first.click()
    found.page.fill("#search", evil.lower())
    found.page.wait_for_timeout(300)
    assert found.page.evaluate("window.hacked") is None
    assert found.said == [] and found.asked == [(tmp_path / "evil.html").as_uri()]
    assert found.page.locator("img, main svg[onload], iframe").count() == 0
    assert evil in found.page.inner_text("#list article >> nth=0")
    found.page.close()


@pytest.mark.slow
def test_fifty_thousand_sentences_load_soon(browser: Any, tmp_path: Path) -> None:
    """By the processor's seconds: a machine that is busy with other things is not the page's fault."""
    rng = np.random.default_rng(0)
    n, length = 50_000, 12
    words = np.array([f"word{k}" for k in range(5000)], object)
    corpus = Corpus.of(words[rng.integers(0, 5000, (n, length))].tolist())
    labels = ["O", "B-PER", "B-LOC"]
    votes = rng.choice(3, (n, 3, length), p=[0.8, 0.1, 0.1])
    rows, who = np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)
    crowd = Crowd.build(corpus, labels, ["a", "b", "c"], rows, who, votes.ravel(), "iob2")
    report.write(MajorityVote().fit(crowd), tmp_path / "large.html", crowd)
    found = show(browser, tmp_path / "large.html")
    session = found.page.context.new_cdp_session(found.page)
    session.send("Performance.enable")
    told = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    assert count(found.page) == n
    assert 0 < told["ProcessTime"] < SOON, told
    found.page.close()


def test_silent_sources_stand_below_and_names_keep_their_direction(
    browser: Any, tmp_path: Path
) -> None:
    """Each rule speaks in a third of the sentences; the others are named in one line below."""
    n, rules = 60, [f"rule-{k}" for k in range(5)] + ["\u202eevil"]
    votes = {
        name: [["B-PER", "O"] if (s + k) % 3 == 0 else ["O", "O"] for s in range(n)]
        for k, name in enumerate(rules)
    }
    votes = {name: [[*row] * 4 for row in rows] for name, rows in votes.items()}
    crowd = Crowd.of(votes, [["Ada", "ran"] * 4] * n, "iob2")
    found = replace(MajorityVote().fit(crowd), crowd=crowd)
    assert len(found.provenance["silence"]["silent"]) == 6
    report.write(found, tmp_path / "quiet.html", crowd)
    shown = show(browser, tmp_path / "quiet.html")
    last = shown.page.locator("#list article").first.locator(".reading").last
    assert "quiet" in last.get_attribute("class") and last.inner_text().startswith("silent: ")
    assert last.inner_text().count("rule-") + last.inner_text().count("evil") == 4
    assert "\u2068\u202eevil\u2069" in shown.page.inner_text("#list")
    assert shown.said == []
    shown.page.close()


def test_what_nobody_labelled_is_said_to_be_the_taggers(browser: Any, tmp_path: Path) -> None:
    crowd = demo.load().crowd[:150]
    kept = crowd.row_sentence != 5
    flat = np.repeat(kept, np.diff(crowd.row_offsets))
    crowd = replace(
        crowd, row_sentence=crowd.row_sentence[kept], row_annotator=crowd.row_annotator[kept],
        tags=crowd.tags[flat],
    )  # fmt: skip
    found = replace(Accord(predictor="crf").fit(crowd), crowd=crowd)
    report.write(found, tmp_path / "judged.html", crowd)
    shown = show(browser, tmp_path / "judged.html")
    shown.page.fill("#search", found.corpus.sentence_ids[5].as_py())
    shown.page.wait_for_selector("#count:has-text(' of ')")
    assert "Nobody labelled this sentence" in shown.page.inner_text("#list")
    shown.page.close()
