"""The Chromium that the tests of this folder drive: the system's, or the one that Playwright downloads.

`python -m tests.browser.chromium` installs one if there is none, and starts it once; `make test-browser` calls it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

_DEADLINE_SECONDS = 600
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_APT_GET = ["apt-get", "--yes", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=2"]
WHAT_TO_INSTALL = (
    "No Chromium was found. Install one and run this again: `apt-get install chromium` on Debian, "
    f"`{Path(sys.executable).with_name('playwright')} install --with-deps chromium` elsewhere, or put a `chromium` on PATH."
)


def find_chromium() -> str | None:
    """The executable; `None` if there is none."""
    on_path = next(filter(None, map(shutil.which, _NAMES)), None)
    if on_path is not None:
        return on_path
    path = playwright_chromium()
    return str(path) if path.exists() else None


def playwright_chromium() -> Path:
    """The executable that Playwright downloads, whether it has or not."""
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path)


def install_chromium() -> None:
    """Install one: Debian's where this user may, else Playwright's."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        # One unreachable source of packages fails the update, and need not matter.
        _run([*_APT_GET, "update"])
        if _run([*_APT_GET, "install", "--no-install-recommends", "chromium"]) and shutil.which("chromium"):
            return
        # What Playwright downloads is Chromium alone, without the libraries of the system that it needs.
        _run([sys.executable, "-m", "playwright", "install-deps", "chromium"])
    _run([sys.executable, "-m", "playwright", "install", "chromium"])


def _run(command: list[str]) -> bool:
    """Whether a command succeeds before the deadline; it can ask nothing, and leaves no process behind."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, start_new_session=True
    ) as process:
        try:
            return process.wait(_DEADLINE_SECONDS) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return False


def why_it_does_not_start(path: str) -> str | None:
    """Start a Chromium, and end it; why it did not start, or `None` if it did."""
    with sync_playwright() as playwright:
        try:
            playwright.chromium.launch(executable_path=path).close()
        except Error as error:
            return str(error)
    return None


def main() -> str | None:
    """Have a Chromium that starts; what is wrong if there is none."""
    if find_chromium() is None:
        install_chromium()
    path = find_chromium()
    if path is None:
        return WHAT_TO_INSTALL
    problem = why_it_does_not_start(path)
    return None if problem is None else f"{path} does not start: {problem}"


if __name__ == "__main__":
    sys.exit(main())
