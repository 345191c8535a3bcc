"""Which cases of a live run are sent while their test runs, and not once it is over."""

from __future__ import annotations

import inspect
import os
import socket
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.preview import can_preview
from pytest_chatprompt.live.answers import LiveCase
from pytest_chatprompt.providers.agents.base import AgentProvider
from pytest_chatprompt.runs.item import RESPONSE_FIXTURE, EvalItem
from pytest_chatprompt.wording import shown_path

# Marks by which plugins decide on the outcome of a test, refuse its connections or answer them while it runs.
_MARKS: Final = ("xfail", "dependency", "depends", "disable_socket", "allow_hosts", "block_network", "vcr")
# Whose fixtures no provider of a project can depend on.
_OURS: Final = ("pytest_chatprompt.", "syrupy")


def why_in_its_test(request: pytest.FixtureRequest, case: LiveCase, api: EvalAPI) -> str | None:
    """Why a case has to be sent while its test runs, for the summary; `None` if its test can be over by then."""
    (provider, compared), judging = case.versions[0], case.judging
    if isinstance(provider, AgentProvider):
        # In the thread where Ctrl-C arrives.
        return "agents run one after the other"
    if judging is not None and not (isinstance(judging.judge, ChatProvider) and can_preview(judging.judge)):
        return "their judge does not prepare its requests as the providers of APIs do"
    why = _why_by_plugin(request.node)
    if why is not None or compared.prepared is not None:
        return why
    if not compared.sent:
        return "their provider makes no HTTP request that could be compared in advance"
    if api.children.server is not None:
        return "their provider needs eval_api, which ends with each of them"
    # All that were set up for the test, also those that were asked for by name.
    if any(map(_may_end, request._fixture_defs.values())):
        return "their provider is your own, and may need fixtures that end with each of them: give them session scope"
    return "pytest-timeout could not end the requests of a provider of your own" if _has_timeout(request.node) else None


def _why_by_plugin(item: EvalItem) -> str | None:
    """Why an override of the project, or another plugin, may decide on what is sent."""
    manager: Any = item.session._fixturemanager
    function = manager.getfixturedefs(RESPONSE_FIXTURE, item)[-1].func
    if function.__module__ != "pytest_chatprompt.fixtures":
        # It may send by itself.
        file = shown_path(Path(inspect.unwrap(function).__code__.co_filename), item.config.rootpath)
        return f"the fixture {RESPONSE_FIXTURE} is overridden in {file}"
    for name in _MARKS:
        if item.get_closest_marker(name):
            return f"the mark {name} may skip or refuse them"
    # As tools do that refuse the connections of a test.
    if socket.socket.__module__ != "socket":
        return f"{socket.socket.__module__} has replaced socket.socket"
    for name in ("connect", "connect_ex"):
        function = getattr(socket.socket, name)
        if function is not getattr(socket.SocketType, name):
            return f"{getattr(function, '__module__', 'something')} has replaced socket.socket.{name}"
    return None


def _has_timeout(item: EvalItem) -> bool:
    """Whether pytest-timeout may end the item's test while it waits."""
    config = item.config
    if not config.pluginmanager.hasplugin("timeout"):
        return False
    settings = (config.getoption("timeout", None), os.environ.get("PYTEST_TIMEOUT"))
    return bool(any(settings) or item.get_closest_marker("timeout") or config.getini("timeout"))


def _may_end(fixturedef: Any) -> bool:
    """Whether a fixture of the project may undo something when it ends, before the run does."""
    function = fixturedef.func
    ends_with_run = fixturedef.scope == "session" and fixturedef.params is None
    if ends_with_run or function.__module__.startswith(_OURS):
        return False
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
