"""Redaction: secrets are known, found and removed, whatever their encoding."""

from __future__ import annotations

import ast
import base64
import json
import os
import random
import re
import string
import threading
from collections.abc import Callable, Iterator
from urllib.parse import quote

import httpx
import pytest
from hypothesis import assume, given, strategies as st

from pytest_chatprompt.capture.secrets import names, redaction
from pytest_chatprompt.capture.secrets.names import SecretKind, looks_secret
from pytest_chatprompt.capture.secrets.redaction import FoundSecret, Redactor, map_texts

KEY = "sk-0123456789"
GITHUB = "ghp_q7Rk2ZpX9vLmT4wNc8YbD3sHf6GjA1eUx5Ko"
PASSPHRASE = "pa\"ss' wörd/+%\\7"
LINE_1 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
LINE_2 = "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu"
PEM = f"-----BEGIN PRIVATE KEY-----\n{LINE_1}\n{LINE_2}\n-----END PRIVATE KEY-----\n"


# --- what is learned


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
    expected = ("", f"the value of the environment variable {name}") if is_secret else None
    assert redactor.find(f"x {KEY} y") == expected


def test_short_values_are_not_secrets() -> None:
    assert Redactor({"API_KEY": "ollama", "OTHER_TOKEN": ""}).find("ask ollama") is None


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"authorization": f"Bearer {KEY}"}, "the value of the header authorization"),
        ({"x-api-key": KEY}, "the value of the header x-api-key"),
        ({"x-goog-api-key": KEY}, "the value of the header x-goog-api-key"),
        ({"api-key": KEY}, "the value of the header api-key"),
        ({"Ocp-Apim-Subscription-Key": KEY}, "the value of the header ocp-apim-subscription-key"),
        ({"X-Auth-Token": KEY}, "the value of the header x-auth-token"),
        ({"cookie": f"a=b; session={KEY}"}, "the value of the header cookie"),
    ],
)
def test_credentials_in_headers_are_learned(headers: dict[str, str], name: str) -> None:
    redactor = Redactor({})
    redactor.add_headers(headers)
    redactor.add_headers(headers)
    assert redactor.find({"a": [1, None, {"b": f"x{KEY}"}]}) == ("a[2].b", name)


@pytest.mark.parametrize(
    "url", [f"https://x.example/?key={KEY}", f"https://me:{KEY}@x.example/", f"https://x.example/?b=c&sig={KEY}"]
)
def test_credentials_in_a_url_are_learned(url: str) -> None:
    redactor = Redactor({})
    redactor.add_request({}, httpx.URL("https://x.example/"))
    assert redactor.find(KEY) is None
    redactor.add_request({}, httpx.URL(url))
    assert redactor.find(KEY) == ("", "the value of a secret in the URL of a request")


def test_the_variables_of_an_agent_are_learned() -> None:
    redactor = Redactor({})
    redactor.add_agent_environment({"AGENT_TOKEN": KEY, "MODE": "fast-0123456789"})
    assert redactor.find({"argv": ["x", f"y={KEY}"]}) == ("argv[1]", "the value of AGENT_TOKEN in the agent's env")
    assert redactor.find("fast-0123456789") is None


def test_the_key_of_a_provider_is_learned_under_any_name() -> None:
    redactor = Redactor({})
    redactor.add_key(KEY, "the key of Mistral")
    assert redactor.find(f"x {KEY}") == ("", "the key of Mistral")


def test_a_variable_that_is_set_later_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor(os.environ)
    monkeypatch.setenv("LATE_TOKEN", KEY)
    assert redactor.find(KEY) == ("", "the value of the environment variable LATE_TOKEN")
    monkeypatch.setenv("LATE_TOKEN", f"{KEY}-2")
    assert redactor.redact(f"{KEY}-2") == "[secret]"
    monkeypatch.delenv("LATE_TOKEN")
    assert redactor.redact(KEY) == "[secret]"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PARTITION_KEY", "messages"),
        ("SIGNING_KEY", "messages"),
        ("SOME_SECRET", "messages"),
        ("API_KEY", "lm-studio"),
        ("ROLE_KEY", "user"),
        ("MODEL_KEY", "claude-sonnet-5-5"),
        ("LIMIT_KEY", "max_tokens"),
        ("FORMAT_TOKEN", "12345678"),
        ("KEY_OF_FILE", "/run/secrets/messages"),
    ],
)
def test_the_words_of_a_payload_are_no_secrets(name: str, value: str) -> None:
    redactor = Redactor({name: value})
    payload = {"model": value, value: [{"role": "user", "content": f"the {value} of"}]}
    assert redactor.find(payload) is None
    assert redactor.redact(f"the {value} of") == f"the {value} of"


def test_a_key_of_words_is_no_secret_although_a_variable_has_that_value() -> None:
    assert Redactor({"SOME_SECRET": "max_output_tokens"}).find({"max_output_tokens": 5}) is None


# --- what is found

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda secret: f"the key {secret} is",
    "stripped": lambda secret: f"the key {secret.strip()} is",
    "percent-encoded": lambda secret: f"https://x.example/{quote(secret, safe='')}",
    "JSON": lambda secret: json.dumps({"a": secret}),
    "repr": lambda secret: repr([secret]),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 of user and key": lambda secret: base64.b64encode(f"me:{secret}".encode()).decode(),
    "base64 of another user": lambda secret: base64.b64encode(f"you:{secret}!".encode()).decode(),
    "base64 of a third user": lambda secret: base64.urlsafe_b64encode(f"a~:{secret}".encode()).decode(),
    "base64, percent-encoded": lambda secret: quote(base64.b64encode(secret.encode()).decode(), safe=""),
}
SECRETS = {"a key": KEY, "a line break at the end": f"{KEY}\n", "a passphrase": PASSPHRASE, "a PEM": PEM}
each_encoding = pytest.mark.parametrize("encode", [pytest.param(encode, id=name) for name, encode in ENCODINGS.items()])
each_secret = pytest.mark.parametrize("secret", [pytest.param(secret, id=name) for name, secret in SECRETS.items()])


@each_encoding
@each_secret
def test_a_secret_is_found_in_every_encoding(secret: str, encode: Callable[[str], str]) -> None:
    redactor = Redactor({"MY_TOKEN": secret})
    text = encode(secret)
    for data in (text, {"a": [text]}, {"endpoint": f"POST /a?b={text}"}, {text: 1}):
        found = redactor.find(data)
        assert found is not None
        assert found.what == "the value of the environment variable MY_TOKEN"
    found = Redactor({"MY_TOKEN": "another-0123456789"}).find(text)
    assert found is None or found.what == "what looks like a private key"


@each_encoding
@each_secret
def test_a_secret_is_redacted_in_every_encoding(secret: str, encode: Callable[[str], str]) -> None:
    redactor = Redactor({"MY_TOKEN": secret})
    text = encode(secret)
    redacted = redactor.redact(f"before {text} after")
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")
    assert "[secret]" in redacted
    assert redactor.find(redacted) is None
    assert redactor.redact(redacted) == redacted


LETTERS = string.ascii_letters + string.digits
RANDOM_SECRETS = st.one_of(
    st.text(f"{LETTERS}-_", min_size=12, max_size=60),
    st.text(f"{LETTERS}!@#$%^&*()+=/?\\\"'<>{{}}[];:,. é", min_size=12, max_size=30).map(str.strip),
    st.lists(st.text(f"{LETTERS}+/", min_size=64, max_size=64), min_size=2, max_size=4).map("\n".join),
)
RANDOM_TEXTS = st.text(f"{LETTERS}:= ", max_size=5)
INNERMOST = ["plain", "base64", "base64 of a third user"]
AROUND = [(), ("percent-encoded",), ("JSON",), ("repr",)]


@given(
    RANDOM_SECRETS,
    st.sampled_from(INNERMOST),
    RANDOM_TEXTS,
    RANDOM_TEXTS,
    st.sampled_from(AROUND),
)
def test_a_random_secret_is_found_and_redacted_in_nested_encodings(
    secret: str, innermost: str, before: str, after: str, around: tuple[str, ...]
) -> None:
    redactor = Redactor({"MY_TOKEN": secret})
    assume(looks_secret(secret, SecretKind.PHRASE))
    text = f"{before}{ENCODINGS[innermost](secret)}{after}"
    for name in around:
        text = ENCODINGS[name](text)
    assert redactor.find({"a": [text]}) is not None
    redacted = redactor.redact(text)
    assert "[secret]" in redacted
    assert redactor.find(redacted) is None


def test_each_line_of_a_pem_is_a_secret() -> None:
    redactor = Redactor({"TLS_PRIVATE_KEY": PEM})
    assert redactor.find({"a": f"see {LINE_2}"}) == ("a", "the value of the environment variable TLS_PRIVATE_KEY")
    assert redactor.redact(f"E  {LINE_1}\nE  {LINE_2}\n") == "E  [secret]\nE  [secret]\n"


def test_a_secret_is_found_in_the_key_of_a_mapping() -> None:
    assert Redactor({"API_KEY": KEY}).find({"a": {KEY: 1}}) == (
        "a",
        "the value of the environment variable API_KEY",
    )


def test_a_path_never_shows_a_secret() -> None:
    found = Redactor({"A_KEY": KEY}, [re.compile(r"^sk-0123456789$")]).find({KEY: {"api_key": "k3y-0123456789"}})
    assert found == FoundSecret(f"{KEY}.api_key", "what looks like a secret by its name, 'api_key'")
    found = Redactor({"A_KEY": KEY}).find({"api_key": "k3y-0123456789", f"x{KEY}_token": "t0ken-0123456789"})
    assert found is not None
    assert KEY not in str(found)


def test_a_secret_in_bytes_is_found() -> None:
    redactor = Redactor({"API_KEY": KEY})
    body = {"base64": base64.b64encode(b"\xff\0" + KEY.encode()).decode()}
    found = redactor.find({"request": body})
    assert found is not None
    assert found.path == "request.base64"


def test_a_secret_does_not_reach_from_one_string_to_the_next() -> None:
    assert Redactor({"API_KEY": KEY}).find([KEY[:6], KEY[6:], f"{KEY[:6]}\n", KEY[6:]]) is None


def test_a_token_is_found_by_its_shape_in_every_place() -> None:
    redactor = Redactor({})
    for data in (f"a {GITHUB}", {"a": {GITHUB: 1}}, {"endpoint": f"GET /{GITHUB}"}, {"a": [quote(f"é={GITHUB}")]}):
        found = redactor.find(data)
        assert found is not None
        assert found.what == "what looks like a GitHub token"


def test_a_secret_is_found_by_its_name() -> None:
    assert Redactor({}).find({"request": {"api_key": "k3y-0123456789"}}) == (
        "request.api_key",
        "what looks like a secret by its name, 'api_key'",
    )


# --- what is allowed


@pytest.mark.parametrize(
    ("pattern", "data"),
    [
        pytest.param("sk-[0-9]{10}", {"a": f"the key {KEY}"}, id="a variable"),
        pytest.param("the key sk-.*", {"a": f"the key {KEY}x"}, id="more than the secret"),
        pytest.param("ghp_q7Rk2ZpX9v.*", {"a": GITHUB}, id="a token"),
        pytest.param("k3y-[0-9]+", {"api_key": "k3y-0123456789"}, id="a secret by its name"),
    ],
)
def test_what_a_pattern_covers_is_no_secret(pattern: str, data: object) -> None:
    environment = {"API_KEY": KEY, "OTHER_TOKEN": "other-0123456789"}
    assert Redactor(environment).find(data) is not None
    redactor = Redactor(environment, [re.compile("no match"), re.compile(pattern)])
    assert redactor.find(data) is None
    assert redactor.find([data, "other-0123456789"]) == ("[1]", "the value of the environment variable OTHER_TOKEN")


def test_a_pattern_that_covers_a_part_allows_nothing() -> None:
    redactor = Redactor({"API_KEY": KEY}, [re.compile("sk-"), re.compile("ghp_")])
    assert redactor.find(KEY) is not None
    assert redactor.find(GITHUB) is not None
    assert redactor.redact(f"{KEY} {GITHUB}") == "[secret] [secret]"


def test_what_is_allowed_is_not_redacted() -> None:
    redactor = Redactor({"API_KEY": KEY}, [re.compile("sk-[0-9]+"), re.compile("ghp_.*")])
    assert redactor.redact(f"{KEY} {GITHUB}") == f"{KEY} {GITHUB}"


# --- what is redacted


def test_all_secrets_in_a_text_are_redacted() -> None:
    redactor = Redactor({"API_KEY": KEY, "A_TOKEN": "token-token"})
    assert redactor.redact(f"{KEY} token-token {KEY} other") == "[secret] [secret] [secret] other"


def test_secrets_that_overlap_are_one() -> None:
    redactor = Redactor({"A_TOKEN": "one-1-two-2", "B_TOKEN": "two-2-three-3"})
    assert redactor.redact("x one-1-two-2-three-3 y") == "x [secret] y"


def test_the_rest_of_a_text_stays_as_it_is() -> None:
    redactor = Redactor({"API_KEY": KEY})
    text = f'line\\n "1"\n  100%25 {KEY}-x and {KEY} \\u0041\r\n end\\'
    assert redactor.redact(text) == 'line\\n "1"\n  100%25 [secret]-x and [secret] \\u0041\r\n end\\'


def test_the_strings_of_data_are_redacted() -> None:
    redactor = Redactor({"API_KEY": KEY})
    data = {KEY: [f"x {KEY}", 5, None, ("a", {"b": json.dumps({"c": KEY})})]}
    assert redactor.redact_data(data) == {"[secret]": ["x [secret]", 5, None, ("a", {"b": '{"c": "[secret]"}'})]}


def test_a_secret_in_json_within_json_is_found_and_the_whole_text_is_redacted() -> None:
    redactor = Redactor({"API_PASSWORD": PASSPHRASE})
    data = {"arguments": json.dumps({"a": json.dumps({"b": PASSPHRASE})})}
    assert redactor.find(data) == ("arguments.a", "the value of the environment variable API_PASSWORD")
    assert redactor.redact_data(data) == {"arguments": "[secret]"}


def test_a_value_under_a_secret_s_name_is_redacted_wherever_the_data_repeats_it() -> None:
    data = [{"access_token": "q7Rk2ZpX9vLm", "api_key": "sk-demo-7Rk2"}, "with q7Rk2ZpX9vLm and sk-demo-7Rk2"]
    redactor = Redactor({}, [re.compile("sk-demo-.*")])
    assert redactor.redact_data(data) == [
        {"access_token": "[secret]", "api_key": "sk-demo-7Rk2"},
        "with [secret] and sk-demo-7Rk2",
    ]


def test_a_redacted_json_text_is_still_json() -> None:
    redactor = Redactor({"API_PASSWORD": PASSPHRASE})
    assert json.loads(redactor.redact(json.dumps({"a": f"x {PASSPHRASE} y"}))) == {"a": "x [secret] y"}
    assert ast.literal_eval(redactor.redact(repr([f"x {PASSPHRASE} y"]))) == ["x [secret] y"]


def test_long_texts_are_redacted() -> None:
    redactor = Redactor({"API_KEY": KEY})
    lines = [f"line {number} \\u0041 %41 of a text" for number in range(5_000)]
    text = "\n".join([*lines, KEY, *lines, KEY])
    assert redactor.redact(text) == "\n".join([*lines, "[secret]", *lines, "[secret]"])
    assert redactor.find({"a": text}) is not None


def test_a_text_without_a_secret_is_searched_again_once_a_secret_is_learned() -> None:
    redactor = Redactor({})
    text = f"the header holds {KEY}"
    assert redactor.redact(text) == redactor.redact(text) == text
    redactor.add_headers({"authorization": f"Bearer {KEY}"})
    assert redactor.redact(text) == "the header holds [secret]"


def test_a_text_without_a_secret_is_searched_again_once_a_variable_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor(os.environ)
    text = f"the variable holds {KEY}"
    assert redactor.redact(text) == text
    monkeypatch.setenv("SOME_API_KEY", KEY)
    assert redactor.redact(text) == "the variable holds [secret]"


def test_a_secret_that_is_just_being_learned_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    environment: dict[str, str] = {}
    redactor = Redactor(environment)
    meanwhile: list[str] = []

    def secrets_of_variable(name: str, value: str) -> Iterator[str]:
        if not meanwhile:
            # What another thread would do.
            meanwhile.append("begun")
            meanwhile.append(redactor.redact(f"the variable holds {KEY}"))
        return names.secrets_of_variable(name, value)

    monkeypatch.setattr(redaction, "secrets_of_variable", secrets_of_variable)
    environment["SOME_API_KEY"] = KEY
    assert redactor.redact(KEY) == "[secret]"
    assert meanwhile == ["begun", "the variable holds [secret]"]


def test_the_variables_of_this_process_are_read_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor(os.environ)
    monkeypatch.setenv("SOME_PASSWORD", "pässwörd-1")
    assert redactor.redact("with pässwörd-1") == "with [secret]"


def test_the_texts_of_any_data_are_changed() -> None:
    changed = map_texts({"a b": ["b", ("b", 5, {None: "bc"})]}, lambda text: text.replace("b", "x"))
    assert changed == {"a x": ["x", ("x", 5, {None: "xc"})]}


def test_data_without_a_text_to_change_is_the_same_object() -> None:
    data = {"a": ["b", ("c",)]}
    assert map_texts(data, lambda text: text.replace("x", "y")) is data


def test_each_of_many_secrets_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[str] = []

    def counted(secret: str) -> tuple[str, ...]:
        prepared.append(secret)
        return forms_of(secret)

    forms_of = redaction.secret_forms
    monkeypatch.setattr(redaction, "secret_forms", counted)
    redactor = Redactor({})
    keys = [f"key-{random.Random(number).getrandbits(64):016x}" for number in range(200)]
    for key in keys:
        redactor.add_headers({"x-api-key": key})
        assert redactor.find({"a": "a text"}) is None
        assert redactor.redact(f"a header {key}") == "a header [secret]"
    assert prepared == keys


def test_threads_may_learn_and_redact_at_the_same_time() -> None:
    redactor = Redactor({})
    keys = [f"key-{random.Random(number).getrandbits(64):016x}" for number in range(100)]
    failures = []

    def learn(some: list[str]) -> None:
        for key in some:
            redactor.add_headers({"x-api-key": key})
            if redactor.redact(key) != "[secret]" or redactor.find({"a": key}) is None:
                failures.append(key)

    threads = [threading.Thread(target=learn, args=(keys[number::4],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert redactor.redact(" ".join(keys)) == " ".join(["[secret]"] * 100)


# --- long texts, which many cases share

DOCUMENT = "=== document.txt ===\n" + "a line of a document\n" * 5_000


@pytest.mark.parametrize(
    "text",
    [f"ask\n{DOCUMENT}{KEY}", f"{KEY}\n{DOCUMENT}", f"ask\n{DOCUMENT}\n=== second.txt ===\n{KEY}\n{DOCUMENT}"],
    ids=["in a long file", "before it", "in a short file between long ones"],
)
def test_a_secret_is_found_beside_a_long_file_that_was_searched_before(text: str) -> None:
    redactor = Redactor({"API_KEY": KEY})
    assert redactor.find({"content": f"first\n{DOCUMENT}"}) is None
    found = FoundSecret("content", "the value of the environment variable API_KEY")
    assert redactor.find({"content": text}) == found


def test_a_long_file_is_searched_again_once_another_secret_is_known() -> None:
    redactor = Redactor({})
    data = {"content": f"ask\n{DOCUMENT}{KEY}0ab"}
    assert redactor.find(data) is None
    redactor.add_headers({"x-api-key": f"{KEY}0ab"})
    assert redactor.find(data) == FoundSecret("content", "the value of the header x-api-key")


def test_a_long_file_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def find_tokens(text: str) -> list[object]:
        searched.append(len(text))
        return []

    monkeypatch.setattr(redaction, "find_tokens", find_tokens)
    redactor = Redactor({})
    for number in range(3):
        redactor.find({"content": f"question {number}\n{DOCUMENT}"})
    assert [length for length in searched if length > 1_000] == [len(DOCUMENT)]
