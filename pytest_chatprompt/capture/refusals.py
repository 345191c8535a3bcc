"""Refusals: what a client gets for a request that is not answered, and the words for it.

A request or its description comes in; a reply with an error comes out that every SDK shows at once, or the text of the
error. `eval_api`, `provider_capture` and `items.own_code` call it.
"""

from __future__ import annotations

import os
from typing import Final

import httpx

from pytest_chatprompt.capture.clients.wire import error_reply
from pytest_chatprompt.capture.guard import find_late_owner, note_sender, tell
from pytest_chatprompt.capture.sent_request import describe_request

# SDKs send a request again after an exception and after most errors, but not after this one, and they show its text.
_STATUS: Final = 404


def refuse(text: str) -> httpx.Response:
    """The reply to a request that is refused."""
    return error_reply(_STATUS, text)


def claim_or_refuse(request: httpx.Request, process_id: int) -> httpx.Response | None:
    """Count a request as sent by the test that runs; refuse that of a forked process, or of a test that has ended.

    Returns:
        the refusal; `None` for a request of the test that runs.
    """
    owner = find_late_owner()
    if owner is None and os.getpid() == process_id:
        note_sender()
        return None
    tell(owner, f"send {describe_request(request)}", process_id)
    if owner is not None:
        reason = f"is not sent: {owner.name} has started what sends it, and has ended"
    else:
        reason = (
            "is sent by a forked process, which cannot be captured; start the process anew ('spawn'), "
            "with the variables of eval_api.environ"
        )
    return refuse(f"{describe_request(request)} {reason}")


def unanswered_message(description: str) -> str:
    """The error text for a request that nothing answers."""
    method, _, url = description.partition(" ")
    return (
        f"nothing answers {description} offline; give the fixture eval_api a route for it, as in\n"
        f"  eval_api.{method.lower()}({url!r}).respond(json={{...}})\n"
        "or run with --chatprompt-live"
    )
