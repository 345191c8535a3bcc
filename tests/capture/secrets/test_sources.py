"""Secret sources: the secrets in variables, headers and URLs."""

from __future__ import annotations

import base64
import json

import pytest

from pytest_chatprompt.capture.secrets.names import secrets_of_header, secrets_of_url, secrets_of_variable

KEY = "k3y-0123456789"
LONG_KEY = "q7Rk2ZpX9vLmT4wNc8Yb"
PAIR = {f"{LONG_KEY}a", f"{LONG_KEY}b"}
# The whole of a value.
ALL = "*"
LINE_1 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
LINE_2 = "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu"
PEM = f"-----BEGIN PRIVATE KEY-----\n{LINE_1}\n{LINE_2}\nq1g=\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        pytest.param("API_KEY", KEY, {KEY}, id="a key"),
        pytest.param("API_KEY", f" {KEY}\n", {KEY}, id="white space around it"),
        pytest.param("API_KEY", "", set(), id="empty"),
        pytest.param(
            "API_KEYS", f"{KEY}-1234567, {KEY}-7654321", {ALL, f"{KEY}-1234567", f"{KEY}-7654321"}, id="a list"
        ),
        pytest.param(
            "SIGNING_KEYS", f"{'q7Rk2ZpX9vLmT4wN='} words-and-12", {"q7Rk2ZpX9vLmT4wN=", ALL}, id="base64 in a list"
        ),
        pytest.param("HOME", f"/home/{KEY}", set(), id="a variable without secrets"),
        pytest.param("PARTITION_KEY", "messages", set(), id="a key of data"),
        pytest.param("SIGNING_KEY", "messages", set(), id="a word"),
        pytest.param("PRIVATE_KEY", PEM, {PEM, LINE_1, LINE_2}, id="a PEM"),
        pytest.param("PRIVATE_KEY", PEM.replace("\n", "\\n"), {ALL, LINE_1, LINE_2}, id="a PEM in one line"),
        pytest.param("DATABASE_URL", "postgres://me:s3cr3t%2Fpw@db/x", {"s3cr3t/pw"}, id="a password in a URL"),
        pytest.param("DATABASE_URL", "postgres://me:postgres@db/x", set(), id="a word as password"),
        pytest.param("DATABASE_URL", "postgres://db:5432/x", set(), id="a URL without user"),
        pytest.param("HTTPS_PROXY", "http://me:s3cr3t-pw@proxy:8080", {"s3cr3t-pw"}, id="a password in any URL"),
        pytest.param("HTTPS_PROXY", "http://me:s3cr@t-pw@proxy", {"s3cr@t-pw"}, id="a password that is not encoded"),
        pytest.param("FEED_URL", f"https://x.example/?code={KEY}&page=1", {KEY}, id="a key in a query"),
        pytest.param("REDIS_DSN", "host=db user=me password='s3cr3t pw'", {"s3cr3t pw"}, id="a connection string"),
        pytest.param(
            "STORAGE_CONNECTION_STRING", f"AccountName=me;AccountKey={KEY}==;Suffix=x", {f"{KEY}=="}, id="a storage key"
        ),
        pytest.param(
            "MY_CONFIG",
            json.dumps({"a": [{"private_key": PEM, "id": KEY}]}),
            {json.dumps(PEM)[1:-1], LINE_1, LINE_2},
            id="JSON",
        ),
        pytest.param("API_KEYS", json.dumps([f"{LONG_KEY}a", f"{LONG_KEY}b"]), {ALL, *PAIR}, id="a list in JSON"),
        pytest.param(
            "API_KEYS", json.dumps([LONG_KEY[:16], LONG_KEY[:15]]), {ALL, LONG_KEY[:16]}, id="shorter keys in a list"
        ),
        pytest.param("API_KEYS", f"{LONG_KEY}a;{LONG_KEY}b", {ALL, *PAIR}, id="a list with semicolons"),
        pytest.param("API_KEYS", f"prod={LONG_KEY}a,dev={LONG_KEY}b", {ALL, *PAIR}, id="a list with names"),
        pytest.param("API_KEYS", f"prod:{LONG_KEY}a dev:{LONG_KEY}b", {ALL, *PAIR}, id="a list with names and colons"),
        pytest.param(
            "API_KEYS",
            json.dumps({"prod": {"east": f"{LONG_KEY}a"}, "dev": f"{LONG_KEY}b", "key_id": "3", "region": "eu-west-1"}),
            {ALL, *PAIR},
            id="keys by name in JSON",
        ),
        pytest.param("DB_LOGIN_AUTH", f"me:{LONG_KEY}", {ALL, LONG_KEY}, id="a user and a password"),
        pytest.param("ODBC", f"Server=db;Uid=me;Pwd={KEY};", {KEY}, id="a connection string in any variable"),
        pytest.param("ODBC", f"Server=db;Pwd={KEY},x;", {KEY, f"{KEY},x"}, id="a comma in a password, or behind it"),
        pytest.param("JAVA_OPTS", f"-Xmx1g -Ddb.password={KEY} --api-key={KEY}x", {KEY, f"{KEY}x"}, id="options"),
        pytest.param(
            "OTEL_EXPORTER_OTLP_HEADERS",
            f"Authorization=Basic%20{KEY},tenant=my-tenant-1",
            {KEY, f"{KEY},tenant=my-tenant-1"},
            id="headers of OTLP",
        ),
        pytest.param("CUSTOM_HEADERS", f"X-Api-Key: {KEY}\nX-Tenant: my-tenant-1", {KEY}, id="headers in lines"),
        pytest.param("CURL_HEADER", f"Authorization: Bearer {KEY}", {KEY}, id="a header"),
        pytest.param("SETTINGS", f"tenant: my-tenant-1\ntoken: '{KEY}'", {KEY}, id="YAML"),
        pytest.param("MY_CREDENTIALS", "C:\\keys\\service-3f2a9cdd81.json", set(), id="a path of Windows"),
        pytest.param("KEY_VAULT_NAME", LONG_KEY, set(), id="a name about keys"),
        pytest.param("KEYBOARD_LAYOUT", LONG_KEY, set(), id="no key at all"),
        pytest.param("PARTITION_KEY_EU", LONG_KEY, set(), id="a key of data with its place behind it"),
        pytest.param("MY_CONFIG", "{" * 100_000, set(), id="no JSON"),
        pytest.param("MY_CONFIG", '{"a":' * 100_000 + "1" + "}" * 100_000, set(), id="JSON that is too deep"),
    ],
)
def test_the_secrets_of_a_variable(name: str, value: str, secrets: set[str]) -> None:
    assert set(secrets_of_variable(name, value)) == {value if secret == ALL else secret for secret in secrets}


def basic(credentials: str) -> str:
    return base64.b64encode(credentials.encode()).decode()


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        pytest.param("authorization", f"Bearer {KEY}", {KEY}, id="a scheme"),
        pytest.param("X-Auth-Token", KEY, {KEY}, id="upper case"),
        pytest.param("Ocp-Apim-Subscription-Key", KEY, {KEY}, id="Azure's"),
        pytest.param("authorization", "Bearer not-needed", set(), id="a placeholder"),
        pytest.param("authorization", f"Basic {basic('me:s3cr3t-pw')}", {basic("me:s3cr3t-pw")}, id="basic"),
        pytest.param("authorization", f"AWS4-HMAC-SHA256 Credential={KEY}, Signature={KEY}", set(), id="a signature"),
        pytest.param("cookie", f"a=1; session={KEY}; theme=dark-mode-2", {KEY}, id="cookies"),
        pytest.param("content-type", KEY, set(), id="another header"),
    ],
)
def test_the_credentials_in_a_header(name: str, value: str, secrets: set[str]) -> None:
    assert set(secrets_of_header(name, value)) == secrets


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        pytest.param(f"https://x.example/a?key={KEY}&b={KEY}x", {KEY}, id="a parameter"),
        pytest.param(f"https://x.example/a?b=1;sig={KEY}%3D", {f"{KEY}="}, id="percent-encoded"),
        pytest.param("https://x.example/a?key=offline-key", set(), id="a placeholder"),
        pytest.param("https://me:s3cr3t-pw@x.example/", {"s3cr3t-pw"}, id="a password"),
        pytest.param("https://x.example/", set(), id="none"),
        pytest.param("https://x.example/a?key=a&code=a%3D%3D&token=", set(), id="short values"),
        pytest.param(f"https://x.example/a?page_token={KEY}&nextToken={KEY}", set(), id="the token of a page"),
        pytest.param("https://x.example/a?key=media/avatar.png&code=DE", set(), id="a path, a word"),
    ],
)
def test_the_secrets_of_a_url(url: str, secrets: set[str]) -> None:
    assert set(secrets_of_url(url)) == secrets
