"""AgentV's shorthands: `input` for `input_messages`, and `expected_output` for `expected_messages`.

In: a case, as plain data or as a node of its file. Out: the same with the messages that the shorthands stand for.
Trees of files are expanded too, so that positions in messages lead to the shorthand.
Source: AgentV's documentation of eval files ("Input", "Expected Output").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from pytest_chatprompt.evalfile.yaml_tree import Entry, Node


class Shorthand(NamedTuple):
    """A key of AgentV that stands for messages.

    Args:
        key: the short one.
        messages_key: the one that it stands for.
        role: the role of the message, if it is not a list of messages.
    """

    key: str
    messages_key: str
    role: str


INPUT: Final = Shorthand("input", "input_messages", "user")
EXPECTED_OUTPUT: Final = Shorthand("expected_output", "expected_messages", "assistant")
SHORTHANDS: Final = (INPUT, EXPECTED_OUTPUT)
_Form = Literal["messages", "message", "content"]


def expand_data(case: Mapping[str, Any]) -> dict[str, Any]:
    """Add the messages that the shorthands of a case stand for.

    Args:
        case: plain data; where it has the messages too, the shorthand has no effect.
    """
    expanded = dict(case)
    for shorthand in SHORTHANDS:
        value = case.get(shorthand.key)
        if value is None or shorthand.messages_key in case:
            continue
        first = value[0] if isinstance(value, list | tuple) and value else None
        form = _form(shorthand, value, first)
        message = {"role": shorthand.role, "content": value} if form == "content" else value
        expanded[shorthand.messages_key] = value if form == "messages" else [message]
    return expanded


def expand_tree(document: Node) -> None:
    """Add the messages that the shorthands stand for to each case of a file.

    Args:
        document: the root node of the file; it is changed.
    """
    cases = document.find(("evalcases",)).value
    for case in cases if isinstance(cases, tuple) else ():
        if isinstance(case.value, dict):
            for shorthand in SHORTHANDS:
                _expand_node(case, shorthand)


def is_expanded(case: Node, shorthand: Shorthand) -> bool:
    """Whether the messages of a case come from its shorthand."""
    short, messages = (case.find_entry((key,)) for key in (shorthand.key, shorthand.messages_key))
    return short is not None and messages is not None and short.key is messages.key


def _expand_node(case: Node, shorthand: Shorthand) -> None:
    entry = case.value.get(shorthand.key)
    if entry is None or entry.node.value is None or shorthand.messages_key in case.value:
        return
    key, node = entry
    first = node.value[0].value if isinstance(node.value, tuple) and node.value else None
    form, message = _form(shorthand, node.value, first), node
    if form == "content":
        role = Node(node.mark, shorthand.role, shorthand.role)
        message = Node(node.mark, {"role": Entry(key, role), "content": Entry(key, node)})
    messages = node if form == "messages" else Node(node.mark, (message,))
    case.value[shorthand.messages_key] = Entry(key, messages)


def _form(shorthand: Shorthand, value: Any, first: Any) -> _Form:
    """Whether a shorthand holds messages, one message, or the content of a message.

    Args:
        shorthand: its key.
        value: its value, a list of data or a tuple of nodes.
        first: the first item of a list; `None` for no list or an empty one.
    """
    if isinstance(value, list | tuple):
        is_content = shorthand is EXPECTED_OUTPUT and value and not _is_message(first)
        return "content" if is_content else "messages"
    return "message" if _is_message(value) else "content"


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value
