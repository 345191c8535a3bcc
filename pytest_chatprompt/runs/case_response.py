"""The response of a case, and the votes of its judge: from the API or from the recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import BudgetError, ProviderError, RequestCancelledError, SnapshotError
from pytest_chatprompt.runs.live_plugin import find_live_run
from pytest_chatprompt.runs.repeat_count import first_response_key
from pytest_chatprompt.snapshots.masks import Masks

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.live.answers import LiveResponse
    from pytest_chatprompt.live.judging import Judging, Votes
    from pytest_chatprompt.providers.response import Provider, ProviderResponse
    from pytest_chatprompt.runs.item import EvalItem

# What an item sends, once it was compared with its snapshot.
compared_key: Final[pytest.StashKey[Exchange]] = pytest.StashKey()
masks_key: Final[pytest.StashKey[Masks]] = pytest.StashKey()
# The answer that it got.
_live_key: Final[pytest.StashKey[LiveResponse]] = pytest.StashKey()


@contextmanager
def kept_while_answered(item: EvalItem, compared: Exchange) -> Iterator[None]:
    """Keep what was compared, and then the answer to it, for the functions below; after the block neither is kept.

    The answers of a run would add up: pytest keeps its items.
    """
    item.stash[compared_key] = compared
    try:
        yield
    finally:
        keys: tuple[pytest.StashKey[Any], ...] = (compared_key, _live_key, first_response_key)
        for key in keys:
            if key in item.stash:
                del item.stash[key]


def get_response(item: EvalItem, provider: Provider, api: EvalAPI) -> ProviderResponse:
    """The response to what a case sends: from the API or, in a replayed run, from the recording.

    Args:
        item: the case's item.
        provider: its provider.
        api: its stand-in of the APIs.

    Raises:
        SnapshotError: the case was not compared with its snapshot yet, or sent something other than was compared.
        ProviderError: there is no response, or an empty one.
        ReplayError: nothing is recorded for this very request.
    """
    __tracebackhide__ = True
    # Offline runs, which most are, need none of it.
    from pytest_chatprompt.live.answers import LiveCase  # noqa: PLC0415
    from pytest_chatprompt.runs.case_results import note_exchange, note_response  # noqa: PLC0415
    from pytest_chatprompt.runs.recordings import (  # noqa: PLC0415
        raise_if_unusable,
        record_answer,
        recording_place,
        replay_answer,
    )
    from pytest_chatprompt.runs.usage import add_replayed, add_usage  # noqa: PLC0415

    first = item.stash.get(first_response_key, None)
    if first is not None:
        return first
    compared = item.stash.get(compared_key, None)
    if compared is None:
        raise SnapshotError(
            "eval_response is not available yet (offline it never is); use the hook pytest_chatprompt_response, "
            "or an autouse fixture that takes eval_response"
        )
    note_exchange(item, compared)
    place = recording_place(item, item.snapshot_folder, item.snapshot_stem, item.stash[masks_key])
    try:
        live_run = find_live_run(item.config)
        if live_run is None:
            live = replay_answer(place, provider, compared, api)
        else:
            live = live_run.get_response(item, LiveCase(provider, compared, place), api)
    except (BudgetError, RequestCancelledError):
        # This run broke off the request, or did not send it: that says nothing about the API.
        raise
    except ProviderError as error:
        add_usage(item, item.provider_name, error)
        raise
    item.stash[_live_key] = live
    note_response(item, live.response, is_replayed=live.is_replayed)
    if not live.is_replayed:
        add_usage(item, item.provider_name, live.response)
    if live.recording is not None:
        add_replayed(item, place.path, live.recording, unused=len(live.recording.others))
    if not live.response.is_awaited:
        return live.response
    raise_if_unusable(live.response)
    record_answer(place, live, api.redactor)
    return live.response


def get_votes(item: EvalItem, judging: Judging, response: ProviderResponse, api: EvalAPI) -> Votes:
    """The votes of the judge on the response of a case: those that came with it, or else new ones.

    Args:
        item: the case's item.
        judging: what to ask the judge.
        response: the fixture `eval_response`, which a project may override.
        api: its stand-in of the APIs.

    Raises:
        RequestCancelledError: the run was stopped.
    """
    __tracebackhide__ = True
    from pytest_chatprompt.live.answers import LiveResponse  # noqa: PLC0415
    from pytest_chatprompt.runs.case_judge import ask_judge  # noqa: PLC0415
    from pytest_chatprompt.runs.case_results import note_votes  # noqa: PLC0415
    from pytest_chatprompt.runs.recordings import recording_place  # noqa: PLC0415
    from pytest_chatprompt.runs.usage import add_judge_usage, add_replayed  # noqa: PLC0415

    place = recording_place(item, item.snapshot_folder, item.snapshot_stem, item.stash[masks_key])
    live = item.stash.get(_live_key, None)
    if live is None or live.response is not response:
        # The project overrides eval_response: what the judge said before is about another answer.
        recording = None if live is None else live.recording
        live = LiveResponse(item.stash[compared_key], response, recording)
    judged = ask_judge(item, judging, live, place)
    if judged is not live and live.recording is not None:
        place.save(live.recording, api.redactor)
        add_replayed(item, place.path, live.recording, unused=len(live.recording.others))
    note_votes(item, judged.votes)
    add_judge_usage(item, judged.votes)
    return judged.votes
