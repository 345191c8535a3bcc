"""The row loader: the rows of the cases of one eval file, each dataset loaded once.

In: the value of `parametrize`, and the nodes of the case and of the file. Out: rows, valid and invalid.
Only `loader` calls it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.rows import InvalidRow, Row, make_rows
from pytest_chatprompt.evalfile.yaml_tree import Node, Position


class RowLoader:
    """Loads the rows of one eval file.

    Args:
        path: the eval file.
        root: pytest's root folder.
        shown_path: the eval file as messages show it.
    """

    def __init__(self, path: Path, root: Path, shown_path: str) -> None:
        self._path = path
        self._root = root
        self._shown_path = shown_path
        # By the position of `parametrize`: the cases of a file may share its own.
        self._loaded: dict[Position, list[Row | InvalidRow] | EvalFileError] = {}

    def load(self, parametrize: str | tuple[Any, ...], case: Node, document: Node) -> list[Row | InvalidRow]:
        """Load the rows of a case.

        Args:
            parametrize: the rows, or the path of their dataset.
            case: the node of the case.
            document: the node of the file, whose `parametrize` counts if the case has none.

        Raises:
            EvalFileError: the dataset cannot be read as a whole; its diagnostics name no case.
        """
        node = case.find(("parametrize",))
        if node is case or node.value is None:
            node = document.find(("parametrize",))
        if node.position not in self._loaded:
            self._loaded[node.position] = self._load(parametrize, node)
        loaded = self._loaded[node.position]
        if isinstance(loaded, EvalFileError):
            raise loaded
        return loaded

    def _load(self, parametrize: str | tuple[Any, ...], node: Node) -> list[Row | InvalidRow] | EvalFileError:
        if not isinstance(parametrize, str):
            from pytest_chatprompt.evalfile.dataset_yaml import read_nodes  # noqa: PLC0415 - few eval files have rows

            return make_rows(read_nodes(node.value), self._shown_path)
        # Few eval files have a dataset.
        from pytest_chatprompt.evalfile.dataset import DatasetNameError, load_dataset  # noqa: PLC0415

        try:
            return load_dataset(parametrize, self._path.parent, self._root)
        except EvalFileError as error:
            return error
        except DatasetNameError as error:
            return EvalFileError([Diagnostic(self._shown_path, *node.position, str(error))])
