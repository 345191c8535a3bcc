"""A page of a run in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from pytest_chatprompt.reports.compare import RunComparison
from pytest_chatprompt.reports.page import render_page
from pytest_chatprompt.results.records import RunResults
from tests.browser.chromium import WHAT_TO_INSTALL, find_chromium

OpenPage = Callable[..., Page]
# A deadline, no measure: a busy machine is slow.
_DEADLINE_MILLISECONDS = 60_000
expect.set_options(timeout=_DEADLINE_MILLISECONDS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    assert path is not None, WHAT_TO_INSTALL
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Open the page of a run from its file; whatever it asks of a network, and any error of its script, fails."""
    problems: list[str] = []
    contexts = []

    def open_run(
        run: RunResults,
        link: str = "",
        width: int = 1400,
        comparison: RunComparison | None = None,
        **options: object,
    ) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_DEADLINE_MILLISECONDS)
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: problems.append(request.url) if "file:" not in request.url else None)
        path = tmp_path / "review.html"
        path.write_text(render_page(run, comparison), encoding="utf-8")
        page.goto(f"{path.as_uri()}{link}")
        page.locator("html[data-ready]").wait_for(state="attached")
        return page

    yield open_run
    for context in contexts:
        context.close()
    assert problems == []
