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
