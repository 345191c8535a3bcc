"""What an MCP server shows: its tools, prompts and resources, read by the client of the SDK `mcp`.

The server ends as soon as it is read, and is asked for nothing but its lists.
Source: https://modelcontextprotocol.io/specification/2025-11-25 (transports, lists), and the package mcp 2.3.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, nullcontext, suppress
from http import HTTPStatus
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from pytest_chatprompt.capture.audit_events import is_loopback
from pytest_chatprompt.capture.clients.interceptor import let_pass
from pytest_chatprompt.capture.guard import allow_programs, guard_network
from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.errors import AgentError, MCPServerError
from pytest_chatprompt.providers.agents.process import (
    MAX_OUTPUT_BYTES,
    ProcessResult,
    read_output,
    started,
    stderr_tail,
)
from pytest_chatprompt.providers.arguments import PositiveNumber, check_setting
from pytest_chatprompt.wording import cut, data_place, visible_line

if TYPE_CHECKING:
    from mcp import Client

# pytest shows no frame of this module.
__tracebackhide__ = True

DEFAULT_TIMEOUT_SECONDS: Final = 30.0
_NO_SDK: Final = "mcp_tools needs the package mcp, version 2 or newer: pip install 'pytest-chatprompt[mcp]'"
# How long a server may take to end once its input is closed, and a client to say that the time is over.
_CLOSING_SECONDS: Final = 1.0
_SHOWN_CHARACTERS: Final = 200
# What the SDK says if a server has ended, or has closed its output, before it has answered.
_CLOSED: Final = "Connection closed"
# By the name of a list what is shown of its entries; the rest is for user interfaces, or differs from run to run.
_SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": ("name", "title", "description", "inputSchema", "outputSchema", "annotations"),
    "prompts": ("name", "title", "description", "arguments"),
    "resources": ("name", "title", "uri", "description", "mimeType"),
    "resource_templates": ("name", "title", "uriTemplate", "description", "mimeType"),
}


def read_mcp_server(  # noqa: PLR0913 - how a server is reached
    server: Any = None,
    *,
    command: Sequence[str | Path] | None = None,
    url: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    root: Path,
    allowed_hosts: Collection[str] | None = None,
) -> dict[str, Any]:
    """Read what an MCP server shows.

    Args:
        server: a server object of the SDK, which runs in this process.
        command: starts a server that speaks over its standard input and output: the executable and its arguments.
        url: where a server speaks HTTP.
        env: environment variables for the command, which gets PATH, HOME and a few others from this process.
        cwd: the command's working folder; `None` for `root`.
        headers: headers of the requests to the URL.
        timeout_seconds: how long all of it may take.
        root: pytest's root folder.
        allowed_hosts: hosts beside this machine that a URL may name; `None` for any.

    Returns:
        The `instructions`, `tools`, `prompts`, `resources` and `resource_templates`, as far as there are any, sorted by
        name; the keys of their entries are those of the protocol.

    Raises:
        MCPServerError: the server could not be started or reached, or does not keep to the protocol.
        TypeError: not exactly one of the server, a command and a URL is given, or one of them is of another type.
        ValueError: another argument has an invalid value.
    """
    check_setting("mcp_tools", "url", url, NonEmptyString | None)
    check_setting("mcp_tools", "env", env or {}, dict[str, str])
    check_setting("mcp_tools", "cwd", cwd, str | Path | None)
    check_setting("mcp_tools", "headers", headers or {}, dict[str, str])
    check_setting("mcp_tools", "timeout_seconds", timeout_seconds, PositiveNumber)
    try:
        # An extra, and a second to import; version 1 has no such client.
        from mcp import Client  # noqa: F401, PLC0415
        from mcp.server import MCPServer, Server  # noqa: PLC0415
    except ImportError as error:
        if error.name != "mcp":
            raise
        raise MCPServerError(_NO_SDK) from None
    # The SDK would take a text for a URL.
    if [server, command, url].count(None) != 2 or not isinstance(server, MCPServer | Server | None):  # noqa: PLR2004
        raise TypeError("mcp_tools takes either a server object, or command=[...], or url='...'")
    if command is not None:
        return _read_command(command, env or {}, Path(cwd or root), timeout_seconds)
    if url is not None:
        return _read_url(url, headers or {}, allowed_hosts, timeout_seconds)
    name = f"the MCP server {getattr(server, 'name', server)}"
    return _run(name, lambda: _read(server, timeout_seconds), timeout_seconds)


def tools_of_listing(listing: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Convert the tools that a server shows to those of an eval file."""
    keys = {"name": "name", "description": "description", "inputSchema": "parameters"}
    tools = ({keys[key]: value for key, value in tool.items() if key in keys} for tool in listing["tools"])
    return [{"type": "function", **tool} for tool in tools]


def _read_command(
    command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, timeout_seconds: float
) -> dict[str, Any]:
    from mcp.client.stdio import get_default_environment  # noqa: PLC0415

    is_list = isinstance(command, list | tuple) and all(isinstance(word, str | Path) for word in command)
    if not is_list or not command:
        raise TypeError("mcp_tools: command must be a list of the executable and its arguments")
    argv = [*map(str, command)]
    name = f"the MCP server {shlex.join(argv)}"
    # By this variable the guard of an offline run lets it start.
    own = {"PYTEST_CHATPROMPT_MCP": token_hex(8)}
    environ = {**get_default_environment(), **env, **own}
    with tempfile.TemporaryFile() as stderr, allow_programs(own), ExitStack() as stack:
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
        try:
            process: Any = stack.enter_context(
                started(argv, cwd, environ, streams, hint="pass another command to mcp_tools")
            )
        except AgentError as error:
            raise MCPServerError(str(error)) from None
        try:
            return _run(name, lambda: _read(_pipes(process), timeout_seconds), timeout_seconds)
        except MCPServerError as error:
            text = str(error)
            if text == f"{name}: {_CLOSED}":
                text = f"{name} closed its standard output"
                with suppress(subprocess.TimeoutExpired):
                    text = ProcessResult(process.wait(_CLOSING_SECONDS), "", "").exit_message(name)
            raise MCPServerError(text + stderr_tail(read_output(stderr))) from None
        finally:
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_CLOSING_SECONDS)
            process.stdout.close()


def _read_url(
    url: str, headers: Mapping[str, str], allowed_hosts: Collection[str] | None, timeout_seconds: float
) -> dict[str, Any]:
    host = None
    # A host such as `[x` is none.
    with suppress(ValueError):
        host = urlsplit(url).hostname
    if host is None or not re.match("https?://", url, re.IGNORECASE):
        raise MCPServerError(f"the MCP server at {url}: a URL begins with http:// or https:// and a host")
    is_near = is_loopback(host)
    if not is_near and allowed_hosts is not None and host not in allowed_hosts:
        raise MCPServerError(
            f"the MCP server at {host} is not asked: this is an offline run; "
            "the ini value chatprompt_allowed_hosts names hosts that may be reached"
        )

    async def check_access(response: Any) -> None:
        # The SDK does not say which status it gets; by others than these a server may refuse what it need not have.
        if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise MCPServerError(f"it refuses access with status {response.status_code}; pass headers to mcp_tools")

    async def read() -> dict[str, Any]:
        import httpx2  # noqa: PLC0415
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        # What is on this machine is asked through no proxy.
        async with httpx2.AsyncClient(headers=dict(headers), trust_env=not is_near, timeout=None) as client:
            client.event_hooks = {"response": [check_access]}
            return await _read(streamable_http_client(url, http_client=client), timeout_seconds)

    is_free = is_near or allowed_hosts is None
    # Without a password and a query, which may be secret.
    name = f"the MCP server at {re.sub('//[^/]*@', '//', url.partition('?')[0])}"
    with nullcontext() if is_free else guard_network(allows_programs=True, allowed_hosts=[host]):
        return _run(name, read, timeout_seconds)


def _run(name: str, read: Callable[[], Coroutine[Any, Any, dict[str, Any]]], timeout_seconds: float) -> dict[str, Any]:
    """Read a server in an event loop of its own: the caller's thread may have one already, and stays interruptible."""
    from mcp import MCPError  # noqa: PLC0415

    result: Future[dict[str, Any]] = Future()

    def run() -> None:
        try:
            with let_pass():
                result.set_result(asyncio.run(read()))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name="mcp_tools", daemon=True).start()
    try:
        # The server object may block the loop.
        return result.result(timeout_seconds + _CLOSING_SECONDS)
    except Exception as raised:
        # Of several errors the protocol's own tells least: that the connection is closed.
        group = BaseExceptionGroup("", [raised])
        error: BaseException = group.split(MCPError)[1] or group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        reason = f": {str(error) or type(error).__name__}"
        if isinstance(error, TimeoutError):
            reason = f" did not answer within {timeout_seconds:g} s"
        elif isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            reason = f": its answer is not valid: {data_place(first['loc'])}: {first['msg']}"
        raise MCPServerError(f"{name}{reason}") from None


async def _read(server: Any, timeout_seconds: float) -> dict[str, Any]:
    """What a server shows: an object of the SDK, or a transport to it."""
    from mcp import Client  # noqa: PLC0415

    changed: list[str] = []

    async def note(message: Any) -> None:
        changed.extend(re.findall("list_changed$", str(getattr(message, "method", ""))))

    async with asyncio.timeout(timeout_seconds), Client(server, message_handler=note, cache=None) as client:
        lists = await _lists(client)
        # Some servers say so while they start, and have all of their lists by then.
        again = await _lists(client) if changed else lists
        changed = [kind for kind in _SHOWN if lists[kind] != again[kind]]
        if changed:
            problem = f"its {changed[0]} changed while they were read; let it register them before it answers"
            raise MCPServerError(problem)
        instructions = {"instructions": client.instructions} if client.instructions else {}
    return instructions | {kind: entries for kind, entries in lists.items() if entries or kind == "tools"}


async def _lists(client: Client) -> dict[str, list[dict[str, Any]]]:
    lists = {}
    for kind, keys in _SHOWN.items():
        entries = [{key: entry[key] for key in keys if key in entry} async for entry in _entries(client, kind)]
        lists[kind] = sorted(entries, key=lambda entry: (entry["name"], str(entry)))
    return lists


async def _entries(client: Client, kind: str) -> AsyncIterator[dict[str, Any]]:
    """The entries of all pages of a list; none where the server has no such list."""
    from mcp import MCPError  # noqa: PLC0415
    from mcp.types import METHOD_NOT_FOUND  # noqa: PLC0415

    capabilities = client.server_capabilities
    if getattr(capabilities, kind, capabilities.resources) is None:
        return
    cursor = None
    while True:
        try:
            page = await getattr(client, f"list_{kind}")(cursor=cursor)
        except MCPError as error:
            # Many a server of resources knows no templates.
            if error.code == METHOD_NOT_FOUND:
                return
            raise
        for entry in getattr(page, kind):
            yield entry.model_dump(mode="json", by_alias=True, exclude_none=True)
        cursor = page.next_cursor
        if cursor is None:
            return


def _message(line: bytes) -> Any:
    from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415

    try:
        return jsonrpc_message_adapter.validate_json(line)
    except ValueError:
        text = cut(visible_line(line.decode(errors="replace").rstrip()), _SHOWN_CHARACTERS)
        problem = f"it printed to its standard output what is no message: {text!r}; let it print to standard error"
        raise MCPServerError(problem) from None


@asynccontextmanager
async def _pipes(process: Any) -> AsyncIterator[tuple[Any, Any]]:
    """The transport to a program: one message in each line of its standard input and output."""
    import anyio  # noqa: PLC0415
    from mcp.shared.message import SessionMessage  # noqa: PLC0415

    lines = asyncio.StreamReader(limit=MAX_OUTPUT_BYTES)
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), process.stdout)
    incoming, received = anyio.create_memory_object_stream[Any](0)
    to_send, outgoing = anyio.create_memory_object_stream[Any](0)

    async def read() -> None:
        try:
            async for line in lines:
                if line.strip():
                    # It may say more once all lists are read.
                    with suppress(anyio.BrokenResourceError):
                        await incoming.send(SessionMessage(_message(line)))
        except ValueError:
            problem = f"it printed {MAX_OUTPUT_BYTES:,} bytes to its standard output without the end of a line"
            raise MCPServerError(problem) from None
        # Whoever waits for an answer now gets `_CLOSED`.
        await incoming.aclose()

    async def write() -> None:
        async for each in outgoing:
            line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            # Who does not read any more has ended, as `read` sees.
            with suppress(BrokenPipeError):
                os.write(process.stdin.fileno(), f"{line}\n".encode())

    try:
        async with incoming, received, to_send, outgoing, anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            yield received, to_send
            tasks.cancel_scope.cancel()
    finally:
        pipe.close()
