"""Secret names and values: what is a secret by its name, by its value, and by where it stands; see docs/security.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise
from typing import Final
from urllib.parse import parse_qsl, unquote


class SecretKind(Enum):
    """What a name says of the value that it belongs to."""

    # A password or the like, which may consist of several words.
    PHRASE = auto()
    # A key for an API or the like, which never consists of words alone.
    KEY = auto()
    # A key of some sort, or a name of something, which may consist of words and numbers.
    UNCERTAIN = auto()


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD_OF_NAME: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PHRASES: Final = _set(
    "pass passcode password passwords passwd passphrase pw pwd secret secrets token tokens credential credentials creds"
)
# Written in one word with what it belongs to: PGPASSWORD, SSHPASS, authtoken.
_PHRASE_ENDING: Final = re.compile(r".+(?:passw(?:or)?ds?|passphrase|secrets?|tokens?|credentials?)|(?:ssh|db|my)pass")
_KEYS: Final = _set("apikey apikeys pat pats auth authorization sig signature sas jwt bearer cookie")
_KEY_ENDING: Final = re.compile(r".*(?:api|access|secret|private|account|subscription|auth)keys?")
_CERTAIN_IN_BODIES: Final = (_PHRASES - {"pass", "token", "tokens"}) | {"apikey", "apikeys", "authorization"}
# What stands in front of `key` and `token`, and makes a secret of it in any context.
_MAKES_SECRET: Final = {
    "key": _set(
        "access account admin api app auth client encryption functions license master private secret service signing"
        " storage subscription"
    ),
    "token": _set(
        "access api app auth authorization bearer bot csrf github gitlab hf id jwt oauth personal private refresh"
        " secret security service session slack user xsrf"
    ),
}
# What makes something else of it: a key of data, a public key, a token of a text or a page.
_MAKES_DATA: Final = {
    "key": _set(
        "cache foreign gpg group hash idempotency index object partition pgp primary public range routing row shard"
        " sort unique websocket"
    ),
    "token": _set(
        "batch bos cached change cls completion context continuation cursor delta eos first idempotency input last mask"
        " max min n new next num output pad page pagination paging per prefix prev previous progress prompt reasoning"
        " resume resumption scroll sep skip special start starting stop suffix sync thinking total unk"
    ),
}
# Both in one word: `nextpagetoken`. Shorter words may end another one.
_MIN_ENDING: Final = 4
_HARMLESS_ENDING: Final = re.compile(
    rf".*(?:{'|'.join(word for word in _MAKES_DATA['token'] if len(word) >= _MIN_ENDING)})tokens?"
)
# At the end of a name these words say that it is about a secret, and does not hold it: TOKEN_URL, KEY_ID.
_ABOUT_SECRETS: Final = _set(
    "algorithm audience budget count dir encoding endpoint enabled expires expiry file folder format header hint host"
    " id ids info issuer kind length limit model name names path policy port prefix price provider region required ring"
    " scope scopes size sock store suffix timeout ttl type uri url usage user username vault version"
)
# At the end of a name these say nothing: API_KEY_PROD.
_QUALIFIERS: Final = _set(
    "b64 backup base base64 default dev development live main new old primary prod production secondary stage staging"
    " test value"
)
# The shell's names of the working folder; and what is too general.
_OTHER_NAMES: Final = _set("PWD OLDPWD keys tokens KEYS TOKENS")


def _words(name: str) -> list[str]:
    """The words of a name in lower case, without numbers and qualifiers at its end."""
    words = [word.lower() for word in _WORD_OF_NAME.findall(name)]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _QUALIFIERS):
        words.pop()
    return words


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable or header says that its value is secret: `DB_PASS`, `x-api-key`."""
    return kind_of_variable(name) is not None


@lru_cache(maxsize=4096)
def kind_of_variable(name: str) -> SecretKind | None:
    """What the name of a variable or header says of its value; `None` if it does not say that it is secret."""
    words = _words(name)
    if not words or words[-1] in _ABOUT_SECRETS or name in _OTHER_NAMES:
        return None
    before, last = ["", *words][-2:]
    if before in _MAKES_DATA.get(last.removesuffix("s"), ()) or _HARMLESS_ENDING.fullmatch(last):
        return None
    if any(word in _PHRASES or _PHRASE_ENDING.fullmatch(word) for word in words):
        return SecretKind.PHRASE
    is_pair = any(one in _MAKES_SECRET["key"] and two in ("key", "keys") for one, two in pairwise(words))
    if is_pair or last in _KEYS or any(map(_KEY_ENDING.fullmatch, words)):
        return SecretKind.KEY
    return SecretKind.UNCERTAIN if last in ("key", "keys") else None


@lru_cache(maxsize=4096)
def kind_of_key(name: str) -> SecretKind | None:
    """What a key of a body says of its value; `None` if it does not say that it is secret.

    Bodies hold tool parameters, ids and signatures of thoughts under names such as `key` and `token`.
    """
    kind = kind_of_variable(name)
    if kind is None:
        return None
    before, last = ["", *_words(name)][-2:]
    is_certain = last in _CERTAIN_IN_BODIES or _PHRASE_ENDING.fullmatch(last) or _KEY_ENDING.fullmatch(last)
    return kind if is_certain or before in _MAKES_SECRET.get(last.removesuffix("s"), ()) else None


def is_secret_parameter(name: str) -> bool:
    """Whether the value of a query parameter is hidden: `key`, `sig`, `access_token`, `subscription-key`."""
    return kind_of_variable(name) is not None or name.lower() == "code"


# --- values

# Shorter values may be ordinary words of a prompt; no vendor's key is that short.
MIN_SECRET_LENGTH: Final = 8
_MIN_DIFFERENT_CHARACTERS: Final = 4
_MOST_STEPS: Final = 200

_NUMBER: Final = re.compile(r"[-+]?[0-9][0-9.,:/ _-]*")
_SEPARATORS: Final = re.compile(r"[-_./:,@ ]+")
_ONE_WORD: Final = re.compile(r"[A-Za-z][a-z]{0,19}|[A-Z]{1,20}")
# A word, an abbreviation, or words as in `customerId`.
_PLAIN_WORD: Final = re.compile(r"[A-Za-z][a-z]{0,19}(?:[A-Z][a-z]{2,19}){0,5}|[A-Z]{2,20}")
# The same with a number, as in `gpt4` and `ipv6Address`, and numbers, as in `4o` and `20241022`.
_WORD_OR_NUMBER: Final = re.compile(
    rf"(?:{_PLAIN_WORD.pattern})(?:[0-9]{{1,4}}(?:[A-Z][a-z]{{2,19}}){{0,5}})?|[0-9]{{1,4}}[a-z]{{0,2}}|20[0-9]{{6}}"
)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PATH: Final = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]")
_FILE_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
_PLACEHOLDER: Final = re.compile(r"<.*>|\$\{?\w+\}?|\{\{? ?[\w.]+ ?\}?\}|%\w+%|\[[\w .-]*\]")
_WORD_OF_PLACEHOLDERS: Final = re.compile(
    r"(?:change(?:me)?|dummy|example|fake|hidden|insert|mock|offline|placeholder|redacted|replace(?:me)?|sample|test|your)[0-9]*",
    re.IGNORECASE,
)
# AWS's documents mark their keys so; the subject of the token on jwt.io is John Doe; a masked key shows its ends.
_EXAMPLE: Final = re.compile(
    r"EXAMPLE.*|.*EXAMPLE(?:KEY)?|.*eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l.*"
    r"|\S{0,12}(?:\.{3}|…|\*{3})[.*]*\S{0,6}|\S+(?:\.{3}|…)",
    re.DOTALL,
)


def looks_secret(value: str, kind: SecretKind) -> bool:
    """Whether a value is a secret, and not a short text, a number, words, a path, a URL or a placeholder."""
    if len(value) < MIN_SECRET_LENGTH or len(set(value)) < _MIN_DIFFERENT_CHARACTERS:
        return False
    if any(pattern.fullmatch(value) for pattern in (_NUMBER, _ONE_WORD, _PLACEHOLDER)):
        return False
    if _URL.match(value) or _is_path(value) or is_example(value):
        return False
    words = [word for word in _SEPARATORS.split(value) if word]
    if kind is SecretKind.UNCERTAIN or any(map(_WORD_OF_PLACEHOLDERS.fullmatch, words)):
        return not all(map(_WORD_OR_NUMBER.fullmatch, words))
    return kind is SecretKind.PHRASE or not all(map(_PLAIN_WORD.fullmatch, words))


def is_example(value: str) -> bool:
    """Whether a value is a known example of documents, a masked secret, or one character over and over."""
    return _EXAMPLE.fullmatch(value) is not None or _share_of_steps(value, 0) > 1 / 2


def is_counted(value: str) -> bool:
    """Whether most of a value counts: `1234567890abcdef`."""
    return _share_of_steps(value, 1) > 1 / 2


def _share_of_steps(value: str, step: int) -> float:
    """The part of the characters that are so many steps behind the one before them."""
    steps = [ord(two) - ord(one) for one, two in pairwise(value[:_MOST_STEPS])]
    return steps.count(step) / max(len(steps), 1)


def _is_path(value: str) -> bool:
    """Whether a value is a path: of a file, or made of words; base64 may hold slashes too."""
    is_rooted, is_file = _PATH.match(value) is not None, _FILE_EXTENSION.search(value) is not None
    if is_rooted and is_file:
        return True
    words = re.split(r"[-_./\\:, ~]+", value)
    return (is_rooted or ("/" in value and is_file)) and all(map(_WORD_OR_NUMBER.fullmatch, filter(None, words)))


# --- variables, headers and URLs

# The lines of a PEM, and the keys of a list of keys, which may have names: `prod=...,dev=...`.
_PART: Final = re.compile(r"[A-Za-z0-9+/_.~-]{16,}=*")
# Up to the last `@`: many write a password into a URL as it is.
_PASSWORD_IN_URL: Final = re.compile(r"//[^\s/:@]*:([^\s/?]+)@")
# `name=value`, as in a connection string, `name: value`, as in headers and JSON, and `--name value`, as in options. A
# scheme may stand in front of the value; headers of OTLP are percent-encoded.
_ASSIGNMENT: Final = re.compile(
    r"(?<![\w.-])(?:-{0,2}([A-Za-z][\w.-]*)(?:\s*=\s*|:\s+|[\"']:\s*)|--?([A-Za-z][\w-]*)\s+(?!-))"
    r"(?=[\[{]*(?i:(?:Bearer|Basic|Token)(?:\s|%20)+)?(\"[^\"]*\"|'[^']*'|[^;&\s]{1,1000}))"
)


def secrets_of_variable(name: str, value: str) -> Iterator[str]:
    """Find the secrets in an environment variable."""
    value = value.strip()
    yield from _secrets_under(name, value)
    if "://" in value:
        yield from secrets_of_url(value)
    for key, content in assignments(value):
        yield from _secrets_under(key, content)
        # A comma belongs to a password, or ends a header.
        yield from _secrets_under(key, content.partition(",")[0])


def _secrets_under(name: str, value: str) -> Iterator[str]:
    """Find the secrets in a value with a name: all of it, and its parts."""
    kind = kind_of_variable(name)
    if kind is not None:
        # A line break may be the two characters `\n`, since many tools cannot set a variable of several lines.
        parts = () if _is_path(value) else _PART.findall(value.replace("\\n", "\n"))
        yield from (part for part in parts if looks_secret(part, SecretKind.UNCERTAIN))
        if looks_secret(value, kind):
            yield value


def assignments(text: str) -> Iterator[tuple[str, str]]:
    """The names and values in a connection string, in options, headers or JSON: `Server=db;Password=...`."""
    for name, option, value in _ASSIGNMENT.findall(text):
        yield name or option, value.strip("\"'[]{}")


def secrets_of_header(name: str, value: str) -> Iterator[str]:
    """Find the credentials in a header of a request."""
    kind = kind_of_variable(name)
    # A signature is another one for each request, and no secret once the request was sent.
    if kind is not None and "signature=" not in value.lower():
        is_cookie = name.lower() == "cookie"
        credentials = [each.partition("=")[2].strip() for each in value.split(";")] if is_cookie else value.split()[-1:]
        kind = SecretKind.UNCERTAIN if is_cookie else kind
        yield from (credential for credential in credentials if looks_secret(credential, kind))


def values_in_url(url: str) -> Iterator[tuple[str, str]]:
    """The passwords and query parameters of a URL, with their names; a longer text may hold URLs."""
    yield from (("password", unquote(password)) for password in _PASSWORD_IN_URL.findall(url))
    yield from parse_qsl(url.partition("?")[2].replace(";", "&"))


def secrets_of_url(url: str) -> Iterator[str]:
    """Find the password of a URL, and its query parameters with a secret's name."""
    for name, value in values_in_url(url):
        kind = SecretKind.PHRASE if name == "password" else SecretKind.KEY
        if is_secret_parameter(name) and looks_secret(value, kind):
            yield value
