"""The Chromium that the tests of this folder drive: the system's, or the one that Playwright downloads.

`python -m tests.browser.chromium` installs one if there is none; `make test-browser` calls it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

_DEADLINE_SECONDS = 600
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WHAT_TO_INSTALL = (
    "no Chromium was found. Install one and run this again: `apt-get install chromium` on Debian and Ubuntu, "
    f"`{Path(sys.executable).with_name('playwright')} install --with-deps chromium` elsewhere, or put a `chromium` on PATH"
)


def find_chromium() -> str | None:
    """The executable; `None` if there is none."""
    on_path = next(filter(None, map(shutil.which, _NAMES)), None)
    if on_path is not None:
        return on_path
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install_chromium() -> None:
    """Install one: Debian's where this user may, else Playwright's."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        commands = [["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]]
        if all(_run(command) for command in commands):
            return
    _run([sys.executable, "-m", "playwright", "install", "chromium"])


def _run(command: list[str]) -> bool:
    try:
        return subprocess.run(command, check=False, timeout=_DEADLINE_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    if find_chromium() is None:
        install_chromium()
    if find_chromium() is None:
        sys.exit(WHAT_TO_INSTALL)
