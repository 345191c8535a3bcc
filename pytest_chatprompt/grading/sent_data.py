"""What is sent, as checks with `of: request` see it.

In: what the snapshot of a case shows. Out: the data that is sent, and the texts in it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

# What stands in a snapshot beside the data that is sent.
_NOT_SENT: Final = frozenset({"provider", "endpoint", "headers", "question", "adjustments", "judge"})
# Their values are words of the API in every API.
_WORDS_OF_APIS: Final = frozenset({"role", "type", "endpoint"})


@dataclass(frozen=True)
class SentData:
    """What a case sends: the data, and all of its texts as one.

    Args:
        data: the body of the request, as in the snapshot, but not masked; a list of the bodies where there are several;
            the chat prompt of a provider that makes no request; for an agent a mapping of what it is given.
    """

    data: Any

    @cached_property
    def text(self) -> str:
        """All texts in the data in order, each on lines of its own, except those of the keys `role` and `type`."""
        return "\n".join(_texts(self.data))


def sent_data(snapshot: Mapping[str, Any]) -> SentData:
    """What is sent, taken from what its snapshot shows.

    Args:
        snapshot: the data of a snapshot, before masks are applied.
    """
    sent = {key: value for key, value in snapshot.items() if key not in _NOT_SENT}
    if "requests" in sent:
        sent["requests"] = [request["request"] for request in sent["requests"]]
    return SentData(next(iter(sent.values())) if len(sent) == 1 else sent)


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            if key not in _WORDS_OF_APIS or not isinstance(value, str):
                yield from _texts(value)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _texts(item)
