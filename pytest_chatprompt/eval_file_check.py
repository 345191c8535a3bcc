"""The check of eval files without a run: what the hook of pre-commit starts.

No case runs and no file of the project is imported, so this needs no environment but its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_chatprompt.cases.loader import load_eval_file
from pytest_chatprompt.errors import EvalFileError


def main(arguments: Sequence[str]) -> int:
    """Report the problems of eval files; the root folder is the working folder, as for hooks of pre-commit."""
    root = Path.cwd()
    problems: list[EvalFileError] = []
    for name in arguments:
        try:
            cases = load_eval_file(root / name, root)
        except EvalFileError as error:
            problems.append(error)
            continue
        for case in cases:
            try:
                case.render()
            except EvalFileError as error:
                problems.append(error)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
