"""`python -m pytest_chatprompt`: the command line of reports."""

from __future__ import annotations

import sys

from pytest_chatprompt.report_commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
