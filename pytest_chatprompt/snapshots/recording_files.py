"""Recordings: the files that keep what a test got from real APIs, beside its snapshot.

`RecordedExchange`s come in; a readable YAML file for each test comes out, without headers and keys. Loading goes the
other way, and reads the format of earlier versions too.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from pytest_chatprompt.capture.recording.recorded_exchange import (
    RecordedExchange,
    RecordedRequest,
    RecordedResponse,
    request_sha256,
)
from pytest_chatprompt.capture.secrets.redaction import REDACTED, Redactor
from pytest_chatprompt.capture.secrets.secret_forms import secret_forms
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.evalfile.message import ToolCall
from pytest_chatprompt.providers.reply_text import replace_surrogates
from pytest_chatprompt.providers.response import TokenUsage
from pytest_chatprompt.snapshots.files import SnapshotFileError, atomic_write, read_snapshot
from pytest_chatprompt.snapshots.names import OLD_RECORDING_SUFFIX, RECORDING_SUFFIX
from pytest_chatprompt.snapshots.serializer import dump
from pytest_chatprompt.wording import shown_path

_VERSION: Final = 1
_HASH_PREFIX: Final = "sha256:"
_RECORD: Final = "pytest --chatprompt-live --chatprompt-record"

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _check_hash(exchange: RecordedExchange) -> RecordedExchange:
    request = exchange.request
    if request.endpoint is None or not request.has_body:
        return exchange
    sha256 = request_sha256(request.endpoint, request.body, request.headers)
    if request.sha256 != sha256 and not _was_changed_when_saved(request):
        raise PydanticCustomError("hash", "the request does not fit its sha256; it was edited")
    return exchange


def _was_changed_when_saved(request: RecordedRequest) -> bool:
    """Whether a secret, in bytes too, or half a character was replaced: the hash is that of what was sent."""
    text = json.dumps(request.body, ensure_ascii=False)
    return any(form in text for form in (*secret_forms(REDACTED), "\ufffd"))


class _RecordingFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1]
    exchanges: tuple[Annotated[RecordedExchange, AfterValidator(_check_hash)], ...]


class _OldRecording(BaseModel):
    """The file of earlier versions: one answer, and the hash of all that was sent for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    request: str
    finish_reason: str | None
    usage: TokenUsage
    text: str
    tool_calls: tuple[ToolCall, ...] = ()

    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """The answer in the format of today."""
        request = RecordedRequest(sha256=self.request.removeprefix(_HASH_PREFIX))
        response = RecordedResponse(
            text=self.text, finish_reason=self.finish_reason, usage=self.usage, tool_calls=self.tool_calls
        )
        return (RecordedExchange(request=request, response=response),)


def save_recording(path: Path, exchanges: Iterable[RecordedExchange], redactor: Redactor) -> None:
    """Write a recording, with secrets redacted; an existing file is replaced as a whole.

    Args:
        path: the recording's file; its folder is created if necessary.
        exchanges: in the order of the requests.
        redactor: removes secrets.
    """
    # All at once: what one reply names as a secret, the next request may hold.
    data = redactor.redact_data({"version": _VERSION, "exchanges": [_file_data(exchange) for exchange in exchanges]})
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, dump(data))
    _old_path(path).unlink(missing_ok=True)


def _file_data(exchange: RecordedExchange) -> dict[str, Any]:
    data = exchange.model_dump(exclude_unset=True)
    request = data["request"]
    try:
        json.dumps(request, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # YAML cannot hold half a character. The hash is that of the body as it was sent.
        request["body"] = json.loads(replace_surrogates(json.dumps(request["body"], ensure_ascii=False)))
    return data


def load_recording(path: Path, root: Path, command: str = _RECORD) -> tuple[RecordedExchange, ...]:
    """Read a recording; empty if there is none.

    Args:
        path: the recording's file.
        root: pytest's root folder; errors show the path relative to it.
        command: what to type to record it again.

    Raises:
        ReplayError: the file is unreadable, or a request in it was edited.
    """
    for file, model in ((path, _RecordingFile), (_old_path(path), _OldRecording)):
        try:
            text = read_snapshot(file)
            if text is None:
                continue
            content = model.model_validate(yaml.load(text, _Loader))  # noqa: S506 - a safe loader
        except (SnapshotFileError, RecursionError, ValueError, yaml.YAMLError) as error:
            raise ReplayError(
                f"cannot read the recording {shown_path(file, root)} ({_reason(error)}); record it again: {command}"
            ) from None
        return content.exchanges() if isinstance(content, _OldRecording) else content.exchanges
    return ()


def _reason(error: Exception) -> str:
    match error:
        case RecursionError():
            return "it is nested too deeply"
        case ValidationError():
            first = error.errors()[0]
            if first["loc"] == ("version",) and isinstance(first["input"], int):
                return f"it has version {first['input']}, which this version of pytest-chatprompt does not know"
            place = ".".join(map(str, first["loc"]))
            return f"{place}: {first['msg']}" if place else "it is not a mapping"
    return str(error).partition("\n")[0]


def _old_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(RECORDING_SUFFIX) + OLD_RECORDING_SUFFIX)


def nearest_request(missing: RecordedRequest, recorded: Sequence[RecordedExchange]) -> RecordedRequest | None:
    """The recorded request that is the most like another one; `None` if no body is recorded.

    Args:
        missing: the request that has no recorded reply.
        recorded: what is recorded.
    """
    text = _request_text(missing)
    known = [exchange.request for exchange in recorded if exchange.request.has_body]
    return max(known, key=lambda request: _similarity(text, _request_text(request)), default=None)


def _request_text(request: RecordedRequest) -> list[str]:
    return json.dumps(request.as_data(), indent=0, sort_keys=True).splitlines()


def _similarity(one: list[str], other: list[str]) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()
