"""Random eval files: each of them loads, or is reported with a line, and never crashes a run.

`make test` tries some of them, `make fuzz` many.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings, strategies as st

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.cases.loader import load_eval_file
from pytest_chatprompt.text.yaml import parse_yaml
from tests.eval_schema import schema_problems
from tests.runs.conftest import Run, run

__all__ = ["run"]

words = st.sampled_from(
    ["a", "b", "Case", "case", "a/b", "a::b", "[x]", " ", "é", "e\u0301", "x" * 300, "\x07", "yes", "3"]
)
scalars = st.one_of(words, st.text(max_size=5), st.integers(), st.floats(), st.booleans(), st.none(), st.dates())
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | scalars, inner, max_size=3),
    max_leaves=6,
)
parts = st.fixed_dictionaries({"type": st.just("text"), "value": words}) | st.fixed_dictionaries(
    {"type": st.just("file"), "value": st.sampled_from(["x.py", "/x.py", "../x.py", "gone", ".", "/dev/zero", "x\0"])}
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": words | st.lists(parts, max_size=3)}
)
cases = st.fixed_dictionaries(
    {"id": words, "input_messages": st.lists(messages, min_size=1, max_size=3)},
    optional={
        "provider": st.sampled_from(["azure", "gemini", ["azure", "anthropic"], "nobody", []]),
        "tags": st.just(["t"]),
    },
)
files = st.fixed_dictionaries(
    {"evalcases": st.lists(cases, min_size=1, max_size=4)}, optional={"metadata": st.just({"systemPrompt": "x"})}
)


def nodes(data: Any) -> list[Any]:
    """All lists and mappings in a value, the value itself included."""
    inner = list(data.values()) if isinstance(data, dict) else data if isinstance(data, list) else None
    return [] if inner is None else [data, *(node for value in inner for node in nodes(value))]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The text of an eval file in which up to three values are replaced, removed or added."""
    data = copy.deepcopy(draw(files))
    for _ in range(draw(st.integers(0, 3))):
        node = draw(st.sampled_from(nodes(data)))
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace" if keys:
                node[draw(st.sampled_from(keys))] = draw(anything)
            case "remove" if keys:
                del node[draw(st.sampled_from(keys))]
            case _ if isinstance(node, dict):
                node[draw(words)] = draw(anything)
            case _:
                node.append(draw(anything))
    text: str = yaml.safe_dump(data, allow_unicode=draw(st.booleans()), sort_keys=False)
    return text


def check_loading(root: Path, content: bytes) -> bool:
    """Load a file, and check that all of its cases and problems are well formed; gives whether it has no problem."""
    path = root / "a.eval.yaml"
    path.write_bytes(content)
    try:
        loaded = load_eval_file(path, root)
    except EvalFileError as error:
        problems = list(error.diagnostics)
    else:
        assert len({case.id for case in loaded}) == len(loaded) > 0
        errors = [case.written for case in loaded if isinstance(case.written, EvalFileError)]
        problems = [problem for error in errors for problem in error.diagnostics]
        assert all(problem.case_id is not None for problem in problems)
    lines = content.count(b"\n") + content.count(b"\r") + 2
    assert all(1 <= problem.line <= lines and problem.column >= 1 for problem in problems)
    assert all(str(problem) for problem in problems)
    return not problems


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One root folder for all files of this module."""
    return tmp_path_factory.mktemp("root")


@given(st.binary(max_size=60))
@example(b"\xfe\xff\x00a")
@example(b"a: !!python/object/new:os.system [x]")
@example(b'evalcases:\n- id: "\\ud800"\n')
@example(b"{" * 5000)
@example(b"a: &a [*a]")
@example(b"%YAML 9.9\n--- a")
@example(b"a: 0x_\nb: 1:99\nc: .5e\nd: 0b\n")
@example(b"\x85a: b\xe2\x80\xa8c: d")
def test_any_bytes_load_or_are_reported(root: Path, content: bytes) -> None:
    check_loading(root, content)


@given(st.text(st.sampled_from("evalcases:id-[]{}&*!|>'\"%@`#,? \n\t\\<~"), max_size=60))
def test_any_text_of_yaml_syntax_characters_loads_or_is_reported(root: Path, text: str) -> None:
    check_loading(root, text.encode())


@given(mutated())
def test_any_mutation_of_an_eval_file_loads_or_is_reported(root: Path, text: str) -> None:
    if check_loading(root, text.encode(errors="surrogatepass")):
        assert schema_problems(parse_yaml(text).data()) == []


@settings(max_examples=settings().max_examples // 10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated())
def test_a_run_over_any_mutation_ends_normally(run: Run, text: str) -> None:
    for path in run.path.rglob("*.yaml"):
        path.unlink()
    (run.path / "x.py").write_text("x\n")
    (run.path / "a.eval.yaml").write_bytes(text.encode(errors="surrogatepass"))
    updated = run("--snapshot-update", "-W", "ignore")
    outcomes = updated.parseoutcomes()
    shown = updated.stdout.str() + updated.stderr.str()
    assert updated.ret in (0, 1, 2), shown
    assert "INTERNALERROR" not in shown
    assert "Traceback" not in shown
    assert "pytest_chatprompt" not in shown
    # Each case that sends something has its own snapshot, and passes again without an update.
    assert len(run.snapshots()) == outcomes.get("passed", 0), shown
    again = run("-W", "ignore").parseoutcomes()
    assert again.get("passed", 0) == outcomes.get("passed", 0)
