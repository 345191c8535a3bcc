"""Recordings of tests: where each is, what this run does with it, and whether an answer is worth keeping."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import BlockedResponseError, EmptyResponseError, ProviderError
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.runs.code_snapshots import SnapshotStems, checked_snapshot_folder, command_for
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.recording_place import RecordingMode, RecordingPlace

if TYPE_CHECKING:
    from pytest_chatprompt.live.answers import CaseAnswers


def recording_place(item: pytest.Item, folder: Path, stem: str, masks: Masks) -> RecordingPlace:
    """Where the recording of a test is, by the folder and the stem of its snapshot, and what this run does with it."""
    options = item.config.stash[options_key]
    # A run that replays and sends records what it sends, so that the next one pays nothing.
    mode = RecordingMode(options.replay, options.live, options.record or (options.live and options.replay))
    return RecordingPlace(folder, stem, item.config.rootpath, mode, masks, partial(command_for, item))


def place_of_test(item: pytest.Item, masks: Masks) -> RecordingPlace:
    """Where the recording of an ordinary test is."""
    stem = SnapshotStems.of(item.session).find(item)
    return recording_place(item, checked_snapshot_folder(item), stem, masks)


def find_unusable(response: ProviderResponse) -> ProviderError | None:
    """The error of a response that is blocked or empty; `None` for any other."""
    if response.blocked is not None:
        return BlockedResponseError(f"the API withheld the answer: {response.blocked}")
    if not response.text.strip() and not response.tool_calls:
        return EmptyResponseError(f"the answer is empty (finish reason: {response.finish_reason or 'none given'})")
    return None


def record_answers(answers: CaseAnswers, redactor: Redactor) -> int:
    """Write the answers to a case that have come beside its snapshot; gives how many were recorded.

    Of a repeated case answers that are empty or withheld are recorded too: sending only for these again would raise
    the pass rate.
    """
    case = answers.case
    recordings = {
        number: live.recording
        for number, live in answers.arrived().items()
        if live.recording is not None and (case.repeat > 1 or find_unusable(live.response) is None)
    }
    count = sum(len(recording.exchanges()) > len(recording.replayed) for recording in recordings.values())
    if count:
        exchanges = [
            exchange if case.repeat == 1 else exchange.model_copy(update={"repeat": case.repeat_of(number)})
            for number, recording in recordings.items()
            for exchange in (*recording.exchanges(), *recording.unused())
        ]
        case.place.write(exchanges, redactor)
    return count
