"""The ignored data of an eval file, such as what is below `x-` keys: it may be any YAML.

In: the problems that the parser found, and the tree. Out: those that matter. Pure; only `loader` calls it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pytest_chatprompt.evalfile.yaml_tree import Node, Position, UnexpectedValue, YamlProblem

# Their values are accepted and not read, or never sent. For those of `metadata` and `execution` there is a function
# below.
_IGNORED_KEYS: Final = frozenset(
    {
        "$schema",
        "dataset",
        "conversation_id",
        "note",
        "rubrics",
        "evaluator",
        "evaluators",
        "expected_messages",
        "expected_output",
    }
)


def problems_that_matter(problems: Sequence[YamlProblem], document: Node) -> list[YamlProblem]:
    """Leave out the problems of ignored keys and values.

    Args:
        problems: what the parser found in a file.
        document: the root node of the file's tree.

    Returns:
        The others, in the same order.
    """
    if not any(isinstance(problem, UnexpectedValue) for problem in problems):
        return list(problems)
    positions = set(_positions_read(document))
    return [
        problem for problem in problems if not isinstance(problem, UnexpectedValue) or problem.position in positions
    ]


def _positions_read(node: Node) -> Iterator[Position]:
    """The positions of a node and of all keys and values in it that are not ignored."""
    yield node.position
    if isinstance(node.value, tuple):
        for item in node.value:
            yield from _positions_read(item)
    elif isinstance(node.value, dict):
        for name, (key, value) in node.value.items():
            yield key.position
            yield from _positions_read_below(name, value)


def _positions_read_below(name: Any, value: Node) -> Iterator[Position]:
    if name in _IGNORED_KEYS or (isinstance(name, str) and name.startswith("x-")):
        return
    entries = value.value if isinstance(value.value, dict) else {}
    if name == "metadata" and entries:
        # Its own keys are looked at, because `systemPrompt` is one of them.
        for key, entry in entries.items():
            yield entry.key.position
            if key == "systemPrompt":
                yield entry.node.position
    elif name == "execution" and entries:
        yield value.find(("target",)).position
    else:
        yield from _positions_read(value)
