"""Secret sources: the secrets in environment variables, headers and URLs.

A value may hold several: the whole of it, the lines of a PEM, the password in a URL, the key in a connection string or
a JSON document.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from pytest_chatprompt.capture.secrets.names import (
    SecretKind,
    has_key_inside,
    is_about_secret,
    is_secret_parameter,
    kind_of_key,
    kind_of_variable,
)
from pytest_chatprompt.capture.secrets.values import MIN_SECRET_LENGTH, looks_random, looks_secret, names_data

# pytest sets this variable to the name of the test that runs, with its parameters: it holds no secret.
NAME_OF_TEST: Final = "PYTEST_CURRENT_TEST"
_MIN_PART_LENGTH: Final = 16
# A line break may be the two characters `\n`, since many tools cannot set a variable of several lines.
_LINE_BREAK: Final = re.compile(r"\n|\\n")
_LINE: Final = re.compile(r"[A-Za-z0-9+/=_.~:-]+")
# Up to the last `@`: many write a password into a URL as it is.
_USER_INFO: Final = re.compile(r"//([^\s/:@]*)(?::([^\s/?]+))?@")
# `name=value`, as in a connection string and in options, and `name: value`, as in headers and in YAML. A scheme may
# stand in front of the value; headers of OTLP are percent-encoded.
_ASSIGNMENT: Final = re.compile(
    r"(?<![\w.-])-{0,2}([A-Za-z][\w.-]*)(?:\s*=\s*|:\s+)(?i:(?:Bearer|Basic|Token)(?:\s|%20)+)?"
    r"(\"[^\"]*\"|'[^']*'|[^;&\s]+)"
)


def secrets_of_variable(name: str, value: str) -> Iterator[str]:
    """Find the secrets in an environment variable.

    Args:
        name: its name.
        value: its value; white space around it does not count.
    """
    value = value.strip()
    if len(value) < MIN_SECRET_LENGTH or name == NAME_OF_TEST:
        return
    kind = kind_of_variable(name)
    if kind is None:
        if has_key_inside(name) and looks_random(value):
            yield value
    else:
        if looks_secret(value, kind):
            yield value
        yield from _parts(value)
    if "://" in value:
        yield from secrets_of_url(value)
    yield from _assigned(value)
    if value.startswith(("{", "[")):
        try:
            yield from _secrets_of_json(json.loads(value), is_inside_secret=kind is not None)
        except (ValueError, RecursionError):
            return


def secrets_of_header(name: str, value: str) -> Iterator[str]:
    """Find the credentials in a header of a request.

    Args:
        name: in any case.
        value: a scheme may stand in front of the credential: `Bearer ...`.
    """
    kind = kind_of_variable(name)
    if kind is None or "signature=" in value.lower():
        # A signature is another one for each request, and no secret once the request was sent.
        return
    if name.lower() == "cookie":
        pairs = (cookie.strip().partition("=") for cookie in value.split(";"))
        yield from (content for _, _, content in pairs if looks_secret(content, SecretKind.UNCERTAIN))
        return
    scheme, _, credential = value.strip().rpartition(" ")
    if looks_secret(credential, kind):
        yield credential
    if scheme.lower() == "basic":
        try:
            user, _, password = base64.b64decode(credential).decode(errors="replace").partition(":")
        except ValueError:
            return
        if looks_secret(password, SecretKind.PHRASE):
            yield password
        if looks_secret(user, SecretKind.UNCERTAIN) and not password:
            yield user


def secrets_of_url(url: str) -> Iterator[str]:
    """Find the password of a URL, and its query parameters with a secret's name.

    Args:
        url: as it is sent, percent-encoded; a longer text that holds URLs is fine too.
    """
    for user, password in _USER_INFO.findall(url):
        if password and looks_secret(unquote(password), SecretKind.PHRASE):
            yield unquote(password)
        if not password and looks_secret(unquote(user), SecretKind.UNCERTAIN):
            # Tokens are used as user names: `https://TOKEN@host/`.
            yield unquote(user)
    for parameter in re.split("[&;]", url.partition("?")[2]):
        name, _, value = parameter.partition("=")
        name, value = unquote(name), unquote(value)
        may_be_data = kind_of_key(name) is SecretKind.UNCERTAIN and names_data(value)
        if is_secret_parameter(name) and looks_secret(value, SecretKind.KEY) and not may_be_data:
            yield value


def _parts(value: str) -> Iterator[str]:
    """The lines of a PEM, and the keys of a list of keys, which may have names: `prod=...,dev=...`."""
    parts = [part.strip() for part in _LINE_BREAK.split(value)]
    if len(parts) == 1:
        parts = re.split(r"[,;\s]+", value)
    for part in parts:
        named = re.split("[=:]", part, maxsplit=1)[-1]
        if _looks_like_part(named):
            yield named
        elif len(parts) > 1 and _looks_like_part(part):
            yield part


def _looks_like_part(part: str) -> bool:
    return (
        len(part) >= _MIN_PART_LENGTH and _LINE.fullmatch(part) is not None and looks_secret(part, SecretKind.UNCERTAIN)
    )


def _assigned(value: str) -> Iterator[str]:
    """The values of secret names in a connection string, in options or headers: `Server=db;Password=...`."""
    for name, quoted in _ASSIGNMENT.findall(value):
        kind, content = kind_of_variable(name), quoted.strip("\"'")
        if kind is not None:
            # A comma belongs to a password, or ends a header.
            yield from (part for part in {content, content.partition(",")[0]} if looks_secret(part, kind))


def _secrets_of_json(data: Any, *, is_inside_secret: bool) -> Iterator[str]:
    """The values of secret names in a JSON document, such as the key file of a service account.

    Args:
        data: the document, or a part of it.
        is_inside_secret: whether the name of a secret stands around it: `{"api_keys": {"prod": ...}}`.
    """
    for name, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        if not isinstance(value, str):
            is_secret = is_inside_secret or kind_of_variable(str(name)) is not None
            yield from _secrets_of_json(value, is_inside_secret=is_secret)
            continue
        # A list holds keys and nothing else; what has a name of its own may be something else.
        looks_like_key = _looks_like_part if isinstance(data, list) else looks_random
        if is_inside_secret and looks_like_key(value) and not is_about_secret(str(name)):
            yield value
        yield from secrets_of_variable(str(name), value)
