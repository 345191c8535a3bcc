"""Secret forms: how a secret may be written, and that a text that holds a form is never said to hold none."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import httpx
import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.capture.secrets.redaction import Redactor, SecretForms, secret_forms

FORM = "sk-live-0123456789"
SECRET = "k3y+/~é\"\\ '0123456789"


@pytest.mark.parametrize("offset", range(3))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode], ids=["standard", "URL-safe"])
@given(st.binary(max_size=4), st.text(st.characters(codec="utf-8"), min_size=8, max_size=30), st.binary(max_size=4))
def test_a_form_stands_in_the_base64_of_every_text_around_a_secret(
    encode: Callable[[bytes], bytes], offset: int, before: bytes, secret: str, after: bytes
) -> None:
    secret = f"k{secret}k"
    text = encode(bytes(offset) + before + secret.encode() + after).decode()
    assert any(form in text for form in secret_forms(secret))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(SECRET), id="JSON"),
        pytest.param(json.dumps(SECRET, ensure_ascii=False), id="JSON that is not ASCII"),
        pytest.param(repr(SECRET), id="a repr"),
        pytest.param(quote(SECRET), id="a path"),
        pytest.param(quote(SECRET, safe=""), id="a query"),
        pytest.param(quote(SECRET, safe="!'()*"), id="a query of a browser"),
        pytest.param(quote_plus(SECRET), id="a form"),
        pytest.param(str(httpx.URL("https://x.example/" + SECRET.replace("%", "%25"))), id="a path of httpx"),
        pytest.param(str(httpx.URL("https://x.example/", params={"a": SECRET})), id="a query of httpx"),
        pytest.param(quote(base64.b64encode(b"??>" + SECRET.encode()), safe=""), id="base64 in a query"),
        pytest.param(SECRET, id="as it is"),
    ],
)
def test_a_secret_is_found_in_what_clients_send(text: str) -> None:
    assert any(form in text for form in secret_forms(f" {SECRET}\n"))


def test_a_secret_may_hold_half_a_surrogate() -> None:
    assert "k3y-0123456789\ud83d" in secret_forms("k3y-0123456789\ud83d")


def test_a_form_is_never_short() -> None:
    assert secret_forms(" abcdefg ") == (base64.b64encode(b"abcdefg").decode()[:9], "FiY2RlZm", "hYmNkZWZn")


def forms(*names: str) -> SecretForms:
    many = SecretForms()
    for name in names:
        many.add(name, "a key")
    return many


@pytest.mark.parametrize("text", ["", "sk-live", "sk-live-012345678", "x" * 1_000])
def test_a_form_is_not_in_a_text(text: str) -> None:
    assert forms("other-012345", FORM).within(text) == []
    assert SecretForms().within(text) == []


@pytest.mark.parametrize("length", [8, 9, 15, 16, 22, 23, 30, 31, 40, 64])
def test_one_of_many_forms_is_found_at_every_place(length: int) -> None:
    names = [hashlib.sha256(f"{number}".encode()).hexdigest()[:length] for number in range(50)]
    many = forms(*names)
    for position in range(40):
        text = "é" * (position % 3) + "z" * position + names[position]
        assert many.within(text) == many.within(f"{text}{'z' * 10}") == [(names[position], "a key")]
        assert many.within(f"{text[:-1]}zzzz") == []


def test_a_form_keeps_its_first_name() -> None:
    some = SecretForms()
    some.add(FORM, "a key")
    some.add(FORM, "another key")
    some.add("other-012345", "another key")
    assert dict(some.within(f"{FORM} other-012345")) == {FORM: "a key", "other-012345": "another key"}


def test_a_text_is_searched_for_few_of_many_secrets() -> None:
    searched: list[str] = []

    class Text(str):
        __slots__ = ()

        def __contains__(self, form: object) -> bool:
            searched.append(str(form))
            return super().__contains__(form)  # type: ignore[operator]

    many = forms(*(f"sk-live-{hashlib.sha256(f'{number}'.encode()).hexdigest()}" for number in range(500)))
    text = "the header holds a token, such as sk-live-0123456789abcdef, and there is more to be read " * 20
    assert many.within(Text(text)) == []
    assert len(searched) < 50


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
