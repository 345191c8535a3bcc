"""The caller: found in stacks of every kind, and named in the error of what was blocked."""

from __future__ import annotations

import json.decoder
import sys
import sysconfig
import threading
from pathlib import Path

import pytest

import pytest_chatprompt
from pytest_chatprompt.capture.caller import Caller, StackFrame, find_caller, walk_stack

FOLDER = Path("/project")
SITE = f"{sysconfig.get_path('purelib')}"
PYTHON = json.decoder.__file__
OURS = str(Path(pytest_chatprompt.__file__).parent / "capture" / "provider_capture.py")


@pytest.mark.parametrize(
    ("files", "caller"),
    [
        pytest.param([PYTHON, "/project/app/cache.py"], Caller("", "app/cache.py:2"), id="your code itself"),
        pytest.param(
            [
                PYTHON,
                f"{SITE}/redis/connection.py",
                f"{SITE}/redis/client.py",
                "/project/app/cache.py",
                "/project/t.py",
            ],
            Caller("redis", "app/cache.py:4"),
            id="a library",
        ),
        pytest.param(
            [f"{SITE}/httpcore/a.py", PYTHON, f"{SITE}/httpx/b.py", f"{SITE}/openai/c.py", "/elsewhere/lib.py"],
            Caller("openai", "/elsewhere/lib.py:5"),
            id="the library that your code called, not those below it",
        ),
        pytest.param(
            ["/usr/lib/python3/dist-packages/six.py", "/project/a.py"],
            Caller("six", "a.py:2"),
            id="a module in one file",
        ),
        pytest.param(
            [f"{SITE}/redis/client.py", "<frozen runpy>", PYTHON], Caller("redis", ""), id="a thread of a library"
        ),
        pytest.param([OURS, PYTHON], Caller("", ""), id="nobody"),
        pytest.param(
            [f"{SITE}/httpx/a.py", OURS, f"{SITE}/pluggy/_callers.py", f"{SITE}/pytest/__main__.py", "/project/run.py"],
            Caller("httpx", ""),
            id="what runs the tests is not the caller",
        ),
        pytest.param([OURS, "/project/a.py", f"{SITE}/b.py"], Caller("", "a.py:2"), id="this package is skipped"),
    ],
)
def test_the_caller(files: list[str], caller: Caller) -> None:
    stack = [StackFrame(file, line) for line, file in enumerate(files, start=1)]
    assert find_caller(stack, FOLDER) == caller


@pytest.mark.parametrize(
    ("caller", "text"),
    [
        (Caller("redis", "app.py:2"), ", tried by redis, called at app.py:2"),
        (Caller("redis", ""), ", tried by redis"),
        (Caller("", "app.py:2"), ", called at app.py:2"),
        (Caller("", ""), ""),
    ],
)
def test_its_description(caller: Caller, text: str) -> None:
    assert caller.describe() == text


def test_a_stack_is_walked_from_the_innermost_call_outwards() -> None:
    stacks: list[list[StackFrame]] = []
    thread = threading.Thread(target=lambda: stacks.append(list(walk_stack(sys._getframe()))))
    thread.start()
    thread.join()
    files = [Path(frame.file).name for frame in stacks[0]]
    assert (files[0], files[-1]) == ("test_caller.py", "threading.py")
