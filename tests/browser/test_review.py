"""The review on a page, in a real browser: what a reader decides with buttons and keys, and what is shown of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from pytest_chatprompt.reports.acceptance import Acceptance
from pytest_chatprompt.reports.browser_review import ReviewServer
from pytest_chatprompt.results.records import CaseResult, RunResults
from pytest_chatprompt.snapshots.layout import dump
from tests.reports.test_page import case_result, request_data

DEADLINE_SECONDS = 60
# The third change stands in a snapshot that has the first one, too.
SYSTEMS = {
    "a": ("Be kind.", "Be brief."),
    "b": ("Be kind.", "Be brief."),
    "c": ("Use English.", "Use French."),
}


class Review:
    """A review of two changes in three snapshots, and of two that are new."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "__snapshots__"
        self.folder.mkdir(parents=True)
        same = request_data("same")
        results = [*map(self.changed, SYSTEMS), self.new("n"), self.new("<b>o"), case_result("s", same, same)]
        run = RunResults(results=tuple(results), command=("evals",))
        self.acceptance = Acceptance([result for result in results if result.differs], root, run)
        self.server = ReviewServer(self.acceptance)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def changed(self, name: str) -> CaseResult:
        old, new = (request_data(f"Question {name}", system) for system in SYSTEMS[name])
        (self.folder / f"{name}.yaml").write_text(dump(old))
        return self.at_its_path(case_result(name, old, new), name)

    def new(self, name: str) -> CaseResult:
        return self.at_its_path(case_result(name, None, request_data(f"Question {name}", "Be new.")), f"{name}")

    def at_its_path(self, result: CaseResult, name: str) -> CaseResult:
        assert result.snapshot is not None
        snapshot = result.snapshot.model_copy(update={"path": f"__snapshots__/{name}.yaml", "is_cause": True})
        return result.model_copy(update={"snapshot": snapshot})

    def written(self) -> list[str]:
        """The snapshots that show what is sent."""
        news = ("Be brief.", "Use French.", "Be new.")
        return sorted(path.stem for path in self.folder.iterdir() if any(new in path.read_text() for new in news))

    def has_ended(self) -> bool:
        self.thread.join(DEADLINE_SECONDS)
        return not self.thread.is_alive()


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    review = Review(tmp_path)
    yield review
    review.server.shutdown()
    review.thread.join(DEADLINE_SECONDS)
    review.server.server_close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Tabs of one browser; any error of a script and any request to others than the review fails."""
    problems: list[str] = []
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(DEADLINE_SECONDS * 1_000)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    context.on("request", lambda request: problems.append(request.url) if "//127.0.0.1:" not in request.url else None)
    yield context
    context.close()
    assert problems == []


def open_review(context: BrowserContext, review: Review) -> Page:
    page = context.new_page()
    page.goto(review.server.url)
    page.locator("html[data-ready]").wait_for(state="attached")
    return page


@pytest.fixture
def page(context: BrowserContext, review: Review) -> Page:
    return open_review(context, review)


def change(page: Page, text: str) -> Locator:
    return page.get_by_role("article").filter(has_text=text)


def status(page: Page) -> Locator:
    return page.locator("#left")


def test_each_change_has_its_buttons_and_the_first_is_marked(page: Page, review: Review) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("2 distinct changes in 3 snapshots, 2 new snapshots")
    expect(status(page)).to_have_text("3 of 3 left to decide")
    first, second, _ = review.acceptance.changes
    names = (
        page.get_by_role("button")
        .and_(page.locator("[aria-keyshortcuts]"))
        .evaluate_all("all => all.map((one) => `${one.ariaLabel}, ${one.getAttribute('aria-keyshortcuts')}`)")
    )
    assert names == [
        *(f"{word} change {one}, {word[0].lower()}" for one in (first, second) for word in ("Accept", "Skip")),
        "Accept new snapshots, a",
        "Skip new snapshots, s",
    ]
    expect(change(page, "Be brief.")).to_be_focused()
    expect(page.get_by_text("To accept")).to_have_count(0)


def test_a_change_is_accepted_with_its_button(page: Page, review: Review) -> None:
    first, *_ = review.acceptance.changes
    page.get_by_role("button", name=f"Accept change {first}").click()
    expect(change(page, "Be brief.").locator(".decide")).to_have_text("accepted in 2 snapshots")
    expect(status(page)).to_have_text(f"Change {first}: accepted in 2 snapshots. 2 of 3 left to decide")
    assert review.written() == ["a", "b"]
    # The next is marked.
    expect(change(page, "Use French.")).to_be_focused()
    # Loaded anew it shows the same.
    page.reload()
    page.locator("html[data-ready]").wait_for(state="attached")
    expect(change(page, "Be brief.").locator(".decide")).to_have_text("accepted in 2 snapshots")
    expect(status(page)).to_have_text("2 of 3 left to decide")
    expect(change(page, "Use French.")).to_be_focused()


def test_all_is_decided_with_keys(page: Page, review: Review) -> None:
    page.keyboard.press("s")
    expect(change(page, "Be brief.").locator(".decide")).to_have_text("skipped")
    page.keyboard.press("a")
    expect(change(page, "Use French.").locator(".decide")).to_have_text("accepted in 1 snapshot")
    assert review.written() == ["c"]
    expect(change(page, "2 snapshots").last).to_be_focused()
    page.keyboard.press("a")
    expect(status(page)).to_have_text("New: accepted 2 snapshots. All is decided: you can close this page.")
    expect(status(page)).to_be_focused()
    assert review.has_ended()
    assert review.written() == ["<b>o", "c", "n"]
    for key in "asn":
        page.keyboard.press(key)
    expect(status(page)).to_have_text("New: accepted 2 snapshots. All is decided: you can close this page.")


def test_a_key_decides_only_about_the_change_that_is_marked(page: Page, review: Review) -> None:
    page.keyboard.press("n")
    expect(change(page, "Use French.")).to_be_focused()
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(change(page, "Be brief.")).to_be_focused()
    page.locator("#rows a").first.focus()
    # None is marked: one is, and nothing else.
    page.keyboard.press("a")
    expect(change(page, "Be brief.")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("accept or skip the change that is marked, and go to the next")
    page.keyboard.press("a")
    page.get_by_role("checkbox", name="Letters are keys").uncheck()
    page.keyboard.press("Escape")
    change(page, "Be brief.").focus()
    page.keyboard.press("a")
    page.get_by_role("searchbox").press("a")
    assert review.server.decisions == {}


def test_a_key_that_is_held_decides_once(page: Page, review: Review) -> None:
    page.keyboard.down("s")
    expect(change(page, "Use French.")).to_be_focused()
    for _ in range(5):
        page.keyboard.down("s")
    page.keyboard.up("s")
    expect(status(page)).to_contain_text("2 of 3 left to decide")
    assert len(review.server.decisions) == 1


def test_the_tab_key_reaches_the_buttons(page: Page, review: Review) -> None:
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.word") == "skip":
            break
    first, *_ = review.acceptance.changes
    skip = page.get_by_role("button", name=f"Skip change {first}")
    expect(skip).to_be_focused()
    assert skip.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(change(page, "Be brief.").locator(".decide")).to_have_text("skipped")


def test_from_an_open_case_a_key_leads_back_to_what_is_left(page: Page, review: Review) -> None:
    page.locator("#rows a").last.click()
    expect(page.get_by_role("heading", level=2, name="s", exact=True)).to_be_focused()
    page.keyboard.press("a")
    expect(change(page, "Be brief.")).to_be_focused()
    assert review.server.decisions == {}


def test_new_snapshots_show_what_they_hold(page: Page) -> None:
    new = change(page, "2 snapshots").last
    expect(new.locator("details")).to_have_count(2)
    first, second = (new.locator("details").nth(number) for number in range(2))
    expect(first.locator(".payload")).to_contain_text("content: Question n")
    expect(first.locator(".turn.user")).to_contain_text("Question n")
    expect(second.locator(".payload")).to_have_count(0)
    second.locator("summary").click()
    expect(second.locator(".payload")).to_contain_text("content: Question <b>o")
    second.locator("summary").click()
    second.locator("summary").click()
    expect(second.locator(".payload")).to_have_count(1)


def test_a_second_tab_is_told_what_was_decided(context: BrowserContext, page: Page, review: Review) -> None:
    other = open_review(context, review)
    first, second, _ = review.acceptance.changes
    page.get_by_role("button", name=f"Skip change {first}").click()
    expect(change(page, "Be brief.").locator(".decide")).to_have_text("skipped")
    other.get_by_role("button", name=f"Accept change {first}").click()
    expect(status(other)).to_have_text(f"Change {first}: skipped. 2 of 3 left to decide")
    page.get_by_role("button", name=f"Accept change {second}").click()
    other.get_by_role("button", name="Skip new snapshots").click()
    expect(change(other, "Use French.").locator(".decide")).to_have_text("accepted in 1 snapshot")
    expect(status(other)).to_have_text("New: skipped. All is decided: you can close this page.")
    assert review.has_ended()
    assert review.written() == ["c"]


def test_what_is_not_written_is_told(page: Page, review: Review) -> None:
    (review.folder / "a.yaml").write_text(dump({"x": "<b>"}))
    page.keyboard.press("a")
    told = change(page, "Be brief.").locator(".decide")
    expect(told.locator(".badge")).to_have_text("accepted in 1 snapshot, 1 not written")
    problem = "__snapshots__/a.yaml is not written: it has changed since the run compared with it; run again"
    expect(told.locator(".problem")).to_have_text(problem)
    expect(status(page)).to_contain_text("accepted in 1 snapshot, 1 not written. 2 of 3 left to decide")


def test_after_the_end_the_page_says_that_nobody_answers(browser: Browser, review: Review) -> None:
    # The browser logs the request that fails as an error.
    page = browser.new_page()
    page.goto(review.server.url)
    page.locator("html[data-ready]").wait_for(state="attached")
    review.server.shutdown()
    review.server.server_close()
    page.keyboard.press("a")
    expect(status(page)).to_have_text(
        "Pytest does not answer: the review has ended. Run it again to decide what is left."
    )
    # It can be tried again, and what is decided is not lost from sight.
    expect(page.get_by_role("button", name="Accept")).to_have_count(3)
    page.close()


def test_another_site_can_neither_read_nor_decide(browser: Browser, review: Review) -> None:
    page = browser.new_page()
    page.route("http://evil.example/", lambda route: route.fulfill(body="<p>hello", content_type="text/html"))
    page.goto("http://evil.example/")
    first = review.server.url + "accept/" + next(iter(review.acceptance.changes))
    for address, options in ((review.server.url, ""), (first, ", {method: 'POST', mode: 'no-cors'}")):
        answer = page.evaluate(f"fetch('{address}'{options}).then((one) => one.text()).catch((error) => error.name)")
        assert answer in ("TypeError", "")
    page.evaluate(f"document.body.innerHTML = '<iframe src=\"{review.server.url}\"></iframe>'")
    page.frame_locator("iframe").locator("html").wait_for(state="attached")
    page.evaluate(
        f"document.body.innerHTML = '<form method=post action=\"{first}\"></form>'; document.forms[0].submit()"
    )
    page.wait_for_load_state()
    assert review.server.decisions == {}
    page.close()


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_is_wider_than_the_screen(page: Page, review: Review, width: int) -> None:
    (review.folder / "a.yaml").unlink()
    page.set_viewport_size({"width": width, "height": 900})
    page.keyboard.press("a")
    expect(status(page)).to_contain_text("1 not written")
    assert page.evaluate("document.documentElement.scrollWidth") == width
