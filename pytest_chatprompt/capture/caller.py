"""The caller: which library tried something, and where in your code that library was called.

The frames of a stack come in; a `Caller` comes out. A pure function of them; `network_guard`
calls it for what it blocks.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

_STANDARD_LIBRARY: Final = Path(sysconfig.get_path("stdlib"))
_THIS_PACKAGE: Final = Path(__file__).parents[1]
_LIBRARY_FOLDERS: Final = ("site-packages", "dist-packages")
# They run tests: the frames above them have nothing to do with the attempt.
_TEST_RUNNERS: Final = ("_pytest", "pluggy")


class StackFrame(NamedTuple):
    """One call in a stack.

    Args:
        file: the file of the code.
        line: the line that runs.
    """

    file: str
    line: int


class Caller(NamedTuple):
    """The library and the line of code that tried something.

    Args:
        library: the top-level package that your code called; `""` if none was in between.
        place: `file:line` in your code, the file relative to the current folder if it is below; `""` if there is none,
            as in a thread that a library has started.
    """

    library: str
    place: str

    def describe(self) -> str:
        """What to add to an error: `, tried by redis, called at app/cache.py:12`; `""` if nothing is known."""
        tried = f", tried by {self.library}" if self.library else ""
        return f"{tried}, called at {self.place}" if self.place else tried


def find_caller(stack: Iterable[StackFrame], folder: Path) -> Caller:
    """Find who is behind an attempt.

    Args:
        stack: the innermost call first.
        folder: the current folder.
    """
    library = ""
    for frame in stack:
        path = Path(frame.file)
        package = _library(path)
        if package in _TEST_RUNNERS:
            break
        if package:
            library = package
        elif not _is_internal(path):
            shown = path.relative_to(folder) if path.is_relative_to(folder) else path
            return Caller(library, f"{shown.as_posix()}:{frame.line}")
    return Caller(library, "")


def walk_stack(frame: FrameType | None) -> Iterator[StackFrame]:
    """The frames of a stack, from a frame of Python's outwards.

    Args:
        frame: the innermost one.
    """
    while frame is not None:
        yield StackFrame(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back


def _library(path: Path) -> str:
    """The top-level package that a file was installed with; `""` if it was not installed."""
    for folder in _LIBRARY_FOLDERS:
        if folder in path.parts:
            return Path(path.parts[path.parts.index(folder) + 1]).stem
    return ""


def _is_internal(path: Path) -> bool:
    """Whether a file belongs to Python or to this package; frozen modules have names such as `<frozen runpy>`."""
    is_frozen = str(path).startswith("<")
    return is_frozen or path.is_relative_to(_STANDARD_LIBRARY) or path.is_relative_to(_THIS_PACKAGE)
