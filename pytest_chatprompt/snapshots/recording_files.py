"""Recordings: the files that keep what a test got from real APIs, beside its snapshot, without headers and keys.

The last line of an entry says how long the reply took, so that a file that was cut off anywhere is refused.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from pytest_chatprompt.capture.recording.recorded_exchange import (
    RecordedExchange,
    RecordedRequest,
    data_sha256,
    request_sha256,
)
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.response import load_json
from pytest_chatprompt.snapshots.changes import read_data, requests_in, stored_data
from pytest_chatprompt.snapshots.files import MergeConflictError, SnapshotFileError, atomic_write, read_snapshot
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.text.yaml import MAX_BYTES
from pytest_chatprompt.wording import shown_path

_RECORD: Final = "pytest --chatprompt-live --chatprompt-record"


def _check_whole(exchange: RecordedExchange) -> RecordedExchange:
    if "latency_seconds" not in exchange.model_fields_set:
        raise PydanticCustomError("whole", "it is cut off: its last key, latency_seconds, is missing")
    return exchange


class _RecordingFile(BaseModel, frozen=True, extra="forbid"):
    version: Literal[1]
    exchanges: tuple[Annotated[RecordedExchange, AfterValidator(_check_whole)], ...]


def save_recording(path: Path, exchanges: Iterable[RecordedExchange], redactor: Redactor) -> None:
    """Write a recording, with secrets redacted; an existing file is replaced as a whole."""
    # All at once: what one reply names as a secret, the next request may hold.
    text = dump(redactor.redact_data({"version": 1, "exchanges": [_file_data(exchange) for exchange in exchanges]}))
    try:
        if len(text.encode()) > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES // 1024**2} MiB")
        _read(text)
    except (SnapshotFileError, ValueError) as error:
        raise ReplayError(
            f"what was sent and replied is not recorded ({_reason(error)}), since {path.name} could not be read again; "
            "record smaller replies, or fewer of them in a test"
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, text)


def _file_data(exchange: RecordedExchange) -> dict[str, Any]:
    data = {**exchange.model_dump(exclude_unset=True), "latency_seconds": exchange.latency_seconds}
    request = data["request"]
    if "body" in request:
        # YAML cannot hold half a character. The hash is that of the body as it was sent.
        request["body"] = load_json(json.dumps(request["body"]))
    return data


def load_recording(path: Path, root: Path, command: str = _RECORD) -> tuple[RecordedExchange, ...]:
    """Read a recording; empty if there is none. `command` is what to type to record it again."""
    try:
        text = read_snapshot(path)
        return () if text is None else _read(text)
    except MergeConflictError as error:
        raise ReplayError(
            f"the recording {shown_path(path, root)} {error}; take one side, as with git checkout --ours: what either "
            f"holds was paid for, so nothing is recorded over it. To record it again, delete it: {command}"
        ) from None
    except (SnapshotFileError, ValueError) as error:
        raise ReplayError(
            f"cannot read the recording {shown_path(path, root)} ({_reason(error)}); put the file back, as with git "
            f"checkout, or record it again: {command}"
        ) from None


def _read(text: str) -> tuple[RecordedExchange, ...]:
    """The exchanges that the text of a recording holds."""
    data = read_data(text)
    if text and not text.endswith("\n"):
        raise ValueError("it is cut off: its last line has no line break")
    return _RecordingFile.model_validate(data).exchanges


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error).removeprefix("cannot be read: ")
    first = error.errors()[0]
    if first["loc"] == ("version",) and isinstance(first["input"], int):
        return f"it has version {first['input']}, which this version of pytest-chatprompt does not know"
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else "it is not a mapping"


def nearest_request(missing: RecordedRequest, recorded: Sequence[RecordedExchange]) -> RecordedRequest | None:
    """The recorded request that is the most like another one; `None` if no body is recorded."""
    # A body may be `None`, which is JSON's null.
    known = [each.request for each in recorded if "body" in each.request.model_fields_set]
    texts = [json.dumps(each.as_data(), indent=0, sort_keys=True).splitlines() for each in (missing, *known)]
    ratios = (difflib.SequenceMatcher(None, texts[0], other, autojunk=False).ratio() for other in texts[1:])
    return max(zip(ratios, known, strict=True), key=lambda each: each[0], default=(0.0, None))[1]


# What a recorded answer of an agent belongs to, as in `snapshot_data.payload_data`.
_AGENT_KEYS: Final = ("argv", "prompt", "files", "requests")


def stored_hashes(path: Path) -> frozenset[str]:
    """The hashes by which recordings know what a snapshot shows: of each request, or of what an agent was given."""
    data = stored_data(path)
    hashes = set()
    for entry in requests_in(data).values():
        headers = entry.get("headers")
        known = headers if isinstance(headers, Mapping) else None
        hashes.add(request_sha256(entry["endpoint"], entry["request"], known))
    if "argv" in data:
        hashes.add(data_sha256({key: data[key] for key in _AGENT_KEYS if key in data}))
    elif "messages" in data:
        hashes.add(data_sha256(data["messages"]))
    return frozenset(hashes)
