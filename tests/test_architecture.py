"""The architecture: the rooms, the direction of imports, and what start-up imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_chatprompt

PACKAGE = Path(pytest_chatprompt.__file__).parent
ROOMS = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)


def test_imports_run_one_way() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([command, "--no-cache"], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert "0 broken" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize("room", [room.relative_to(PACKAGE).as_posix() for room in ROOMS])
def test_each_room_says_what_it_is_and_imports_nothing(room: str) -> None:
    module = ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(module)
    assert len(module.body) == 1


def test_each_room_of_the_package_has_tests() -> None:
    folders = {
        path.parent.relative_to(PACKAGE.parent / "tests") for path in (PACKAGE.parent / "tests").rglob("test_*.py")
    }
    assert {room.relative_to(PACKAGE) for room in ROOMS} <= folders


def test_start_up_imports_nothing_but_pytest() -> None:
    script = (
        "import sys, pytest, _pytest.config\n"
        "before = set(sys.modules)\n"
        "import pytest_chatprompt.plugin, pytest_chatprompt.fixtures\n"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('_')))"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.split() == [
        "pytest_chatprompt",
        "pytest_chatprompt.fixtures",
        "pytest_chatprompt.hookspecs",
        "pytest_chatprompt.options",
        "pytest_chatprompt.plugin",
    ]
