"""The command of a test: what to type to accept what it sends now, or to record what it gets.

A test comes in; a command line comes out, for the folder where pytest was started. Failures show it.
"""

from __future__ import annotations

import os
import shlex

import pytest

from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.options import options_key


def accepting_command(item: pytest.Item) -> str:
    """The command that writes the snapshots of a test; `""` in a run that compares with those of a revision."""
    options = item.config.stash[options_key]
    if options.against is not None:
        return ""
    # What an ordinary test sends may depend on what it gets.
    modes = (("--chatprompt-live", options.live), ("--chatprompt-replay", options.replay))
    modes_of_run = [name for name, is_on in modes if is_on and not isinstance(item, EvalItem)]
    return command_for(item, *modes_of_run, "--snapshot-update")


def command_for(item: pytest.Item, *further: str) -> str:
    """The command that runs a test with further options, and with those of this run that choose what it sends."""
    # Most tests need no command.
    from pytest_chatprompt.reports.run_commands import FOLDER_OPTIONS, kept_options  # noqa: PLC0415

    options = item.config.stash[options_key]
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    overrides = [value for value in item.config.getoption("override_ini") or () if value.startswith("chatprompt_")]
    words = ["pytest", f"{path}::{item.nodeid.partition('::')[2]}"]
    words += kept_options(map(str, item.config.invocation_params.args), FOLDER_OPTIONS)
    words += [word for override in overrides for word in ("-o", override)]
    words += ["--chatprompt-provider", options.provider] if options.provider and isinstance(item, EvalItem) else []
    return shlex.join([*words, *further])
