"""Rows from YAML: a list of mappings, in a file of its own or in the eval file.

In: a file, or the node of `parametrize`. Out: a `RawRow` for each row; what is wrong with one row does not stop the
others. `dataset` reads files with it, `row_loader` the rows of an eval file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from pytest_chatprompt.evalfile.diagnostics import describe_value
from pytest_chatprompt.evalfile.rows import RawRow
from pytest_chatprompt.evalfile.text_file import TextFileError, read_text
from pytest_chatprompt.evalfile.yaml_parser import parse_yaml
from pytest_chatprompt.evalfile.yaml_tree import Node, YamlError, YamlProblem


def read_yaml(path: Path, root: Path) -> Iterator[RawRow]:
    """Read the rows of a list.

    Raises:
        TextFileError: the file cannot be read, or is not a list.
        YamlError: it is not valid YAML.
    """
    document, problems = parse_yaml(read_text(path, root))
    if document.value is None:
        return
    if not isinstance(document.value, tuple):
        text = f"must be a list of rows, but is {describe_value(document)}"
        raise TextFileError(text, *document.position)
    starts = [row.position for row in document.value]
    by_row: dict[int, YamlProblem] = {}
    for problem in problems:
        if not starts or problem.position < starts[0]:
            raise YamlError(*problem)
        by_row.setdefault(bisect_right(starts, problem.position) - 1, problem)
    for index, row in enumerate(read_nodes(document.value)):
        problem_of_row = by_row.get(index)
        if problem_of_row is None:
            yield row
        else:
            yield row._replace(problem=problem_of_row.text, problem_position=problem_of_row.position)


def read_nodes(nodes: tuple[Node, ...]) -> Iterator[RawRow]:
    """Read a row from each node of a list."""
    for node in nodes:
        yield RawRow(node.position, node.data(), node=node)
