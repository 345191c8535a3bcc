"""The page in a real browser: what a reviewer sees and does, and what hostile prompts cannot do."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from pytest_chatprompt.apis.conversation import PromptPart
from pytest_chatprompt.reports.ab import Compared
from pytest_chatprompt.reports.compare import compare_runs
from pytest_chatprompt.results.records import (
    AttemptResult,
    CaseResult,
    CheckResult,
    ErrorResult,
    ResponseResult,
    RunResults,
    VersionResult,
    VersionsResult,
)
from tests.browser.conftest import OpenPage
from tests.reports.results import repeated
from tests.reports.test_page import HOSTILE, case_result, request_data

PROVIDERS = ("anthropic", "mistral", "bedrock")
OLD, NEW = "Be kind.\nA return is free within 14 days.", "Be kind.\nA return is free within 30 days."


@pytest.fixture(scope="module")
def run() -> RunResults:
    """40 cases with three providers: the first ten have changed, one has failed."""
    return RunResults(results=tuple(result_of(n, provider) for n in range(40) for provider in PROVIDERS))


def result_of(number: int, provider: str) -> CaseResult:
    path = f"evals/{'abcd'[number % 4]}.eval.yaml"
    more: dict[str, Any] = {"path": path, "node_id": f"{path}::case-{number}[{provider}]"}
    if number == 39:
        more |= {"outcome": "error", "error": ErrorResult(message="429: no quota")}
    stored = request_data(f"Question {number}", OLD)
    sent = request_data(f"Question {number}", NEW) if number < 10 else stored
    return case_result(f"case-{number}", stored, sent, provider, **more)


def link_to(number: int, provider: str = "anthropic") -> str:
    node_id = f"evals/{'abcd'[number % 4]}.eval.yaml::case-{number}[{provider}]"
    return f"#case={quote(node_id, safe='')}"


def row(page: Page, case: str) -> Locator:
    return page.locator("#rows").get_by_role("link", name=re.compile(f"^{case} "))


def visible_names(page: Page) -> list[str]:
    names: list[str] = page.locator("#rows .name").all_inner_texts()
    return names


def test_what_changed_stands_first_and_cases_follow(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run)
    expect(page.get_by_role("heading", level=1)).to_have_text("1 distinct change in 30 snapshots")
    change = page.get_by_role("article")
    expect(change.locator("del")).to_have_text("14")
    expect(change.locator("ins")).to_have_text("30")
    expect(page.get_by_role("status")).to_have_text("40 cases")
    assert visible_names(page)[0] == "case-0"
    # The diff, then where it stands, folded.
    where = change.get_by_role("group")
    assert where.evaluate("where => where.previousElementSibling.className") == "diff"
    expect(change.get_by_role("list", name="Cases")).to_be_hidden()
    where.get_by_text("in request.system: 30 cases").click()
    change.get_by_role("link", name="evals/b.eval.yaml::case-1[mistral]").click()
    expect(page.get_by_role("heading", level=2, name="case-1", exact=True)).to_be_visible()


def test_a_long_line_of_a_change_is_cut_around_its_changed_words(open_page: OpenPage) -> None:
    words = " ".join(f"word{number}" for number in range(100))
    one = case_result("one", request_data("q", f"{words} 14 {words}"), request_data("q", f"{words} 30 {words}"))
    other = case_result("two", request_data("q", "gone\nstays"), request_data("q", "stays"))
    moved = [{"messages": [{"role": "user", "content": text} for text in order]} for order in ("abcd", "dabc")]
    before, after = ({**request_data("q"), "request": request} for request in moved)
    three = case_result("three", before, after)
    page = open_page(RunResults(results=(one, other, three)))
    lines = page.locator(".change").nth(0).locator(".line")
    expect(lines.nth(0).locator("del")).to_have_text("14")
    text = lines.nth(1).text_content() or ""
    assert text.startswith("after: …word")
    assert text.endswith("…")
    assert len(text) < 300
    expect(page.locator(".change").nth(1).locator(".line.changed")).to_have_text("before: gone")
    expect(page.locator(".change").nth(2).locator(".moved-lines")).to_have_text("movedd")


def test_changed_cases_are_grouped_by_their_change_and_others_by_their_outcome(
    run: RunResults, open_page: OpenPage
) -> None:
    other = case_result("other", request_data("q", "a"), request_data("q", "b"))
    new = case_result("fresh", None, request_data("q"))
    page = open_page(RunResults(results=(*run.results, other, new)))
    rows = page.locator("#rows li")
    groups = page.locator("#rows .group")
    expect(groups).to_have_text(["change ab3c · 10", "change eb15 · 1", "new · 1", "error · 1", "passed · 29"])
    groups.nth(1).get_by_role("link").click()
    expect(page.locator("#change-eb15")).to_be_focused()
    assert rows.nth(1).evaluate("row => row.offsetHeight") < 40
    page.locator("#overview").get_by_role("link", name="a.eval.yaml::fresh[anthropic]").click()
    expect(page.get_by_role("heading", level=2, name="fresh", exact=True)).to_be_visible()


def test_cases_stand_in_a_table_by_provider(open_page: OpenPage) -> None:
    page = open_page(checked_run())
    expect(page.get_by_role("heading", level=1)).to_have_text("3 of 4 cases passed (75%)")
    grid = page.locator("#grid")
    expect(grid.get_by_role("columnheader")).to_have_text(["case", *PROVIDERS])
    cells = grid.get_by_role("row", name="one").get_by_role("cell")
    expect(cells.nth(1)).to_have_text("failed 1/3 checks, 1.50 s From mistral.")
    page.get_by_role("searchbox").fill("two")
    expect(grid.get_by_role("rowheader")).to_have_text(["two"])
    page.get_by_role("searchbox").fill("")
    cells.nth(1).get_by_role("link").click()
    expect(page.get_by_role("navigation", name="Providers").locator("[aria-current]")).to_contain_text("mistral")


def test_each_answer_that_an_application_got_is_shown(open_page: OpenPage) -> None:
    answers = tuple(ResponseResult(text=f"answer {number}", output_tokens=5) for number in (1, 2))
    total = ResponseResult(text="answer 2", output_tokens=10, requests=2)
    test = CaseResult(node_id="t.py::test_it", path="t.py", line=1, outcome="passed", response=total, answers=answers)
    page = open_page(RunResults(results=(test,), is_live=True), "#case=t.py%3A%3Atest_it")
    parts = page.locator(".answer details")
    expect(parts.locator(".text")).to_have_text(["answer 1", "answer 2"])
    expect(page.locator(".answer > .usage")).to_have_text("Requests2Tokens out10")
    page.get_by_role("searchbox").fill("answer 1")
    expect(page.get_by_role("status")).to_have_text("1 case")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="← Answers").click()
    expect(page.locator("#grid").get_by_role("columnheader")).to_have_text(["case", "answer"])


def test_cases_of_one_provider_each_have_no_columns_and_without_answers_no_table(open_page: OpenPage) -> None:
    sent = request_data("q")
    results = [case_result(f"c{provider}", sent, sent, provider) for provider in PROVIDERS]
    expect(open_page(RunResults(results=tuple(results))).locator("#by-provider")).to_be_hidden()
    answered = [result.model_copy(update={"response": ResponseResult(text="Yes.")}) for result in results]
    page = open_page(RunResults(results=tuple(answered)))
    expect(page.get_by_role("heading", name="Cases and answers")).to_be_visible()
    expect(page.locator("#grid").get_by_role("row", name="cmistral")).to_have_text("cmistralpassed Yes.")


def test_a_table_of_many_cases_grows_when_asked(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run)
    rows = page.locator("#grid tbody tr")
    expect(rows).to_have_count(30)
    page.get_by_role("button", name="Show more (10 cases left)").click()
    expect(rows).to_have_count(40)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def compared_page(open_page: OpenPage, link: str = "", width: int = 1400) -> Page:
    """Three cases in two runs: one got worse, one is sent another request, one is new."""
    old, new = request_data("q", OLD), request_data("q", NEW)
    call = {"id": "1", "function": {"name": "find", "arguments": "{}"}}
    answers = [ResponseResult(text=f"Within {days} days.", tool_calls=(call,)) for days in (14, 30)]
    failed = CheckResult(type="contains", value="14", passed=False, reason="does not contain it")
    before = [
        case_result("one", old, old, response=answers[0], checks=(failed.model_copy(update={"passed": True}),)),
        case_result("two", old, old, response=answers[0]),
        repeated("three", "passed", "passed"),
    ]
    after = [
        case_result(
            "one", old, old, response=answers[1], outcome="failed", checks=(failed,), error=ErrorResult(message="no 14")
        ),
        case_result("two", old, new, response=answers[0], outcome="passed"),
        repeated("three", "passed", "passed"),
        case_result("four", None, new),
    ]
    runs = RunResults(results=tuple(before)), RunResults(results=tuple(after))
    return open_page(runs[1], link, width, comparison=compare_runs(*runs, ("main.json", "branch.json")))


def test_two_runs_are_compared_on_a_page(open_page: OpenPage) -> None:
    page = compared_page(open_page)
    expect(page.get_by_role("heading", level=1)).to_have_text("1 worse, 0 better, 1 changed, 1 the same, 1 new, 0 gone")
    expect(page.get_by_role("heading", level=2, name="main.json → branch.json")).to_be_visible()
    worse = page.locator(".told").nth(0)
    expect(worse.locator("del")).to_have_text("14")
    expect(worse.locator("ins")).to_have_text("30")
    expect(page.locator("#rows .group")).to_have_text(["worse · 1", "changed · 1", "new · 1", "same · 1"])
    expect(page.locator(".change del")).to_have_text("14")
    page.get_by_role("combobox", name="Outcome").select_option("worse")
    assert visible_names(page) == ["one"]
    for outcome, names in {
        "changed": ["two"],
        "new": ["four"],
        "attention": ["one", "two", "four"],
        "same": ["three"],
    }.items():
        page.get_by_role("combobox", name="Outcome").select_option(outcome)
        assert visible_names(page) == names
    row(page, "three").click()
    expect(page.locator(".compared")).to_contain_text("The answer is the same.")
    expect(page.locator(".compared details")).to_have_count(4)
    page.get_by_role("combobox", name="Outcome").select_option("")
    row(page, "one").click()
    answer = page.locator(".compared")
    expect(answer.get_by_role("heading", level=4)).to_have_text("anthropicpassed → failed")
    expect(answer.locator("del")).to_have_text("14")
    expect(answer.locator(".checks li")).to_have_text(
        ["passed contains '14': the answer does not contain it", "failed contains '14': the answer does not contain it"]
    )
    expect(answer).to_contain_text("no 14")
    page.get_by_role("link", name="← main.json → branch.json").click()
    expect(page.get_by_role("heading", level=2, name="main.json → branch.json")).to_be_focused()


def test_of_two_versions_what_changed_stands_above_the_answers_and_nothing_that_is_not_graded_passed(
    open_page: OpenPage,
) -> None:
    sides = [
        VersionResult(
            passed=2,
            answers=2,
            interval=(0.34, 1.0),
            attempts=tuple(
                AttemptResult(number=number, outcome="passed", response=ResponseResult(text=f"Within {days} days."))
                for number in (1, 2)
            ),
        )
        for days in (14, 30)
    ]
    versions = VersionsResult(before=sides[0], after=sides[1], adjustments=("a name is left out",))
    case = case_result("one", request_data("q", OLD), request_data("q", NEW)).model_copy(update={"versions": versions})
    result = Compared.of([case], "main", is_sequential=False).result()
    page = open_page(RunResults(results=(case,), ab=result, against="main"))
    expect(page.get_by_role("heading", level=3, name="Preflight (1)")).to_be_visible()
    expect(page.locator(".told").nth(0)).to_have_text("adjusted: a.eval.yaml::one[anthropic]: a name is left out")
    expect(page.get_by_role("heading", level=3, name="Notes (1)")).to_be_visible()
    row(page, "one").click()
    expect(page.locator("#detail h3")).to_have_text(["Conversation", "Answer", "Payload"])
    expect(page.locator(".conversation del")).to_have_text("14")
    expect(page.locator(".compared summary")).to_have_text(["Answer 1 of 2", "Answer 2 of 2"] * 2)
    expect(page.locator(".compared details").nth(2)).to_contain_text("Within 30 days.")


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("link", ["", "#case=a.eval.yaml%3A%3Aone%5Banthropic%5D"])
def test_two_runs_are_not_wider_than_the_screen(open_page: OpenPage, width: int, link: str) -> None:
    page = compared_page(open_page, link, width)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_case_is_a_conversation_before_and_after_beside_its_payload(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run)
    row(page, "case-3").click()
    expect(page.get_by_role("heading", level=2, name="case-3", exact=True)).to_be_focused()
    turns = page.locator(".conversation .turn")
    expect(turns).to_have_count(2)
    expect(turns.nth(0).locator("del")).to_have_text("14")
    expect(turns.nth(0).locator("ins")).to_have_text("30")
    expect(turns.nth(1)).to_contain_text("Question 3")
    expect(page.locator(".payload")).to_contain_text("POST /v1/messages")
    expect(page.locator(".accept:visible code")).to_have_text(
        "pytest 'evals/d.eval.yaml::case-3[anthropic]' --snapshot-update"
    )


def test_a_text_without_blanks_between_words_is_compared_by_its_characters(open_page: OpenPage) -> None:
    old, new = request_data("q", "商品可在十四天内退回。"), request_data("q", "商品可在三十天内退回。")
    page = open_page(RunResults(results=(case_result("c", old, new),)))
    row(page, "c").click()
    turn = page.locator(".conversation .turn").nth(0)
    expect(turn.locator("del")).to_have_text(["四"])
    expect(turn.locator("ins")).to_have_text(["三"])


def test_a_link_opens_a_case_and_the_back_button_returns(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run, link_to(20, "mistral"))
    expect(page.get_by_role("heading", level=2, name="case-20", exact=True)).to_be_visible()
    expect(page.get_by_role("navigation", name="Providers").locator("[aria-current]")).to_contain_text("mistral")
    page.get_by_role("navigation", name="Providers").get_by_role("link", name="bedrock").click()
    expect(page.get_by_role("navigation", name="Providers").locator("[aria-current]")).to_contain_text("bedrock")
    page.go_back()
    expect(page.get_by_role("navigation", name="Providers").locator("[aria-current]")).to_contain_text("mistral")
    page.get_by_role("link", name="What changed").click()
    expect(page.get_by_role("heading", name="What changed")).to_be_visible()


@pytest.mark.parametrize("link", ["#case=gone", "#case=%E0%A4%A", "#case="])
def test_a_link_to_no_case_says_so(run: RunResults, open_page: OpenPage, link: str) -> None:
    expect(open_page(run, link).get_by_role("heading", name="There is no such case in this run")).to_be_visible()


def test_keys_move_open_search_and_explain(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run)
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=2, name="case-1", exact=True)).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("heading", level=2, name="case-2", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="What changed")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("jk?")
    expect(page.get_by_role("searchbox")).to_have_value("jk?")
    page.keyboard.press("Escape")
    page.get_by_role("searchbox").blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.get_by_role("checkbox").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_cases_are_filtered_by_file_provider_outcome_and_text(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run)
    status = page.get_by_role("status")
    page.get_by_role("combobox", name="File").select_option("evals/b.eval.yaml")
    expect(status).to_have_text("10 of 40 cases")
    page.get_by_role("combobox", name="Outcome").select_option("changed")
    expect(status).to_have_text("3 of 40 cases")
    page.get_by_role("combobox", name="File").select_option("all")
    page.get_by_role("combobox", name="Outcome").select_option("error")
    expect(status).to_have_text("1 of 40 cases")
    page.get_by_role("combobox", name="Outcome").select_option("all")
    page.get_by_role("combobox", name="Provider").select_option("mistral")
    expect(status).to_have_text("40 cases")
    page.get_by_role("searchbox").fill("QUESTION 17")
    expect(status).to_have_text("1 of 40 cases")
    assert visible_names(page) == ["case-17"]
    page.get_by_role("searchbox").fill("nowhere")
    expect(status).to_have_text("0 of 40 cases")
    assert visible_names(page) == []


def test_the_cases_of_a_change_are_found(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run)
    page.get_by_role("button", name="Show these cases").click()
    expect(page.get_by_role("status")).to_have_text("10 of 40 cases")
    page.get_by_role("button", name="Show all changes again, not only change ab3c").click()
    expect(page.get_by_role("status")).to_have_text("40 cases")
    row(page, "case-5").click()
    page.locator("#detail").get_by_role("link", name="ab3c", exact=True).click()
    expect(page.locator("#change-ab3c")).to_be_focused()


def test_a_case_that_failed_otherwise_is_one_link_away(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run)
    page.get_by_role("link", name="evals/d.eval.yaml::case-39[mistral]").click()
    expect(page.get_by_role("heading", level=2, name="case-39", exact=True)).to_be_visible()
    expect(page.locator("#detail")).to_contain_text("429: no quota")


def test_a_changed_setting_is_marked_beside_the_conversation(open_page: OpenPage) -> None:
    stored, sent = request_data("Hi"), request_data("Hi")
    sent["request"] |= {"model": "n", "tools": [{"name": "find", "input_schema": {}}]}
    page = open_page(RunResults(results=(case_result("one", stored, sent),)))
    row(page, "one").click()
    expect(page.locator(".conversation .facts")).to_have_text(
        "POST /v1/messagesmodel before: m after: ntool after: find"
    )
    expect(page.locator(".conversation .turn small")).to_have_text(["unchanged", "unchanged"])


def test_answers_of_providers_stand_in_columns(open_page: OpenPage) -> None:
    sent = request_data("Hi")
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n":12345678901234567890}'}}
    results = [
        case_result(
            "one",
            sent,
            sent,
            provider,
            response=ResponseResult(
                text=f"From {provider}.",
                tool_calls=(call,),
                input_tokens=1200,
                output_tokens=7,
                latency_seconds=1.5,
                is_replayed=True,
            ),
        )
        for provider in PROVIDERS
    ]
    link = f"#case={quote('a.eval.yaml::one[anthropic]', safe='')}"
    page = open_page(RunResults(results=tuple(results), is_live=True), link)
    answers = page.locator(".answers article")
    expect(answers).to_have_count(3)
    for number, provider in enumerate(PROVIDERS):
        answer = answers.nth(number)
        expect(answer).to_contain_text(f"From {provider}.")
        expect(answer).to_contain_text("Latency1.50 s")
        expect(answer).to_contain_text("Tokens in1,200")
        expect(answer).to_contain_text("12345678901234567890")
    tops = {round(box["y"]) for box in (answers.nth(n).bounding_box() for n in range(3)) if box}
    assert len(tops) == 1


def checked_run() -> RunResults:
    """One case with three providers, one of which fails two checks; another case whose request is graded offline."""
    sent = request_data("Hi")
    failing = (
        CheckResult(type="icontains", value="14 days", passed=True, reason="contains it at character 4"),
        CheckResult(type="is_json", passed=False, reason="is not JSON", path="a.eval.yaml", line=7, column=9),
        CheckResult(type="python", value="a:<b>", passed=None, reason="crashed with KeyError: '</script>'"),
    )
    results = [
        case_result(
            "one",
            sent,
            sent,
            provider,
            outcome="failed" if provider == "mistral" else "passed",
            response=ResponseResult(text=f"From {provider}.", latency_seconds=1.5),
            checks=failing if provider == "mistral" else failing[:1],
        )
        for provider in PROVIDERS
    ]
    request_check = CheckResult(
        type="regex", is_negated=True, of="request", value="@", passed=True, reason="has no match"
    )
    return RunResults(results=(*results, case_result("two", sent, sent, checks=(request_check,))), is_live=True)


def test_the_checks_of_an_answer_stand_below_it_those_that_do_not_pass_first(open_page: OpenPage) -> None:
    page = open_page(checked_run(), f"#case={quote('a.eval.yaml::one[anthropic]', safe='')}")
    answers = page.locator(".answers article")
    expect(answers.nth(0).get_by_role("heading", name="1 of 1 check passed")).to_be_visible()
    checks = answers.nth(1).locator(".checks li")
    expect(checks).to_have_text(
        [
            "failed is_json: the answer is not JSON a.eval.yaml:7:9",
            "not graded python 'a:<b>': crashed with KeyError: '</script>'",
            "passed icontains '14 days': the answer contains it at character 4",
        ]
    )
    row(page, "two").click()
    expect(page.locator("#detail > .checks li")).to_have_text(
        "passed not_regex '@' of='request': the request has no match"
    )
    page.get_by_role("searchbox").fill("KeyError")
    expect(page.get_by_role("status")).to_have_text("1 of 2 cases")


def test_each_answer_of_a_repeated_case_unfolds_and_those_that_do_not_pass_are_open(open_page: OpenPage) -> None:
    page = open_page(RunResults(results=(repeated("one", "passed", "failed", "error"),)))
    row(page, "one").click()
    answer = page.locator(".answers article")
    expect(answer).to_contain_text("1/2 answers passed: 50 % (95 % interval 9 % to 91 %)")
    attempts = answer.locator("details")
    expect(attempts.nth(0).locator(".text")).to_be_hidden()
    expect(attempts.nth(1).locator(".text")).to_have_text("answer 2")
    expect(attempts.nth(1).locator(".checks li")).to_have_text("failed contains 'x': the answer contains it")
    expect(attempts.nth(2)).to_contain_text("503: overloaded")
    attempts.nth(0).locator("summary").click()
    expect(attempts.nth(0).locator(".text")).to_have_text("answer 1")
    page.get_by_role("searchbox").fill("answer 2")
    expect(page.get_by_role("status")).to_have_text("1 case")
    page.get_by_role("searchbox").fill("answer 3")
    expect(page.get_by_role("status")).to_have_text("0 of 1 case")


def test_the_providers_stand_side_by_side_in_a_table(open_page: OpenPage) -> None:
    page = open_page(checked_run())
    table = page.locator("#totals")
    expect(table.get_by_role("columnheader")).to_have_text(list(PROVIDERS))
    # The case that got no answer counts as a case of its provider.
    expect(table.get_by_role("row", name="cases")).to_have_text("cases2/2 (100%)0/1 (0%)1/1 (100%)")
    expect(table.get_by_role("row", name="is_json")).to_have_text("is_json-0/1 (0%)-")


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("link", ["", f"#case={quote('a.eval.yaml::one[mistral]', safe='')}"])
def test_answers_and_checks_are_not_wider_than_the_screen(open_page: OpenPage, width: int, link: str) -> None:
    page = open_page(checked_run(), link, width)
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("link", ["", link_to(1), link_to(30)])
def test_nothing_is_wider_than_the_screen(run: RunResults, open_page: OpenPage, width: int, link: str) -> None:
    page = open_page(run, link, width)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_narrow_screen_shows_one_thing_at_a_time(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run, width=360)
    page.get_by_role("link", name="Cases ↓").click()
    row(page, "case-2").click()
    expect(page.get_by_role("heading", level=2, name="case-2", exact=True)).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_hidden()
    before, after = (page.locator(f".conversation .line.{side}.changed") for side in ("before", "after"))
    boxes = [before.bounding_box(), after.bounding_box()]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] < boxes[1]["y"]


def test_a_dark_screen_has_a_dark_page(run: RunResults, open_page: OpenPage) -> None:
    colours = [
        open_page(run, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours]
    assert brightness[0] > 600
    assert brightness[1] < 150


def test_a_screen_reader_finds_its_way(run: RunResults, open_page: OpenPage) -> None:
    page = open_page(run)
    for role in ("banner", "main", "search"):
        expect(page.get_by_role(role)).to_have_count(1)
    for name in ("What changed", "Cases"):
        expect(page.get_by_role("region", name=name, exact=True)).to_be_visible()
    expect(page.locator("#rows li").first).to_have_attribute("aria-setsize", "43")
    name = "case-0 evals/a.eval.yaml anthropic changed mistral changed bedrock changed"
    expect(page.get_by_role("link", name=name)).to_be_visible()
    assert (
        page.locator("input:visible, select:visible").evaluate_all("all => all.filter((one) => !one.labels.length)")
        == []
    )
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the cases")).to_be_focused()


@pytest.mark.parametrize("text", [*HOSTILE, "\0 \x1b[31m", "\u202egnp.exe", "\ud800 half", "שלום (1)"])
def test_whatever_a_prompt_holds_is_shown_and_does_nothing(open_page: OpenPage, text: str) -> None:
    old, new = request_data(text, f"S {text}"), request_data(text, f"T {text}")
    shown = case_result("c", old, new, text.encode("ascii", "replace").decode(), node_id=f"a::{text}")
    same = case_result("d", new, new, node_id="a::d")
    page = open_page(RunResults(results=(shown, same), command=("a", "b")), "#case=a%3A%3Ad")
    expected = re.sub("[\0\x1b\u202e\ud800]", lambda match: f"U+{ord(match[0]):04X}", text)
    assert page.locator(".conversation .turn").nth(1).locator(".text").text_content() == expected
    row(page, "c").click()
    expect(page.get_by_role("heading", level=2, name="c", exact=True)).to_be_visible()
    assert page.locator(".conversation .line.after").first.text_content() == f"after: T {expected}"
    assert (
        page.locator("a").evaluate_all("all => all.map((one) => one.getAttribute('href')[0])")
        == ["#"] * page.locator("a").count()
    )
    assert page.locator("img, iframe, object, script[src]").count() == 0


def test_ten_megabytes_open_in_parts(open_page: OpenPage) -> None:
    sent = request_data("word " * 2_000_000)
    page = open_page(RunResults(results=(case_result("big", sent, sent),)))
    row(page, "big").click()
    button = page.locator(".conversation").get_by_role("button", name="Show more (9,980,000 characters left)")
    button.click()
    expect(
        page.locator(".conversation").get_by_role("button", name="Show more (9,780,000 characters left)")
    ).to_be_visible()


def test_thousands_of_cases_are_a_short_list_of_elements(open_page: OpenPage) -> None:
    sent = request_data("Hi")
    page = open_page(RunResults(results=tuple(case_result(f"case-{n}", sent, sent) for n in range(5000))))
    expect(page.get_by_role("status")).to_have_text("5,000 cases")
    assert page.locator("#rows li").count() < 100
    page.locator("#list").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    expect(row(page, "case-4999")).to_be_visible()
    assert page.locator("#rows li").count() < 100
    page.get_by_role("searchbox").fill("case-2500")
    expect(row(page, "case-2500")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("1 of 5,000 cases")


def test_a_search_finds_words_in_requests_and_answers_of_all_sides(open_page: OpenPage) -> None:
    old, new = request_data("Where is it?", "Soon: 14 Days."), request_data("Where is it?", "Soon: 30 Days.")
    answer = ResponseResult(text="On the way.")
    error = ErrorResult(message="429: no quota")
    page = open_page(
        RunResults(
            results=(
                case_result("changed", old, new),
                case_result("answered", new, new, response=answer),
                case_result("failed", new, new, outcome="error", error=error),
            )
        )
    )
    found = {
        "14": ["changed"],
        "30 soon:": ["changed", "failed", "answered"],
        "WAY": ["answered"],
        "quota": ["failed"],
        "answered days": ["answered"],
        "soon: way quota": [],
        "": ["changed", "failed", "answered"],
    }
    for words, names in found.items():
        page.get_by_role("searchbox").fill(words)
        expect(page.locator("#rows .name")).to_have_text(names)


def test_a_search_shows_what_it_has_found_while_texts_are_unpacked(open_page: OpenPage) -> None:
    # Each case fills a block. The page gets no more than the first three until it is told to go on.
    sent = [request_data(f"Question {n} " + "x" * 400_000 + str(n)) for n in range(6)]
    page = open_page(RunResults(results=tuple(case_result(f"c{n}", data, data) for n, data in enumerate(sent))))
    page.evaluate(
        """() => {
            const blocked = new Promise((resolve) => { window.goOn = resolve; });
            blocks[3] = blocked.then(() => unpack(document.getElementsByClassName("block")[3]));
        }"""
    )
    page.get_by_role("searchbox").fill("question")
    expect(page.locator("#rows .name")).to_have_text(["c0", "c1", "c2"])
    expect(page.get_by_role("status")).to_have_text("Searching, 3 of 6 cases so far…")
    # Another word in the middle of it.
    page.get_by_role("searchbox").fill("question 5")
    expect(page.get_by_role("status")).to_have_text("Searching, 0 of 6 cases so far…")
    page.evaluate("goOn()")
    expect(page.get_by_role("status")).to_have_text("1 of 6 cases")
    expect(page.locator("#rows .name")).to_have_text(["c5"])


def test_scrolling_and_keys_reach_every_case(open_page: OpenPage) -> None:
    sent = request_data("Hi")
    page = open_page(RunResults(results=tuple(case_result(f"case-{n}", sent, sent) for n in range(300))))
    seen: set[str] = set()
    for step in range(0, 300, 5):
        page.locator("#list").evaluate("(list, row) => { list.scrollTop = row * drawn.height; }", step)
        name = f"case-{step}"
        expect(row(page, name)).to_be_in_viewport()
        seen.update(visible_names(page))
        assert page.locator("#rows li").count() < 100
    assert len(seen) == 300
    for _ in range(40):
        page.keyboard.press("k")
    expect(row(page, "case-260")).to_be_focused()
    expect(row(page, "case-260")).to_be_in_viewport()


def test_a_file_that_could_not_be_collected_is_a_row(open_page: OpenPage) -> None:
    error = ErrorResult(
        message="not valid YAML: did not find expected node content, while parsing a flow node on line 2",
        path="evals/b.eval.yaml",
        line=3,
    )
    broken = CaseResult(node_id="evals/b.eval.yaml", path="evals/b.eval.yaml", line=3, outcome="error", error=error)
    page = open_page(RunResults(results=(broken,)))
    expect(page.locator("#overview")).to_contain_text("not valid YAML")
    page.locator("#rows a").click()
    expect(page.get_by_role("heading", level=2, name="evals/b.eval.yaml", exact=True)).to_be_visible()
    expect(page.locator("#detail .problem")).to_contain_text("evals/b.eval.yaml:3")


def agent_data(result: str) -> dict[str, Any]:
    """What a test sends that asks, calls a tool, and asks again with its result."""
    asked = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is 7?"}]
    call = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}
    tool = {"role": "tool", "tool_call_id": "call_1", "content": result}
    bodies = [asked, [*asked, {"role": "assistant", "content": None, "tool_calls": [call]}, tool]]
    return {"requests": [{"endpoint": "POST /chat/completions", "request": {"messages": each}} for each in bodies]}


def test_a_run_of_several_requests_shows_what_is_new_in_each(open_page: OpenPage) -> None:
    page = open_page(RunResults(results=(case_result("agent", agent_data("shipped"), agent_data("lost")),)), AGENT_LINK)
    conversation = page.get_by_role("region", name="Conversation")
    expect(conversation.locator(".parting")).to_have_text("The runs part at step 4, in request 2: [Tool]: lost")
    steps = ["1. system unchanged", "2. user unchanged", "3. assistant unchanged", "4. tool changed"]
    expect(conversation.locator("h5")).to_have_text(steps)
    conversation.get_by_role("button", name="2 turns as in request 1").click()
    expect(conversation.locator(".turns.kept h5")).to_have_text(["system", "user"])
    expect(conversation.locator(".line.changed")).to_have_text(["before: shipped", "after: lost"])


AGENT_LINK = "#case=a.eval.yaml%3A%3Aagent%5Banthropic%5D"


@pytest.mark.parametrize("is_estimate", [True, False])
def test_each_request_shows_what_fills_the_window(open_page: OpenPage, is_estimate: bool) -> None:
    parts = [
        [PromptPart("last turn", 1200, 300, is_estimate), PromptPart("system text", 400, 100, is_estimate)],
        [PromptPart("tool results <b>", 1, 1, is_estimate)],
    ]
    data = agent_data("shipped")
    data["judge"] = [{"endpoint": "POST /v1/messages", "request": {"messages": []}}]
    page = open_page(RunResults(results=(case_result("agent", data, data, parts=parts),)), AGENT_LINK)
    about = "about " if is_estimate else ""
    first, second = page.locator(".parts").all()
    expect(first.locator("summary")).to_have_text(f"1,600 characters, {about}400 tokens")
    first.locator("summary").click()
    expect(first.get_by_role("row")).to_have_text(
        [f"partcharacters{about}tokens", "last turn1,200300", "system text400100"]
    )
    widths = [bar.bounding_box() for bar in first.locator(".bar").all()]
    assert widths[0] is not None
    assert widths[1] is not None
    assert abs(widths[0]["width"] - 3 * widths[1]["width"]) < 1
    second.locator("summary").click()
    expect(second.get_by_role("rowheader")).to_have_text(["tool results <b>"])
