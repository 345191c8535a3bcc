"""The body of a request: decoded as a snapshot shows it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from pytest_chatprompt.capture.body import decode_body, part_name


def multipart(*parts: bytes, boundary: str = "b1") -> tuple[bytes, dict[str, str]]:
    body = b"".join(f"--{boundary}\r\n".encode() + part + b"\r\n" for part in parts) + f"--{boundary}--\r\n".encode()
    return body, {"content-type": f"multipart/form-data; boundary={boundary}"}


def test_a_multipart_body_is_the_list_of_its_parts() -> None:
    body, headers = multipart(
        b'Content-Disposition: form-data; name="purpose"\r\n\r\n42',
        b'Content-Disposition: form-data; name="a"; filename="a.json"\r\nContent-Type: application/json\r\n\r\n{"b": 1}',
        b'Content-Disposition: form-data; name="c"; filename="c"\r\n\r\n\xff\x00',
        b"\r\ntwo\r\nlines",
        b'Content-Disposition: form-data; name="d"\r\n\r\n{no JSON',
    )
    assert decode_body(body, headers) == {
        "multipart": [
            {"headers": {"Content-Disposition": 'form-data; name="purpose"'}, "content": "42"},
            {
                "headers": {
                    "Content-Disposition": 'form-data; name="a"; filename="a.json"',
                    "Content-Type": "application/json",
                },
                "content": {"b": 1},
            },
            {"headers": {"Content-Disposition": 'form-data; name="c"; filename="c"'}, "content": {"base64": "/wA="}},
            {"headers": {}, "content": "two\r\nlines"},
            {"headers": {"Content-Disposition": 'form-data; name="d"'}, "content": "{no JSON"},
        ]
    }


def test_the_boundary_that_a_client_chooses_is_not_in_it() -> None:
    def body() -> Any:
        request = httpx.Request("POST", "https://x.example", data={"a": "b"}, files={"c": ("c.txt", b"d")})
        request.read()
        return decode_body(request.content, request.headers)

    first = body()
    assert first == body()
    assert [part["content"] for part in first["multipart"]] == ["b", "d"]


@pytest.mark.parametrize(
    "content_type", ['multipart/mixed; a=b; boundary="b 1"', 'MULTIPART/MIXED; Boundary="b 1"; c=d']
)
def test_a_boundary_may_be_quoted(content_type: str) -> None:
    body, _ = multipart(b"\r\nx", boundary="b 1")
    assert decode_body(body, {"content-type": content_type}) == {"multipart": [{"headers": {}, "content": "x"}]}


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        pytest.param(b"plain", "plain", id="text"),
        pytest.param(b"\xff", {"base64": "/w=="}, id="bytes"),
        pytest.param(b"--b1\r\n\r\nx", "--b1\r\n\r\nx", id="no end"),
        pytest.param(b"x\r\n--b1\r\n\r\nx\r\n--b1--", "x\r\n--b1\r\n\r\nx\r\n--b1--", id="text in front"),
        pytest.param(b"--b1\r\nx\r\n--b1--", "--b1\r\nx\r\n--b1--", id="a part without the empty line"),
    ],
)
def test_a_body_that_is_not_multipart_despite_its_header_is_shown_as_it_is(content: bytes, shown: Any) -> None:
    assert decode_body(content, {"content-type": "multipart/form-data; boundary=b1"}) == shown


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ({"headers": {"Content-Disposition": 'form-data; name="a b"; filename="c"'}}, "a b"),
        ({"headers": {"content-disposition": "form-data; filename=c; name=a"}}, "a"),
        ({"headers": {"Content-Disposition": 'form-data; filename="c"'}}, ""),
        ({"headers": "x"}, ""),
        ({}, ""),
    ],
)
def test_the_name_of_a_part(part: dict[str, Any], name: str) -> None:
    assert part_name(part) == name
