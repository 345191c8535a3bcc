"""What `make formats` installs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MODULES: Final = Path(".venv-formats/node_modules").absolute()
NODE: Final = MODULES / "node/bin/node"
