"""The package: its public names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_chatprompt


def test_every_public_name_can_be_imported() -> None:
    assert {"EvalCase", "ChatProvider", "convert_to_chat_prompt"} <= set(dir(pytest_chatprompt))
    for name in pytest_chatprompt.__all__:
        assert getattr(pytest_chatprompt, name) is not None


def test_type_checkers_see_the_names_that_are_there() -> None:
    tree = ast.parse(Path(pytest_chatprompt.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = [alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(name for name in seen if name) == pytest_chatprompt.__all__


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_chatprompt' has no attribute 'AxProvider'"):
        _ = pytest_chatprompt.AxProvider
