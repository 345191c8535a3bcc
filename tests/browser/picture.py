"""The picture of the page in docs/review.md: the change of a guideline that this page shows, in Chromium.

`make picture` takes it anew, after a change of the page or of the example project.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.chromium import WHAT_TO_INSTALL, find_chromium

_ROOT = Path(__file__).parents[2]


def take_picture(project: Path) -> None:
    """Change the guideline of a copy of the example project, run its evals, and write the picture of the page."""
    shutil.copytree(_ROOT / "example_project", project)
    page = (_ROOT / "docs/review.md").read_text(encoding="utf-8")
    change = re.search(r"```diff\n- (.*)\n\+ (.*)\n```", page)
    assert change is not None, "docs/review.md shows no change of one line"
    old, new = change.groups()
    guideline = project / "guidelines/service.instructions.md"
    guideline.write_text(guideline.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    run = [sys.executable, "-m", "pytest", "evals/support", "--chatprompt-report", "review.html"]
    subprocess.run(run, cwd=project, stdout=subprocess.DEVNULL, check=False, timeout=120)
    path = find_chromium()
    assert path is not None, WHAT_TO_INSTALL
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        view = browser.new_page(viewport={"width": 1000, "height": 560}, color_scheme="light")
        view.goto((project / "review.html").as_uri())
        view.locator("html[data-ready]").wait_for(state="attached")
        view.screenshot(path=_ROOT / "docs/review.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        take_picture(Path(folder, "example_project"))
