"""Token shapes: credentials of known vendors are recognised, and ordinary text is not."""

from __future__ import annotations

import re

import pytest

from pytest_chatprompt.capture.secrets.shapes import TOKEN_SHAPES, find_tokens

# Letters and digits without meaning; no token here was ever one.
R = "q7Rk2ZpX9vLmT4wNc8YbD3sHf6GjA1eUx5KoVtQiWz0MnBrEyPlCgSdFhJaIuOqR7k2Zp9XvLmTw4Nc8YbDs3Hf6GjAe1Ux5KoVtQi"
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
UPPER = "Q7RK2ZPX9VLMT4WN"
PEM_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"

# The tokens that jwt.io has shown.
JWT_HEAD = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwi"
JWT_IO = f"{JWT_HEAD}aWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
JWT_IO_TODAY = f"{JWT_HEAD}YWRtaW4iOnRydWUsImlhdCI6MTUxNjIzOTAyMn0.KMUFsIDTnFmyG3nMiGM6H9FNFUROf3wh7SmqJp-QV30"

TOKENS = [
    ("an OpenAI API key", f"sk-proj-{R[:48]}_-{R[:30]}"),
    ("an OpenAI API key", f"sk-svcacct-{R[:60]}"),
    ("an OpenAI API key", f"sk-admin-{R[:60]}"),
    ("an API key", f"sk-{R[:48]}"),
    ("an API key", f"sk-{HEX[:32]}"),
    ("an API key", f"sk-or-v1-{HEX}"),
    ("an Anthropic API key", f"sk-ant-api03-{R[:90]}-_AA"),
    ("an Anthropic API key", f"sk-ant-oat01-{R[:60]}"),
    ("a Google API key", f"AIza{R[:33]}-_"),
    ("a GitHub token", f"ghp_{R[:36]}"),
    ("a GitHub token", f"gho_{R[:36]}"),
    ("a GitHub token", f"ghu_{R[:36]}"),
    ("a GitHub token", f"ghs_{R[:36]}"),
    ("a GitHub token", f"ghr_{R[:70]}"),
    ("a GitHub token", f"ghs_{R[:40]}.{R[:50]}.{R[:43]}"),
    ("a GitHub token", f"github_pat_{R[:22]}_{R[:59]}"),
    ("a Groq API key", f"gsk_{R[:52]}"),
    ("an xAI API key", f"xai-{R[:80]}"),
    ("a Perplexity API key", f"pplx-{R[:48]}"),
    ("a Replicate token", f"r8_{R[:37]}"),
    ("an Amazon Bedrock API key", f"ABSK{R}+/{R[:20]}=="),
    ("a LangSmith API key", f"lsv2_pt_{HEX[:32]}_{HEX[:10]}"),
    ("a LangSmith API key", f"lsv2_sk_{HEX[:32]}_{HEX[:10]}"),
    ("a GitLab token", f"glpat-{R[:18]}_-"),
    ("a GitLab token", f"glpat-{R[:27]}.01.0w0abc123"),
    ("a Slack token", f"xoxb-1234567890123-1234567890123-{R[:24]}"),
    ("a Slack token", f"xoxp-12345678901-12345678901-12345678901-{HEX[:32]}"),
    ("a Slack token", f"xoxe-1-{R}"),
    ("a Slack token", f"xapp-1-A{UPPER[:10]}-1234567890123-{HEX}"),
    ("a Slack webhook", f"hooks.slack.com/services/T{UPPER[:10]}/B{UPPER[:10]}/{R[:24]}"),
    ("a JSON web token", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{R[:43]}"),
    ("an AWS access key", f"AKIA{UPPER}"),
    ("an AWS access key", f"ASIA{UPPER}"),
    ("a Hugging Face token", f"hf_{''.join(re.findall('[A-Za-z]', R))[:34]}"),
    ("a Stripe live key", f"sk_live_{R[:24]}"),
    ("a Stripe live key", f"rk_live_{R[:99]}"),
    ("an npm token", f"npm_{R[:36]}"),
    ("the signature of an Azure SAS", f"sig={R[:41]}%2B%2f%3D"),
    ("the signature of an Azure SAS", f"sig={R[:41]}+/="),
    ("an Azure account key", f"AccountKey={R[:86]}=="),
    ("an Azure access key", f"SharedAccessKey={R[:43]}="),
    ("a private key", f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}\nq1g=\n-----END PRIVATE KEY-----"),
    ("a private key", f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"),
    ("a private key", f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{PEM_BODY}\\n-----END OPENSSH PRIVATE KEY-----"),
    (
        "a private key",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n{PEM_BODY}\n-----END PGP PRIVATE KEY BLOCK-----",
    ),
    ("a private key", f"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,0\n\n  {PEM_BODY}"),
    ("a private key", f"-----BEGIN PRIVATE KEY-----\nE {PEM_BODY}\nE q1g=\nE -----END PRIVATE KEY-----"),
]


@pytest.mark.parametrize(("name", "token"), [pytest.param(*row, id=f"{row[0]} {row[1][:12]!r}") for row in TOKENS])
@pytest.mark.parametrize(
    "around",
    ["{}", "\\n{}\\n", "a%3D{}%0A", "\\u00e4{}", "key={}", 'a "{}" b', "x\n{}\ny", "({}).", "é {}, und"],
)
def test_a_token_of_a_known_shape_is_found(name: str, token: str, around: str) -> None:
    text = around.format(token)
    (found,) = find_tokens(text)
    assert (text[found.start : found.end].rstrip("\n "), found.name) == (token, name)


def test_every_shape_has_a_test() -> None:
    assert {shape.name for shape in TOKEN_SHAPES} == {name for name, _ in TOKENS}


def test_all_tokens_of_a_text_are_found() -> None:
    assert len(find_tokens("\n\n".join(token for _, token in TOKENS))) == len(TOKENS)


@pytest.mark.parametrize(
    "text",
    [
        "Put your sk- key there: sk-..., sk-proj-..., sk-ant-..., AIza..., ghp_..., hf_...",
        "sk-live-0123456789 sk-0123456789 sk-real-0123456789 sk-secret-0123",
        "a task-driven-risk-based-approach-that-is-long-enough-to-look-like-one",
        f"task-{R[:48]}",
        f"myAKIA{UPPER} AKIA{UPPER}Q7 AKIA",
        f"AIza{R[:34]} AIza{R[:36]}",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "AKIAIOSFODNN7EXAMPLE AKIAI44QH8DHBEXAMPLE ASIAIOSFODNN7EXAMPLE",
        f"sk-{'0' * 48} sk-proj-{'0' * 48} ghp_{'0' * 36} AKIA{'A' * 16}",
        "sk-1234567890abcdef1234567890abcdef sk-abcdefghijklmnopqrstuvwxyz1234567890",
        JWT_IO,
        JWT_IO_TODAY,
        "hf_servingcellpriorityparametersdescription_h_prio",
        "xoxb-your-token, xoxp-1234567890, xapp-1",
        "the header eyJhbGciOiJIUzI1NiJ9 of a token, and eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        'if "-----BEGIN PRIVATE KEY-----" in text: raise ValueError("a private key")',
        f"-----BEGIN CERTIFICATE-----\n{PEM_BODY}\n-----END CERTIFICATE-----",
        f"-----BEGIN PUBLIC KEY-----\n{PEM_BODY}\n-----END PUBLIC KEY-----",
        "sk_test_4242424242424242 pk_live_4242424242424242 sk_live_...",
        "sig=abc&config=1 AccountKey=... SharedAccessKey=key",
        "https://hooks.slack.com/services/T000/B000/XXX",
        "glpat-token npm_config_registry npm_package_version",
    ],
)
def test_ordinary_text_is_no_token(text: str) -> None:
    assert find_tokens(text) == []


@pytest.mark.parametrize(
    "part",
    ["-", "sk-", "A", "eyJ", "eyJ.", "eyJ-", "_", "=", "AccountKey=", "-----BEGIN PRIVATE KEY-----\n", "a: ", " \n"],
)
def test_a_long_text_without_tokens_is_looked_through_at_once(part: str) -> None:
    assert find_tokens(part * 30_000) == []


@pytest.mark.parametrize("part", ["-", "_", "=", "a: ", " \n", "\\n", "a: b\n", "E "])
def test_a_key_without_content_is_looked_through_at_once(part: str) -> None:
    assert find_tokens(f"-----BEGIN PRIVATE KEY-----{part * 30_000}") == []


@pytest.mark.parametrize("part", ["sk-ant-", "ghp_", "glpat-", "xoxb-1-", "github_pat_"])
def test_a_long_token_is_one_token(part: str) -> None:
    assert len(find_tokens(part * 30_000)) == 1
    assert len(find_tokens(f"{part}{'x' * 30}" * 3_000)) <= 1
