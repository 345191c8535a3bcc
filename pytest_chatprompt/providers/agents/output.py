"""Output: what an agent printed, or wrote as its answer, read within bounds.

Open files and paths come in; texts come out, never longer than `MAX_OUTPUT_BYTES`. `process` reads standard output and
error here, and the agents their answers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Final

from pytest_chatprompt.errors import AgentError

# How much of an output or an answer is read into memory: 20 MiB, a thousand times a long answer of a model.
MAX_OUTPUT_BYTES: Final = 20 * 2**20
_TAIL_LINES: Final = 10
_TAIL_CHARACTERS: Final = 2000


def read_end(file: IO[bytes]) -> tuple[str, bool]:
    """Read a file from its end, up to `MAX_OUTPUT_BYTES`, as UTF-8; invalid bytes become U+FFFD.

    Args:
        file: a regular file. A process that inherited it may still write to it.

    Returns:
        The text, and whether the file is longer, so that its beginning is missing.
    """
    size = file_size(file)
    start = max(size - MAX_OUTPUT_BYTES, 0)
    # Neither moves nor uses the position of the file: the process that writes to it has the same one.
    return os.pread(file.fileno(), size - start, start).decode(errors="replace"), start > 0


def file_size(file: IO[bytes]) -> int:
    """The current size of an open file in bytes; another process may write to it."""
    return os.fstat(file.fileno()).st_size


def read_answer(path: Path, agent: str) -> str:
    """Read the file to which an agent wrote its answer.

    Args:
        path: the file.
        agent: what to call the agent, such as its executable.

    Raises:
        AgentError: the file is longer than `MAX_OUTPUT_BYTES`.
    """
    size = path.stat().st_size
    if size > MAX_OUTPUT_BYTES:
        raise AgentError(f"{agent} wrote an answer of {size:,} bytes; the limit is {MAX_OUTPUT_BYTES:,}")
    return path.read_text(encoding="utf-8", errors="replace")


def stderr_tail(stderr: str) -> str:
    """Format the last lines of a standard error to append to an error message; `""` if it is blank.

    Args:
        stderr: all of the standard error.
    """
    return output_tail(stderr, "standard error")


def output_tail(text: str, name: str) -> str:
    """Format the last lines of an output to append to an error message; `""` if it is blank.

    Args:
        text: all of the output.
        name: what to call it.
    """
    tail = "\n".join(text.strip()[-_TAIL_CHARACTERS:].splitlines()[-_TAIL_LINES:])
    return f"; the end of its {name}:\n{tail}" if tail else ""
