"""Secrets: known, found and blotted out."""

from __future__ import annotations

import pytest

from pytest_chatprompt.secret_values import SecretValues

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
def test_a_variable_is_a_secret_by_its_name(name: str, is_secret: bool) -> None:
    secrets = SecretValues({name: KEY})
    assert secrets.find(f"x {KEY} y") == (("", f"the environment variable {name}") if is_secret else None)


def test_short_values_are_words() -> None:
    assert SecretValues({"API_KEY": "ollama", "OTHER_TOKEN": ""}).find("ask ollama") is None


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"authorization": f"Bearer {KEY}"}, "the header authorization"),
        ({"x-api-key": KEY}, "the header x-api-key"),
        ({"x-goog-api-key": KEY}, "the header x-goog-api-key"),
        ({"api-key": KEY}, "the header api-key"),
    ],
)
def test_credentials_in_headers_are_learnt(headers: dict[str, str], name: str) -> None:
    secrets = SecretValues({})
    secrets.add_headers(headers)
    assert secrets.find({"a": [1, None, {"b": f"x{KEY}"}]}) == ("a[0].b".replace("[0]", "[2]"), name)


def test_a_key_of_a_mapping_can_be_one_too() -> None:
    assert SecretValues({"API_KEY": KEY}).find({"a": {KEY: 1}}) == ("a", "the environment variable API_KEY")


def test_a_text_is_scrubbed_of_all() -> None:
    secrets = SecretValues({"API_KEY": KEY, "A_TOKEN": "token-token"})
    assert secrets.scrubbed(f"{KEY} token-token {KEY} other") == "[secret] [secret] [secret] other"
