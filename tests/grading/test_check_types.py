"""What each check says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings, strategies as st

from pytest_chatprompt import Check, ProviderResponse, SentData
from pytest_chatprompt.grading.check_types import TextCheck, find_misfit
from pytest_chatprompt.grading.grade import grade
from pytest_chatprompt.grading.table import CHECKS, parse_checks
from pytest_chatprompt.prompt.attachments import FileReader
from tests.grading.conftest import calling, case_with, check_of, graded, taking

PASS, FAIL, ERROR = "pass", "fail", "error"
OBJECT: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER: Final = calling(
    ("get_weather", '{"city": "Paris", "days": 3, "at": {"lat": 48.9, "on": true}, "tags": ["a", "b"]}')
)
TWICE: Final = calling(("get_weather", '{"city": "Rome"}'), ("get_time", "{}"), ("get_weather", '{"city": "Oslo"}'))
THIS: Final = "tests.grading.python_functions"

# The value of a check, an answer, and the verdict.
TABLE: Final[dict[str, list[tuple[Any, Any, str]]]] = {
    "equals": [
        ("yes", "yes", PASS),
        ("yes", "yes ", FAIL),
        ("yes", " yes", FAIL),
        ("yes", "yes\n", FAIL),
        ("yes", "Yes", FAIL),
        ("yes", "", FAIL),
        ("", "", PASS),
        ("", "x", FAIL),
        ("a\nb", "a\nb", PASS),
        ("a\nb", "a\r\nb", FAIL),
        ("é", "e\u0301", FAIL),
        ("{{ a }}", "{{ a }}", PASS),
        ("42", "42", PASS),
        ("42", "42.0", FAIL),
    ],
    "contains": [
        ("off-by-one", "An off-by-one error.", PASS),
        ("off-by-one", "An Off-by-one error.", FAIL),
        ("off-by-one", "off by one", FAIL),
        ("off-by-one", "", FAIL),
        ("a", "a", PASS),
        ("ab", "a", FAIL),
        ("a b", "a  b", FAIL),
        ("a\nb", "1\na\nb\n2", PASS),
        (".", "no point", FAIL),
        ("[User]:", "[User]: x", PASS),
        ("ß", "Straße", PASS),
        ("ss", "Straße", FAIL),
        ("\u00a0", "a b", FAIL),
        ("👩‍🔬", "a 👩‍🔬 here", PASS),
        ("x" * 5000, "x" * 5001, PASS),
    ],
    "icontains": [
        ("off-by-one", "OFF-BY-ONE!", PASS),
        ("OFF-BY-ONE", "an off-by-one", PASS),
        ("off-by-one", "off by one", FAIL),
        ("strasse", "STRAßE", PASS),
        ("İ", "i̇stanbul", PASS),
        ("é", "É", PASS),
        ("a", "", FAIL),
        ("ΣΑΣ", "σας", PASS),
        ("yes ", "YES", FAIL),
        ("k", "\u212a", PASS),
    ],
    "contains_any": [
        (["a", "b"], "b", PASS),
        (["a", "b"], "xax", PASS),
        (["a", "b"], "c", FAIL),
        (["a", "b"], "AB", FAIL),
        (["a"], "a", PASS),
        (["a"], "", FAIL),
        (["a,b"], "a", FAIL),
        (["zz", "y"], "xyz", PASS),
    ],
    "icontains_any": [
        (["Sorry", "apolog"], "I APOLOGISE", PASS),
        (["Sorry", "apolog"], "sorry", PASS),
        (["Sorry", "apolog"], "No.", FAIL),
        (["Sorry"], "", FAIL),
        (["ß"], "SS", PASS),
    ],
    "contains_all": [
        (["a", "b"], "ba", PASS),
        (["a", "b"], "a", FAIL),
        (["a", "b"], "b", FAIL),
        (["a", "b"], "AB", FAIL),
        (["a", "a"], "a", PASS),
        (["ab", "bc"], "abc", PASS),
        (["a"], "", FAIL),
        (["a", " "], "a", FAIL),
    ],
    "icontains_all": [
        (["a", "B"], "bA", PASS),
        (["a", "B"], "B", FAIL),
        (["14 DAYS", "refund"], "Refunds take 14 days", PASS),
        (["14 days", "refund"], "14 days", FAIL),
        (["a"], "", FAIL),
    ],
    "starts_with": [
        ("Dear", "Dear Ada,", PASS),
        ("Dear", " Dear Ada,", FAIL),
        ("Dear", "dear Ada", FAIL),
        ("Dear", "Oh Dear", FAIL),
        ("Dear", "Dear", PASS),
        ("Dear", "Dea", FAIL),
        ("Dear", "", FAIL),
        ("a\n", "a\nb", PASS),
    ],
    "regex": [
        ("b+", "abbc", PASS),
        ("b+", "ac", FAIL),
        ("^a", "abc", PASS),
        ("^b", "a\nb", FAIL),
        ("(?m)^b", "a\nb", PASS),
        ("c$", "abc\n", PASS),
        (r"c\Z", "abc\n", FAIL),
        ("A", "a", FAIL),
        ("(?i)A", "a", PASS),
        ("a.b", "a\nb", FAIL),
        ("(?s)a.b", "a\nb", PASS),
        (r"\b\d{2}\b", "in 14 days", PASS),
        (r"\b\d{2}\b", "in 140 days", FAIL),
        (r"\d", "٣", PASS),
        (r"(?a:\d)", "٣", FAIL),
        ("^$", "", PASS),
        ("x*", "no", PASS),
        (r"\{\{", "{{", PASS),
        (r"(\w+) \1", "the the", PASS),
        (r"(\w+) \1", "the one", FAIL),
        (r"^(?!.*sorry).*$", "fine", PASS),
        (r"^(?!.*sorry).*$", "so sorry", FAIL),
        (r"[\w.]+@[\w.]+", "write to me@example.com", PASS),
        (r"[\w.]+@[\w.]+", "write to me at example", FAIL),
    ],
    "is_json": [
        (None, "{}", PASS),
        (None, "[1, 2]", PASS),
        (None, "3", PASS),
        (None, '"text"', PASS),
        (None, "null", PASS),
        (None, ' {"a": 1}\n', PASS),
        (None, '{"a": 1, "a": 2}', PASS),
        (None, "", FAIL),
        (None, "text", FAIL),
        (None, "{'a': 1}", FAIL),
        (None, '{"a": 1,}', FAIL),
        (None, '{"a": 1} // done', FAIL),
        (None, '```json\n{"a": 1}\n```', FAIL),
        (None, "NaN", FAIL),
        (None, '{"a": Infinity}', FAIL),
        (None, "[" * 100_000, FAIL),
        (None, "1" * 5000, FAIL),
        (None, "\ufeff{}", FAIL),
        (OBJECT, '{"city": "Paris"}', PASS),
        (OBJECT, '{"city": "Paris", "more": 1}', PASS),
        (OBJECT, '{"city": 3}', FAIL),
        (OBJECT, "{}", FAIL),
        (OBJECT, "[]", FAIL),
        (OBJECT, "Paris", FAIL),
        ({}, "3", PASS),
        ({"type": "integer"}, "3.0", PASS),
        ({"type": "integer"}, "3.5", FAIL),
        ({"type": "integer"}, "true", FAIL),
        ({"enum": ["a", 1]}, "1", PASS),
        ({"enum": ["a", 1]}, '"b"', FAIL),
        ({"const": None}, "null", PASS),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, '["a"]', PASS),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, "[]", FAIL),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, '["a", 1]', FAIL),
        ({"prefixItems": [{"type": "string"}], "items": False}, '["a"]', PASS),
        ({"prefixItems": [{"type": "string"}], "items": False}, '["a", 1]', FAIL),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, "null", PASS),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, "1", FAIL),
        ({"$ref": "#/$defs/b"}, "1", ERROR),
        ({"$ref": "https://example.com/schema.json"}, "1", ERROR),
        ({"additionalProperties": False, "properties": {"a": {}}}, '{"b": 1}', FAIL),
        ({"pattern": "^a"}, '"ab"', PASS),
        ({"pattern": "^a"}, '"b"', FAIL),
        ({"anyOf": [{"type": "null"}, {"minimum": 3}]}, "2", FAIL),
        ({"not": {"type": "null"}}, "null", FAIL),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": True}, "3", FAIL),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}, "[1]", FAIL),
        ({"format": "email"}, '"no mail"', PASS),
    ],
    "tool_called": [
        ("get_weather", WEATHER, PASS),
        ("get_weather", TWICE, PASS),
        ("get_time", TWICE, PASS),
        ("get_time", WEATHER, FAIL),
        ("get", WEATHER, FAIL),
        ("GET_WEATHER", WEATHER, FAIL),
        ("get_weather", "get_weather(city=Paris)", FAIL),
        ("get_weather", calling(("get_weather", "no JSON"), text="and text"), PASS),
        (("get_weather", {}), WEATHER, PASS),
        (("get_weather", {"city": "Paris"}), WEATHER, PASS),
        (("get_weather", {"city": "Paris", "days": 3}), WEATHER, PASS),
        (("get_weather", {"city": "paris"}), WEATHER, FAIL),
        (("get_weather", {"country": "France"}), WEATHER, FAIL),
        (("get_weather", {"country": None}), WEATHER, FAIL),
        (("get_weather", {"days": 3.0}), WEATHER, PASS),
        (("get_weather", {"days": "3"}), WEATHER, FAIL),
        (("get_weather", {"at": {"lat": 48.9}}), WEATHER, PASS),
        (("get_weather", {"at": {"on": True}}), WEATHER, PASS),
        (("get_weather", {"at": {"on": 1}}), WEATHER, FAIL),
        (("get_weather", {"at": {}}), WEATHER, PASS),
        (("get_weather", {"at": []}), WEATHER, FAIL),
        (("get_weather", {"tags": ["a", "b"]}), WEATHER, PASS),
        (("get_weather", {"tags": ["b", "a"]}), WEATHER, FAIL),
        (("get_weather", {"tags": ["a"]}), WEATHER, FAIL),
        (("get_weather", {"tags": {"0": "a"}}), WEATHER, FAIL),
        (("get_weather", {"city": "Oslo"}), TWICE, PASS),
        (("get_weather", {"city": "Bern"}), TWICE, FAIL),
        (("get_time", {"city": "Oslo"}), TWICE, FAIL),
        (("get_weather", {"a": 1}), calling(("get_weather", "no JSON")), FAIL),
        (("get_weather", {"a": 1}), calling(("get_weather", "[" * 100_000)), FAIL),
        (("get_weather", {"a": 1}), calling(("get_weather", "[]")), FAIL),
    ],
    "max_latency_seconds": [
        (2, taking(seconds=1.9), PASS),
        (2, taking(seconds=2), PASS),
        (2, taking(seconds=2.001), FAIL),
        (0.5, taking(seconds=0.6), FAIL),
        (2.5, taking(seconds=0.0), PASS),
        (2, taking(), ERROR),
    ],
    "max_output_tokens": [
        (10, taking(tokens=9), PASS),
        (10, taking(tokens=10), PASS),
        (10, taking(tokens=11), FAIL),
        (1, taking(tokens=0), PASS),
        (1, taking(), ERROR),
    ],
    "max_cost_usd": [
        (0.01, taking(dollars=0.009), PASS),
        (0.01, taking(dollars=0.01), PASS),
        (0.01, taking(dollars=0.0101), FAIL),
        (0.01, taking(dollars=0.0), PASS),
        (2, taking(dollars=3.0), FAIL),
        (2, taking(tokens=3), ERROR),
    ],
    "python": [
        (f"{THIS}:accept", "x", PASS),
        (f"{THIS}:accept_without_a_word", "x", PASS),
        (f"{THIS}:refuse", "x", FAIL),
        (f"{THIS}:assert_that_it_is_short", "short", PASS),
        (f"{THIS}:assert_that_it_is_short", "long" * 100, FAIL),
        (f"{THIS}:assert_in_silence", "x", FAIL),
        (f"{THIS}:crash", "x", ERROR),
        (f"{THIS}:give_a_number", "x", ERROR),
        (f"{THIS}:be_asynchronous", "x", ERROR),
        (f"{THIS}:take_too_few", "x", ERROR),
        (f"{THIS}:Politeness.holds", "please", PASS),
        (f"{THIS}:Politeness.holds", "no", FAIL),
        (f"{THIS}:Callable", "x", ERROR),
        (f"{THIS}:CONSTANT", "x", ERROR),
        (f"{THIS}:nothing", "x", ERROR),
        (f"{THIS}_that_are_not_there:f", "x", ERROR),
        ("tests.grading.broken_functions:f", "x", ERROR),
    ],
}
ROWS: Final = [(name, *row) for name, rows in TABLE.items() for row in rows]


def check_data(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, tuple):
        return {"type": name, "value": value[0], "arguments": value[1]}
    return {"type": name} if value is None else {"type": name, "value": value}


def verdict(data: dict[str, Any], answer: Any) -> str:
    result = graded(data, answer)
    return ERROR if result.verdict is None else PASS if result.passed else FAIL


@pytest.mark.parametrize("name", TABLE)
def test_the_verdicts_are_those_of_the_table(name: str) -> None:
    for value, answer, expected in TABLE[name]:
        assert verdict(check_data(name, value), answer) == expected, (value, answer)


def test_the_table_has_all_types_and_many_rows() -> None:
    # A judge decides by its votes; see test_judge_verdict. What fills a request is in test_request_size.
    assert {*TABLE, "llm_rubric", "max_tokens", "max_characters"} == set(CHECKS)
    assert len(ROWS) >= 200


@pytest.mark.parametrize("name", TABLE)
def test_not_is_the_opposite_but_an_error_stays_one(name: str) -> None:
    opposite = {PASS: FAIL, FAIL: PASS, ERROR: ERROR}
    for value, answer, expected in TABLE[name]:
        data = check_data(name, value)
        assert verdict(data | {"type": f"not_{name}"}, answer) == opposite[expected]
        assert verdict(data | {"type": f"not-{name.replace('_', '-')}"}, answer) == opposite[expected]


TEXTS = st.text(st.sampled_from("abAB \né"), max_size=6)
TEXT_CHECKS = st.one_of(
    st.tuples(st.sampled_from(["contains", "icontains", "starts_with", "equals"]), TEXTS.filter(bool)),
    st.tuples(
        st.sampled_from(["contains_any", "contains_all", "icontains_any", "icontains_all"]),
        st.lists(TEXTS.filter(bool), min_size=1, max_size=3),
    ),
    st.tuples(st.just("regex"), st.sampled_from(["a+", "^b", "[ab]{2}", r"\s", "é$"])),
    st.tuples(st.just("is_json"), st.none()),
)


@given(TEXT_CHECKS, TEXTS)
def test_not_is_the_opposite_for_any_text(check: tuple[str, Any], text: str) -> None:
    data = check_data(*check)
    assert graded(data, text).passed is not graded(data | {"type": f"not_{check[0]}"}, text).passed


@given(TEXTS, TEXTS.filter(bool))
def test_the_text_checks_agree_with_each_other(text: str, value: str) -> None:
    def passes(name: str, value: Any) -> bool:
        return graded({"type": name, "value": value}, text).passed

    assert passes("contains", value) == (value in text)
    assert passes("contains_any", [value]) == passes("contains_all", [value]) == passes("contains", value)
    assert passes("icontains_any", [value]) == passes("icontains_all", [value]) == passes("icontains", value)
    assert (
        passes("icontains", value)
        >= passes("contains", value)
        >= passes("starts_with", value)
        >= passes("equals", value)
    )


@given(st.lists(TEXT_CHECKS, min_size=1, max_size=5), TEXTS, st.randoms(use_true_random=False))
def test_the_order_of_checks_does_not_matter(checks: list[tuple[str, Any]], text: str, random: Any) -> None:
    def verdicts(order: list[int]) -> dict[int, bool]:
        case = case_with(*(check_of(check_data(*checks[index])) for index in order))
        parsed = parse_checks(case, FileReader(Path("/nowhere")))
        response = ProviderResponse(text=text)
        return {index: grade(check, case, response).passed for index, check in zip(order, parsed, strict=True)}

    shuffled = list(range(len(checks)))
    random.shuffle(shuffled)
    assert verdicts(shuffled) == verdicts(list(range(len(checks))))


@settings(max_examples=25)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_json_writes_is_json_and_calls_have_their_arguments(data: Any) -> None:
    assert graded({"type": "is_json"}, json.dumps(data)).passed
    call = calling(("f", json.dumps({"a": data, "b": 1})))
    assert graded({"type": "tool_called", "value": "f", "arguments": {"a": data}}, call).passed


REQUEST = SentData({"messages": [{"role": "user", "content": "Write to me@example.com"}], "temperature": 0})


@pytest.mark.parametrize(
    ("data", "passed"),
    [
        ({"type": "not_regex", "value": r"\w+@\w+"}, False),
        ({"type": "contains", "value": "Write to me"}, True),
        ({"type": "contains", "value": "user"}, False),
        ({"type": "is_json"}, True),
        (
            {"type": "is_json", "value": {"properties": {"temperature": {"const": 0}}, "required": ["temperature"]}},
            True,
        ),
        ({"type": "is_json", "value": {"properties": {"temperature": {"const": 1}}}}, False),
        ({"type": "python", "value": f"{THIS}:assert_that_it_is_cold"}, True),
    ],
)
def test_a_check_of_the_request_looks_at_what_is_sent(data: dict[str, Any], passed: bool) -> None:
    assert graded(data | {"of": "request"}, REQUEST).passed is passed


def test_a_check_that_gives_no_verdict_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless(Check):
        def grade(self, case: Any, response: Any) -> Any:  # noqa: ARG002
            return True

    monkeypatch.setattr(
        "pytest_chatprompt.grading.table.CHECKS", {"careless": Careless, "base": Check, "text": TextCheck}
    )
    assert graded({"type": "careless"}, "x").error == "Careless.grade returned True, which is not a Verdict"
    assert graded({"type": "base"}, "x").error.startswith("crashed with NotImplementedError (check.py, line ")
    assert graded({"type": "text"}, "x").error.startswith("crashed with NotImplementedError (check_types.py, line ")


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        pytest.param(173, f"'{'x' * 173}' is not of type 'integer'", id="200 characters"),
        pytest.param(174, f"'{'x' * 174}' is not of type 'integer…", id="201 characters"),
    ],
)
def test_a_long_reason_is_cut(length: int, shown: str) -> None:
    assert find_misfit(["x" * length], {"items": {"type": "integer"}}) == f"$[0]: {shown}"


def test_data_that_fits_has_no_misfit() -> None:
    assert not find_misfit([1], {"items": {"type": "integer"}})
