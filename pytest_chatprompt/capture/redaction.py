"""Redaction: keep secrets out of snapshots and reports.

Environment variables and the headers of requests come in, and teach a `Redactor` which values are secret. Two things
come out: where a secret stands in data that is about to be written, and texts with their secrets replaced. The run's
session owns the one `Redactor` of a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_SECRET_NAME: Final = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_HEADERS: Final = ("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key")
# Shorter values may be ordinary words of a prompt; no vendor's key is that short.
_MIN_SECRET_LENGTH: Final = 8


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable or parameter says that its value is secret: `OPENAI_API_KEY`, `token`."""
    return _SECRET_NAME.search(name) is not None


class Redactor:
    """Knows the secrets of a run, finds them in data and removes them from text. Safe between threads.

    Args:
        environment: environment variables; the values of those with a secret's name are secrets.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        # The secret values, each with a description of where it comes from.
        self._descriptions: dict[str, str] = {}
        for name, value in environment.items():
            if is_secret_name(name):
                self._add(value, f"the environment variable {name}")

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Learn the credentials in the headers of a request.

        Args:
            headers: by lower-case name.
        """
        for name in _SECRET_HEADERS:
            if name in headers:
                # The name of a scheme may stand in front of the credential: `Bearer ...`.
                self._add(headers[name].rpartition(" ")[2], f"the header {name}")

    def find(self, data: Any) -> tuple[str, str] | None:
        """Find the first secret in JSON data.

        Returns:
            Its path (`request.messages[0].content`) and its description; `None` if there is no secret.
        """
        for path, text in _strings(data, ""):
            # A copy: in a live run, other threads may add secrets meanwhile.
            for value, description in list(self._descriptions.items()):
                if value in text:
                    return path, description
        return None

    def redact(self, text: str) -> str:
        """Replace every known secret in a text with `[secret]`."""
        for value in list(self._descriptions):
            text = text.replace(value, "[secret]")
        return text

    def _add(self, value: str, description: str) -> None:
        if len(value) >= _MIN_SECRET_LENGTH:
            self._descriptions.setdefault(value, description)


def _strings(data: Any, path: str) -> Iterator[tuple[str, str]]:
    """All strings in JSON data, keys included, each with its path."""
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield path, key
            yield from _strings(value, f"{path}.{key}" if path else key)
    elif isinstance(data, list | tuple):
        for index, value in enumerate(data):
            yield from _strings(value, f"{path}[{index}]")
