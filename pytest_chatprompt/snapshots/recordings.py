"""Recordings: answers from a live run, kept in files beside the snapshots and replayed offline.

A `ProviderResponse` and the hash of what was sent come in; one readable YAML file for each case and provider comes out,
without headers and keys. Loading goes the other way. `items.case_runner` calls it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.evalfile.message import ToolCall
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage
from pytest_chatprompt.snapshots.files import SnapshotFileError, atomic_write, read_snapshot
from pytest_chatprompt.snapshots.serializer import dump
from pytest_chatprompt.snapshots.snapshot_data import payload_data
from pytest_chatprompt.wording import shown_path

_HASH_PREFIX: Final = "sha256:"
_COMMAND: Final = "pytest --chatprompt-live --chatprompt-record"
_RECORD_AGAIN: Final = f"record it again: {_COMMAND}"


class RecordedResponse(BaseModel):
    """The content of a recording's file: the answer, and the hash of the request that it belongs to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    request: str
    finish_reason: str | None
    usage: TokenUsage
    text: str
    tool_calls: tuple[ToolCall, ...] = ()


def request_sha256(exchange: Exchange, root: Path) -> str:
    """The SHA-256 of what was sent, as hexadecimal digits: the same on every machine and for any order of keys.

    Args:
        exchange: what a provider sent, as captured.
        root: pytest's root folder.
    """
    text = json.dumps(payload_data(exchange, root), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def save_recording(path: Path, provider_name: str, sha256: str, response: ProviderResponse, redactor: Redactor) -> None:
    """Write an answer to its file, with secrets redacted; an existing file is replaced as a whole.

    Args:
        path: the recording's file; its folder is created if necessary.
        provider_name: the name that the case, the file or the option gives.
        sha256: hash of the request that was answered, from `request_sha256`.
        response: the answer.
        redactor: removes secrets from what the API sent.
    """
    usage = response.usage
    data: dict[str, Any] = {
        "provider": provider_name,
        "request": f"{_HASH_PREFIX}{sha256}",
        "finish_reason": response.finish_reason and redactor.redact(response.finish_reason),
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "text": redactor.redact(response.text),
    }
    if response.tool_calls:
        data["tool_calls"] = redactor.redact_data([call.model_dump() for call in response.tool_calls])
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, dump(data))


def load_recording(path: Path, root: Path, sha256: str) -> ProviderResponse:
    """Read the answer that was recorded for a request.

    Args:
        path: the recording's file.
        root: pytest's root folder; errors show the path relative to it.
        sha256: hash of the request that is sent now, from `request_sha256`.

    Raises:
        ReplayError: the file is missing or unreadable, or its answer belongs to another request.
    """
    try:
        text = read_snapshot(path)
        if text is None:
            raise ReplayError(f"no recorded answer at {shown_path(path, root)}; record it: {_COMMAND}")
        recorded = RecordedResponse.model_validate(yaml.safe_load(text))
    except (SnapshotFileError, RecursionError, ValueError, yaml.YAMLError, ValidationError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).partition("\n")[0]
        raise ReplayError(
            f"cannot read the recorded answer {shown_path(path, root)} ({reason}); {_RECORD_AGAIN}"
        ) from None
    if recorded.request != f"{_HASH_PREFIX}{sha256}":
        raise ReplayError(
            f"the recorded answer {shown_path(path, root)} belongs to another request: "
            f"what is sent has changed since it was recorded; {_RECORD_AGAIN}"
        )
    return ProviderResponse(
        text=recorded.text, finish_reason=recorded.finish_reason, usage=recorded.usage, tool_calls=recorded.tool_calls
    )
