"""The page in headless Chromium: by keyboard, by mouse, on a phone, two at once, with hostile text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seqtruth as st
from browser import PHONE, axe_faults, chromium, page_of
from review.conftest import small_crowd
from review.running import Server, running
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202eevil",
    "عربي",
    "{{7*7}}",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def hostile_crowd() -> Crowd:
    """Markup, reversed writing, a right-to-left sentence and a very long one; also in the names."""
    words = [EVIL, ["مدينة", "نيويورك", "كبيرة"], [f"w{k}" for k in range(3000)]]
    first = [["B-A", "O", "B-B", "O", "O"], ["O", "B-A", "O"], ["B-A", *["O"] * 2999]]
    second = [["B-B", "O", "O", "B-A", "O"], ["O", "B-B", "O"], ["B-B", *["O"] * 2999]]
    crowd = Crowd.of({"<b>ann</b>": first, "bob": second, "cat": first}, words)
    corpus = Corpus.of(words, [f"<i>{k}</i>" for k in range(3)], ["<u>d</u>"] * 3)
    return Crowd(
        corpus, crowd.scheme, crowd.annotators, crowd.row_sentence, crowd.row_annotator, crowd.tags
    )


def saved(crowd: Crowd, folder: Path) -> Path:
    target = folder / "result.seqtruth"
    st.aggregate(crowd, "mv").save(target, crowd=True)
    return target


def asked(page: Any) -> str:
    page.wait_for_selector("main[aria-busy=false]")
    return str(page.inner_text("main h2"))


def decided(server: Server) -> int:
    with server.client() as client:
        return int(client.get("/api/progress").json()["counts"]["decisions"])


def wait_for(page: Any, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('#message').textContent.includes(text)", arg=text
    )


def sign_in(page: Any, server: Server, name: str) -> None:
    page.goto(server.url)
    page.fill("[name=name]", name)
    page.fill("[name=password]", "a long password")
    page.click("main button")
    page.wait_for_selector("#asked, main .card h2:has-text('Nothing left')")
    page.faults.clear()  # the browser notes the 401 that made it ask for a password


def find(page: Any, text: str) -> None:
    """Filter by a text, and wait for a sentence with it or for the answer that there is none."""
    page.evaluate(
        "document.querySelector('#queue').hidden || document.querySelector('#show-queue').click()"
    )
    page.click("#show-queue")
    page.evaluate("document.querySelector('#filter-box').open = true")
    page.fill("[name=search]", text)
    page.select_option("[name=kind]", "sentence")
    page.click("#filters button[type=submit]")
    page.wait_for_function(
        """text => document.querySelector("main[aria-busy=false]") && (
            [...document.querySelectorAll("[data-token]")].some((one) => one.textContent.includes(text))
            || document.querySelector("main").textContent.includes("Nothing left"))""",
        arg=text,
    )


def test_a_whole_review_by_keyboard(browser: Any, tmp_path: Path) -> None:
    with running(saved(small_crowd(), tmp_path)) as server, page_of(browser) as page:
        page.goto(server.url)
        assert "token" not in page.url
        asked(page)
        assert axe_faults(page) == []
        page.keyboard.press("?")
        page.wait_for_selector("#help[open]")
        assert axe_faults(page) == []
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("Lane")
        page.keyboard.press("Enter")
        page.wait_for_selector("main h2:has-text('s0')")
        page.keyboard.press("Escape")
        for _ in range(9):
            page.keyboard.press("ArrowLeft")
        page.keyboard.press("2")  # York is an ORG
        page.keyboard.press("n")
        page.keyboard.press("}")  # Ada Lane, not Ada; or the other way round
        page.keyboard.press("{")
        page.keyboard.press("Enter")
        wait_for(page, "Kept")
        asked(page)
        with server.client() as client:
            event = client.get("/api/history").json()[0]
        assert event["after"]["spans"][0] == [0, 1, "ORG"]
        page.keyboard.press("u")
        wait_for(page, "Undone")
        page.reload()
        asked(page)
        assert decided(server) == 0
        for _ in range(12):
            page.wait_for_selector("main[aria-busy=false]")
            if "Nothing left" in asked(page):
                break
            before = decided(server)
            page.keyboard.press("a")
            for _ in range(300):
                if decided(server) > before:
                    break
                page.wait_for_timeout(100)
            page.wait_for_timeout(300)
        assert "Nothing left" in asked(page)
        assert all(url.startswith(server.base) for url in page.asked)


def test_by_mouse_and_what_is_exported(browser: Any, tmp_path: Path) -> None:
    with running(saved(small_crowd(), tmp_path)) as server, page_of(browser) as page:
        page.goto(server.url)
        asked(page)
        page.click("#show-queue")
        page.click("#show-learning")
        page.wait_for_selector("#learning h2")
        page.wait_for_selector("#questions button")
        assert axe_faults(page) == []
        page.click("#filter-box summary")
        page.fill("[name=search]", "Lane")
        page.click("#filters button[type=submit]")
        page.wait_for_selector("main h2:has-text('s0')")
        page.click("[data-token='0']")
        page.click(".types button:has-text('ORG')")
        page.click("[data-token='2']")
        page.click("#erase")
        page.click("[data-token='2']")
        page.click("[data-token='3']", modifiers=["Shift"])
        page.click(".types button:has-text('PER')")
        page.click("#accept")
        wait_for(page, "Kept")
        page.click("#show-out")
        assert axe_faults(page) == []
        page.select_option("[name=format]", "conll")
        with page.expect_download() as coming:
            page.click("#export button[value=go]")
        text = Path(coming.value.path()).read_text()
        assert "York\tB-ORG" in text and "Ada\tB-PER\nLane\tI-PER" in text


def test_a_group_on_a_phone(browser: Any, tmp_path: Path) -> None:
    with (
        running(saved(small_crowd(), tmp_path)) as server,
        page_of(browser, viewport=PHONE, has_touch=True, color_scheme="dark") as page,
    ):
        page.goto(server.url)
        asked(page)
        page.tap("#show-queue")
        page.tap("#filter-box summary")
        page.select_option("[name=kind]", "form")
        page.tap("#filters button[type=submit]")
        page.wait_for_selector(".members li")
        assert page.locator("#queue").is_hidden()  # it has made room: nothing moves under a finger
        n = page.locator(".members li").count()
        assert n >= 2
        page.locator(".members input").nth(1).tap()
        page.wait_for_selector(".members li.out")
        page.tap(".types button:has-text('ORG')")
        page.wait_for_selector(".types button[aria-pressed=true]:has-text('ORG')")
        assert axe_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.tap("#accept")
        wait_for(page, "Kept")
        with server.client() as client:
            events = client.get("/api/history").json()
        assert len(events) == n - 1
        assert all(one["after"]["spans"][0][2] == "ORG" for one in events)


def test_hostile_right_to_left_and_long_text(browser: Any, tmp_path: Path) -> None:
    with running(saved(hostile_crowd(), tmp_path)) as server, page_of(browser) as page:
        page.on("dialog", lambda dialog: page.faults.append(f"dialog {dialog.message}"))
        page.goto(server.url)
        asked(page)
        page.click("#show-queue")
        for name in ("s-0", "s-1", "s-2"):
            number = int(name[2:])
            page.click(f"#questions button:has-text('{['alert', 'مدينة', 'w0'][number]}')")
            page.wait_for_selector(f"main h2:has-text('<i>{number}</i>')")
            assert page.locator("main script, main img, main b, main i:has(*)").count() == 0
        assert page.locator("[data-token]").count() == 3000
        page.click("#questions button:has-text('مدينة')")
        page.wait_for_selector("main h2:has-text('<i>1</i>')")
        assert (
            page.evaluate("getComputedStyle(document.querySelector('main .card')).direction")
            == "rtl"
        )
        page.keyboard.press("Enter")
        wait_for(page, "Kept")
        assert decided(server) == 1


def test_two_reviewers_at_once(browser: Any, tmp_path: Path) -> None:
    from seqtruth.review.server import open_desk

    result = saved(small_crowd(), tmp_path)
    people = open_desk(result).people
    people.add("ann", "a long password", "lead")
    people.add("bob", "a long password")
    with running(result) as server, page_of(browser) as ann, page_of(browser) as bob:
        for page, name in ((ann, "ann"), (bob, "bob")):
            sign_in(page, server, name)
        bob.click("#show-queue")
        bob.wait_for_selector("#questions :text('with ann')")
        ann.keyboard.press("Enter")
        wait_for(ann, "Kept")
        bob.reload()
        asked(bob)


def test_changes_that_were_not_accepted_are_set_aside(browser: Any, tmp_path: Path) -> None:
    with running(saved(small_crowd(), tmp_path)) as server, page_of(browser) as page:
        page.goto(server.url)
        asked(page)
        find(page, "Lane")
        before = page.locator(".text .span").count()
        page.keyboard.press("0")
        assert page.locator(".text .span").count() == 0 < before
        name = page.evaluate(
            "document.querySelector('#questions [aria-current=true]').dataset.question"
        )
        page.click("#filters button[type=reset]")
        page.click(f"#questions button[data-question^=s-]:not([data-question='{name}'])")
        page.wait_for_selector("[data-token]:has-text('Lane')", state="detached")
        page.reload()
        asked(page)
        find(page, "Lane")
        wait_for(page, "not accepted yet")
        assert page.locator(".text .span").count() == 0
        page.keyboard.press("e")
        assert page.locator(".text .span").count() == before
        page.keyboard.press("0")
        with server.client() as client:  # somebody decides it meanwhile
            question = client.post(f"/api/questions/{name}").json()
            items = [{key: question["items"][0][key] for key in ("sentence", "version", "spans")}]
            body = {"batch": "meanwhile-0001", "question": name, "items": items}
            assert client.post("/api/decisions", json=body).status_code == 200
        page.keyboard.press("Enter")
        wait_for(page, "set aside")
        page.faults.clear()  # the browser notes the 409
        page.select_option("#which", "decided")
        page.click("#questions button")
        wait_for(page, "changed meanwhile")
        assert page.locator(".text .span").count() == 0
        page.keyboard.press("Enter")
        wait_for(page, "Kept")
        with server.client() as client:
            assert client.get("/api/history").json()[0]["after"]["spans"] == []
        page.click("#questions button")
        page.wait_for_selector("main[aria-busy=false] [data-token]")
        assert "not accepted" not in page.inner_text("#message")


def test_borders_and_changes_by_touch(browser: Any, tmp_path: Path) -> None:
    with (
        running(saved(small_crowd(), tmp_path)) as server,
        page_of(browser, viewport=PHONE, has_touch=True) as page,
    ):
        page.goto(server.url)
        asked(page)
        find(page, "Lane")
        page.tap("[data-token='0']")
        page.tap("button:has-text('End later')")  # York beat
        page.tap("button:has-text('Start later')")  # beat
        page.tap("[data-token='2']")
        page.tap("#erase")
        page.tap("#nothing")
        assert page.locator(".text .span").count() == 0
        page.tap("#back")
        page.tap("#back")
        assert page.locator(".text .span").count() == 2
        assert axe_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.tap("#accept")
        wait_for(page, "Kept")
        with server.client() as client:
            (event,) = client.get("/api/history").json()
        assert event["after"]["spans"][0][:2] == [1, 2]


def test_what_is_surely_different_is_not_ticked(browser: Any, tmp_path: Path) -> None:
    words = [["York", "won"], ["York", "lost"], ["York", "drew"]]
    tags = {
        name: [["B-ORG" if k < n else "B-LOC", "O"] for n in (1, 9, 20)]
        for k, name in enumerate([f"a{k}" for k in range(20)])
    }  # the first is a place for all but one, the second wavers, the third is a team for all
    corpus = Corpus.of(words, ["s0", "s1", "s2"], ["game"] * 3)
    crowd = Crowd.of(tags, words)
    crowd = Crowd(
        corpus, crowd.scheme, crowd.annotators, crowd.row_sentence, crowd.row_annotator, crowd.tags
    )
    with running(saved(crowd, tmp_path)) as server, page_of(browser) as page:
        page.goto(server.url)
        asked(page)
        page.click("#show-queue")
        page.click("#questions button:has-text('marks in')")
        page.wait_for_selector(".members li")
        page.keyboard.press("2")
        ticks = [box.is_checked() for box in page.locator(".members input").all()]
        assert ticks == [False, True]
        assert "1 of 2 ticked; 1 label will change." in page.inner_text("main")
        assert axe_faults(page) == []
        page.keyboard.press("Enter")
        wait_for(page, "Kept")
        with server.client() as client:
            (event,) = client.get("/api/history").json()
        assert (event["sentence"], event["after"]["spans"]) == (1, [[0, 1, "ORG"]])


def test_what_was_skipped_said_and_decided_is_found_again(browser: Any, tmp_path: Path) -> None:
    with running(saved(small_crowd(), tmp_path)) as server, page_of(browser) as page:
        page.goto(server.url)
        asked(page)
        find(page, "Lane")
        page.keyboard.press("c")
        page.keyboard.type("a club?")
        page.click("#say button[value=keep]")
        wait_for(page, "Comment kept")
        page.keyboard.press("s")
        wait_for(page, "Skipped")
        page.wait_for_selector("#ask-again")
        page.click("#ask-again")
        page.wait_for_selector("[data-token='3']")
        assert "a club?" in page.inner_text("[aria-label=Comments]")
        page.keyboard.press("Enter")
        wait_for(page, "Kept")
        page.select_option("#which", "decided")
        page.wait_for_selector("#questions small:has-text('settled')")
        page.select_option("#which", "all")
        page.click("#filters button[type=reset]")
        page.click("#questions button:has-text('Yes')")  # not in doubt, and yet to be had
        page.wait_for_selector("main h2:has-text('s3')")
        assert page.get_attribute("#questions button:has-text('Yes')", "aria-current") == "true"
        assert axe_faults(page) == []


def test_layers_beside_each_other(browser: Any, tmp_path: Path) -> None:
    crowd = small_crowd()
    corpus = crowd.corpus.on_layers(("", "inner"))
    rows = crowd.row_sentence * 2
    crowd = Crowd(corpus, crowd.scheme, crowd.annotators, rows, crowd.row_annotator, crowd.tags)
    with running(saved(crowd, tmp_path)) as server, page_of(browser) as page:
        page.goto(server.url)
        asked(page)
        page.click("#show-queue")
        page.click("#questions button:has-text('Lane')")
        page.wait_for_selector("[aria-label='Other layers']")
        assert "layer 1" in asked(page)
        assert axe_faults(page) == []
        page.click("button.layer")
        page.wait_for_selector("main h2:has-text('layer inner')")
        page.click("[data-token='0']")
        page.click(".types button:has-text('LOC')")
        page.keyboard.press("Escape")
        page.click("#accept")
        wait_for(page, "Kept")
        page.click("#questions button:has-text('Lane')")
        page.wait_for_selector("[aria-label='Other layers'] .who:has-text('settled')")
        assert page.inner_text("[aria-label='Other layers'] .what") == "York LOC"


def test_two_reviewers_judge_each_sentence_and_a_lead_settles(browser: Any, tmp_path: Path) -> None:
    from seqtruth.review.server import open_desk

    result = saved(small_crowd(), tmp_path)
    people = open_desk(result, double=True).people
    for name, role in (("lea", "lead"), ("ann", "reviewer"), ("bob", "reviewer")):
        people.add(name, "a long password", role)
    with (
        running(result) as server,
        page_of(browser) as ann,
        page_of(browser) as bob,
        page_of(browser) as lea,
    ):
        for page, name in ((ann, "ann"), (bob, "bob"), (lea, "lea")):
            sign_in(page, server, name)
        for page, kind in ((ann, "ORG"), (bob, "LOC")):  # at odds about the first sentence
            find(page, "Lane")
            page.click("[data-token='0']")
            page.click(f".types button:has-text('{kind}')")
            page.click("#accept")
            wait_for(page, "Kept")
        for page in (ann, bob):  # of one mind about the third
            find(page, "rain")
            page.click("[data-token='1']")
            page.click(".types button:has-text('LOC')")
            page.click("#accept")
            wait_for(page, "Kept")
        find(ann, "Lane")
        assert "Nothing left" in asked(ann)  # disputes are the lead's
        find(lea, "Lane")
        lea.wait_for_selector(".badge:has-text('disputed')")
        told = lea.inner_text("[aria-label=Reviewers]")
        assert "York ORG" in told and "York LOC" in told and "ann" in told and "bob" in told
        lea.click("#show-learning")
        lea.wait_for_selector("#learning :text('2 sentences judged twice')")
        assert "50.0 % alike" in lea.inner_text("#learning")
        assert axe_faults(lea) == []
        lea.click("[data-token='0']")
        lea.click(".types button:has-text('ORG')")
        lea.click("#accept")
        wait_for(lea, "Kept")
        labels = {s: marks.spans for s, marks in open_desk(result).desk.decided().items()}
    assert labels[0][0] == (0, 1, "ORG") and labels[2] == ((1, 2, "LOC"),)


def test_why_and_what_was_learnt(browser: Any, tmp_path: Path) -> None:
    target = tmp_path / "result.seqtruth"
    st.aggregate(st.datasets.load("demo").crowd[:60], "ds", max_iter=20).save(target, crowd=True)
    with running(target, "--learn-every", "1") as server, page_of(browser) as page:
        page.goto(server.url)
        asked(page)
        find(page, "")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        assert "could be" in page.inner_text("main") and "for it:" in page.inner_text("main")
        assert axe_faults(page) == []
        page.click("[data-token='0']")
        page.click(".types button:has-text('ORG')")
        page.click("#accept")
        wait_for(page, "Kept")
        page.click("#show-learning")
        for _ in range(120):
            with server.client() as client:
                if client.get("/api/progress").json()["rounds"]:
                    break
            page.wait_for_timeout(500)
        page.click("#show-learning")
        page.click("#show-learning")
        page.wait_for_selector("#learning h3:has-text('Rounds')")
