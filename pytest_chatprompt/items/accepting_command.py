"""The accepting command: what to type to accept what a test sends now.

A test comes in; the command line that writes its snapshots comes out. `case_runner` and `own_snapshots` show it in
failures.
"""

from __future__ import annotations

import os
import shlex

import pytest

from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.options import options_key


def accepting_command(item: pytest.Item) -> str:
    """The command that writes the snapshots of a test, from the folder where pytest was started."""
    options = item.config.stash[options_key]
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    overrides = [value for value in item.config.getoption("override_ini") or () if value.startswith("chatprompt_")]
    words = ["pytest", f"{path}::{item.nodeid.partition('::')[2]}"]
    words += [word for override in overrides for word in ("-o", override)]
    words += ["--chatprompt-provider", options.provider] if options.provider and isinstance(item, EvalItem) else []
    return shlex.join([*words, "--snapshot-update"])
