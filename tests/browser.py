"""Pages in a real browser: Debian's Chromium by Playwright, with what it complains about, and axe-core."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: Sizes of a desktop's and a phone's window.
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium; tests are skipped where it or Playwright is not installed."""
    api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not installed here (Debian's package chromium)")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )  # fmt: skip
        yield found
        found.close()


@contextmanager
def page_of(browser: Any, **settings: Any) -> Iterator[Any]:
    """A page in a context of its own; whatever it complains about fails the test."""
    context = browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **settings})
    page = context.new_page()
    page.set_default_timeout(60_000)
    faults: list[str] = []
    asked: list[str] = []
    page.on("console", lambda told: told.type in ("error", "warning") and faults.append(told.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.asked = asked
    page.faults = faults
    yield page
    context.close()
    assert not faults, faults


def axe_faults(page: Any) -> list[str]:
    """What axe-core finds wrong with the page as it is now."""
    package = pytest.importorskip("axe_core_python")
    script = Path(package.__file__).with_name("axe.min.js").read_text()
    page.evaluate(f"() => {{ {script}; window.axe = axe; }}")
    found = page.evaluate("() => axe.run()")
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found["violations"]]
