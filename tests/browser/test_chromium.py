"""Where the tests of this folder find a Chromium, and how they install one."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.browser.chromium import WHAT_TO_INSTALL, find_chromium, install_chromium, main


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any browser: the only folder on PATH. What is run in it is logged."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    # The tests of this folder drive one Playwright already, and there can be no other at the same time.
    monkeypatch.setattr(chromium, "playwright_chromium", lambda: tmp_path / "downloaded")
    add_command(folder, "python")
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return folder


def add_command(folder: Path, name: str, script: str = "") -> None:
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "{name} $*" >> {folder.parent}/log\n{script}\n')
    path.chmod(0o755)


def log(folder: Path) -> list[str]:
    """The commands that were run, without the options of apt-get."""
    lines = (folder.parent / "log").read_text().splitlines()
    return [f"apt-get {line.partition('Retries=2 ')[2]}" if line.startswith("apt") else line for line in lines]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_the_browser_of_the_system_comes_first(machine: Path) -> None:
    assert find_chromium() is None
    (machine.parent / "downloaded").touch()
    assert find_chromium() == str(machine.parent / "downloaded")
    add_command(machine, "google-chrome")
    assert find_chromium() == str(machine / "google-chrome")
    add_command(machine, "chromium")
    assert find_chromium() == str(machine / "chromium")


def test_root_installs_debians_chromium_even_if_a_source_of_packages_is_unreachable(machine: Path) -> None:
    install = f'case "$*" in *update) exit 100;; esac; printf "#!/bin/sh" > {machine}/chromium; /bin/chmod +x {machine}/chromium'
    add_command(machine, "apt-get", install)
    install_chromium()
    assert log(machine) == ["apt-get update", "apt-get install --no-install-recommends chromium"]
    assert find_chromium() == str(machine / "chromium")


@pytest.mark.parametrize("script", ["exit 100", ""], ids=["apt fails", "a package without the command"])
def test_playwrights_chromium_is_next_with_the_libraries_that_it_needs(machine: Path, script: str) -> None:
    add_command(machine, "apt-get", script)
    install_chromium()
    assert log(machine)[2:] == [
        "python -m playwright install-deps chromium",
        "python -m playwright install chromium",
    ]


@pytest.mark.parametrize("has_apt", [True, False])
def test_who_may_not_install_packages_gets_playwrights_chromium(
    machine: Path, monkeypatch: pytest.MonkeyPatch, has_apt: bool
) -> None:
    if has_apt:
        add_command(machine, "apt-get")
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    install_chromium()
    assert log(machine) == ["python -m playwright install chromium"]


def test_an_installation_that_hangs_is_ended_with_all_of_its_processes(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chromium, "_DEADLINE_SECONDS", 3)
    add_command(machine, "python", f"/bin/sleep 600 & echo $! > {machine.parent}/child; wait")
    install_chromium()
    child = int((machine.parent / "child").read_text())
    deadline = time.monotonic() + 30
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_without_a_browser_the_message_says_what_to_install(machine: Path) -> None:
    assert main() == WHAT_TO_INSTALL
    assert "`apt-get install chromium`" in WHAT_TO_INSTALL
    assert "put a `chromium` on PATH" in WHAT_TO_INSTALL
    assert log(machine) == ["python -m playwright install chromium"]


def test_a_browser_that_does_not_start_is_named(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_command(machine, "chromium")
    monkeypatch.setattr(chromium, "why_it_does_not_start", lambda _: "libnss3.so is missing")
    assert main() == f"{machine / 'chromium'} does not start: libnss3.so is missing"
    monkeypatch.setattr(chromium, "why_it_does_not_start", lambda _: None)
    assert main() is None
