"""Secret names: which variables, headers, parameters and keys of a body say by their name that they hold a secret.

The same table serves snapshots, recordings, variables, headers and URLs.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise
from typing import Final


class SecretKind(Enum):
    """What a name says of the value that it belongs to.

    Attributes:
        PHRASE: a password or the like, which may consist of several words.
        KEY: a key for an API or the like, which never consists of words alone.
        UNCERTAIN: a key of some sort, or something else; the name has several meanings, as `code` and `key` have.
    """

    PHRASE = auto()
    KEY = auto()
    UNCERTAIN = auto()


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PHRASES: Final = _set(
    "pass passcode password passwords passwd passphrase pw pwd secret secrets token tokens credential credentials creds"
)
# Written in one word with what it belongs to: PGPASSWORD, SSHPASS, authtoken.
_PHRASE_ENDING: Final = re.compile(
    r".+(?:passwords?|passwd|passphrase|secrets?|tokens?|credentials?)|(?:ssh|db|my)pass"
)
_KEYS: Final = _set("apikey apikeys pat pats auth authorization sig signature sas jwt bearer cookie")
_KEY_ENDING: Final = re.compile(r".*(?:api|access|secret|private|account|subscription|auth)keys?")
_CERTAIN_IN_BODIES: Final = (_PHRASES - {"pass", "token", "tokens"}) | {"apikey", "apikeys", "authorization"}
# What stands in front of `key` and `token`, and makes a secret of it in any context.
_SECRET_KEYS: Final = _set(
    "access account admin api app auth client encryption functions license master private secret service signing"
    " storage subscription"
)
_SECRET_TOKENS: Final = _set(
    "access api app auth authorization bearer bot csrf github gitlab hf id jwt oauth personal private refresh"
    " secret security service session slack user xsrf"
)
# What makes something else of it: a key of data, a public key, a token of a text or a page.
_HARMLESS_KEYS: Final = _set(
    "cache foreign gpg group hash idempotency index object partition pgp primary public range routing row shard sort"
    " unique websocket"
)
_HARMLESS_TOKENS: Final = _set(
    "batch bos cached change cls completion context continuation cursor delta eos first idempotency input last mask max"
    " min n new next num output pad page pagination paging per prefix prev previous progress prompt reasoning resume"
    " resumption scroll sep skip special start starting stop suffix sync thinking total unk"
)
# Both in one word: `nextpagetoken`. Shorter words may end another one.
_MIN_ENDING: Final = 4
_HARMLESS_ENDING: Final = re.compile(
    rf".*(?:{'|'.join(word for word in _HARMLESS_TOKENS if len(word) >= _MIN_ENDING)})tokens?"
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
_UNCERTAIN_IN_BODIES: Final = "code"


def _words(name: str) -> list[str]:
    """The words of a name in lower case, without numbers and qualifiers at its end."""
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _QUALIFIERS):
        words.pop()
    return words


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable or header says that its value is secret: `OPENAI_API_KEY`, `DB_PASS`, `x-api-key`.

    Args:
        name: in any case and style.
    """
    return kind_of_variable(name) is not None


@lru_cache(maxsize=4096)
def kind_of_variable(name: str) -> SecretKind | None:
    """What the name of a variable or header says of its value; `None` if it does not say that it is secret.

    Args:
        name: in any case and style.
    """
    words = _words(name)
    if not words or words[-1] in _ABOUT_SECRETS or name in _OTHER_NAMES:
        return None
    before, last = words[-2] if len(words) > 1 else "", words[-1]
    if (
        (last in ("token", "tokens") and before in _HARMLESS_TOKENS)
        or (last in ("key", "keys") and before in _HARMLESS_KEYS)
        or _HARMLESS_ENDING.fullmatch(last)
    ):
        return None
    if any(word in _PHRASES or _PHRASE_ENDING.fullmatch(word) for word in words):
        return SecretKind.PHRASE
    is_pair = any(one in _SECRET_KEYS and two in ("key", "keys") for one, two in pairwise(words))
    if is_pair or last in _KEYS or any(_KEY_ENDING.fullmatch(word) for word in words):
        return SecretKind.KEY
    return SecretKind.UNCERTAIN if last in ("key", "keys") else None


def has_key_inside(name: str) -> bool:
    """Whether the name of a variable has the word `key` before its end: `OPENAI_KEY_EU`, `KEY_OPENAI`.

    What stands behind it may say anything, so only the value tells whether that is secret.

    Args:
        name: in any case and style.
    """
    if is_about_secret(name):
        return False
    words = _words(name)
    return any(
        word in ("key", "keys") and (index == 0 or words[index - 1] not in _HARMLESS_KEYS)
        for index, word in enumerate(words)
    )


def is_about_secret(name: str) -> bool:
    """Whether a name says that its value is about a secret, and is none: `key_id`, `TOKEN_URL`.

    Args:
        name: in any case and style.
    """
    words = _words(name)
    return bool(words) and words[-1] in _ABOUT_SECRETS


@lru_cache(maxsize=4096)
def kind_of_key(name: str) -> SecretKind | None:
    """What a key of a body says of its value; `None` if it does not say that it is secret.

    Bodies hold tool parameters, ids and signatures of thoughts under the same names, so most names are uncertain.

    Args:
        name: in any case and style.
    """
    if name.lower() == _UNCERTAIN_IN_BODIES:
        return SecretKind.UNCERTAIN
    kind = kind_of_variable(name)
    words = _words(name)
    if kind is None or words[-1] == "signature":
        return None
    before, last = words[-2] if len(words) > 1 else "", words[-1]
    if last in ("token", "tokens"):
        return kind if before in _SECRET_TOKENS else SecretKind.UNCERTAIN
    is_certain = (
        last in _CERTAIN_IN_BODIES
        or (before in _SECRET_KEYS and last in ("key", "keys"))
        or any(pattern.fullmatch(last) for pattern in (_PHRASE_ENDING, _KEY_ENDING))
    )
    return kind if is_certain else SecretKind.UNCERTAIN


def is_secret_parameter(name: str) -> bool:
    """Whether the value of a query parameter is hidden: `key`, `sig`, `access_token`, `subscription-key`.

    Args:
        name: in any case and style.
    """
    return kind_of_variable(name) is not None or name.lower() == _UNCERTAIN_IN_BODIES
