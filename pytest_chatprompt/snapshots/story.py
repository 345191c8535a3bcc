"""The story of a run: its requests one after the other, each with what is new in it, and where two runs part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from pytest_chatprompt.apis.conversation import ConversationTurn
from pytest_chatprompt.capture.prompt_size import api_of
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.prompt.conversion import marked_turn
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.snapshots.changes import requests_in
from pytest_chatprompt.wording import common_start, cut


class StoryRequest(NamedTuple):
    """One request of a run.

    Args:
        turns: the conversation; `None` if the API is not known.
        kept: how many turns the request begins with as an earlier one does.
        earlier: the number of that request, from 1.
    """

    turns: tuple[ConversationTurn, ...] | None
    kept: int = 0
    earlier: int = 0


def read_story(data: Any) -> list[StoryRequest]:
    """Read the requests that the data of a snapshot shows."""
    story: list[StoryRequest] = []
    for entry in requests_in(data).values():
        api = api_of(SentRequest(entry["endpoint"], None))
        turns = None if api is None else api.read_conversation(read_body(entry["request"])).turns
        shared = [(common_start(each.turns or (), turns or ()), number) for number, each in enumerate(story, start=1)]
        story.append(StoryRequest(turns, *max(shared, default=(0, 0))))
    return story


def steps(story: Sequence[StoryRequest]) -> Iterator[tuple[int, int, str]]:
    """The new turns of a story, each with the index of its request and its own number, from 1."""
    turns = [(index, turn) for index, request in enumerate(story) for turn in (request.turns or ())[request.kept :]]
    for number, (index, turn) in enumerate(turns, start=1):
        yield index, number, marked_turn(turn.told)


def parting_hint(stored: Any, sent: Any) -> str:
    """The first step at which a run of several requests parts from the stored one; `""` if no step differs."""
    stories = [read_story(data) for data in (stored, sent)]
    pairs = zip_longest(*map(steps, stories)) if max(map(len, stories)) > 1 else ()
    for old, new in pairs:
        if old != new:
            index, number, text = new or old
            gone = "" if new else ", which is no longer sent"
            return f"The runs part at step {number}, in request {index + 1}{gone}: {cut(' '.join(text.split()), 100)}"
    return ""
