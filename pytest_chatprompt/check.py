"""The body of every eval item: what the case sends is compared with its snapshot.

It is an ordinary test function, so its arguments are the fixtures that users override.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_chatprompt.difference import difference
from pytest_chatprompt.errors import BlockedResponseError, SnapshotError
from pytest_chatprompt.fixtures import recording_key, reviewed_key
from pytest_chatprompt.options import settings_key
from pytest_chatprompt.recording import Recording, payload, record

if TYPE_CHECKING:
    from syrupy.assertion import AssertionResult, SnapshotAssertion

    from pytest_chatprompt.case import EvalCase
    from pytest_chatprompt.eval_api import EvalAPI
    from pytest_chatprompt.requests import Provider, ProviderRequest, ProviderResponse
    from pytest_chatprompt.secret_values import SecretValues


def check_case(  # noqa: PLR0913, PLR0917 - a test function asks for what it needs
    request: pytest.FixtureRequest,
    eval_case: EvalCase,
    eval_request: ProviderRequest,
    _eval_provider_name: str,
    eval_provider: Provider,
    eval_api: EvalAPI,
    eval_snapshot: SnapshotAssertion,
) -> None:
    """Send the case, and compare what left with the snapshot; in a live run, compare before it is sent."""
    __tracebackhide__ = True
    del eval_case
    if request.config.stash[settings_key].live:
        reviewed = record(eval_provider, eval_request, eval_api)
        for finding in reviewed.response.findings:
            request.node.warn(finding.as_warning())
        request.node.stash[reviewed_key] = reviewed
        _compare(request.node, reviewed, eval_snapshot, eval_api.secrets)
        response: ProviderResponse = request.getfixturevalue("eval_response")
        _check_live(reviewed, request.node.stash.get(recording_key, reviewed), response)
    else:
        request.getfixturevalue("eval_response")
        if recording_key not in request.node.stash:
            raise SnapshotError("nothing was sent: eval_response is overridden; let the override ask for eval_response")
        _compare(request.node, request.node.stash[recording_key], eval_snapshot, eval_api.secrets)


def _compare(item: pytest.Item, recording: Recording, snapshot: SnapshotAssertion, secrets: SecretValues) -> None:
    __tracebackhide__ = True
    provider_name = item.provider_name  # type: ignore[attr-defined]
    data = payload(recording, provider_name, item.config.rootpath)
    found = secrets.find(data)
    if found is not None:
        raise SnapshotError(
            f"what is sent to {provider_name} holds the value of {found[1]}, under {found[0]}; "
            "take it out: a snapshot is committed for all to read"
        )
    if snapshot == data:
        return
    result = snapshot.executions[snapshot.num_executions - 1]
    if result.exception is not None:
        raise result.exception
    raise SnapshotError(_told(item, result, provider_name))


def _told(item: pytest.Item, result: AssertionResult, provider_name: str) -> str:
    path = Path(result.snapshot_location)
    shown = path.relative_to(item.config.rootpath) if path.is_relative_to(item.config.rootpath) else path
    accept = _accepting_command(item)
    if result.recalled_data is None:
        return (
            f"what is sent to {provider_name} has no snapshot yet\n\n"
            f"There is no {shown.as_posix()}.\nTo write it, for review: {accept}"
        )
    changes = difference(str(result.recalled_data), str(result.asserted_data))
    return (
        f"what is sent to {provider_name} is not what its snapshot says\n\n"
        f"{shown.as_posix()}\n{changes}\n\nTo accept it: {accept}"
    )


def _accepting_command(item: pytest.Item) -> str:
    """What to type where pytest was started to write the snapshot of an item."""
    settings = item.config.stash[settings_key]
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    overrides = [one for one in item.config.getoption("override_ini") or () if one.startswith("chatprompt_")]
    words = ["pytest", f"{path}::{item.nodeid.partition('::')[2]}"]
    words += [word for override in overrides for word in ("-o", override)]
    words += ["--chatprompt-provider", settings.provider] if settings.provider else []
    return shlex.join([*words, "--snapshot-update"])


def _check_live(reviewed: Recording, live: Recording, response: ProviderResponse) -> None:
    __tracebackhide__ = True
    if live.sent[:1] != reviewed.sent[:1] or live.handover != reviewed.handover:
        raise SnapshotError(
            "what left in the live run is not what was compared with the snapshot: "
            "the provider sends something else each time"
        )
    if response.blocked is not None:
        raise BlockedResponseError(f"the API withheld the answer: {response.blocked}")
