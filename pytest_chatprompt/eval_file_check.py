"""The check of eval files without a run: what the hook of pre-commit starts.

No case runs and no file of the project is imported, so this needs no environment but its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_chatprompt.cases.loader import load_eval_file
from pytest_chatprompt.errors import EvalFileError


def find_problems(path: Path, root: Path) -> list[EvalFileError]:
    """Find the problems of an eval file and of its cases; all files that it names have to lie below the root."""
    try:
        loaded = load_eval_file(path, root)
    except EvalFileError as error:
        return [error]
    return [case.written for case in loaded if isinstance(case.written, EvalFileError)]


def main(arguments: Sequence[str]) -> int:
    """Report the problems of eval files; the root folder is the working folder, as for hooks of pre-commit."""
    root = Path.cwd()
    problems = [problem for name in arguments for problem in find_problems(root / name, root)]
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
