"""The package: its public names, and the files that are built of it."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import ForwardRef, get_type_hints

import pytest

import pytest_chatprompt
from pytest_chatprompt.public_names import __file__ as public_names_file


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
    assert imported_names(type_checking_block) == [("pytest_chatprompt.public_names", "*")]
    public_names = ast.parse(Path(public_names_file).read_text(encoding="utf-8"))
    names = [name for module, name in imported_names(public_names) if module != "__future__"]
    assert sorted(names) == sorted(pytest_chatprompt.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_chatprompt' has no attribute 'AxProvider'"):
        _ = pytest_chatprompt.AxProvider


def test_names_that_start_with_an_underscore_are_unknown() -> None:
    assert not hasattr(pytest_chatprompt, "_private")
    assert "annotations" not in dir(pytest_chatprompt)


def test_to_import_one_public_name_imports_no_module_of_another() -> None:
    program = "import sys; from pytest_chatprompt import ImagePart; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    modules = {pytest_chatprompt.ImagePart.__module__, pytest_chatprompt.ChatProvider.__module__}
    assert modules & set(output.split()) == {pytest_chatprompt.ImagePart.__module__}


def test_a_run_without_evals_does_not_read_the_list_of_public_names() -> None:
    program = "import pytest_chatprompt.plugin; print(pytest_chatprompt._modules.cache_info().currsize)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output == "0\n"


def test_the_public_names_are_the_same_in_an_archive(tmp_path: Path) -> None:
    package = tmp_path / "installed" / pytest_chatprompt.__name__
    shutil.copytree(Path(public_names_file).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    path = shutil.make_archive(str(tmp_path / "archive"), "zip", package.parent)
    shutil.rmtree(package)
    program = f"""
import sys
sys.path.insert(0, {path!r})
import pytest_chatprompt
print(pytest_chatprompt.__file__.startswith({path!r}), pytest_chatprompt.ImagePart.__name__)
print(*pytest_chatprompt.__all__)
"""
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert output.splitlines() == ["True ImagePart", " ".join(pytest_chatprompt.__all__)]


def annotations_of(name: str) -> str:
    """The annotations of a public name: of its public fields and attributes, and of its public methods' arguments."""
    public = getattr(pytest_chatprompt, name)
    if not inspect.isclass(public):
        return str(inspect.signature(public)) if inspect.isfunction(public) else str(public)
    # An error or an extension has the methods of classes that are not ours, too.
    methods = [
        member
        for attribute, member in vars(public).items()
        if inspect.isfunction(member) and (attribute == "__init__" or not attribute.startswith("_"))
    ]
    attributes = {
        attribute: annotation
        for attribute, annotation in vars(public).get("__annotations__", {}).items()
        if not attribute.startswith("_")
    }
    # What `Annotated` adds is for validators and the JSON Schema, and no type that anybody writes.
    evaluated = {
        name: annotation for name, annotation in attributes.items() if not isinstance(annotation, str | ForwardRef)
    }
    types = attributes | get_type_hints(SimpleNamespace(__annotations__=evaluated))
    return " ".join([*map(str, types.values()), *map(str, map(inspect.signature, methods))])


def test_every_type_in_a_public_signature_is_public() -> None:
    package = Path(public_names_file).parent
    ours = set(
        re.findall(r"^class ([A-Z]\w+)", "".join(path.read_text() for path in package.rglob("*.py")), re.MULTILINE)
    )
    private = ours - set(pytest_chatprompt.__all__)
    used = {name: set(re.findall(r"\b[A-Z]\w+", annotations_of(name))) for name in pytest_chatprompt.__all__}
    assert {name: types & private for name, types in used.items() if types & private} == {}


def test_the_wheel_and_the_source_distribution_hold_the_schema_and_the_mark_of_types(tmp_path: Path) -> None:
    package = Path(public_names_file).parent
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run(command, cwd=package.parent, capture_output=True, check=True)
    (wheel,), (source,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    files = ["pytest_chatprompt/eval.schema.json", "pytest_chatprompt/py.typed"]
    with zipfile.ZipFile(wheel) as archive:
        assert [archive.read(name) for name in files] == [(package.parent / name).read_bytes() for name in files]
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {*files, "Makefile", ".pre-commit-hooks.yaml"} <= names
