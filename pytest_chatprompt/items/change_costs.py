"""Change costs: compare the size and the cacheable prefix of a changed request with its snapshot.

The data of the snapshot and that of what is sent come in, a `ChangeCost` comes out. Pure; `case_results` calls it for
cases that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_chatprompt.capture.prompt_cost import count_characters, estimate_tokens, find_break
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.results.records import ChangeCost

# What is given to an agent or a plain function; what these send of it is not known.
_UNSENT_KEYS: Final = ("argv", "prompt", "files", "messages")


def change_cost(stored: Any, sent: Any) -> ChangeCost | None:
    """Compare what a case sends with its snapshot: the size, and where the common prefix ends.

    Args:
        stored: the data of its snapshot.
        sent: the data of what is sent.

    Returns:
        The cost; `None` if one of them shows no prompt, or is nested too deeply to be read.
    """
    before, after = dict(_requests(stored)), dict(_requests(sent))
    if not before or not after:
        return None
    try:
        sizes = [sum(map(count_characters, requests.values())) for requests in (before, after)]
        place = _first_break(before, after)
    except RecursionError:
        return None
    characters = sizes[1] - sizes[0]
    return ChangeCost(characters=characters, tokens=estimate_tokens(characters), prefix_break=place)


def _requests(data: Any) -> Iterator[tuple[str, SentRequest]]:
    """The requests that a snapshot shows, each with its place."""
    if not isinstance(data, Mapping):
        return
    several = data.get("requests")
    entries = [("", data)]
    if isinstance(several, list):
        entries = [(f"requests[{index}].", entry) for index, entry in enumerate(several)]
    for place, entry in entries:
        if isinstance(entry, Mapping) and isinstance(entry.get("endpoint"), str):
            yield place, SentRequest(entry["endpoint"], entry.get("request"))
    given = {key: data[key] for key in _UNSENT_KEYS if key in data}
    if given and not isinstance(several, list):
        yield "given", SentRequest("", given)


def _first_break(before: Mapping[str, SentRequest], after: Mapping[str, SentRequest]) -> str | None:
    """The first place where a request differs from its snapshot; new and removed requests do not count."""
    for place, stored in before.items():
        sent = after.get(place)
        broken = None if sent is None or not sent.endpoint else find_break(stored, sent)
        if broken is not None:
            return f"{place}{broken}" if broken == "endpoint" else f"{place}request.{broken}"
    return None
