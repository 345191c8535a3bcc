"""AgentV's eval files: those of 4.x, whose tests have an `input`, and those of 5.x, whose prompts have variables.

Source: `packages/core/src/evaluation` of https://github.com/EntityProcess/agentv, 4.42.4 and 5.3.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.cases.formats.foreign_file import ForeignFile, ProblemError, Translation, core_data, items_of
from pytest_chatprompt.cases.origin import Row
from pytest_chatprompt.cases.rows import READERS, RawRow, read_records, read_yaml
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.files import MAX_BYTES, TextFileError, read_text
from pytest_chatprompt.text.json_data import as_in_javascript, parse_json
from pytest_chatprompt.text.yaml import Entry, Node, Position, make_node, read_yaml_file
from pytest_chatprompt.wording import shown_path

# The first of each that is there counts.
_ASSERTIONS: Final = ("assertions", "assert", "evaluators")
_PROVIDERS: Final = ("providers", "targets", "target")
_NAMES: Final = ("label", "name", "extends", "id")
_EVERYWHERE: Final = ("input", "input_files", "execution", *_ASSERTIONS)
_TEST: Final = ("id", "vars", "criteria", "expected_outcome", "expected_output", "turns", *_EVERYWHERE)
_EXECUTION: Final = ("skip_defaults", *_PROVIDERS, *_ASSERTIONS)
# These change neither what is sent nor what a good answer is: each check of a case has to pass, required or not.
_SILENT: Final = (
    *("$schema", "id", "name", "description", "category", "version", "author", "tags", "license", "requires", "metric"),
    *("governance", "metadata", "conversation_id", "suite", "mode", "required"),
)
_RUBRICS: Final = ("value", "criteria", "rubrics", "prompt")
# These have an effect in AgentV alone, and look like others.
_INERT: Final = (
    *("cache_path", "defaults", "evaluate_options", "evaluator", "extensions", "graders", "options", "prompts"),
    *("provider", "providers", "workspace"),
)
_INSTEAD: Final = "check answers in the hook pytest_chatprompt_response, or in a fixture that takes eval_response"
# As promptfoo writes providers that have no other API here.
_CHAT: Final = re.compile(r"^(openai:|azure:|anthropic:)(chat:|messages:)")
_REFERENCE: Final = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")
_Nodes = Mapping[str, Node]


def translate(file: ForeignFile) -> Translation:
    """Translate a file: each of its tests becomes a case, for each of its prompts."""
    suite = _Suite(file)
    suite.top = suite.known(file.document, "the file", ("tests", "prompts", "default_test", *_EVERYWHERE, *_PROVIDERS))
    sidecar = file.path.with_suffix(".yaml")
    if file.path.suffix == ".jsonl" and sidecar.is_file():
        # Of the file beside lines of tests, AgentV reads what says for which target they are.
        beside = file.entries(suite.document(make_node(sidecar.name, file.document)), sidecar.name)
        suite.top |= file.entries(beside.get("execution"), "'execution'")
    # No system prompt is added to what the author wrote, as in promptfoo's files.
    document = {**suite.providers(suite.top), "metadata": {"systemPrompt": ""}, "evalcases": list(suite.cases())}
    return Translation(make_node(document, file.document), suite.rows)


@dataclass(eq=False)
class _Suite:
    """A file while it is translated."""

    file: ForeignFile
    top: dict[str, Node] = field(default_factory=dict)
    default: _Nodes = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)

    def known(self, node: Node, what: str, keys: tuple[str, ...]) -> dict[str, Node]:
        """The entries of the file or of a test that are read, with those of its `execution`."""
        entries = self.file.known_entries(node, what, keys, _SILENT, _INERT)
        execution = entries.pop("execution", None)
        of_run = ("workers", "cache", "fail_on_error")
        return {**self.file.known_entries(execution, "'execution'", _EXECUTION, of_run, _INERT), **entries}

    def providers(self, level: _Nodes) -> dict[str, Any]:
        """The names of the providers of the file or of a test; how one is defined there is left to its fixture."""
        names = []
        for node in items_of(_first(level, _PROVIDERS)):
            is_defined = isinstance(node.value, dict)
            fields = self.file.known_entries(node, "a provider", _NAMES, ()) if is_defined else {}
            named = _first(fields, _NAMES) or node
            if not named.text or "://" in named.text:
                self.file.reject(named, "a provider must be a name, or a mapping with a 'label' or an 'id'")
            name = _CHAT.sub(r"\1", named.text).replace("openai:responses:", "openai_responses:")
            names.append(make_node(name, named))
        # AgentV's name for the default provider counts as a target only.
        return {"target": names[0]} if len(names) == 1 else {"provider": names} if names else {}

    def cases(self) -> Iterator[Node]:
        prompts = list(self.prompts()) if "prompts" in self.top else None
        default = self.document(self.top.get("default_test"))
        self.default = self.file.known_entries(default, "'default_test'", ("vars", "assert"), _SILENT, _INERT)
        count = 0
        tests = items_of(self.top["tests"])
        # Each with where it stands, if that is another file.
        found = (self.read(each, _read_tests) if isinstance(each.value, str) else [(each, None)] for each in tests)
        for node, row in chain.from_iterable(found):
            test = self.known(node, "a test", _TEST)
            if not isinstance(node.value, dict):
                continue
            levels = (self.default, test)
            variables = {k: v for each in levels for k, v in self.file.entries(each.get("vars"), "'vars'").items()}
            variables |= {"input": test["input"]} if prompts is not None and "input" in test else {}
            for key, each in variables.items():
                if prompts and each.value and isinstance(each.value, tuple) and isinstance(each.value[0].value, str):
                    self.file.reject(each, f"AgentV sends a test for each text of {key!r}; write a test for each")
            for label, prompt in [("", test.get("input"))] if prompts is None else prompts:
                self.rows |= {count: row} if row else {}
                count += 1
                yield self.case(node, test, label, prompt, _Filler(self.file, variables, prompts is not None))

    def read(self, node: Node, read: Callable[[Path, Path], Iterable[RawRow]]) -> Iterator[tuple[Node, Row]]:
        """What is in the files that a text names, at its place, each with where it stands."""
        name, root = node.text.removeprefix("file://"), self.file.root
        try:
            pattern = f"{name}/*/case.y*ml" if (self.file.path.parent / name).is_dir() else name
            for path in self.file.find(pattern, node):
                for raw in read(path, root):
                    if raw.problem:
                        raise EvalFileError([Diagnostic(shown_path(path, root), *raw.position, raw.problem)])
                    row = Row("", shown_path(path, root), *raw.position, {})
                    # The lines of an eval file have places of their own.
                    place = Node(Position(row.line - 1, 0), None) if path == self.file.path else node
                    yield make_node(raw.values, place), row
        except ProblemError as error:
            self.file.reject(error.node, error.text)
        except TextFileError as error:
            shown = shown_path(path, root)
            self.file.problems.append(Diagnostic(shown, error.line, error.column, f"this file {error}"))
        except EvalFileError as error:
            self.file.problems += error.diagnostics

    def document(self, node: Node | None) -> Node | None:
        """A value, or the one in the file that it names."""
        if node is None or not isinstance(node.value, str):
            return node
        return next((found for found, _ in self.read(node, _read_document)), None)

    def prompts(self) -> Iterator[tuple[str, Node]]:
        """The prompts, each with what it adds to the id of a test: nothing if it is the only one."""
        node = self.top["prompts"]
        written = (node,) if _is_chat(node) else items_of(node)
        for number, each in enumerate(written, start=1):
            fields = self.file.entries(each, "a prompt") if isinstance(each.value, dict) else {}
            prompt = _first(fields, ("prompt", "messages", "raw", "file")) or each
            label = _first(fields, ("id", "label")) or make_node(f"prompt-{number}", each)
            if prompt is each and fields:
                self.file.reject(each, "a prompt must be a text, messages or {file: PATH}; no script runs here")
            elif "file" in fields or prompt.text.startswith("file://"):
                prompt = next((found for found, _ in self.read(prompt, _read_text)), prompt)
            with suppress(ValueError):
                chat = make_node(parse_json(prompt.text), prompt)
                prompt = chat if _is_chat(chat) else prompt
            yield f"__prompt_{label.text}" if len(written) > 1 else "", prompt

    def case(self, place: Node, test: _Nodes, label: str, prompt: Node | None, texts: _Filler) -> Node:
        """The case of a test with a prompt."""
        is_alone = "skip_defaults" in test and test["skip_defaults"].value is True
        shared = {} if is_alone else self.top
        sent, files = texts.fill(prompt), texts.fill(test.get("input_files") or shared.get("input_files"))
        if sent is None or sent.value is None:
            self.file.reject(place, "a test must have an 'input', or the file 'prompts'")
        elif files and not isinstance(sent.value, str):
            self.file.reject(files, "'input_files' need an 'input' that is a text; write parts of the type file")
        if "turns" in test:
            self.file.reject(test["turns"], "'turns' cannot be compared: each needs the answers to those before")
        lists = [texts.fill(_first(level, _ASSERTIONS)) for level in (test, {} if is_alone else self.default, shared)]
        unread: list[Node] = []
        checks = [check for each in lists for check in self.checks(each, unread)]
        outcome = texts.fill(_first(test, ("criteria", "expected_outcome")))
        if outcome and outcome.text and not any(lists):
            checks = [make_node({"type": "llm_rubric"}, outcome)]
        case = {
            "id": make_node(test["id"].text + label, test["id"]) if "id" in test else None,
            **self.providers(test),
            "input_messages": [*_messages(texts.fill(shared.get("input"))), *_messages(sent, files)],
            "outcome": outcome,
            "expected_output": texts.fill(test.get("expected_output") or texts.variables.get("expected_output")),
            "checks": checks or None,
            "vars": (texts.variables and texts.scope) if texts.needs_template else None,
        }
        node = make_node({key: value for key, value in case.items() if value is not None}, place)
        # What was told already: the key has another text.
        node.value |= {"evaluators": Entry(place, make_node(unread, place))} if unread else {}
        return node

    def checks(self, assertions: Node | None, unread: list[Node]) -> Iterator[Node]:
        """The checks of a list of assertions; those that are not read grade nothing, which is told once for a type."""
        for each in items_of(assertions):
            if isinstance(each.value, str):
                yield make_node({"type": "llm_rubric", "value": each}, each)
                continue
            fields = self.file.entries(each, "an assertion") if isinstance(each.value, dict) else {}
            written = _first(fields, ("type", "include"))
            if written is None:
                self.file.reject(each, "an assertion must be a text, or a mapping with its 'type'")
                continue
            kind, what = written.text.replace("_", "-"), f"the assertion {written.text!r}"
            is_negated = kind.startswith("not-") != ("negate" in fields and fields["negate"].value is True)
            found = _ours(kind.removeprefix("not-"), fields)
            if not found or (is_negated and len(found) > 1):
                self.file.ignore(written, f"{what} grades nothing here as it is written; {_INSTEAD}")
                unread.append(each)
                continue
            self.file.known_entries(each, what, ("type", "negate", *_RUBRICS), _SILENT, fields)
            for item in items_of(_first(fields, _RUBRICS)) if found[0][0] == "llm_rubric" else ():
                if isinstance(item.value, dict):
                    self.file.known_entries(item, "a rubric", ("outcome",), _SILENT, item.value)
            for name, value in found:
                check = {"type": f"not_{name}" if is_negated else name} | ({} if value is None else {"value": value})
                yield make_node(check, each)


def _ours(kind: str, fields: _Nodes) -> list[tuple[str, Node | None]]:
    """The checks that an assertion is, with their values; empty if it is none."""
    # The checks of the same name; AgentV strips the answer for some of them, so that ours are stricter.
    if re.fullmatch(r"i?contains(-any|-all)?|regex|is-json|equals|starts-with", kind) and "flags" not in fields:
        return [(kind.replace("-", "_"), fields.get("value"))]
    if kind not in ("llm-rubric", "llm-grader", "rubrics"):
        return []
    items = items_of(_first(fields, _RUBRICS))
    outcomes: list[Any] = [each.find(("outcome",)) for each in items]
    # A prompt of the judge's own is in a file, or has placeholders; AgentV's other operator is `contradiction`.
    is_read = all(isinstance(each.value, str) and not re.search(r"^file://|{{", each.text) for each in outcomes)
    is_read &= not any(each.find_entry(("operator",)) for each in items)
    return [("llm_rubric", each) for each in outcomes or [None]] if is_read else []


@dataclass(eq=False)
class _Filler:
    """Fills the variables of a test into its texts.

    AgentV 5 does so twice, so that variables may name others, and with Nunjucks: what is more than a name is left to
    the templates of our own format.
    """

    file: ForeignFile
    variables: _Nodes
    is_new: bool
    needs_template: bool = False
    size: int = 0

    def fill(self, node: Node | None, passes: int = 1) -> Any:
        """A value with its texts filled."""
        if node is None:
            return None
        # In characters, about what a value takes in memory.
        self.count(1000)
        match node.value:
            case dict() as inner:
                filled = {key: each._replace(node=self.fill(each.node, passes)) for key, each in inner.items()}
                return Node(node.mark, filled)
            case tuple() as inner:
                return make_node([self.fill(each, passes) for each in inner], node)
            case str() as text:
                if re.search(r"\$\{\{\s*\w+\s*\}\}|\{\{\s*env\.", text):
                    self.file.reject(node, f"{text!r} comes from the environment, on which snapshots must not depend")
                whole = _REFERENCE.fullmatch(text.strip() if self.is_new else text)
                found = (whole and self.find(whole[1])) or make_node(_REFERENCE.sub(self.in_text, text), node)
                if self.is_new and passes and found.value != text:
                    return self.fill(found, passes - 1)
                self.needs_template |= self.is_new and re.search(r"{[{%#]", found.text) is not None
                return found
        return make_node(core_data(node), node)

    @cached_property
    def scope(self) -> Node:
        """What names are looked up in."""
        names = {"vars": self.variables, **self.variables} if self.is_new else self.variables
        return make_node(core_data(make_node(names, self.file.document)), self.file.document)

    def find(self, name: str) -> Node | None:
        """The value of a variable, or one in it: `person.name`."""
        entry = self.scope.find_entry(tuple(name.split(".")))
        return entry and entry.node

    def in_text(self, reference: re.Match[str]) -> str:
        """What stands in a text for a variable; the reference itself if there is none."""
        node = self.find(reference[1])
        if node is None:
            return reference[0]
        data = as_in_javascript(node.data())
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        self.count(len(text))
        return text

    def count(self, size: int) -> None:
        """Stop at variables that put each other out over and over, before they take all memory."""
        self.size += size
        if self.size > MAX_BYTES:
            text = f"the variables of a test put out more than {MAX_BYTES:,} characters"
            raise EvalFileError([self.file.diagnostic(self.file.document, text)])


def _first(nodes: _Nodes, keys: Iterable[str]) -> Node | None:
    return next((nodes[key] for key in keys if key in nodes), None)


def _is_chat(node: Node) -> bool:
    return isinstance(node.value, tuple) and all(each.find_entry(("role",)) for each in node.value)


def _messages(node: Node | None, files: Node | None = None) -> list[Any]:
    """The messages that an input stands for, after the files of its test."""
    if node is None or isinstance(node.value, tuple) or node.find_entry(("role",)):
        return [*items_of(node)]
    parts = [{"type": "file", "value": each} for each in items_of(files)]
    return [{"role": "user", "content": [*parts, {"type": "text", "value": node}] if parts else node}]


def _read_text(path: Path, root: Path) -> Iterator[RawRow]:
    yield RawRow(Position(1, 1), read_text(path, root).replace("\r\n", "\n").strip())


def _read_document(path: Path, root: Path) -> Iterator[RawRow]:
    _, document = read_yaml_file(path, root, shown_path(path, root))
    yield RawRow(document.position, core_data(document))


def _read_tests(path: Path, root: Path) -> Iterator[RawRow]:
    """The tests of a file: of a table, of one for each test, or with a list of them."""
    if path.suffix == ".csv":
        (_, names), *records = read_records(path, root) or [(1, [])]
        for number, (line, values) in enumerate(records, start=1):
            yield RawRow(Position(line, 1), _csv_test(dict(zip(names, values, strict=False)), number))
    elif path.stem == "case":
        for position, values, _ in _read_document(path, root):
            yield RawRow(position, {"id": path.parent.name, **values} if isinstance(values, dict) else values)
    else:
        read = READERS[path.suffix] if path.suffix in (".json", ".jsonl") else partial(read_yaml, data=core_data)
        yield from read(path, root)


def _csv_test(columns: Mapping[str, str], number: int) -> dict[str, Any]:
    test: dict[str, Any] = {"id": f"row-{number}", "vars": {}, "assert": []}
    for column, value in columns.items():
        if column.startswith("__expected"):
            kind, colon, text = value.strip().partition(":")
            texts = [each.strip() for each in text.split(",")] if kind.endswith(("-any", "-all")) else text.strip()
            test["assert"] += [{"type": kind if colon else "equals", "value": texts if colon else kind}] if kind else []
        elif column in ("id", "input", "__prefix", "__suffix"):
            test[column] = value or test.get(column, "")
        elif column.startswith("__"):
            test[f"column {column}"] = value
        else:
            test["vars"][column.removeprefix("vars.")] = value
    prefix, suffix = test.pop("__prefix", ""), test.pop("__suffix", "")
    return test | ({"input": prefix + test["input"] + suffix} if "input" in test else {})
