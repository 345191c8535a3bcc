"""Secret forms: a text that holds a form is never said to hold none."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.capture.secrets.encodings import decoded, encoded_forms, without_line_breaks
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.secrets.secret_forms import SecretForms

FORM = "sk-live-0123456789"


def forms(*names: str) -> SecretForms:
    return SecretForms(dict.fromkeys(names, "a key"))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"x{FORM}y", id="as it is"),
        pytest.param("sk-live\n  -0123456789", id="over lines"),
        pytest.param("'sk-live-' \\\n\t'0123456789'", id="over strings"),
        pytest.param(f"\ud83d é{FORM}", id="behind other characters"),
    ],
)
def test_a_form_may_be_in_a_text(text: str) -> None:
    assert forms("other-012345", FORM).may_be_in(text)


@pytest.mark.parametrize("text", ["", "sk-live", "sk-live-012345678", "x" * 1_000])
def test_a_form_is_not_in_a_text(text: str) -> None:
    assert not forms("other-012345", FORM).may_be_in(text)


def test_no_forms_are_in_no_text() -> None:
    assert not SecretForms().may_be_in("text")


@pytest.mark.parametrize("length", [9, 15, 16, 22, 23, 30, 31, 40, 64])
def test_one_of_many_forms_is_found_at_every_place(length: int) -> None:
    names = [hashlib.sha256(f"{number}".encode()).hexdigest()[:length] for number in range(50)]
    many = forms(*names)
    assert not many.may_be_in("z" * 200)
    for position in range(40):
        assert many.may_be_in("z" * position + names[position] + "z" * 10)
        assert many.may_be_in("z" * position + names[position])
        assert not many.may_be_in("z" * position + names[position][:-1] + "zzzz")


@pytest.mark.parametrize("count", [1, 3, 60])
def test_forms_of_all_lengths_are_found_together(count: int) -> None:
    digits = [hashlib.sha512(f"{number}".encode()).hexdigest() for number in range(count)]
    names = [text[:length] for text in digits for length in (8, 14, 22, 39, 80)]
    many = forms(*names)
    assert not many.may_be_in("z" * 500)
    for name in names:
        assert many.may_be_in(f"zzz {name}zz")
        assert not many.may_be_in(f"zzz {name[1:8]}zz")


def test_a_form_keeps_its_first_name() -> None:
    one = forms(FORM)
    two = one.with_forms([FORM, "other-012345"], "another key")
    assert two.names == {FORM: "a key", "other-012345": "another key"}
    assert one.names == {FORM: "a key"}


CHARACTERS = "ab0 \n\"'\\n%41é+/"


@given(st.lists(st.text(CHARACTERS, min_size=8, max_size=20), min_size=1, max_size=3), st.data())
def test_a_form_that_stands_in_any_reading_of_a_text_may_be_in_it(secrets: list[str], data: st.DataObject) -> None:
    some = forms(*(form for secret in secrets for form in encoded_forms(secret)))
    parts = data.draw(st.lists(st.sampled_from(secrets) | st.text(CHARACTERS, max_size=8), max_size=6))
    text = data.draw(st.sampled_from(["", "\n", "\\n"])).join(parts)
    for version in (text, *decoded(text)):
        if any(form in version or form in without_line_breaks(version) for form in some.names):
            assert some.may_be_in(version)


def test_a_prompt_that_a_snapshot_holds_twice_is_searched_as_a_whole() -> None:
    redactor = Redactor({"API_KEY": FORM})
    prompt = "\n".join(f"line {number} of a prompt" for number in range(200))
    for question in (
        f"[User]:\n{prompt}",
        prompt,
        f"{prompt}\n[Assistant]: x",
        f"x{prompt}",
        f"{prompt}x",
        "",
        prompt[9:],
    ):
        data = {"question": question, "request": [prompt, prompt, f"{prompt} {FORM}"]}
        assert redactor.find({**data, "request": [prompt, prompt]}) is None
        assert redactor.find(data) == ("request[2]", "the value of the environment variable API_KEY")
        for place in ("question", "request"):
            found = redactor.find({**data, "request": prompt, place: f"{prompt}\n{FORM}"})
            assert found is not None
            assert found.path == place
