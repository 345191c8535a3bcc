"""The package: its public names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_chatprompt
from pytest_chatprompt.api import __file__ as api_file


def imported_names(tree: ast.AST) -> list[tuple[str | None, str]]:
    """The modules and names of all `from ... import ...` below a node."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return [(node.module, alias.name) for node in imports for alias in node.names]


def test_every_public_name_can_be_imported() -> None:
    assert {"EvalCase", "ChatProvider", "convert_to_chat_prompt"} <= set(dir(pytest_chatprompt))
    for name in pytest_chatprompt.__all__:
        assert getattr(pytest_chatprompt, name) is not None


def test_type_checkers_see_the_public_names() -> None:
    tree = ast.parse(Path(pytest_chatprompt.__file__).read_text(encoding="utf-8"))
    (type_checking_block,) = [node for node in tree.body if isinstance(node, ast.If)]
    assert imported_names(type_checking_block) == [("pytest_chatprompt.api", "*")]
    api = ast.parse(Path(api_file).read_text(encoding="utf-8"))
    names = [name for module, name in imported_names(api) if module != "__future__"]
    assert sorted(names) == sorted(pytest_chatprompt.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_chatprompt' has no attribute 'AxProvider'"):
        _ = pytest_chatprompt.AxProvider
