"""What is probably a mistake in a valid eval file, such as a key without effect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_chatprompt.cases.case import EvalCase, case_diagnostic
from pytest_chatprompt.cases.message import TextPart
from pytest_chatprompt.errors import Diagnostic
from pytest_chatprompt.text.yaml import Entry, Node, Position

_GRADING: Final = ("evaluator", "evaluators", "rubrics")
_Entries = Mapping[str, Entry]


def find_ineffective_keys(document: Node, shown_path: str) -> Iterator[Diagnostic]:
    """Find the keys of a valid eval file that have no effect: graders as one, others at their first place."""
    grading: list[tuple[Position, str | None, str]] = []
    others: dict[str, Diagnostic] = {}
    cases = [(case.find(("id",)).value, case.value) for case in document.find(("evalcases",)).value]
    for case_id, entries in [(None, document.value), *cases]:
        grading += [(position, case_id, name) for position, name in _grading_keys(entries)]
        for position, name, text in _lost_settings(entries):
            others.setdefault(name, Diagnostic(shown_path, *position, text, case_id))
    if grading:
        position, case_id, _ = grading[0]
        names = " and ".join(dict.fromkeys(repr(name) for _, _, name in grading))
        text = (
            f"{names} {'grade' if ' and ' in names else 'grades'} nothing here; check answers with 'checks', in the "
            "hook pytest_chatprompt_response, or in a fixture that takes eval_response"
        )
        yield Diagnostic(shown_path, *position, text, case_id)
    yield from others.values()


def _grading_keys(entries: _Entries) -> Iterator[tuple[Position, str]]:
    for name in _GRADING:
        # What a reader of another format has put there, it has told already.
        if name in entries and entries[name].key.text == name and _has_content(entries[name]):
            yield entries[name].key.position, name
    for name, entry in _inner(entries, "execution").items():
        if name in _GRADING and _has_content(entry):
            yield entry.key.position, f"execution.{name}"


def _lost_settings(entries: _Entries) -> Iterator[tuple[Position, str, str]]:
    # These mappings may hold anything, and in AgentV's files they do not change what is sent either.
    for place in ("metadata", "execution"):
        for key, entry in _inner(entries, place).items():
            # Most cases have none.
            from pytest_chatprompt.cases.diagnostics import explain_ineffective_setting  # noqa: PLC0415

            explanation = explain_ineffective_setting(key, place)
            if explanation:
                name = f"{place}.{key}"
                yield entry.key.position, name, f"{name!r} does not change what is sent; {explanation}"


def _inner(entries: _Entries, key: str) -> _Entries:
    value = entries[key].node.value if key in entries else None
    return value if isinstance(value, dict) else {}


def _has_content(entry: Entry) -> bool:
    """Whether a key has a value that would do something: `evaluators: []` grades nothing anywhere."""
    return entry.node.value not in (None, (), {})


def find_literal_template(cases: Sequence[EvalCase]) -> Diagnostic | None:
    """The warning about the first text that looks like a template in a case without variables; `None` for none."""
    # The text of the whole file is searched first, which is done in no time.
    if not cases or "{{" not in cases[0].origin.source.text:
        return None
    for case in cases:
        if case.vars is not None:
            continue
        for location, content in _texts(case):
            # A variable, perhaps with an attribute or a filter; not the braces of code.
            variable = re.search(r"\{\{-?\s*[^\W\d]\w*\s*(?:[.\[|(][^{}\n]*)?-?\}\}", content)
            if variable is not None:
                text = (
                    f"{variable[0]} is sent as it is, because neither the case nor its file has 'vars' or "
                    "'parametrize'; define the variable there, or filter this warning"
                )
                return case_diagnostic(case, text, *location)
    return None


def _texts(case: EvalCase) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The texts of a case that are sent, each with the keys that lead to it."""
    for index, message in enumerate(case.input_messages):
        for number, part in enumerate(message.parts):
            location = ("input_messages", index, "content", number)
            yield (*location, "value"), getattr(part, "value", "")
            if isinstance(part, TextPart) and part.file is not None:
                yield (*location, "file"), part.file
    if case.system_prompt is not None:
        yield ("metadata", "systemPrompt"), case.system_prompt
