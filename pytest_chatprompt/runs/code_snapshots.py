"""What a test of own code compares with its snapshots: where they are, what they are called, and how it ended."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.options import snapshot_dirname
from pytest_chatprompt.snapshots.files import normalized_name, refuse_folder_outside_root, snapshot_stem_of_test

if TYPE_CHECKING:
    from pytest_chatprompt.snapshots.assertion import EvalSnapshot


def snapshot_folder(item: pytest.Item) -> Path:
    """The folder of the snapshots of an ordinary test; need not exist."""
    return item.path.parent / snapshot_dirname(item.config) / item.path.stem


def checked_snapshot_folder(item: pytest.Item) -> Path:
    """The folder of the snapshots of an ordinary test, in which files may be written.

    Raises:
        SnapshotError: a link leads it out of the root folder.
    """
    folder = snapshot_folder(item)
    refuse_folder_outside_root(folder, item.config.rootpath)
    return folder


class SnapshotStems:
    """The stems of the snapshots of ordinary tests: the same for each selection of tests in a module."""

    def __init__(self, session: pytest.Session) -> None:
        names = {(item.path, test_name(item)) for item in session.items}
        self._tests = Counter((path, normalized_name(name)) for path, name in names)
        self._stems: dict[Path, defaultdict[str, set[str]]] = {}

    @classmethod
    def of(cls, session: pytest.Session) -> SnapshotStems:
        """The stems of a run."""
        if _stems_key not in session.stash:
            session.stash[_stems_key] = cls(session)
        return session.stash[_stems_key]

    def find(self, item: pytest.Item) -> str:
        """The stem of a test's snapshot."""
        name = test_name(item)
        if name == normalized_name(name):
            # Of the names that some file systems take for one, the normalized one needs no digest.
            return snapshot_stem_of_test(name)
        stem, unique = snapshot_stem_of_test(name), snapshot_stem_of_test(name, with_digest=True)
        if self._tests[item.path, normalized_name(name)] > 1:
            return unique
        # A run of this test alone does not know the others, but their files are there.
        stems = self._stems_in(snapshot_folder(item))
        return unique if unique in stems[normalized_name(unique)] or stems[normalized_name(stem)] - {stem} else stem

    def _stems_in(self, folder: Path) -> defaultdict[str, set[str]]:
        """The stems of the files of a folder, when it was first asked for, by what some file systems take for one."""
        if folder not in self._stems:
            stems = self._stems[folder] = defaultdict(set)
            for path in folder.glob("*.yaml"):
                stems[normalized_name(path.stem)].add(path.stem)
        return self._stems[folder]


_stems_key: Final = pytest.StashKey[SnapshotStems]()


def test_name(item: pytest.Item) -> str:
    """The name of a test with its classes: `TestGreeting.test_name[Ada]`."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join((*classes, item.name))


# What pytest says of an `assert` of nothing but a comparison, after the words of its author, and what unittest says.
_ASSERTED: Final = re.compile(
    r"(?:(.+)\n)?assert \[(?:\+ received\] == \[- snapshot|- snapshot\] == \[\+ received)\]\n  "
)
_ASSERTED_EQUAL: Final = re.compile(r".+ != <eval_snapshot>|<eval_snapshot> != (?!.* : ).+")
_assertions_key: Final[pytest.StashKey[list[EvalSnapshot]]] = pytest.StashKey()


def keep_assertion(item: pytest.Item, assertion: EvalSnapshot, *, is_first: bool = False) -> None:
    """Keep an assertion of a test; the first one is new in this run of the test, and others are made from it."""
    if is_first:
        item.stash[_assertions_key] = []
    item.stash[_assertions_key].append(assertion)


def forget_assertions(item: pytest.Item) -> None:
    """Let go of the assertions of a test that is over, which hold what it compared."""
    if _assertions_key in item.stash:
        del item.stash[_assertions_key]


def has_assertions(item: pytest.Item) -> bool:
    """Whether a test has asked for `eval_snapshot`."""
    return _assertions_key in item.stash


def last_assertion(item: pytest.Item) -> EvalSnapshot | None:
    """The assertion of a test whose last comparison failed; else the last one that compared, `None` for none."""
    used = [assertion for assertion in item.stash.get(_assertions_key, []) if assertion.num_executions]
    return max(reversed(used), key=lambda assertion: assertion.has_failed, default=None)


def failed_comparison(item: pytest.Item) -> str:
    """The failure of a test's comparison with a snapshot, if that was the last by its assertion; else `""`."""
    assertion = last_assertion(item)
    return "\n".join(assertion.describe_failure()) if assertion is not None and assertion.has_failed else ""


def failure_text(error: BaseException, comparison: str) -> str | None:
    """All that there is to say of a test that fails for nothing but its comparison with a snapshot.

    Returns:
        The words of the `assert`, if it has some, and the comparison; `None` if the error says something else as well.
    """
    # In a `finally` or an `except` it stands for another error. Hypothesis notes the example that fails.
    if not isinstance(error, AssertionError) or error.__context__ is not None or hasattr(error, "__notes__"):
        return None
    message = str(error)
    first_line = comparison.partition("\n")[0]
    asserted = _ASSERTED.match(message)
    # Another assertion of the test may be the last one that failed.
    if asserted is not None and message.startswith(first_line, asserted.end()):
        words = f"{asserted[1]}: " if asserted[1] else ""
    elif _ASSERTED_EQUAL.fullmatch(message):
        words = ""
    else:
        return None
    if first_line.startswith("There is no "):
        return f"{words}what is sent has no snapshot yet\n{comparison}"
    if first_line == comparison:
        # The snapshot cannot be read.
        return f"{words}{comparison}"
    return f"{words}what is sent is not what its snapshot says\n\n{comparison}"
