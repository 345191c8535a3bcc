"""Secrets of this run, so that none of them reaches a snapshot or a report.

The values of environment variables whose names say that they are secret, and the credentials in the headers of
requests, come in; places where one stands in data, and texts without them, come out. A `SecretValues` belongs to
the run's session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_SECRET_NAME: Final = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_HEADERS: Final = ("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key")
# Shorter values are words that may stand in any prompt; no vendor's key is so short.
_SHORTEST: Final = 8


def is_secret_name(name: str) -> bool:
    """Whether a variable or a parameter is called as secrets are: `OPENAI_API_KEY`, `token`."""
    return _SECRET_NAME.search(name) is not None


class SecretValues:
    """The secrets that are known, each with what to call it.

    Args:
        environment: variables; those with the name of a secret count.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._names: dict[str, str] = {}
        for name, value in environment.items():
            if is_secret_name(name):
                self._add(value, f"the environment variable {name}")

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Learn the credentials in the headers of a request."""
        for name in _SECRET_HEADERS:
            if name in headers:
                # A credential may stand behind the name of its scheme: `Bearer ...`.
                self._add(headers[name].rpartition(" ")[2], f"the header {name}")

    def find(self, data: Any) -> tuple[str, str] | None:
        """The first secret in JSON data: where it stands, and what it is called; `None` if there is none."""
        for path, text in _strings(data, ""):
            # A copy: in a live run other threads may learn more meanwhile.
            for value, name in list(self._names.items()):
                if value in text:
                    return path, name
        return None

    def scrubbed(self, text: str) -> str:
        """A text with the secrets in it blotted out."""
        for value in list(self._names):
            text = text.replace(value, "[secret]")
        return text

    def _add(self, value: str, name: str) -> None:
        if len(value) >= _SHORTEST:
            self._names.setdefault(value, name)


def _strings(data: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield path, key
            yield from _strings(value, f"{path}.{key}" if path else key)
    elif isinstance(data, list | tuple):
        for index, value in enumerate(data):
            yield from _strings(value, f"{path}[{index}]")
