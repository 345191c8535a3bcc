"""The body of a request: decoded as a snapshot shows it."""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from hypothesis import example, given, strategies as st

from pytest_chatprompt.providers.http.request_body import decode_body, part_name, read_body
from pytest_chatprompt.snapshots.layout import dump

JSON_TYPE = {"content-type": "application/json"}
FORM_TYPE = {"content-type": "multipart/form-data; boundary=b1"}
GZIP = {"content-encoding": "gzip"}
DEFLATE = {"content-encoding": "deflate"}
HELLO = gzip.compress(b"hello", mtime=0)


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
    shown = {"multipart": [{"headers": {}, "content": "x"}], "subtype": "mixed"}
    assert decode_body(body, {"content-type": content_type}) == shown


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        pytest.param(b"plain", "plain", id="text"),
        pytest.param(b"\xff", {"base64": "/w=="}, id="bytes"),
        pytest.param(b"--b1\r\n\r\nx", "--b1\r\n\r\nx", id="no end"),
        pytest.param(b"x\r\n--b1\r\n\r\nx\r\n--b1--", "x\r\n--b1\r\n\r\nx\r\n--b1--", id="text in front"),
        pytest.param(b"--b1\r\nx\r\n--b1--", "--b1\r\nx\r\n--b1--", id="a part without the empty line"),
        pytest.param(b"--b1\r\n\r\nx\r\n--b1--more", "--b1\r\n\r\nx\r\n--b1--more", id="text behind"),
        pytest.param(
            b"--b1\r\na: 1\r\na: 2\r\n\r\nx\r\n--b1--",
            "--b1\r\na: 1\r\na: 2\r\n\r\nx\r\n--b1--",
            id="a part with a header twice",
        ),
        pytest.param(
            b"--b1\r\na:1\r\n\r\nx\r\n--b1--", "--b1\r\na:1\r\n\r\nx\r\n--b1--", id="a header in another layout"
        ),
        pytest.param(
            b"--b1\r\na: \xff\r\n\r\nx\r\n--b1--",
            {"base64": "LS1iMQ0KYTog/w0KDQp4DQotLWIxLS0="},
            id="a header that is not UTF-8",
        ),
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


def shown(content: bytes, headers: Mapping[str, str] = JSON_TYPE) -> str:
    """The lines of the snapshot."""
    return dump({"request": decode_body(content, headers)})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(b'{"a":1,"a":2}', b'{"a":2}', id="a repeated key"),
        pytest.param(b'[{"b":{"a":1,"a":1}}]', b'[{"b":{"a":1}}]', id="a repeated key further in"),
        pytest.param(b"[1e400]", b"[Infinity]", id="a number that is too large, and infinity"),
        pytest.param(b"[1e400]", b"[1e500]", id="two numbers that are too large"),
        pytest.param(b"[-1e400]", b"[-Infinity]", id="a negative number that is too large"),
        pytest.param(b"[1e-400]", b"[0.0]", id="a number that is too small"),
        pytest.param(b"[0.1000000000000000055]", b"[0.1]", id="more digits than a float has"),
        pytest.param(b"[-0]", b"[0]", id="an integer minus zero"),
        pytest.param(b"[-0.0]", b"[0.0]", id="a float minus zero"),
        pytest.param(b"[1.0]", b"[1]", id="a float and an integer"),
        pytest.param(b"[1E2]", b"[100.0]", id="an exponent"),
        pytest.param(b"[1.50]", b"[1.5]", id="a zero at the end"),
        pytest.param(b"[" + b"1" * 5000 + b"]", b"[" + b"1" * 4999 + b"]", id="more digits than Python reads"),
        pytest.param(b"[9007199254740993]", b"[9007199254740992]", id="more digits than JavaScript keeps"),
        pytest.param(b"[true]", b"[1]", id="a boolean and a number"),
        pytest.param(b"null", b"", id="null and nothing"),
        pytest.param(b"null", b'"null"', id="null and its text"),
        pytest.param(b'"hello"', b"hello", id="a JSON string and a text"),
        pytest.param(b'"\\"hello\\""', b'"hello"', id="a JSON string with quotes in it"),
        pytest.param(b'["\\ud83d"]', b'["\\ufffd"]', id="half a character and its replacement"),
        pytest.param(b'["\\ud83d"]', b'["\\ud83e"]', id="halves of two characters"),
        pytest.param(b'["\\ud83d"]', b'["?"]', id="half a character and a question mark"),
        pytest.param(b"\xff\x00", b'{"base64":"/wA="}', id="bytes and what shows them"),
        pytest.param(b"\xff\x00", b'"/wA="', id="bytes and their base64"),
        pytest.param(b"\xef\xbb\xbf[1]", b"[1]", id="a byte-order mark"),
        pytest.param(b"a=1&b=2", b'"a=1&b=2"', id="a form and its text as JSON"),
        pytest.param(b"a=1&b=2", b'{"a":"1","b":"2"}', id="a form and the same as JSON"),
    ],
)
def test_different_bodies_are_different_snapshots(one: bytes, other: bytes) -> None:
    assert shown(one) != shown(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            (b"--b1\r\n\r\nx\r\n--b1--", FORM_TYPE),
            (b'{"multipart":[{"headers":{},"content":"x"}]}', JSON_TYPE),
            id="a form and what shows it",
        ),
        pytest.param(
            (b"--b1\r\n\r\nx\r\n--b1--", FORM_TYPE), (b"--b1\r\n\r\nx\r\n--b1--", {}), id="a form and its text"
        ),
        pytest.param(
            (b"--b1\r\n\r\nx\r\n--b1--", FORM_TYPE),
            (b"--b1\r\n\r\nx\r\n--b1--", {"content-type": "multipart/mixed; boundary=b1"}),
            id="parts of two kinds",
        ),
        pytest.param(
            (b"--b1\r\n\r\nx\r\n--b1--", FORM_TYPE), (b"--b1\r\n\r\nx\r\n--b1--\r\ny", FORM_TYPE), id="text behind it"
        ),
        pytest.param(
            (b'--b1\r\n\r\n{"base64":"/wA="}\r\n--b1--', FORM_TYPE),
            (b"--b1\r\n\r\n\xff\x00\r\n--b1--", FORM_TYPE),
            id="a part of bytes and what shows it",
        ),
        pytest.param((HELLO, GZIP), (HELLO + b"more", GZIP), id="data behind gzip"),
        pytest.param((HELLO, GZIP), (HELLO + gzip.compress(b"!"), GZIP), id="a second member of gzip"),
        pytest.param((HELLO, GZIP), (HELLO[:-1], GZIP), id="gzip that is cut"),
        pytest.param((HELLO[:-1], GZIP), (HELLO[:-1], {}), id="gzip that is cut, and its bytes"),
        pytest.param((HELLO, GZIP), (b"hello", GZIP), id="a text that is not compressed"),
        pytest.param((zlib.compress(b"hello"), DEFLATE), (zlib.compress(b"hello") * 2, DEFLATE), id="deflate twice"),
        pytest.param((b"hello", {"content-encoding": "br"}), (b"hello", {"content-encoding": "zstd"}), id="unknown"),
        pytest.param(
            (b"hello", {"content-encoding": "br"}),
            (b'{"base64":"aGVsbG8=","encoding":"br"}', {}),
            id="an unknown encoding and what shows it",
        ),
    ],
)
def test_bodies_of_different_kinds_are_different_snapshots(one: Any, other: Any) -> None:
    assert shown(*one) != shown(*other)


def test_all_members_of_gzip_are_decompressed() -> None:
    assert decode_body(HELLO + gzip.compress(b" you"), GZIP) == "hello you"
    assert decode_body(HELLO, {"content-encoding": " GZIP "}) == "hello"


@pytest.mark.parametrize("content", [HELLO[:-1], HELLO + b"more", b"hello"])
def test_bytes_that_cannot_be_decompressed_are_shown_with_their_encoding(content: bytes) -> None:
    written = base64.b64encode(content).decode()
    assert decode_body(content, GZIP) == {"base64": written, "encoding": "gzip"}


@pytest.mark.parametrize(
    ("body", "read"),
    [('{"a":1,"a":2}', {"a": 2}), ("null", None), ("no JSON", "no JSON"), ("[" * 100_000, "[" * 100_000), ({}, {})],
)
def test_an_api_reads_json_that_is_shown_as_its_text(body: Any, read: Any) -> None:
    assert read_body(body) == read


# Few of each, so that many of them meet.
KEYS = st.sampled_from(["a", "b", "base64", "multipart", "subtype", "encoding", "\\ud83d", "\\u0061"])
NUMBERS = ["0", "-0", "1", "1.0", "-0.0", "1E2", "100.0", "1e400", "0.10", "1e+30", "1" * 4400, "NaN", "Infinity"]
SCALARS = st.sampled_from([*NUMBERS, "true", "null", '""', '"1"', '"/wA="', '"\\ud83d"', '"\\ud83d\\ude00"', '"😀"'])


def _objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(KEYS, inner), max_size=3)
    return pairs.map(lambda items: "{" + ", ".join(f'"{key}": {value}' for key, value in items) + "}")


def _arrays(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]")


JSON_TEXTS = st.recursive(SCALARS, lambda inner: _objects(inner) | _arrays(inner), max_leaves=6)
CONTENTS = JSON_TEXTS.map(str.encode) | st.binary(max_size=8) | st.sampled_from([b"", b"hello", b"a=1&b=2", b" "])
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"{}\[\]:,]+|[{}\[\]:,]')


def tokens(text: str) -> list[str]:
    """JSON text without its white space, each string in one way of writing it."""
    return [json.dumps(json.loads(token)) if token.startswith('"') else token for token in TOKEN.findall(text)]


def restored(data: Any) -> bytes | list[str]:
    """The bytes that were sent, as the data of a snapshot tells them; of JSON data the tokens."""
    match data:
        case None:
            return b""
        case str():
            return data.encode()
        case {"base64": str(written), **rest} if rest.keys() <= {"encoding"}:
            return base64.b64decode(written)
        case {"multipart": list(parts), **rest} if not rest:
            return b"".join(_restored_parts(parts)) + b"--b1--"
    return tokens(json.dumps(data))


def _restored_parts(parts: list[Any]) -> Iterator[bytes]:
    for part in parts:
        head = "".join(f"{name}: {value}\r\n" for name, value in part["headers"].items()).encode()
        content = part["content"]
        body = restored(content)
        yield b"--b1\r\n" + head + b"\r\n" + (body if isinstance(body, bytes) else "".join(body).encode()) + b"\r\n"


@given(CONTENTS)
@example(b'{"base64": "/wA="}')
@example(b'{"multipart": [], "subtype": "mixed"}')
@example(b"[1.7976931348623157e+308, 5e-324, 12345678901234567890]")
def test_what_is_shown_tells_what_was_sent(content: bytes) -> None:
    body = restored(decode_body(content, JSON_TYPE))
    assert body == (content if isinstance(body, bytes) else tokens(content.decode()))


@given(st.lists(st.tuples(st.sampled_from([b"", b"a: 1\r\n", b"a:1\r\n", b"a: 1\r\na: 2\r\n"]), CONTENTS), max_size=3))
@example([(b"", b'{"a": 0, "base64": 0}')])
def test_what_is_shown_of_a_form_tells_what_was_sent(parts: list[tuple[bytes, bytes]]) -> None:
    content = b"".join(b"--b1\r\n" + head + b"\r\n" + body + b"\r\n" for head, body in parts) + b"--b1--"
    data = decode_body(content, FORM_TYPE)
    is_form = isinstance(data, dict) and "multipart" in data
    if is_form and any(isinstance(restored(part["content"]), list) for part in data["multipart"]):
        # Of JSON the white space is lost.
        content, restored_content = (re.sub(rb"\s", b"", each) for each in (content, _without_escapes(restored(data))))
        assert _without_escapes(content) == restored_content
    else:
        assert restored(data) == content


def _without_escapes(content: Any) -> bytes:
    assert isinstance(content, bytes)
    return re.sub(rb'"(?:[^"\\]|\\.)*"', lambda token: json.dumps(json.loads(token[0])).encode(), content)
