"""Answers: whether a case can use one, and where it is recorded.

A `ProviderResponse` comes in; a file beside the snapshot comes out. `case_runner` calls it for the case that runs,
`live_run` for answers that had arrived when a run ended early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import BlockedResponseError, EmptyResponseError
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.snapshots.recordings import request_sha256, save_recording

if TYPE_CHECKING:
    from pytest_chatprompt.items.item import EvalItem


def raise_if_unusable(response: ProviderResponse) -> None:
    """Raise if a response is no answer.

    Raises:
        BlockedResponseError: the API withheld it.
        EmptyResponseError: it has neither text nor a tool call.
    """
    if response.blocked is not None:
        raise BlockedResponseError(f"the API withheld the answer: {response.blocked}")
    if not response.text.strip() and not response.tool_calls:
        raise EmptyResponseError(f"the answer is empty (finish reason: {response.finish_reason or 'none given'})")


def record_answer(item: EvalItem, compared: Exchange, response: ProviderResponse, redactor: Redactor) -> None:
    """Write an answer beside its case's snapshot.

    Args:
        item: the case's item.
        compared: what the case sends.
        response: the answer.
        redactor: removes secrets.

    Raises:
        BlockedResponseError, EmptyResponseError: there is nothing to record.
    """
    raise_if_unusable(response)
    sha256 = request_sha256(compared, item.config.rootpath)
    save_recording(item.recording_path, item.provider_name, sha256, response, redactor)
