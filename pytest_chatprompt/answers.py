"""Recorded answers: what an API gave back in a live run, kept beside the snapshots and given again offline.

A `ProviderResponse` and the hash of what was sent come in; one readable YAML file for each case and provider comes
out, and the other way round. No headers, no keys. Knows nothing of pytest; `check` calls it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.eval_message import ToolCall
from pytest_chatprompt.payload import what_left
from pytest_chatprompt.recording import Recording
from pytest_chatprompt.requests import ProviderResponse, TokenUsage
from pytest_chatprompt.secret_values import SecretValues
from pytest_chatprompt.snapshot import write_whole
from pytest_chatprompt.snapshot_yaml import dump

_ALGORITHM: Final = "sha256:"
_COMMAND: Final = "pytest --chatprompt-live --chatprompt-record"
_AGAIN: Final = f"record it again: {_COMMAND}"


class RecordedAnswer(BaseModel):
    """What the file of an answer holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    request: str
    finish_reason: str | None
    usage: TokenUsage
    text: str
    tool_calls: tuple[ToolCall, ...] = ()


def request_sha256(recording: Recording, root: Path) -> str:
    """The hash of what was sent: endpoints and bodies, whatever the order of keys in them, the same on every machine.

    Args:
        recording: what a provider did.
        root: pytest's root folder.
    """
    text = json.dumps(what_left(recording, root), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_answer(
    path: Path, provider_name: str, sha256: str, response: ProviderResponse, secrets: SecretValues
) -> None:
    """Keep an answer; the file is the old or the new one, never half.

    Args:
        path: of the file.
        provider_name: the name by which the provider was asked for.
        sha256: see `request_sha256`.
        response: the answer.
        secrets: what must not stand in the file.
    """
    usage = response.usage
    data: dict[str, Any] = {
        "provider": provider_name,
        "request": f"{_ALGORITHM}{sha256}",
        "finish_reason": response.finish_reason,
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "text": secrets.scrubbed(response.text),
    }
    if response.tool_calls:
        calls = [call.model_dump() for call in response.tool_calls]
        data["tool_calls"] = json.loads(secrets.scrubbed(json.dumps(calls)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, dump(data))


def read_answer(path: Path, shown_path: str, sha256: str) -> ProviderResponse:
    """The answer that was recorded for a request.

    Args:
        path: of the file.
        shown_path: the same, for messages.
        sha256: of what is sent now.

    Raises:
        ReplayError: there is none, it cannot be read, or it is the answer to another request.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        answer = RecordedAnswer.model_validate(data)
    except FileNotFoundError:
        raise ReplayError(f"there is no recorded answer, {shown_path}; record it: {_COMMAND}") from None
    except (OSError, ValueError, yaml.YAMLError, ValidationError) as error:
        told = str(error).partition("\n")[0]
        raise ReplayError(f"the recorded answer {shown_path} cannot be read ({told}); {_AGAIN}") from None
    if answer.request != f"{_ALGORITHM}{sha256}":
        raise ReplayError(
            f"the recorded answer {shown_path} is to another request: what is sent has changed since; {_AGAIN}"
        )
    return ProviderResponse(
        text=answer.text, finish_reason=answer.finish_reason, usage=answer.usage, tool_calls=answer.tool_calls
    )
