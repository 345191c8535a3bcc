"""The table of providers: a class for each name, of which a run imports only those that it uses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_chatprompt import ChatProvider, OpenAIProvider, VSCodeProvider
from pytest_chatprompt.apis.table import PROVIDERS, get_provider, is_built_in_class


class _Subclass(OpenAIProvider):
    pass


def test_each_name_has_its_class() -> None:
    assert get_provider("openai") is OpenAIProvider
    assert get_provider("vscode") is VSCodeProvider
    assert len(PROVIDERS) == len(set(PROVIDERS.values())) == 13
    assert "mine" not in PROVIDERS


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_classes_of_the_table_are_built_in(name: str) -> None:
    assert is_built_in_class(get_provider(name))


@pytest.mark.parametrize("other", [_Subclass, ChatProvider, str])
def test_other_classes_are_not_built_in(other: type) -> None:
    assert not is_built_in_class(other)


def test_asking_for_one_class_imports_no_other() -> None:
    program = """
import sys
from pytest_chatprompt.apis.table import PROVIDERS, get_provider, is_built_in_class
assert len(PROVIDERS) > 1 and not is_built_in_class(int)
print(*[name for name in sys.modules if name.startswith(("pytest_chatprompt.apis.", "httpx")) and "table" not in name])
get_provider("openai")
print(*[name for name in ("openai", "anthropic", "bedrock") if f"pytest_chatprompt.apis.{name}" in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "\nopenai\n"
