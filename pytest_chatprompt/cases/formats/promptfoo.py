"""promptfoo: `promptfooconfig.yaml`, with the prompts, tests and other files that it names.

Source: https://www.promptfoo.dev/docs/configuration/reference, and the package `promptfoo` 0.123 (`src/evaluator.ts`,
`src/evaluatorHelpers.ts`, `src/prompts/`, `src/util/testCaseReader.ts`, `src/providers/registry.ts`).
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, pairwise, product
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple, TypeVar

from pytest_chatprompt.cases.formats.foreign_file import ForeignFile, ProblemError, Translation, core_data, items_of
from pytest_chatprompt.cases.formats.nunjucks import CaseTexts, UnsupportedTemplateError, dump, fill_in, put_out, strip
from pytest_chatprompt.cases.origin import Row
from pytest_chatprompt.cases.rows import read_records
from pytest_chatprompt.text.files import TextFileError, read_bytes, read_text
from pytest_chatprompt.text.json_data import with_scalars
from pytest_chatprompt.text.media_types import sniff_media_type
from pytest_chatprompt.text.yaml import Entry, Node, YamlError, make_node, parse_yaml
from pytest_chatprompt.wording import did_you_mean, shown_path

Nodes = Mapping[str, Node]

# The name here by the form of an id.
_IDS: Final = {
    # Those without an API that promptfoo sends to Responses: `shouldDefaultToOpenAiResponses`, and models of it alone.
    r"openai:(?:responses:(.+)|((?:gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|(?!35\b)\d\d)|gpt-5(?:\.[245])?-pro|o[13]-pro)(?:[.-].+)?"
    r"|gpt-5(?:\.3-codex|-codex-mini)))": "openai_responses",
    r"openai:chat:(.+)": "openai",
    r"openai:((?:gpt-(?!.*(?:image|audio|realtime|live|instruct|tts|transcribe))|o\d|chatgpt-|ft:).*)": "openai",
    r"anthropic:(?:messages:)?(claude-[^:]+)": "anthropic",
    r"google:([^:]+)|vertex:(gemini-[^:]+)": "gemini",
    r"azure(?:openai)?:chat:(.+)": "azure",
    r"mistral:(?:chat:)?(?!embeddings?:)([^:]+)": "mistral",
    r"ollama:(?:chat:|completion:)?(?!embeddings?:)(.+)": "ollama",
    r"openrouter:(.+)": "openrouter",
    r"bedrock:(?:converse:)?((?:arn:|[\w-]+\.).+)": "bedrock",
}
_OTHER_VENDOR: Final = re.compile(r"([a-z][a-z0-9-]*):(?:chat:)?([\w./@-]+(?::[\w./@-]+)*)")
# Whose models are none: kinds of own code, and other APIs of the vendors above.
_NO_VENDORS: Final = re.compile(
    "anthropic|azure|azureopenai|bedrock|browser|exec|file|golang|google|https?|javascript|mcp|mistral|ollama|openai|"
    "openrouter|package|palm|promptfoo|python|ruby|vertex|wss?"
)
_SETTINGS: Final = {
    **{name: name for name in ("temperature", "top_p", "stop", "seed", "reasoning_effort", "max_output_tokens")},
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "maxTokens", "maxOutputTokens"), "max_output_tokens"),
    "num_predict": "max_output_tokens",
    "passthrough": "extra_body",
    "stopSequences": "stop",
    "stop_sequences": "stop",
    "topP": "top_p",
}
_NESTED: Final = ("generationConfig", "inferenceConfig")
# Here each is for a case, or a file, and all of its providers.
_SHARED: Final = ("tools", "tool_choice", "response_format", "instructions")
_TOP: Final = "prompts providers targets tests scenarios defaultTest env evaluateOptions commandLineOptions description"
_TOP_IGNORED: Final = "$schema assertionTemplates metadata outputPath outputs sharing tags writeLatestResults"
_RUN: Final = (
    "cache delay envPath generateSuggestions grader maxConcurrency maxEvalTimeMs progressBar share showProgressBar "
    "suggestionsCount table tableCellMaxLength tags timeoutMs verbose write"
)
_TEST: Final = "description vars assert options prompts provider providers providerOutput"
_OPTIONS: Final = "prefix suffix repeat disableVarExpansion disableDefaultAsserts transform postprocess transformVars"
# Its chat completions and those that are like them.
_TAKE_YAML: Final = r"(openai|azure|mistral|openrouter|ollama)\b"
# What promptfoo rewrites in a text for Anthropic: its `parseMessages`.
_REWRITTEN: Final = re.compile(r"^\s|\s$|^(?:system|thinking|user|assistant):", re.MULTILINE)
# What it takes out of a text for Gemini: its `processImagesInContents`.
_MEDIA: Final = re.compile(r"^\s*(?:data:\S*;base64,|[A-Za-z0-9+/]{200,}=*\s*$)", re.MULTILINE)
_AROUND: Final = ("prefix", "suffix")
_REFUSED: Final = {
    "extensions": "may change what is sent, and is code, which is not run; remove it, or test that code itself",
    "nunjucksFilters": "is code, which is not run; write what the filters put out into variables",
    "redteam": "makes its prompts while it runs, so there is nothing to lock; name other files in chatprompt_files",
}
_TYPES: Final = (
    "agent-rubric|"
    "answer-relevance|bleu|classifier|contains|contains-all|contains-any|contains-html|contains-json|contains-sql|"
    "contains-xml|context-faithfulness|context-recall|context-relevance|conversation-relevance|cost|equals|"
    "factuality|finish-reason|g-eval|gleu|guardrails|icontains|icontains-all|icontains-any|is-html|is-json|"
    "is-refusal|is-sql|is-valid-function-call|is-valid-openai-function-call|is-valid-openai-tools-call|is-xml|"
    "javascript|latency|levenshtein|llm-rubric|pi|meteor|model-graded-closedqa|model-graded-factuality|moderation|"
    "perplexity|perplexity-score|python|regex|rouge-n|ruby|similar|similar:cosine|similar:dot|similar:euclidean|"
    "starts-with|tool-call-f1|skill-used|trajectory:goal-success|trajectory:tool-args-match|trajectory:step-count|"
    "trajectory:tool-sequence|trajectory:tool-used|trace-error-spans|trace-span-count|trace-span-duration|"
    "search-rubric|webhook|word-count|assert-set|human|max-score|select-best"
)
# Of these the value is a text here too; of those below it is a list of texts, or a limit with its unit.
_OF_TEXT: Final = ("contains", "icontains", "equals", "starts-with", "regex", "llm-rubric")
_OF_LIST: Final = ("contains-any", "contains-all", "icontains-any", "icontains-all")
_LIMITS: Final = {"latency": ("max_latency_seconds", 1000), "cost": ("max_cost_usd", 1)}
# What a cell of CSV may begin with, beside a type.
_SHORT: Final = {"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "grade:": "llm-rubric"}
_EXPECTED: Final = re.compile(rf"((?:not-)?({_TYPES}))(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?", re.DOTALL)
_TRANSFORMS: Final = frozenset({"transform", "contextTransform", "postprocess"})
_DATA: Final = (".json", ".jsonl", ".yaml", ".yml")
_PROMPTS: Final = (".txt", ".md", ".j2", *_DATA)
_FILES: Final = "|".join(map(re.escape, _PROMPTS))
_CODE: Final = r"\.(?:py|rb|go|sh|bat|exe|pl|[cm]?[jt]s)(?::\w+)?"
_IMAGES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".bmp")
_AUDIO: Final = (".mp3", ".wav")
_ENVIRONMENT: Final = re.compile(r"""\{\{\s*env\.(\w+)\s*(?:\|\s*default\(\s*("[^"]*"|'[^']*')\s*\)\s*)?\}\}""")
_DATE: Final = re.compile(r"\d{4}-\d\d?-\d\d?([Tt\s].*)?")
_NO_JSON: Final = object()


class _Provider(NamedTuple):
    """A provider: its name here, how the file refers to it, which prompts it gets, and what else is for it alone."""

    node: Node
    name: str
    id: str
    label: str
    prompts: Node | None
    settings: dict[str, Any]
    shared: dict[str, Any]
    transforms: bool


class _Prompt(NamedTuple):
    """A prompt: its template, where it is named, how the file refers to it, and its name in ids."""

    text: str
    node: Node
    label: str
    id: str
    name: str = ""


class _Test(NamedTuple):
    """A test, the row of another file that it is, and the folder of that file."""

    node: Node
    row: Row | None = None
    folder: Path | None = None


_Named = TypeVar("_Named", _Prompt, _Provider)


def translate(file: ForeignFile) -> Translation:
    """Translate a file: each test becomes a case for each prompt, and for each combination of its variables."""
    return _Reader(file).translate()


class _Reader:
    """Reads one file."""

    def __init__(self, file: ForeignFile) -> None:
        self.file = file
        self.ids: Counter[str] = Counter()
        self.environment: Mapping[str, str] = os.environ
        self.default = _mapping({}, file.document)
        self.prompts: list[_Prompt] = []
        self.providers: list[_Provider] = []

    @contextmanager
    def collecting(self, place: Node, row: Row | None = None) -> Iterator[None]:
        """Collect a problem of what stands at a place, or comes from a row, and go on with what follows."""
        first = len(self.file.problems)
        try:
            yield
        except ProblemError as error:
            self.file.reject(error.node, error.text)
        except UnsupportedTemplateError as error:
            self.file.reject(place, f"this has {error}")
        if row is not None:
            told = self.file.problems[first:]
            self.file.problems[first:] = [each._replace(text=f"{each.text} (row at {row.place})") for each in told]

    def translate(self) -> Translation:
        text = read_text(self.file.path, self.file.root)
        if not text.endswith("\n"):
            self.file.document = _parsed(text)
        document = self.file.document
        for key in _REFUSED.keys() & document.value.keys():
            self.file.reject(document.value[key].key, f"{key!r} {_REFUSED[key]}")
        top = self.file.known_entries(document, "a promptfoo file", _TOP.split(), [*_TOP_IGNORED.split(), *_REFUSED])
        own = self.file.entries(top.get("env"), "'env'")
        self.environment = {**os.environ, **{name: node.text for name, node in own.items()}}
        with self.collecting(document):
            default = self.included(top["defaultTest"]) if "defaultTest" in top else _mapping({}, document)
            self.default = _mapping(self.known(default, "the default test", _TEST, "metadata"), default)
            for node in filter(None, [_entries(default).get("provider")]):
                self.file.ignore(node, "'provider' of the default test has no effect here; name it in 'providers'")
        self.read_prompts(top.get("prompts") or make_node("{{prompt}}", document))
        self.read_providers(items_of(top.get("providers") or top.get("targets")))
        if not top.keys() & {"providers", "targets"}:
            self.file.reject(document, "missing key 'providers' of a promptfoo file; name at least one")
        places = ("commandLineOptions", "evaluateOptions")
        of_run = (self.file.known_entries(top.get(key), repr(key), ["repeat"], _RUN.split()) for key in places)
        repeats = [each.get("repeat") for each in of_run]
        cases: list[Node] = []
        rows: dict[int, Row] = {}
        tests: list[_Test] = []
        with self.collecting(document):
            tests.extend(self.tests(top))
        for number, test in enumerate(tests, start=1):
            with self.collecting(test.node, test.row):
                for case in self.cases(test, number):
                    rows |= {len(cases): test.row} if test.row else {}
                    cases.append(make_node(case, test.node))
                    if "evaluators" in case:
                        # It is told at its places, and not as a key that nobody wrote.
                        cases[-1].value["evaluators"].key.text = "assert"
        keys = {
            "description": top.get("description"),
            "provider": _names(self.providers),
            # promptfoo adds none.
            "metadata": {"systemPrompt": ""},
            "settings": _settings(self.providers),
            "repeat": next(filter(None, repeats), None),
            "evalcases": cases,
        }
        translated = {key: value for key, value in keys.items() if value or key == "evalcases"}
        return Translation(make_node(translated, document), rows)

    def text(self, node: Node) -> str:
        """The text of a node, with the variables of the environment that it names."""

        def value(match: re.Match[str]) -> str:
            if match[1] not in self.environment and match[2] is None:
                hint = f"set it, or give the file env: {{{match[1]}: ...}}"
                raise ProblemError(node, f"the environment variable {match[1]} is not set; {hint}")
            return self.environment.get(match[1], (match[2] or "")[1:-1])

        return _ENVIRONMENT.sub(value, node.text)

    def data(self, node: Node) -> Any:
        """The data of a node as YAML 1.2 reads it, with the variables of the environment."""

        def read_text(each: Node) -> str:
            if each.is_plain_text and _DATE.fullmatch(each.text):
                raise ProblemError(each, f"{each.text} is a date, which promptfoo loses; put it in quotes")
            return self.text(each)

        return core_data(node, read_text)

    def paths(self, name: str, node: Node, folder: Path | None = None) -> list[Path]:
        """The files that a name or a glob stands for in a folder, else in that of the file, at least one."""
        name = name.removeprefix("file://")
        if re.search(rf"^exec:|://|{_CODE}$", name):
            raise ProblemError(node, f"{name} is no file with data; write what comes of it into a file, and name that")
        return self.file.find(name, node, folder)

    def read(self, path: Path, node: Node) -> str:
        """The text of a file; as everywhere, CRLF is LF."""
        try:
            return read_text(path, self.file.root).replace("\r\n", "\n")
        except TextFileError as error:
            raise ProblemError(node, f"{self.shown(path)} {error}") from None

    def parse(self, text: str, path: Path, node: Node) -> Node:
        """The tree of a YAML or JSON file."""
        try:
            return _parsed(text)
        except YamlError as error:
            (position, reason), *_ = error.problems
            raise ProblemError(node, f"{self.shown(path)}:{position.line}:{position.column}: {reason}") from None

    def shown(self, path: Path) -> str:
        return shown_path(path, self.file.root)

    def included(self, node: Node) -> Node:
        """A node, or the data of the file that it names."""
        if not node.text.startswith("file://"):
            return node
        return self.load(self.paths(self.text(node), node)[0], node)

    def load(self, path: Path, node: Node) -> Node:
        """The data of a YAML or JSON file, at the place that names it."""
        return make_node(self.data(self.parse(self.read(path, node), path, node)), node)

    def referred(self, node: Node) -> Node:
        """The node that `$ref` leads to; a node without one itself."""
        reference = _text(_entries(node), "$ref")
        if not reference:
            return node
        entry = self.file.document.find_entry(tuple(reference.removeprefix("#/").split("/")))
        if entry is None:
            raise ProblemError(node, f"{reference} leads to nothing in this file; write what it stands for")
        return entry.node

    def read_prompts(self, node: Node) -> None:
        for each in items_of(node):
            with self.collecting(each):
                found = [*self.prompts_of(each)]
                for prompt in found:
                    name = prompt.label if prompt.label and len(found) == 1 else f"prompt-{len(self.prompts) + 1}"
                    self.prompts.append(prompt._replace(name=name, label=prompt.label or self.text(prompt.node)))

    def prompts_of(self, node: Node) -> Iterator[_Prompt]:
        entries = self.known(node, "a prompt", "raw id label")
        source = entries.get("raw") or entries.get("id") or node
        if not isinstance(source.value, str):
            raise ProblemError(source, f"a prompt must be a text, or have one in 'raw', but is {source.describe()}")
        text, label = self.text(source), _text(entries, "label")
        prompt = _Prompt(text, source, label, (_text(entries, "id") or text).removeprefix("file://"))
        if not re.match(rf"(?:file|helicone|langfuse|portkey)://|exec:|\S.*({_FILES}|{_CODE})$", text):
            yield prompt
            return
        for path in self.paths(text, source):
            found = self.prompts_in(path, source)
            if not found:
                raise ProblemError(source, f"there are no prompts in {self.shown(path)}")
            yield from (prompt._replace(text=each) for each in found)

    def prompts_in(self, path: Path, node: Node) -> list[str]:
        """The prompts of a file."""
        if path.suffix not in _PROMPTS:
            raise ProblemError(node, f"{self.shown(path)}: prompts are read from {', '.join(_PROMPTS)}")
        content = self.read(path, node)
        if path.suffix in _DATA and "file://" in content:
            raise ProblemError(node, f"{self.shown(path)} names other files; write what they have into it")
        if path.suffix == ".txt":
            parts = re.split(r"^[^\S\n]*---[^\S\n]*$", content, flags=re.MULTILINE)
            return [part for part in map(strip, parts) if part]
        if path.suffix == ".jsonl":
            return [line for line in content.split("\n") if line]
        if path.suffix in (".yaml", ".yml"):
            # What is no YAML is a text.
            with suppress(YamlError):
                return [dump(self.data(_parsed(content)))]
        return [content]

    def read_providers(self, nodes: tuple[Node, ...]) -> None:
        seen: Counter[str] = Counter()
        for node in nodes:
            with self.collecting(node):
                for each in self.providers_of(node):
                    seen[each.name] += 1
                    more = f" ({seen[each.name]})" if seen[each.name] > 1 else ""
                    self.providers.append(each._replace(name=each.name + more))

    def providers_of(self, node: Node) -> Iterator[_Provider]:
        entries = _entries(node)
        if entries and "id" not in entries:
            # `openai:gpt-5: {config: ...}`
            (id_, inner), *_ = node.value.values()
            node = make_node({"id": id_, **_entries(inner)}, node)
        entries = self.known(node, "a provider", "id label config prompts transform", "delay") or {"id": node}
        id_text, label = self.text(entries["id"]), _text(entries, "label")
        if re.match(r"file://.*\.(ya?ml|json)$", id_text):
            for each in items_of(self.included(entries["id"])):
                yield from self.providers_of(each)
            return
        note = re.sub(r"[()\s]+", " ", label).strip()
        name = _name(id_text) + (f" ({note})" if note else "")
        settings, shared = self.options(entries.get("config"), name)
        yield _Provider(
            entries["id"], name, id_text, label, entries.get("prompts"), settings, shared, "transform" in entries
        )

    def known(self, node: Node, what: str, effective: str, ignored: str = "") -> Nodes:
        """The entries of a mapping that have an effect; none if it is no mapping."""
        if not isinstance(node.value, dict):
            return {}
        return self.file.known_entries(node, what, effective.split(), ignored.split())

    def options(self, config: Node | None, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings of a provider's config, and what cases have here."""
        settings: dict[str, Any] = {}
        shared: dict[str, Any] = {}
        effective = {*_SETTINGS, *_SHARED, *_NESTED, "reasoning"}
        effective -= set() if name.startswith("openai_responses") else {"instructions"}
        for nodes in filter(None, (config, *(_entries(config).get(key) for key in _NESTED))):
            # Each vendor has more keys, and some look like others.
            known = (effective, ("apiKey", "apiKeyEnvar"), _entries(nodes))
            for key, written in self.file.known_entries(nodes, "a provider's config", *known).items():
                node = self.included(written) if key == "tools" else written
                if "{{" in dump(self.data(node)):
                    raise ProblemError(node, f"the template in {key!r} is not filled in here; write what is meant")
                if key in _SETTINGS:
                    settings[_SETTINGS[key]] = node
                elif key == "tools":
                    shared[key] = make_node([_our_tool(self.included(each), name) for each in items_of(node)], node)
                elif key in _SHARED:
                    shared[key] = make_node(node.text.removeprefix("file://"), node) if node.text else node
                elif "effort" in _entries(node):
                    settings["reasoning_effort"] = _entries(node)["effort"]
        return settings, shared

    def tests(self, top: Nodes) -> Iterator[_Test]:
        """The tests of the file, then those of its scenarios."""
        for each in items_of(top.get("tests")):
            yield from self.tests_of(each)
        for node in items_of(top.get("scenarios")):
            for each in items_of(self.included(node)):
                scenario = self.known(each, "a scenario", "config tests", "description")
                tests = [test for each in items_of(scenario.get("tests")) for test in self.tests_of(each)]
                for data in items_of(scenario.get("config")):
                    yield from (test._replace(node=self.merged(data, test.node)) for test in tests)
        if "tests" not in top and "scenarios" not in top:
            yield _Test(_mapping({}, self.file.document))

    def tests_of(self, node: Node) -> Iterator[_Test]:
        name = _entries(node).get("path", node)
        if isinstance(name.value, dict):
            yield _Test(node)
            return
        with self.collecting(name):
            for path in self.paths(self.text(name), name):
                yield from self.tests_in(path, name)

    def tests_in(self, path: Path, node: Node) -> Iterator[_Test]:
        """The tests of a file."""
        shown = self.shown(path)
        if path.suffix == ".csv":
            try:
                records = read_records(path, self.file.root)
            except TextFileError as error:
                raise ProblemError(node, f"{shown} {error}") from None
            for line, values in records[1:]:
                if len(values) != len(records[0][1]):
                    raise ProblemError(node, f"{shown}:{line}:1: this row has not as many values as the header")
                cells = dict(zip(map(str.strip, records[0][1]), values, strict=True))
                yield _Test(self.test_of_row(cells, node), Row("", shown, line, 1, {}))
            return
        if path.suffix not in _DATA:
            raise ProblemError(node, f"{shown}: tests are read from .csv, {', '.join(_DATA)}")
        content = self.read(path, node)
        lines = content.split("\n") if path.suffix == ".jsonl" else [content]
        for number, written in enumerate(lines):
            for each in items_of(self.parse("\n" * number + written, path, node)) if written.strip() else ():
                row = Row("", shown, each.position.line, each.position.column, {})
                yield _Test(make_node(self.data(each), node), row, path.parent)

    def test_of_row(self, cells: Mapping[str, str], node: Node) -> Node:
        """A row of CSV as a test."""
        test: dict[str, Any] = {"vars": {}, "assert": [], "options": {}}
        for name, value in cells.items():
            if name.startswith("__expected"):
                test["assert"] += [_expected(strip(value))] if strip(value) else []
            elif name in ("__prefix", "__suffix"):
                test["options"][name[2:]] = value
            elif name in ("__description", "__providerOutput"):
                test |= {name[2:]: value} if value else {}
            elif name.startswith("__"):
                self.file.ignore(node, f"the column {name!r} has no effect here")
            else:
                test["vars"][name] = value
        return make_node(test, node)

    def cases(self, test: _Test, number: int) -> Iterator[dict[str, Any]]:
        """The cases of a test: one for each combination of its variables, each prompt, and each set of tools."""
        own = self.entries_of(test)
        entries = _entries(self.merged(self.default, _mapping(own, test.node)))
        options = self.file.known_entries(entries.get("options"), "the options of a test", _OPTIONS.split(), ())
        if "providerOutput" in entries:
            self.file.ignore(entries["providerOutput"], "a test with 'providerOutput' sends nothing; it is left out")
            return
        providers = [*self.providers_of(own["provider"])] if "provider" in own else self.providers
        providers = _chosen(entries.get("providers"), providers)
        prompts = _chosen(entries.get("prompts"), self.prompts)
        combinations = [*self.combinations(entries)]
        for index, variables in enumerate(combinations):
            for prompt in prompts:
                groups = defaultdict(list)
                for provider in (each for each in providers if prompt in _chosen(each.prompts, self.prompts)):
                    groups[repr([self.data(make_node(provider.shared, test.node))])].append(provider)
                for group in groups.values():
                    id_ = strip(_text(own, "description")) or f"test-{number}"
                    id_ += f" #{index + 1}" if len(combinations) > 1 else ""
                    notes = [prompt.name] if len(self.prompts) > 1 else []
                    notes += [each.name for each in group] if len(groups) > 1 else []
                    id_ += f" ({', '.join(notes)})" if notes else ""
                    self.ids[id_] += 1
                    id_ += f" ({self.ids[id_]})" if self.ids[id_] > 1 else ""
                    texts = CaseTexts(variables, prompt.node)
                    case = _Case(self, prompt, texts, entries, options, group)
                    yield {"id": make_node(id_, own.get("description", test.node)), **case.translate()}

    def entries_of(self, test: _Test) -> Nodes:
        """The entries of a test, with the variables of the files that its `vars` name."""
        entries: Nodes = self.file.known_entries(test.node, "a test", _TEST.split(), ["metadata"])
        if "vars" not in entries or isinstance(entries["vars"].value, dict | None):
            return entries
        variables: dict[str, Node] = {}
        for node in items_of(entries["vars"]):
            if not isinstance(node.value, str) or node.text.startswith("file://"):
                raise ProblemError(node, "'vars' must be a mapping, or name YAML files, without file://")
            for path in self.paths(self.text(node), node, test.folder):
                found = self.file.entries(self.load(path, node), self.shown(path))
                for name in variables.keys() & found.keys():
                    raise ProblemError(node, f"the variable {name!r} is in several of these files; leave it in one")
                variables |= found
        return {**entries, "vars": _mapping(variables, entries["vars"])}

    def merged(self, first: Node, second: Node) -> Node:
        """A test with what it takes from a default, or from the data of a scenario."""
        one, other = (self.file.entries(each, "a test") for each in (first, second))
        merged = {**one, **other}
        for key in one.keys() & other.keys() & {"vars", "options"}:
            both = (self.file.entries(each[key], f"{key!r}") for each in (one, other))
            merged[key] = _mapping(dict(chain.from_iterable(each.items() for each in both)), other[key])
        has_defaults = "disableDefaultAsserts" not in _entries(other.get("options"))
        asserts = (*(items_of(one.get("assert")) if has_defaults else ()), *items_of(other.get("assert")))
        return _mapping({**merged, "assert": Node(second.mark, asserts)}, second)

    def combinations(self, test: Nodes) -> Iterator[dict[str, Any]]:
        """The variables of each case of a test: a list of texts, or a glob of files, gives one for each of them."""
        nodes = self.file.entries(test.get("vars"), "'vars'")
        choices: list[list[Any]] = []
        for node in nodes.values():
            data = self.data(node)
            if "disableVarExpansion" in _entries(test.get("options")):
                choices.append([data])
            elif isinstance(data, str) and data.startswith("file://"):
                choices.append([self.value_in(path, node) for path in self.paths(data, node)])
            else:
                choices.append(data if isinstance(data, list) and data and isinstance(data[0], str) else [data])
        for values in product(*choices):
            variables = dict(zip(nodes, values, strict=True))
            for name, value in variables.items():
                if isinstance(value, str) and value.startswith("file://"):
                    variables[name] = self.value_in(self.paths(value, nodes[name])[0], nodes[name])
                elif isinstance(value, str):
                    variables[name] = value.removesuffix("\n")
            fill_in(variables, test.get("vars", self.file.document))
            yield variables

    def value_in(self, path: Path, node: Node) -> str:
        """The value of a variable that names a file."""
        if path.suffix in (".yaml", ".yml"):
            return dump(self.load(path, node).data())
        if path.suffix.lower() in (*_IMAGES, *_AUDIO):
            content = read_bytes(path, self.file.root)
            head = "" if path.suffix.lower() in _AUDIO else f"data:{sniff_media_type(content)};base64,"
            return head + b64encode(content).decode()
        return strip(self.read(path, node))


@dataclass(eq=False)
class _Case:
    """Makes one case of a test."""

    reader: _Reader
    prompt: _Prompt
    texts: CaseTexts
    test: Nodes
    options: Nodes
    providers: list[_Provider]

    def translate(self) -> dict[str, Any]:
        """The case, without its id."""
        code = self.options.get("transformVars")
        if code is not None:
            raise ProblemError(code, "'transformVars' is code, which is not run; write the values")
        prefix, suffix = (self.reader.text(self.options[key]) if key in self.options else "" for key in _AROUND)
        template = f"{prefix}{self.prompt.text}{suffix}"
        asserts = items_of(self.test.get("assert"))
        messages, checks = self.messages(template), [self.check(each) for each in asserts]
        if not self.texts.keeps_templates:
            # Some may be templates so far.
            messages, checks = self.messages(template), [self.check(each) for each in asserts]
        has_templates = self.texts.keeps_templates and self.texts.has_templates
        shared = {**self.providers[0].shared}
        if "instructions" in shared:
            messages = [{"role": "system", "content": shared.pop("instructions")}, *messages]
        case = {
            "provider": None if self.providers == self.reader.providers else _names(self.providers),
            "vars": self.texts.shown if has_templates else None,
            "settings": _settings([each for each in self.providers if each not in self.reader.providers]),
            **shared,
            "repeat": self.options.get("repeat"),
            "checks": [check for check in checks if check is not None],
            # The key of AgentV for what grades nothing here.
            "evaluators": [each for each, check in zip(asserts, checks, strict=True) if check is None],
            "input_messages": make_node(messages, self.prompt.node),
        }
        return {key: value for key, value in case.items() if value or (key == "vars" and has_templates)}

    def messages(self, template: str) -> list[Any]:
        """The messages of a prompt: those that it lists as JSON or YAML, else one of the user."""
        place, data = self.prompt.node, _json(template)
        variables: Mapping[str, Any] | None = self.texts.variables
        if data is _NO_JSON:
            variables = None
            user = [{"role": "user", "content": self.written(template, place, self.texts.rendered)}]
            text = self.texts.put_out(template, place, self.texts.rendered)
            if text is None:
                return user
            is_yaml = strip(text).startswith("- role:")
            if is_yaml and not all(re.match(_TAKE_YAML, each.name) for each in self.providers):
                raise ProblemError(place, "promptfoo sends this YAML to some providers as a text; write it as JSON")
            data = self.yaml_messages(text) if is_yaml else _json(text)
            if data is _NO_JSON and not re.fullmatch(r"\{.*\}|\[\s*([\[{\"\d-].*)?\]", strip(text), re.DOTALL):
                if _REWRITTEN.search(text) and any(
                    re.match("(bedrock.*)?anthropic", each.name) for each in self.providers
                ):
                    rewriting = "promptfoo trims the lines of this text for Anthropic, and takes 'user:' for a role"
                    self.reader.file.ignore(place, f"{rewriting}; here it is sent as it is written")
                return user
        if any(re.match("ollama:(?!chat:)", each.id) for each in self.providers):
            raise ProblemError(place, "promptfoo sends these messages to Ollama as one text; write 'ollama:chat:MODEL'")
        messages = data if isinstance(data, list) else ()
        if not messages or not all(isinstance(each, dict) and "role" in each for each in messages):
            raise ProblemError(place, "this prompt is JSON, or nearly, but no list of {role: ..., content: ...}")
        return [self.message(each, variables) for each in messages]

    def written(self, template: str, place: Node, variables: Mapping[str, Any] | None = None) -> Node:
        """The node of a text of a message."""
        is_for_gemini = any(each.name.startswith("gemini") for each in self.providers)
        if is_for_gemini and _MEDIA.search(self.texts.put_out(template, place, variables) or ""):
            hint = "write the test in an eval file, with a part {type: image, value: ...}"
            raise ProblemError(place, f"promptfoo sends the media in this text to Gemini as media; {hint}")
        return self.texts.write(template, place, variables)

    def yaml_messages(self, text: str) -> Any:
        try:
            return self.reader.data(_parsed(text))
        except YamlError as error:
            raise ProblemError(self.prompt.node, f"this prompt, filled in, is not valid YAML: {error}") from None

    def message(self, data: dict[str, Any], variables: Mapping[str, Any] | None) -> dict[str, Any]:
        """A message of a prompt that is JSON, or becomes it when it is rendered."""
        place, content = self.prompt.node, data.get("content")

        def final(value: Any) -> Any:
            return self.texts.final(value, place, variables) if isinstance(value, str) else value

        left_out = ("content", "type") if data.get("type") == "message" else ("content",)
        message = {key: with_scalars(value, final) for key, value in data.items() if key not in left_out}
        if isinstance(content, str):
            message["content"] = self.written(content, place, variables)
        elif isinstance(content, list):
            parts = [_part(with_scalars(each, final), place) for each in content]
            if ("text", "text") in pairwise(part["type"] for part in parts):
                raise ProblemError(place, "a message has two texts in a row, which are one here; write one text")
            writes = {"text": self.written}
            message["content"] = [
                part | {"value": writes.get(part["type"], self.texts.write)(part["value"], place)} for part in parts
            ]
        elif isinstance(content, dict):
            raise ProblemError(place, "the content of a message must be a text, or a list of parts")
        elif "content" in data:
            message["content"] = content
        return message

    def check(self, node: Node) -> Node | None:
        """The check that an assert is here; `None` if nothing here grades it."""
        node = self.reader.referred(node)
        entries = self.reader.known(node, "an assert", f"type value threshold {' '.join(_TRANSFORMS)}", "metric")
        if "type" not in entries:
            raise ProblemError(node, "an assert must be a mapping with the key 'type'")
        written = entries["type"].text
        kind = written.removeprefix("not-")
        if kind not in _TYPES.split("|"):
            hint = did_you_mean(kind, _TYPES.split("|")) or "promptfoo has no such type"
            raise ProblemError(entries["type"], f"unknown assert type {written!r}; {hint}")
        is_transformed = any(each.transforms for each in self.providers) or _TRANSFORMS & {*self.options, *entries}
        arguments = None if is_transformed else self.arguments(kind, entries)
        if arguments is None:
            behind = " behind a transform" if is_transformed else ""
            hint = "grade in the hook pytest_chatprompt_response, or in a fixture that takes eval_response"
            self.reader.file.ignore(entries["type"], f"an assert {written!r}{behind} grades nothing here; {hint}")
            return None
        type_ = _LIMITS[kind][0] if kind in _LIMITS else kind
        return make_node({"type": f"not-{type_}" if written != kind else type_, **arguments}, node)

    def arguments(self, kind: str, entries: Nodes) -> dict[str, Any] | None:
        """The other keys of a check; `None` if nothing here grades its type and value."""
        value, threshold = entries.get("value"), entries.get("threshold")
        if kind in _LIMITS:
            limit = self.reader.data(threshold) if threshold else None
            return {"value": limit / _LIMITS[kind][1]} if isinstance(limit, int | float) else None
        if value is None:
            return {} if kind == "is-json" else None
        if value.text.startswith("file://"):
            suffix = PurePosixPath(value.text).suffix
            if kind == "is-json" and suffix in (".json", ".yaml", ".yml"):
                return {"value": make_node(self.reader.text(value).removeprefix("file://"), value)}
            if suffix not in (".txt", ".md"):
                return None
            path = self.reader.paths(self.reader.text(value), value)[0]
            value = make_node(strip(self.reader.read(path, value)), value)
        data = self.reader.data(value)
        if kind == "is-json":
            return {"value": value} if isinstance(data, dict) and not re.search(r"\{[{%#]", json.dumps(data)) else None
        if kind in _OF_LIST and isinstance(data, str) and '"' not in data:
            data = [each for each in map(strip, data.split(",")) if each]
        if kind in _OF_LIST and isinstance(data, list):
            return {"value": [self.texts.write(put_out(each), value, self.texts.variables) for each in data]}
        if kind in _OF_TEXT and not isinstance(data, dict | list):
            return {"value": self.texts.write(put_out(data), value, self.texts.variables)}
        return None


def _parsed(text: str) -> Node:
    """The tree of a YAML text, which js-yaml ends with a line break before it reads it."""
    return parse_yaml(text if text.endswith("\n") else f"{text}\n")


def _entries(node: Node | None) -> Nodes:
    is_mapping = node is not None and isinstance(node.value, dict)
    return {key: entry.node for key, entry in node.value.items()} if node is not None and is_mapping else {}


def _mapping(nodes: Nodes, place: Node) -> Node:
    return Node(place.mark, {key: Entry(make_node(key, node), node) for key, node in nodes.items()})


def _text(nodes: Nodes, key: str) -> str:
    return nodes[key].text if key in nodes else ""


def _chosen(references: Node | None, named: list[_Named]) -> list[_Named]:
    """Those of the prompts, or of the providers, to which a list refers by labels or ids; no list refers to all."""
    if references is None:
        return named
    chosen: list[_Named] = []
    for node in items_of(references):
        prefix = node.text.removesuffix("*") if node.text.endswith("*") else f"{node.text}:"
        found: list[_Named] = [
            each for each in named if any(f"{name}:".startswith(prefix) for name in (each.label, each.id) if name)
        ]
        if not found:
            known = ", ".join(each.label or each.id for each in named)
            raise ProblemError(node, f"nothing is called {node.text!r}; there are {known}")
        chosen += found
    return [each for each in named if each in chosen]


def _json(text: str) -> Any:
    """The data of a text that is JSON; `_NO_JSON` for any other."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON


def _part(data: Any, place: Node) -> dict[Any, Any]:
    """A part of a message, in the shape of OpenAI's APIs or Anthropic's."""
    match data:
        case {"type": "text" | "input_text" | "output_text", "text": str(text), **rest}:
            return {**rest, "type": "text", "value": text}
        case {"type": "image_url", "image_url": {"url": str(url), **rest}}:
            return {"type": "image", "value": url, **rest}
        case {"type": "image_url" | "input_image", "image_url": str(url)}:
            return {"type": "image", "value": url}
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(digits)}}:
            return {"type": "image", "value": f"data:{kind};base64,{digits}"}
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return {"type": "image", "value": url}
        case {"type": "input_audio", "input_audio": {"data": str(digits), "format": str(kind)}}:
            return {"type": "audio", "value": f"data:audio/{kind.replace('mp3', 'mpeg')};base64,{digits}"}
    raise ProblemError(place, "a part of a message is neither {type: text, text: ...} nor {type: image_url, ...}")


def _our_tool(node: Node, provider: str) -> Node:
    """A tool; one in Anthropic's shape, or of a vendor alone, in ours."""
    entries, vendor = _entries(node), provider.partition(":")[0]
    if vendor in ("anthropic", "gemini") and not entries.keys() & {"function", "input_schema", "parameters"}:
        return make_node({"type": "raw", vendor: node}, node)
    if "input_schema" not in entries:
        return node
    tool = {"parameters" if key == "input_schema" else key: value for key, value in entries.items()}
    return make_node({"type": "function", **tool}, node)


def _names(providers: list[_Provider]) -> list[Node] | Node:
    names = [make_node(each.name, each.node) for each in providers]
    return names[0] if len(names) == 1 else names


def _settings(providers: list[_Provider]) -> dict[str, Any]:
    return {each.name: each.settings for each in providers if each.settings}


def _name(id_: str) -> str:
    """The name of a provider here: of a built-in one, of another vendor, or of a fixture with code of the project."""
    for pattern, name in _IDS.items():
        match = re.fullmatch(pattern, id_)
        if match:
            return f"{name}:{next(filter(None, match.groups()))}"
    vendor = _OTHER_VENDOR.fullmatch(id_)
    if vendor and not _NO_VENDORS.fullmatch(vendor[1]):
        return f"{vendor[1].replace('-', '_')}:{vendor[2]}"
    return re.sub(r"\W+", "_", id_.removeprefix("file://")).strip("_")


def _expected(text: str) -> dict[str, Any]:
    """The assert that a cell of CSV is short for."""
    for prefix, kind in _SHORT.items():
        if text.startswith(prefix):
            return {"type": kind, "value": text.removeprefix(prefix)}
    match = _EXPECTED.fullmatch(text)
    if match is None:
        return {"type": "javascript" if text.startswith("file://") else "equals", "value": text}
    value, limit = (match[4] or "").strip(), {"threshold": float(match[3] or 0.75)} if match[2] in _LIMITS else {}
    return {"type": match[1], **({"value": value} if value else {}), **limit}
