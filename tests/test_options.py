"""What the options do that need no eval file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.eval_schema_generator import SCHEMA_FILE


def test_the_schema_is_printed_and_nothing_is_collected(pytester: pytest.Pytester) -> None:
    pytester.makefile(".eval.yaml", broken="evalcases: 3")
    pytester.makepyfile("def test_it():\n    raise AssertionError")
    result = pytester.runpytest("--chatprompt-schema", "-p", "no:syrupy", "missing.py")
    assert result.ret == pytest.ExitCode.OK
    assert "\n".join([*result.outlines, ""]) == SCHEMA_FILE.read_text(encoding="utf-8")
    assert result.errlines == []


def test_the_schema_is_printed_outside_of_a_project_where_only_this_plugin_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-p", "pytest_chatprompt.plugin", "--chatprompt-schema"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert result.stdout.splitlines() == SCHEMA_FILE.read_bytes().splitlines()
    assert list(tmp_path.iterdir()) == []
