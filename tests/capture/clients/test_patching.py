"""Patching: methods are replaced while somebody needs it, and put back."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_chatprompt.capture.clients.interceptor import Patch, Patching

NAME = "library_of_test_patching"


def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any) -> str:
        return f"patched {original(self)}"

    return method


def seam(module: ModuleType) -> Iterator[Patch]:
    yield Patch(module.Client, "send", wrap)
    # Of another version of the library.
    yield Patch(module.Client, "send_later", wrap)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / f"{NAME}.py"
    path.write_text("class Client:\n    def send(self):\n        return 'sent'\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop(NAME, None)


def imported() -> Any:
    return importlib.import_module(NAME)


@pytest.mark.usefixtures("library")
def test_a_library_that_is_imported_before_or_meanwhile_is_patched() -> None:
    for is_before in (False, True):
        sys.modules.pop(NAME, None)
        patching = Patching({NAME: seam})
        if is_before:
            imported()
        patching.start()
        assert imported().Client().send() == "patched sent"
        patching.start()
        patching.stop()
        assert imported().Client().send() == "patched sent"
        patching.stop()
        assert imported().Client().send() == "sent"


def test_a_library_that_cannot_be_imported_fails_as_ever(library: Path) -> None:
    patching = Patching({NAME: seam, "a_library_that_does_not_exist": seam})
    patching.start()
    library.write_text("1 / 0", encoding="utf-8")
    with pytest.raises(ZeroDivisionError):
        imported()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("a_library_that_does_not_exist")
    library.write_text("class Client:\n    send = lambda self: 'sent at last'\n", encoding="utf-8")
    assert imported().Client().send() == "patched sent at last"
    patching.stop()


def test_an_import_that_ends_after_the_last_stop_is_not_patched(library: Path) -> None:
    patching = Patching({NAME: seam})
    sys.modules["stop_of_test_patching"] = patching  # type: ignore[assignment]
    text = library.read_text(encoding="utf-8")
    library.write_text(f"import sys\nsys.modules['stop_of_test_patching'].stop()\n{text}", encoding="utf-8")
    patching.start()
    assert imported().Client().send() == "sent"
    del sys.modules["stop_of_test_patching"]


@pytest.mark.usefixtures("library")
def test_what_somebody_else_has_replaced_is_removed_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    patching = Patching({NAME: seam})
    client = imported().Client
    patching.start()
    ours = client.send
    monkeypatch.setattr(client, "send", lambda _: "theirs")
    patching.stop()
    assert client().send() == "theirs"
    monkeypatch.undo()
    assert client.send is ours
    patching.start()
    assert client().send() == "patched sent"
    patching.stop()
    assert client().send() == "sent"
