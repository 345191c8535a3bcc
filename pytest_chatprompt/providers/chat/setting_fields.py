"""`SettingField`: where an API has one of the settings in its JSON body, and how it writes the value.

A setting's value comes in, the body gets it. Each API module has a table of these by the setting's name, which
`ChatProvider` uses; a setting that is not in the table is one that the API lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pytest_chatprompt.errors import PayloadError


class SettingField(NamedTuple):
    """The place of a setting in a body.

    Args:
        path: the keys that lead to it, at least one.
        convert: makes the API's value of the setting's; may raise `PayloadError`. `None` if they are the same.
    """

    path: tuple[str, ...]
    convert: Callable[[Any], Any] | None = None

    def put(self, value: Any, body: dict[str, Any]) -> None:
        """Put a value into a body.

        Args:
            value: the setting's value.
            body: the body; mappings on the way are made if they are missing.

        Raises:
            PayloadError: the API has no such value.
        """
        *folders, name = self.path
        for folder in folders:
            body = body.setdefault(folder, {})
        body[name] = value if self.convert is None else self.convert(value)


def to_list(value: str | tuple[str, ...] | list[str]) -> list[str]:
    """A list of texts, for an API that takes no single one."""
    return [value] if isinstance(value, str) else list(value)


def effort_among(vendor: str, efforts: Mapping[str, str]) -> Callable[[str], str]:
    """Make the conversion of `reasoning_effort` for an API that has its own words, or not all of them.

    Args:
        vendor: the API's name, for errors.
        efforts: the API's word for each effort that it has.
    """

    def convert(effort: str) -> str:
        if effort not in efforts:
            raise PayloadError(
                f"{vendor} has no reasoning_effort {effort!r}; write one of {', '.join(efforts)}",
                location=("settings", "reasoning_effort"),
            )
        return efforts[effort]

    return convert
