"""Redaction: secrets are known, found and removed."""

from __future__ import annotations

import pytest

from pytest_chatprompt.capture.redaction import Redactor

KEY = "sk-0123456789"


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("OPENAI_API_KEY", True),
        ("GITHUB_TOKEN", True),
        ("db_password", True),
        ("KEY", True),
        ("AWS_SECRET", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", True),
        ("HOME", False),
        ("KEYBOARD", False),
        ("MONKEY", False),
    ],
)
def test_the_name_of_a_variable_says_whether_it_is_secret(name: str, is_secret: bool) -> None:
    redactor = Redactor({name: KEY})
    assert redactor.find(f"x {KEY} y") == (("", f"the environment variable {name}") if is_secret else None)


def test_short_values_are_not_secrets() -> None:
    assert Redactor({"API_KEY": "ollama", "OTHER_TOKEN": ""}).find("ask ollama") is None


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"authorization": f"Bearer {KEY}"}, "the header authorization"),
        ({"x-api-key": KEY}, "the header x-api-key"),
        ({"x-goog-api-key": KEY}, "the header x-goog-api-key"),
        ({"api-key": KEY}, "the header api-key"),
    ],
)
def test_credentials_in_headers_are_learned(headers: dict[str, str], name: str) -> None:
    redactor = Redactor({})
    redactor.add_headers(headers)
    assert redactor.find({"a": [1, None, {"b": f"x{KEY}"}]}) == ("a[0].b".replace("[0]", "[2]"), name)


def test_a_secret_is_found_in_the_key_of_a_mapping() -> None:
    assert Redactor({"API_KEY": KEY}).find({"a": {KEY: 1}}) == ("a", "the environment variable API_KEY")


def test_all_secrets_in_a_text_are_redacted() -> None:
    redactor = Redactor({"API_KEY": KEY, "A_TOKEN": "token-token"})
    assert redactor.redact(f"{KEY} token-token {KEY} other") == "[secret] [secret] [secret] other"
