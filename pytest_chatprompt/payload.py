"""The payload: what a snapshot shows of a recording, as JSON data.

A `Recording` comes in; the data comes out that `snapshot_yaml` writes down, for HTTP the body as decoded from the bytes
sent. Pure; `check` and `live` compare it, `answers` knows by it what an answer is to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_chatprompt.providers.agent import shown
from pytest_chatprompt.recording import Recording


def what_left(recording: Recording, root: Path) -> Any:
    """What was sent, as JSON data: pairs of endpoint and body, or what an agent or a plain function was given.

    Args:
        recording: what a provider did.
        root: pytest's root folder, to which an agent's paths are made relative.
    """
    if recording.handover is not None:
        return shown(recording.handover, root)
    if not recording.sent:
        return [message.as_dict() for message in recording.request.chat_prompt or ()]
    return [[sent.endpoint, sent.body] for sent in recording.sent]


def payload(recording: Recording, provider_name: str, root: Path) -> dict[str, Any]:
    """The data of a snapshot.

    Args:
        recording: what a provider did.
        provider_name: the name by which it was asked for.
        root: pytest's root folder, to which an agent's paths are shown relative.

    Returns:
        `provider`, `endpoint`, `question`, `request` and `adjustments`; with several requests `requests`, each with its
        own endpoint; with none `messages`, the chat prompt. Of an agent `argv`, `prompt` and `files`.
    """
    data: dict[str, Any] = {"provider": provider_name}
    if recording.handover is not None:
        data |= {"question": recording.request.question, **shown(recording.handover, root)}
        return data | _told(recording.request.question_adjustments)
    match recording.sent:
        case []:
            prompt = recording.request.chat_prompt or ()
            data["question"] = recording.request.question
            data["messages"] = [message.as_dict() for message in prompt]
        case [sent]:
            data |= {"endpoint": sent.endpoint, "question": recording.request.question, "request": sent.body}
        case several:
            data["question"] = recording.request.question
            data["requests"] = [{"endpoint": sent.endpoint, "request": sent.body} for sent in several]
    return data | _told((*recording.request.adjustments, *recording.response.adjustments))


def _told(adjustments: Sequence[str]) -> dict[str, Any]:
    return {"adjustments": list(adjustments)} if adjustments else {}
