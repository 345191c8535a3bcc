"""Redacted reports: whatever a report holds or gets is redacted, and what cannot hold a secret is not searched."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Literal

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.items.redacted_reports import RedactedReports
from pytest_chatprompt.items.report_redactor import ReportRedactor

KEY = "sk-live-0123456789abcdef"
NODE_ID = "a.eval.yaml::hello[openai]"


class CountingRedactor(ReportRedactor):
    """Notes the texts that are searched."""

    def __init__(self, environment: dict[str, str]) -> None:
        super().__init__(Redactor(environment))
        self.searched: list[str] = []

    def redact(self, text: str) -> str:
        self.searched.append(text)
        return super().redact(text)


def report(node_id: Any = NODE_ID, when: Literal["setup", "call", "teardown"] = "call") -> pytest.TestReport:
    """The report of a phase that passed."""
    return pytest.TestReport(node_id, ("a.eval.yaml", 2, "hello[openai]"), {"hello": 1}, "passed", None, when)


def reports_of_one_test() -> list[pytest.TestReport]:
    first = report(when="setup")
    return [first, report(first.id, "call"), report(first.id, "teardown")]


def test_the_reports_of_a_test_that_passes_are_searched_once() -> None:
    redactor = CountingRedactor({"APP_API_KEY": KEY})
    reports = RedactedReports(redactor)
    for each in reports_of_one_test():
        # When it is made, and when it is logged.
        reports.redact(each)
        reports.redact(each)
    assert len(redactor.searched) == 1
    assert redactor.searched[0].split("\0").count(NODE_ID) == 1
    reports.redact(report("a.eval.yaml::other"))
    assert len(redactor.searched) == 2


def test_the_id_of_a_test_is_searched_again_once_a_variable_makes_a_secret_of_it() -> None:
    environment: dict[str, str] = {}
    reports = RedactedReports(ReportRedactor(Redactor(environment)))
    first = report(f"a.py::test_it[{KEY}]", "setup")
    reports.redact(first)
    assert first.nodeid == f"a.py::test_it[{KEY}]"
    call = report(first.id)
    reports.redact(call)
    environment["APP_API_KEY"] = KEY
    reports.redact(call)
    assert call.nodeid == "a.py::test_it[[secret]]"
    assert first.nodeid == f"a.py::test_it[{KEY}]"
    teardown = report(first.id, "teardown")
    reports.redact(teardown)
    assert teardown.nodeid == "a.py::test_it[[secret]]"


def test_the_id_of_a_test_is_searched_again_once_a_header_makes_a_secret_of_it() -> None:
    redactor = Redactor({})
    reports = RedactedReports(ReportRedactor(redactor))
    first = report(f"a.py::test_it[{KEY}]", "setup")
    reports.redact(first)
    redactor.add_headers({"authorization": f"Bearer {KEY}"})
    reports.redact(first)
    assert first.nodeid == "a.py::test_it[[secret]]"


def test_a_secret_over_several_parts_of_an_id_is_redacted_each_time() -> None:
    reports = RedactedReports(ReportRedactor(Redactor({"DB_PASSWORD": "hello::W0rld"})))
    # pytest makes the whole text of such an id when it is asked for it.
    node_id = report("a.eval.yaml::hello").id.child("W0rld")
    for when in ("setup", "call", "teardown"):
        each = report(node_id, when)
        reports.redact(each)
        assert each.nodeid == "a.eval.yaml::[secret]"


@pytest.mark.parametrize(
    ("name", "value", "redacted"),
    [
        pytest.param("sections", [("Captured stdout", KEY)], [("Captured stdout", "[secret]")], id="a section"),
        pytest.param("user_properties", [("key", KEY)], [("key", "[secret]")], id="a property"),
        pytest.param("longrepr", f"failed with {KEY}", "failed with [secret]", id="a failure"),
        pytest.param("wasxfail", f"reason: {KEY}", "reason: [secret]", id="the reason of an xfail"),
        pytest.param("extras", [{"content": KEY}], [{"content": "[secret]"}], id="extras of pytest-html"),
        pytest.param("own", {KEY}, {"[secret]"}, id="an attribute of a plugin"),
    ],
)
def test_what_a_report_gets_after_it_was_searched_is_redacted(name: str, value: object, redacted: object) -> None:
    reports = RedactedReports(ReportRedactor(Redactor({"APP_API_KEY": KEY})))
    each = report()
    reports.redact(each)
    setattr(each, name, value)
    reports.redact(each)
    assert getattr(each, name) == redacted


def test_what_is_added_to_a_list_of_a_report_is_redacted() -> None:
    reports = RedactedReports(ReportRedactor(Redactor({"APP_API_KEY": KEY})))
    each = report()
    reports.redact(each)
    each.sections.append(("Captured stdout", KEY))
    each.user_properties.append(("key", KEY))
    reports.redact(each)
    assert each.sections == [("Captured stdout", "[secret]")]
    assert each.user_properties == [("key", "[secret]")]


def test_the_attributes_of_another_class_of_reports_are_redacted() -> None:
    class OwnReport:
        def __init__(self) -> None:
            self.sections: list[tuple[str, str]] = []
            self.longrepr = None
            self._id = [KEY]
            self.shown = KEY

    reports = RedactedReports(ReportRedactor(Redactor({"APP_API_KEY": KEY})))
    each = OwnReport()
    reports.redact(each)
    assert vars(each) == {"sections": [], "longrepr": None, "_id": ["[secret]"], "shown": "[secret]"}


def test_an_id_that_is_not_of_pytest_is_searched_each_time() -> None:
    reports = RedactedReports(ReportRedactor(Redactor({"APP_API_KEY": KEY})))
    each = report()
    own: list[str] = []
    each._id = own  # type: ignore[assignment]
    reports.redact(each)
    own.append(KEY)
    reports.redact(each)
    assert vars(each)["_id"] == ["[secret]"]


def with_properties(properties: list[tuple[str, object]], node_id: Any = NODE_ID) -> pytest.TestReport:
    """A report with the properties of its test; pytest copies their list into it."""
    each = report(node_id)
    each.user_properties = [*properties]
    return each


def test_the_properties_that_the_reports_of_a_test_share_are_searched_once() -> None:
    redactor = CountingRedactor({"APP_API_KEY": KEY})
    reports = RedactedReports(redactor)
    used: list[tuple[str, object]] = [("provider", "openai"), ("cost", 0.5), ("known", True), ("none", None)]
    answer = ("answer", "It is fine.")
    first = report()
    reports.redact(first)
    redactor.searched.clear()
    call = with_properties(used, first.id)
    reports.redact(call)
    assert sorted(redactor.searched[0].split("\0")) == ["cost", "known", "none", "openai", "provider"]
    call.user_properties.append(answer)
    reports.redact(call)
    teardown = with_properties([*used, answer], first.id)
    reports.redact(teardown)
    reports.redact(teardown)
    assert [sorted(text.split("\0")) for text in redactor.searched[1:]] == [["It is fine.", "answer"]]
    assert teardown.user_properties == [*used, answer]


def test_the_properties_of_earlier_tests_are_not_kept() -> None:
    reports = RedactedReports(ReportRedactor(Redactor({"APP_API_KEY": KEY})))
    shared = ("provider", "openai")
    earlier = ("answer", "It is fine.")
    reports.redact(with_properties([shared, earlier]))
    reports.redact(with_properties([shared, ("answer", "It is not.")]))
    del earlier
    assert [each[1] for each in reports._clean_properties.values()] == ["openai", "It is not."]  # type: ignore[index]


def test_properties_that_equal_those_of_another_test_are_searched() -> None:
    redactor = CountingRedactor({"APP_API_KEY": KEY})
    reports = RedactedReports(redactor)
    for name in ("first", "second"):
        redactor.searched.clear()
        # Equal, and not the same object.
        reports.redact(with_properties([tuple(name for name in ("provider", "openai"))]))  # type: ignore[list-item]
        assert any("openai" in text for text in redactor.searched), name


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(["fine"], id="a list"),
        pytest.param({"key": "fine"}, id="a dict"),
        pytest.param(deque(["fine"]), id="another object"),
    ],
)
def test_a_property_that_can_change_is_searched_each_time(value: Any) -> None:
    redactor = CountingRedactor({"APP_API_KEY": KEY})
    reports = RedactedReports(redactor)
    each = with_properties([("a", "b"), ("own", value)])
    reports.redact(each)
    reports.redact(each)
    searched = [text.split("\0") for text in redactor.searched if "own" in text]
    assert len(searched) == 2
    assert "b" in searched[0]
    assert "b" not in searched[1]


def test_a_secret_that_is_put_into_a_property_later_is_redacted() -> None:
    reports = RedactedReports(ReportRedactor(Redactor({"APP_API_KEY": KEY})))
    value = ["fine"]
    own = [("a", "b"), ("own", value)]
    reports.redact(with_properties([*own]))
    value.append(KEY)
    teardown = with_properties([*own])
    reports.redact(teardown)
    assert teardown.user_properties == [("a", "b"), ("own", ["fine", "[secret]"])]


def test_properties_are_searched_again_once_another_secret_is_known() -> None:
    environment: dict[str, str] = {}
    reports = RedactedReports(ReportRedactor(Redactor(environment)))
    own: list[tuple[str, object]] = [("a", "b"), ("shown", f"It is {KEY}.")]
    call = with_properties(own)
    reports.redact(call)
    assert call.user_properties == own
    environment["APP_API_KEY"] = KEY
    for each in (call, with_properties(own), with_properties(own)):
        reports.redact(each)
        assert each.user_properties == [("a", "b"), ("shown", "It is [secret].")]


def test_a_property_with_a_secret_is_redacted_in_each_report_and_stays_as_it_is_in_its_test() -> None:
    reports = RedactedReports(ReportRedactor(Redactor({"APP_API_KEY": KEY})))
    own: list[tuple[str, object]] = [("a", "b"), ("shown", KEY)]
    reports.redact(with_properties(own[:1]))
    for _ in range(2):
        each = with_properties(own)
        reports.redact(each)
        assert each.user_properties == [("a", "b"), ("shown", "[secret]")]
    assert own == [("a", "b"), ("shown", KEY)]


def test_properties_that_are_no_list_are_redacted() -> None:
    reports = RedactedReports(ReportRedactor(Redactor({"APP_API_KEY": KEY})))
    each = report()
    each.user_properties = (("shown", KEY),)  # type: ignore[assignment]
    reports.redact(each)
    assert each.user_properties == (("shown", "[secret]"),)  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    "value", [None, 0, 7, 0.5, "", [], (), {}, set(), deque(), threading.Lock()], ids=lambda value: type(value).__name__
)
def test_a_value_without_texts_stays_the_same_object_and_is_not_searched(value: object) -> None:
    redactor = CountingRedactor({})
    reports = RedactedReports(redactor)
    each = report()
    reports.redact(each)
    redactor.searched.clear()
    each.own = value  # type: ignore[attr-defined]
    reports.redact(each)
    assert vars(each)["own"] is value
    assert "".join(redactor.searched) == ""
