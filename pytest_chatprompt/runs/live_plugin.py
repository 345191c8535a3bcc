"""The plugin of a live run, found by its name: other runs have none, and import nothing of it.

`session` registers it; `case_runner` and those that it calls look it up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pytest_chatprompt.runs.live_run import LiveRun

LIVE_RUN: Final = "chatprompt-live"


def find_live_run(config: pytest.Config) -> LiveRun | None:
    """The plugin that sends; `None` if the run is not live."""
    live_run: LiveRun | None = config.pluginmanager.get_plugin(LIVE_RUN)
    return live_run
