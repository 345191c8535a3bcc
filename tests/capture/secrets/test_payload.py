"""Payloads: the texts of a payload, and what stands under the name of a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from pytest_chatprompt.capture.secrets.redaction import Payload, path_of
from pytest_chatprompt.wording import data_place

KEY = "k3y-0123456789"
MD5 = "6dbf9ac2da09ee1d3debf5a51873ec6d"
SHA1 = "16d4afa270ff905221b8edc8c851e6275a3f7da4"
RANDOM = "9f86d081884c7d659a2feaa0"


def strings(data: Any) -> list[tuple[str, str]]:
    return [(data_place(path_of(place)), text) for text, place in Payload(data).texts]


def named(data: Any) -> list[tuple[str, str, str]]:
    return [(data_place(path_of(place)), name, value) for name, value, place in Payload(data).named]


def test_every_string_has_its_place() -> None:
    data = {"a": [1, None, {"b": "c"}, ("d",)], "e": MappingProxyType({"f": "g"})}
    assert strings(data) == [("a[2].b", "c"), ("a[3][0]", "d"), ("e.f", "g")]
    assert strings("x") == [("", "x")]
    assert strings(5) == []


def test_a_key_is_a_string_unless_it_is_a_name() -> None:
    data = {"max_tokens": 1, "messages": 2, KEY: 3, "a" * 33: 4}
    assert [text for _, text in strings(data)] == [KEY, "a" * 33]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        pytest.param({"api_key": KEY}, ("api_key", "api_key", KEY), id="a key"),
        pytest.param({"a": {"client_secret": f" {KEY} "}}, ("a.client_secret", "client_secret", KEY), id="white space"),
        pytest.param({"Authorization": f"Bearer {KEY}"}, ("Authorization", "Authorization", KEY), id="a scheme"),
        pytest.param({"api_keys": [KEY, 5]}, ("api_keys[0]", "api_keys", KEY), id="a list of keys"),
        pytest.param({"passwords": [KEY]}, ("passwords[0]", "passwords", KEY), id="a list of passwords"),
        pytest.param([{"name": "API_KEY", "value": KEY}], ("[0].value", "API_KEY", KEY), id="name and value"),
        pytest.param({"arguments": json.dumps({"api_key": KEY})}, ("arguments.api_key", "api_key", KEY), id="JSON"),
        pytest.param(
            {"content": json.dumps([{"a": json.dumps({"password": KEY})}])},
            ("content[0].a.password", "password", KEY),
            id="JSON in JSON",
        ),
        pytest.param({"access_token": RANDOM, "a": 5}, ("access_token", "access_token", RANDOM), id="a token"),
        pytest.param(
            [{"request": {"body": f"a=b&password={KEY}"}}], ("[0].request.body", "password", KEY), id="a recorded form"
        ),
        pytest.param(
            {"server_url": f"https://x.example/sse?api_key={RANDOM}&a=b"}, ("server_url", "api_key", RANDOM), id="a URL"
        ),
        pytest.param({"u": f"https://me:{KEY}@x.example/"}, ("u", "password", KEY), id="a password in a URL"),
        pytest.param(
            {"endpoint": "POST /token", "request": f"grant_type=x&client%5Fsecret={KEY}%2B1"},
            ("request", "client_secret", f"{KEY}+1"),
            id="a form",
        ),
        pytest.param(
            {"multipart": [{"headers": {"Content-Disposition": 'form-data; name="api_key"'}, "content": KEY}]},
            ("multipart[0].content", "api_key", KEY),
            id="a part of a form",
        ),
        pytest.param({"argv": ["x", f"--api-key={KEY}"]}, ("argv", "api-key", KEY), id="an option of a command"),
        pytest.param({"argv": ["x", "--api-key", KEY]}, ("argv", "api-key", KEY), id="an option and its value"),
        pytest.param({"argv": ["env", f"API_KEY={KEY}"]}, ("argv", "API_KEY", KEY), id="a variable of a command"),
        pytest.param(
            {"argv": ["-c", f'mcp.env.API_KEY="{KEY}"']},
            ("argv", "mcp.env.API_KEY", KEY),
            id="Codex's configuration",
        ),
        pytest.param({"argv": ["-H", f"X-Api-Key: {KEY}"]}, ("argv", "X-Api-Key", KEY), id="a header of a command"),
        pytest.param(
            {"argv": ["sh", "-c", f"X=1 API_KEY='{KEY}' agent --quiet"]},
            ("argv", "API_KEY", KEY),
            id="a shell's variable",
        ),
        pytest.param(
            {"argv": ["sh", "-c", f"agent\n  --api-key {KEY} -v"]},
            ("argv", "api-key", KEY),
            id="an option in a shell",
        ),
        pytest.param(
            {"argv": ["sh", "-c", f'curl -H "Authorization: Bearer {KEY}" x']},
            ("argv", "Authorization", KEY),
            id="a header in a shell",
        ),
        pytest.param(
            {"argv": ["sh", "-c", f"echo don't; agent --api-key {KEY}"]},
            ("argv", "api-key", KEY),
            id="an open quote",
        ),
    ],
)
def test_a_secret_is_found_by_its_name(data: Any, found: tuple[str, str, str]) -> None:
    assert named(data) == [found]


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "description": "The key of the entry, such as user-1234567890abcdef1234."},
        "token": {"type": "string", "default": "continue-reading"},
        "password": {"type": "string", "minLength": 12, "description": "The new password"},
        "api_key": {"type": "string", "enum": ["primary", "secondary"]},
        "code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
    },
    "dependentRequired": {"password": ["user_name", "mail_address"], "key": ["ipv6AddressBlocks"]},
    "required": ["key", "token", "password", "api_key", "code"],
}


def test_a_long_url_is_read_at_once() -> None:
    for text in (":" * 100_000, "a:b" * 100_000, "a@" * 100_000, f"?{'a=b&' * 30_000}", "?" * 100_000):
        assert named({"url": f"https://{text}", "endpoint": "", "request": text}) == []


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"tools": [{"name": "api_key", "input_schema": SCHEMA}]}, id="the schema of a tool"),
        pytest.param({"name": "token", "content": KEY, "role": "tool"}, id="the name of a message"),
        pytest.param({"key": "customer-address", "token": "continue", "code": "DE"}, id="words"),
        pytest.param({"key": "user-1234", "code": "ERR-2024-00012", "token": "v2.1"}, id="ids"),
        pytest.param({"key": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}, id="a UUID"),
        pytest.param({"key": "uploads/2024/05/image-03.png"}, id="a path"),
        pytest.param({"code": "print(sum(x ** 2 for x in range(10)))", "lang": "py"}, id="source code"),
        pytest.param({"code": "x=9f86d081884c7d659a2feaa0;y(x)"}, id="source code without blanks"),
        pytest.param({"api_key": "offline", "access_token": "changeme", "secret": "ollama"}, id="placeholders"),
        pytest.param({"api_key": "<your key 1>", "token": "${API_TOKEN_2}"}, id="placeholders with brackets"),
        pytest.param({"password": "The password of the user 1"}, id="a sentence"),
        pytest.param({"max_tokens": 4096, "maxOutputTokens": "100000000", "api_key": None}, id="numbers"),
        pytest.param({"signature": RANDOM * 10, "thoughtSignature": RANDOM * 10}, id="signatures of thoughts"),
        pytest.param({"prompt_cache_key": RANDOM, "next_page_token": RANDOM}, id="keys of caches and pages"),
        pytest.param({"arguments": '{"key": "customer-address"}', "text": '{"api_key": '}, id="JSON without secrets"),
        pytest.param({"arguments": '{"api_key":' * 5_000}, id="JSON that is too deep"),
        pytest.param({"content": f"Such as {json.dumps({'password': KEY})}"}, id="JSON in a prompt"),
        pytest.param({"arguments": {"a": 1}}, id="arguments that are not text"),
        pytest.param({"url": "https://x.example/a?key=customer&code=DE"}, id="a URL without secrets"),
        pytest.param({"text": f"https://x.example/?api_key={KEY} is the URL"}, id="a URL in a text"),
        pytest.param({"content": f"api_key={KEY}", "request": {"api": 1}}, id="an assignment in a prompt"),
        pytest.param({"endpoint": "POST /", "request": "plain text: 1 = 2"}, id="a body that is not a form"),
        pytest.param({"argv": ["x", "--key", "customer", "--token={prompt}", 5], "argv2": "x"}, id="a command"),
        pytest.param({"argv": ["sh", "-c", "agent --token $TOKEN --key customer; cat < x"]}, id="a command in a shell"),
        pytest.param({"argv": "x", "multipart": "x", "a": {"argv": [f"--api-key={KEY}"]}}, id="other shapes"),
        pytest.param({"multipart": [{"headers": {}, "content": KEY}, 5]}, id="a part without a name"),
        pytest.param({"Key": f"users/{MD5}/avatar.png", "key": f"media/{MD5}"}, id="paths in S3"),
        pytest.param({"storage_key": "uploads/2024/05/image-03.png", "file_key": f"{RANDOM}.png"}, id="names of files"),
        pytest.param({"key": MD5, "ETag": f'"{MD5}"', "etag": MD5}, id="an MD5"),
        pytest.param({"key": SHA1, "etag": SHA1, "code": SHA1.upper()}, id="a SHA-1"),
        pytest.param({"key": f"{MD5}-3", "token": MD5 * 2}, id="a hash of parts, and a SHA-256"),
        pytest.param({"token": "eyJvZmZzZXQiOiAxMDAsICJpZCI6ICJhMWIyYzMifQ=="}, id="a cursor of JSON"),
        pytest.param({"token": RANDOM, "key": RANDOM, "code": RANDOM}, id="names with several meanings"),
        pytest.param({"nextToken": RANDOM, "continuation_token": RANDOM, "pagetoken": RANDOM}, id="tokens of pages"),
        pytest.param({"clientToken": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}, id="a token that repeats a request"),
        pytest.param({"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, id="AWS's example"),
        pytest.param({"reply": {"status": 200, "text": "a = b"}, "request": {"body": 5}}, id="replies and requests"),
    ],
)
def test_ordinary_data_is_no_secret(data: Any) -> None:
    assert named(data) == []
