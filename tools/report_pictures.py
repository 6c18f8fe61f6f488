"""The pictures of the report in docs: ``python tools/report_pictures.py`` (needs Chromium, playwright)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import seqtruth as st

DOCS = Path(__file__).parents[1] / "docs"
SHOTS = (
    ("report.png", 1280, 800, "light", "#answers"),
    ("report-sentences.png", 1280, 900, "light", "#sentences"),
    ("report-phone.png", 390, 844, "dark", "#trust"),
)


def main() -> None:
    data = st.datasets.load("demo")
    result = st.aggregate(data.crowd, "accord", predictor="crf")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as runner:
        page = Path(folder) / "report.html"
        result.report(page, scores=st.evaluate(result, data.gold))
        browser = runner.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, width, height, scheme, part in SHOTS:
            view = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            view.goto(page.as_uri())
            view.wait_for_selector("#list article")
            if part == "#sentences":
                view.click("#list article summary")
            if part != "#answers":
                view.evaluate("part => document.querySelector(part).scrollIntoView()", part)
            view.screenshot(path=DOCS / name)
            view.close()
        browser.close()


if __name__ == "__main__":
    main()
