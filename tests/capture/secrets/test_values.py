"""Secret values: what is a secret and what is plain text."""

from __future__ import annotations

import pytest

from pytest_chatprompt.capture.secrets.names import SecretKind, looks_secret

PHRASE, KEY, UNCERTAIN = SecretKind.PHRASE, SecretKind.KEY, SecretKind.UNCERTAIN
ALL = (PHRASE, KEY, UNCERTAIN)


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        pytest.param("messages", (), id="a word"),
        pytest.param("Messages", (), id="a word in title case"),
        pytest.param("MESSAGES", (), id="a word in upper case"),
        pytest.param("s3cr3t!", (), id="too short"),
        pytest.param("1234567890", (), id="a number"),
        pytest.param("-12.345,678", (), id="a number with signs"),
        pytest.param("2026-11-21 10:00", (), id="a date"),
        pytest.param("xxxxxxxxxxxx", (), id="one character"),
        pytest.param("xXxX-xXxX-xx", (), id="few characters"),
        pytest.param("<your-api-key-1>", (), id="a placeholder in angle brackets"),
        pytest.param("${OPENAI_API_KEY_2}", (), id="a variable of a shell"),
        pytest.param("{{ api_key_2 }}", (), id="a variable of a template"),
        pytest.param("%OPENAI_API_KEY2%", (), id="a variable of Windows"),
        pytest.param("[redacted key 1]", (), id="a placeholder in square brackets"),
        pytest.param("your-password-here", (), id="a placeholder of words"),
        pytest.param("/run/secrets/db_password", (), id="a path of words"),
        pytest.param("/home/me/keys/service-3f2a9cdd81.json", (), id="a path of a file"),
        pytest.param("C:\\keys\\service-3f2a9cdd81.json", (), id="a path of Windows"),
        pytest.param("~/.ssh/id_rsa", (), id="a path of the home folder"),
        pytest.param("https://api.example/v1/3f2a9cdd81", (), id="a URL"),
        pytest.param("offline", (), id="our own placeholder"),
        pytest.param("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", (), id="AWS's example"),
        pytest.param(
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIy"
            "fQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
            (),
            id="the token of jwt.io",
        ),
        pytest.param("EXAMPLEjcs5xoyqytjsotsijas7236gr", (), id="another example of AWS"),
        pytest.param("eyJ2IjoiMSIsInMiOjEsImMiOi...", (), id="a token that goes on"),
        pytest.param("sk-0000000000", (), id="zeros"),
        pytest.param("sk-xxxxxxxx", (), id="a key of x"),
        pytest.param("sk-...", (), id="three dots"),
        pytest.param("sk-proj-...AbC1", (), id="a masked key"),
        pytest.param("sk-****1234", (), id="a key with stars"),
        pytest.param("<token>", (), id="a name in angle brackets"),
        pytest.param("${TOKEN}", (), id="a variable"),
        pytest.param("changeme", (), id="one placeholder"),
        pytest.param("changeme123", (), id="a placeholder and a number"),
        pytest.param("your-api-key-1", (), id="a placeholder of words and a number"),
        pytest.param("test-key-123", (), id="a key of a test"),
        pytest.param("uploads/2024/05/image-03.png", (), id="a path without a slash in front"),
        pytest.param("customer-id", (PHRASE,), id="words with a dash"),
        pytest.param("max_output_tokens", (PHRASE,), id="words with underscores"),
        pytest.param("customerAddress", (PHRASE,), id="words in camel case"),
        pytest.param("correct horse battery staple", (PHRASE,), id="words with blanks"),
        pytest.param("lm-studio", (PHRASE,), id="a name of words"),
        pytest.param("claude-sonnet-5-5", (PHRASE, KEY), id="a model"),
        pytest.param("gpt-4o-2024-08-06", (PHRASE, KEY), id="a model with a date"),
        pytest.param("claude-3-5-sonnet-20241022", (PHRASE, KEY), id="a model with a date without dashes"),
        pytest.param("ipv6AddressBlocks", (PHRASE, KEY), id="words in camel case with a number"),
        pytest.param("summer2024", (PHRASE, KEY), id="a word with a year"),
        pytest.param("sk-secret-0123", (PHRASE, KEY), id="words with a short number"),
        pytest.param("sk-0123456789", ALL, id="a word with a long number"),
        pytest.param("P@ssw0rd!", ALL, id="a password"),
        pytest.param("tr0ub4dor", ALL, id="letters and digits"),
        pytest.param("xKqPmZbTnLwR", ALL, id="letters at random"),
        pytest.param("f47ac10b-58cc-4372-a567-0e02b2c3d479", ALL, id="a UUID"),
        pytest.param("/9KxQ2bEXAMPLEwJalrXUtnFEMIbPxRfiCYz", ALL, id="base64 that begins with a slash"),
        pytest.param("qwertyuiopasdfghjklzxcvbnm", ALL, id="more letters than a word has"),
    ],
)
def test_what_looks_like_a_secret(value: str, kinds: tuple[SecretKind, ...]) -> None:
    assert tuple(kind for kind in ALL if looks_secret(value, kind)) == kinds


def test_a_long_value_is_judged_at_once() -> None:
    for value in ("a" * 1_000_000, "aB" * 500_000, "a-" * 500_000, "/" * 1_000_000, "a1" * 500_000):
        for kind in ALL:
            looks_secret(value, kind)
