"""Redacted errors: no text of an exception or of its representation holds a secret, and objects of tests stay."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.items.redacted_errors import redact_attribute, redact_error, redact_representation, redact_value

KEY = "sk-live-0123456789abcdef"
REDACTOR = Redactor({"API_KEY": KEY})


class WithSlotsError(Exception):
    __slots__ = ("detail",)
    detail: str

    def __str__(self) -> str:
        return f"detail: {self.detail}"


def with_attribute(value: object) -> Exception:
    error = Exception("see the attribute")
    error.value = value  # type: ignore[attr-defined]
    return error


def with_slots() -> Exception:
    error = WithSlotsError()
    error.detail = KEY
    return error


def with_note() -> Exception:
    error = ValueError("see the note")
    error.add_note(f"the key is {KEY}")
    return error


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ValueError(f"x {KEY}"), id="an argument"),
        pytest.param(ValueError({"a": [KEY, {KEY}, (5, frozenset({KEY}))], KEY: 1}), id="data"),
        pytest.param(FileNotFoundError(2, "No such file", f"/x/{KEY}", 0, f"/y/{KEY}"), id="names of files"),
        pytest.param(ImportError(f"x {KEY}", name=KEY, path=KEY), id="an import"),
        pytest.param(SyntaxError("bad", ("a.py", 1, 1, f"key = '{KEY}'")), id="a line of code"),
        pytest.param(UnicodeDecodeError("utf-8", b"x", 0, 1, f"x {KEY}"), id="the reason of Unicode"),
        pytest.param(AttributeError("x", name=KEY), id="the name of an attribute"),
        pytest.param(SystemExit(f"x {KEY}"), id="the code of an exit"),
        pytest.param(with_attribute([KEY]), id="an attribute"),
        pytest.param(with_slots(), id="a slot"),
        pytest.param(with_note(), id="a note"),
    ],
)
def test_the_texts_of_an_error_are_redacted(error: BaseException) -> None:
    redact_error(error, REDACTOR)
    shown = f"{error!r} {error} {vars(error)} {[getattr(error, name, '') for name in dir(error) if name[0] != '_']}"
    assert KEY not in shown
    assert "[secret]" in shown


def test_errors_around_and_inside_of_an_error_are_redacted() -> None:
    cause, context, inner = ValueError(f"1 {KEY}"), ValueError(f"2 {KEY}"), ValueError(f"3 {KEY}")
    innermost = KeyError(KEY)
    group = ExceptionGroup("several", [inner, ExceptionGroup("more", [innermost])])
    group.__cause__ = cause
    group.__context__ = context
    cause.__context__ = group
    redact_error(group, REDACTOR)
    assert [each.args for each in (cause, context, inner, innermost)] == [
        ("1 [secret]",),
        ("2 [secret]",),
        ("3 [secret]",),
        ("[secret]",),
    ]


@dataclass
class Settings:
    api_key: str


def test_objects_of_a_test_stay_as_they_are() -> None:
    settings, data = Settings(KEY), {"keys": [KEY]}
    error = ValueError(settings, data)
    redact_error(error, REDACTOR)
    assert settings.api_key == KEY
    assert data == {"keys": [KEY]}
    assert error.args == (settings, {"keys": ["[secret]"]})


def test_a_value_without_a_secret_is_the_same_object() -> None:
    value = {"a": [1, "x", ("y", {"z"})]}
    assert redact_value(value, REDACTOR) is value


FORMS = [
    KEY,
    f"x{KEY}y",
    base64.b64encode(KEY.encode()).decode(),
    quote(f"Bearer {KEY}/"),
    "sk-proj-" + "a1B2" * 12,
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", ["", "x", "\\", "...", "abc\0", "%", "eA=="])
def test_each_text_of_a_value_is_redacted_as_it_is_alone(form: str, before: str) -> None:
    value = {before: [before, form, {before, form}, (form, before)], form: {"a": before, "b": 1}}
    alone = REDACTOR.redact(form)
    assert "[secret]" in alone
    assert redact_value(value, REDACTOR) == {
        before: [before, alone, {before, alone}, (alone, before)],
        alone: {"a": before, "b": 1},
    }
    assert redact_value(form, REDACTOR) == alone


def test_a_value_that_holds_itself_is_redacted_once() -> None:
    value: dict[str, Any] = {"key": KEY}
    value["self"] = value
    redacted = redact_value(value, REDACTOR)
    assert redacted == {"key": "[secret]", "self": "..."}


class Unchangeable:
    """The representation of a failure that some plugin makes."""

    def __str__(self) -> str:
        return f"Expected {KEY}"


def test_the_representation_of_a_plugin_becomes_text() -> None:
    assert redact_representation(Unchangeable(), REDACTOR) == "Expected [secret]"


@pytest.mark.parametrize(
    ("representation", "redacted"),
    [
        (None, None),
        (f"x {KEY}", "x [secret]"),
        (("a.py", 3, f"Skipped: {KEY}"), ("a.py", 3, "Skipped: [secret]")),
        ([Settings(KEY)], [Settings("[secret]")]),
    ],
)
def test_a_representation_is_redacted(representation: object, redacted: object) -> None:
    assert redact_representation(representation, REDACTOR) == redacted


def test_a_class_is_no_representation() -> None:
    assert redact_representation([Settings], REDACTOR) == [Settings]


@dataclass(eq=False)
class Tree:
    """A representation of parts, as pytest's own ones are."""

    text: str
    parts: list[object]


class CountingRedactor:
    """Counts how often a text is searched."""

    def __init__(self) -> None:
        self.searches = 0

    def redact(self, text: str) -> str:
        self.searches += 1
        return REDACTOR.redact(text)

    def learn_environment(self) -> int:
        return REDACTOR.learn_environment()


def test_a_representation_without_a_secret_is_searched_once_and_its_text_too() -> None:
    redactor = CountingRedactor()
    tree = Tree("a", [Tree("b", []), ("c", {"d": "e"}), ["f", "g"]])
    assert redact_representation(tree, redactor) is tree
    assert redactor.searches == 2


def test_a_secret_deep_in_a_representation_is_redacted_in_place() -> None:
    leaf = Tree("b", [("c", {"d": KEY})])
    tree = Tree("a", [leaf])
    assert redact_representation(tree, REDACTOR) is tree
    assert leaf.parts == [("c", {"d": "[secret]"})]


def test_a_representation_may_hold_itself() -> None:
    tree = Tree("a", [])
    tree.parts.append(tree)
    assert redact_representation(tree, REDACTOR) is tree


@dataclass
class Partial:
    shown: str
    kept: object
    later: str = field(init=False)


def test_an_attribute_of_a_report_may_be_a_dataclass_without_all_of_its_fields() -> None:
    clean, leaking = Partial("a", ["b"]), Partial(f"with {KEY}", [KEY])
    assert redact_attribute(clean, REDACTOR) is clean
    redacted = redact_attribute(leaking, REDACTOR)
    assert (redacted.shown, redacted.kept) == ("with [secret]", ["[secret]"])
    assert not hasattr(redacted, "later")
    # A test may use the same object.
    assert (leaking.shown, leaking.kept) == (f"with {KEY}", [KEY])


def test_an_attribute_of_a_report_may_hold_dataclasses_anywhere() -> None:
    inner, clean = Partial(KEY, "a"), Partial("b", "c")
    inner.later = "d"
    outer = Partial("e", {"parts": [inner, clean], "itself": None})
    clean.kept = outer
    (redacted,) = redact_attribute([outer], REDACTOR)
    parts = redacted.kept["parts"]
    assert (parts[0].shown, parts[0].later) == ("[secret]", "d")
    assert (parts[1].shown, parts[1].kept) == ("b", "...")
    assert (inner.shown, clean.kept) == (KEY, outer)
