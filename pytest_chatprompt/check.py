"""What an eval item does when it runs: what the case sends is compared with its snapshot.

`templates` has the test function, whose arguments are the fixtures that users override; it hands them on to `check`.
"""

from __future__ import annotations

import os
import shlex
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.difference import difference
from pytest_chatprompt.errors import BlockedResponseError, EmptyResponseError, ProviderError, SnapshotError
from pytest_chatprompt.options import settings_key
from pytest_chatprompt.payload import payload
from pytest_chatprompt.recording import Recording, is_rehearsed_alone, record, rehearse
from pytest_chatprompt.session import LIVE_RUN

_reviewed_key: Final[pytest.StashKey[Recording]] = pytest.StashKey()

if TYPE_CHECKING:
    from syrupy.assertion import AssertionResult, SnapshotAssertion

    from pytest_chatprompt.case import EvalCase
    from pytest_chatprompt.eval_api import EvalAPI
    from pytest_chatprompt.eval_item import EvalItem
    from pytest_chatprompt.live import LiveRun
    from pytest_chatprompt.requests import Provider, ProviderRequest, ProviderResponse
    from pytest_chatprompt.secret_values import SecretValues


def check(  # noqa: PLR0913, PLR0917 - what a test function asks for
    request: pytest.FixtureRequest,
    eval_case: EvalCase,
    eval_request: ProviderRequest,
    eval_provider: Provider,
    eval_api: EvalAPI,
    eval_snapshot: SnapshotAssertion,
) -> None:
    """Do what `templates.check_case`, the test function of every eval item, says that it does."""
    __tracebackhide__ = True
    item: EvalItem = request.node
    settings = item.config.stash[settings_key]
    with _quiet(item, eval_provider):
        recording = (rehearse if settings.live else record)(eval_provider, eval_request, eval_api)
    for finding in recording.response.findings:
        item.warn(finding.as_warning())
    _compare(item, recording, eval_snapshot, eval_api.secrets)
    if not settings.live and not settings.replay:
        # Offline there is no answer but a canned one, and that is not to be graded.
        return
    item.stash[_reviewed_key] = recording
    response: ProviderResponse = request.getfixturevalue("eval_response")
    for grader in item.graders:
        request.getfixturevalue(grader)
    item.ihook.pytest_chatprompt_response(case=eval_case, request=eval_request, response=response)


def answer_to(item: EvalItem, provider: Provider, api: EvalAPI) -> ProviderResponse:
    """The answer to what a case sends, from the API or, in a replayed run, from the file beside its snapshot.

    Raises:
        SnapshotError: it was not compared with its snapshot yet, or what was sent then is something else.
        ProviderError: there is no answer, or nothing in it.
        ReplayError: there is no recorded answer to this.
    """
    __tracebackhide__ = True
    # Offline runs, the most of all, need neither.
    from pytest_chatprompt.answers import read_answer, request_sha256, write_answer  # noqa: PLC0415
    from pytest_chatprompt.usage import note_usage  # noqa: PLC0415

    settings = item.config.stash[settings_key]
    reviewed = item.stash.get(_reviewed_key, None)
    if reviewed is None:
        raise SnapshotError(
            "there is no answer yet, or none at all offline; to look at it, let a fixture with autouse=True have "
            "eval_response as an argument, or write the hook pytest_chatprompt_response"
        )
    sha256 = request_sha256(reviewed, item.config.rootpath) if settings.replay or settings.record else ""
    if settings.replay:
        return read_answer(item.answer_path, _shown(item, item.answer_path), sha256)
    try:
        live: LiveRun = item.config.pluginmanager.getplugin(LIVE_RUN)
        response = live.answer(item, provider, reviewed)
    except ProviderError as error:
        note_usage(item, item.provider_name, error)
        raise
    note_usage(item, item.provider_name, response)
    if response.blocked is not None:
        raise BlockedResponseError(f"the API withheld the answer: {response.blocked}")
    if not response.text.strip() and not response.tool_calls:
        raise EmptyResponseError(f"the answer is empty (finish reason: {response.finish_reason or 'none given'})")
    if settings.record:
        write_answer(item.answer_path, item.provider_name, sha256, response, api.secrets)
    return response


def _quiet(item: EvalItem, provider: Provider) -> AbstractContextManager[None]:
    """Let no other request be on its way while a provider sends whose requests are only seen as they leave."""
    live: LiveRun | None = item.config.pluginmanager.get_plugin(LIVE_RUN)
    return nullcontext() if live is None or is_rehearsed_alone(provider) else live.sender.quiet()


def _compare(item: EvalItem, recording: Recording, snapshot: SnapshotAssertion, secrets: SecretValues) -> None:
    __tracebackhide__ = True
    provider_name = item.provider_name
    data = payload(recording, provider_name, item.config.rootpath)
    found = secrets.find(data)
    if found is not None:
        raise SnapshotError(
            f"what is sent to {provider_name} holds the value of {found[1]}, under {found[0]}; "
            "take it out: a snapshot is committed for all to read"
        )
    is_same = snapshot == data
    result = snapshot.executions[snapshot.num_executions - 1]
    try:
        if result.exception is not None:
            raise result.exception
        if not is_same:
            raise SnapshotError(_told(item, result, provider_name))
    finally:
        # Syrupy keeps its results to the end of the run and reports their names alone; the texts would fill the memory.
        result.asserted_data = result.recalled_data = None


def _told(item: pytest.Item, result: AssertionResult, provider_name: str) -> str:
    shown = _shown(item, Path(result.snapshot_location))
    accept = _accepting_command(item)
    if result.recalled_data is None:
        return (
            f"what is sent to {provider_name} has no snapshot yet\n\n"
            f"There is no {shown}.\nTo write it, for review: {accept}"
        )
    changes = difference(str(result.recalled_data), str(result.asserted_data))
    return (
        f"what is sent to {provider_name} is not what its snapshot says\n\n{shown}\n{changes}\n\nTo accept it: {accept}"
    )


def _shown(item: pytest.Item, path: Path) -> str:
    root = item.config.rootpath
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def _accepting_command(item: pytest.Item) -> str:
    """What to type where pytest was started to write the snapshot of an item."""
    settings = item.config.stash[settings_key]
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    overrides = [one for one in item.config.getoption("override_ini") or () if one.startswith("chatprompt_")]
    words = ["pytest", f"{path}::{item.nodeid.partition('::')[2]}"]
    words += [word for override in overrides for word in ("-o", override)]
    words += ["--chatprompt-provider", settings.provider] if settings.provider else []
    return shlex.join([*words, "--snapshot-update"])
