"""The JSON Schema that the package ships: it is what the code generates, and every example fits it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_chatprompt.apis.table import PROVIDERS
from tests.eval_schema import SCHEMA, editor_problems, read_as_editors_do, schema_problems
from tests.eval_schema_generator import SCHEMA_FILE, make_schema_text, write_schema

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "example_project").rglob("*.eval.yaml"))
SNIPPETS = [
    pytest.param(snippet, id=f"{page.name} {number}")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for number, snippet in enumerate(re.findall(r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S), start=1)
    if re.search(r"^evalcases:", snippet, re.M)
]
HELLO = {"role": "user", "content": "hello"}


def with_case(**keys: Any) -> dict[str, Any]:
    """An eval file with one case."""
    return {"evalcases": [{"id": "a", "input_messages": [HELLO], **keys}]}


def test_the_shipped_file_is_what_the_code_generates() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == make_schema_text(), "run `make schema`"


def test_it_can_be_written_anew(tmp_path: Path) -> None:
    write_schema(tmp_path / "eval.schema.json")
    assert (tmp_path / "eval.schema.json").read_bytes() == SCHEMA_FILE.read_bytes()


def test_it_is_a_valid_schema_of_the_draft_that_it_names() -> None:
    assert SCHEMA["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "urn:pytest-chatprompt:eval-file"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_each_eval_file_of_the_example_project_fits(path: Path) -> None:
    assert editor_problems(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_each_eval_file_of_the_documents_fits_but_the_broken_one(snippet: str) -> None:
    problems = editor_problems(snippet)
    assert bool(problems) == ("contnet" in snippet), problems


def test_what_the_page_shows_as_broken_is_found() -> None:
    (broken,) = [str(param.values[0]) for param in SNIPPETS if "contnet" in str(param.values[0])]
    places = {problem.partition(":")[0] for problem in editor_problems(broken)}
    assert places == {
        "$.evalcases[0].input_messages[0]",
        "$.evalcases[1].input_messages[0].role",
        "$.evalcases[1].input_messages[0].content",
    }


def own_mappings(schema: Any) -> Iterator[dict[str, Any]]:
    """The parts of the schema that list the keys of a mapping of ours: it may have keys that begin with `x-`."""
    if isinstance(schema, dict):
        if "patternProperties" in schema and "^x-" in schema["patternProperties"]:
            yield schema
        schema = list(schema.values())
    for inner in schema if isinstance(schema, list) else ():
        yield from own_mappings(inner)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    definition: dict[str, Any] = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return definition


def test_every_key_is_described_but_those_with_one_value() -> None:
    described = [
        (key, resolved(value).get("description", ""))
        for mapping in own_mappings(SCHEMA)
        for key, value in mapping["properties"].items()
        if value != {"$ref": "#/$defs/RequestSettings"} and "const" not in value
    ]
    assert len(described) > 50
    assert [key for key, text in described if not re.fullmatch(r"\S.*[.]", text)] == []


def test_every_example_fits_its_own_key() -> None:
    count = 0
    for mapping in own_mappings(SCHEMA):
        for value in mapping["properties"].values():
            schema = {"$defs": SCHEMA["$defs"], **resolved(value)}
            for example in schema.get("examples", ()):
                jsonschema.Draft202012Validator(schema).validate(example)
                count += 1
    assert count > 10


def test_editors_propose_the_built_in_providers_and_accept_others() -> None:
    proposed, *_ = SCHEMA["$defs"]["SharedKeys.provider"]["anyOf"]
    assert proposed == {"enum": list(PROVIDERS)}
    assert set(PROVIDERS) < set(SCHEMA["$defs"]["SharedKeys.settings"]["anyOf"][0]["properties"])
    for name in ("ollama", "my target", ["azure", "ollama"]):
        assert schema_problems(with_case(provider=name, settings={"ollama": {"seed": 1}})) == []
    assert schema_problems(with_case(settings={"ollama": {"sed": 1}})) != []


def test_editors_read_yaml_1_2() -> None:
    assert read_as_editors_do("{a: no, b: 2024-01-02, 3: [{yes: 0o7}]}") == {
        "a": "no",
        "b": "2024-01-02",
        "3": [{"yes": 7}],
    }
    assert editor_problems("a: [") != []
