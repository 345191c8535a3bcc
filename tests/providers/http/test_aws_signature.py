"""The signature of requests to AWS: it is the one of Amazon's own rules, and what is missing is told."""

from __future__ import annotations

import hashlib
import hmac
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from pytest_chatprompt import MissingSettingError
from pytest_chatprompt.providers.http.aws_signature import AWSSigner

URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/converse"
WITHOUT = "set the environment variable AWS_BEARER_TOKEN_BEDROCK"


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of AWS is set on this machine."""
    for name in (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"),
        *("AWS_DEFAULT_REGION", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def signer() -> AWSSigner:
    return AWSSigner("Amazon Bedrock", WITHOUT)


def request(content: bytes = b'{"a":1}', url: str = URL) -> httpx.Request:
    return httpx.Request("POST", url, content=content, headers={"content-type": "application/json"})


def signature(secret: str, content: bytes, headers: dict[str, str], names: str, region: str) -> str:
    """The signature by https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html."""

    def sign(key: bytes, text: str) -> bytes:
        return hmac.new(key, text.encode(), hashlib.sha256).digest()

    path = quote(httpx.URL(URL).raw_path.decode(), safe="/~")
    lines = "".join(f"{name}:{headers[name]}\n" for name in names.split(";"))
    canonical = f"POST\n{path}\n\n{lines}\n{names}\n{hashlib.sha256(content).hexdigest()}"
    date = headers["x-amz-date"]
    scope = f"{date[:8]}/{region}/bedrock/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = sign(key, part)
    return sign(key, text).hex()


@pytest.mark.parametrize(
    ("token", "names"),
    [
        pytest.param(None, "content-type;host;x-amz-date", id="a key of one's own"),
        pytest.param("t0ken", "content-type;host;x-amz-date;x-amz-security-token", id="temporary credentials"),
    ],
)
def test_the_signature_is_that_of_amazons_rules(token: str | None, names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    if token:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    content = '{"text":"grüß"}'.encode()
    headers = signer().sign(request(content), "eu-west-1")
    assert headers.get("x-amz-security-token") == token
    assert "host" not in headers
    sent = {**headers, "content-type": "application/json", "host": "bedrock-runtime.eu-west-1.amazonaws.com"}
    expected = signature("s3cret", content, sent, names, "eu-west-1")
    scope = f"AKID/{headers['x-amz-date'][:8]}/eu-west-1/bedrock/aws4_request"
    assert headers["authorization"] == (
        f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={expected}"
    )


def test_the_credentials_of_a_profile_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "credentials").write_text("[team]\naws_access_key_id = TEAM\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_PROFILE", "team")
    assert "Credential=TEAM/" in signer().sign(request(), "us-east-1")["authorization"]


def test_requests_are_signed_in_many_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    shared, start = signer(), threading.Barrier(8)

    def sign(number: int) -> str:
        start.wait(60)
        return shared.sign(request(str(number).encode()), "us-east-1")["authorization"]

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(sign, range(8)))) == 8


def test_without_botocore_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(MissingSettingError) as caught:
        signer().sign(request(), "us-east-1")
    assert str(caught.value) == (
        "requests to Amazon Bedrock are signed by botocore, which is not installed: "
        "install it (pip install botocore), or set the environment variable AWS_BEARER_TOKEN_BEDROCK"
    )
    assert signer().profile_region() is None


def test_without_credentials_the_error_says_where_they_are_looked_for() -> None:
    with pytest.raises(MissingSettingError) as caught:
        signer().sign(request(), "us-east-1")
    assert str(caught.value) == (
        "no credentials for Amazon Bedrock: log in to AWS as for its command line (a profile in ~/.aws, or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), or set the environment variable AWS_BEARER_TOKEN_BEDROCK"
    )


def test_a_profile_that_does_not_exist_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    for call in (lambda: signer().sign(request(), "us-east-1"), lambda: signer().profile_region()):
        with pytest.raises(MissingSettingError) as caught:
            call()
        assert re.fullmatch(
            r"the credentials for Amazon Bedrock cannot be loaded: The config profile \(nobody\) could not be found",
            str(caught.value),
        )
