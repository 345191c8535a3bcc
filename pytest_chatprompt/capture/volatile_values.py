"""What differs from run to run in what an agent sends: temporary folders, ids and times.

The bodies of its requests come in, in order. The same bodies come out with a placeholder for each of these, so that a
run can be compared with another: `{id 1}` stands for the first UUID that the agent sent, wherever it stands again.
`provider_capture` makes one for each run of an agent.
"""

from __future__ import annotations

import re
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER

_UUID: Final = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")
# Seconds since 1970, or their thousandths.
_UNIX_TIME: Final = re.compile(r"(?<![\w.])(\d{10}(?:\.\d+)?|\d{13})(?![\w.]*\d)")
_ISO_TIME: Final = r"(?<!\d)(?:{dates})(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
_MILLISECONDS: Final = 1e11
# Clocks are rounded, and two of them may differ.
_TOLERANCE_SECONDS: Final = 2.0


class VolatileValues:
    """The placeholders of one run; made before it begins.

    Args:
        keep: what is the agent's task. A date or an id in it is part of the case, and stays.
    """

    def __init__(self, *, keep: str) -> None:
        self._keep = keep
        self._started = time.time()
        self._ids: dict[str, str] = {}
        folders = {tempfile.gettempdir(), str(Path(tempfile.gettempdir()).resolve())}
        # As `tempfile` names them, for `AgentProvider.send`.
        self._folder = re.compile(
            rf"(?:{'|'.join(map(re.escape, sorted(folders, key=len, reverse=True)))})/chatprompt-[a-z0-9_]{{8}}"
        )

    def replace(self, data: Any) -> Any:
        """Put the placeholders into JSON data; gives new data."""
        match data:
            case str():
                # The document stays as it is: only its paths may hold what differs.
                parts = data.split(self._keep) if self._keep else [data]
                return self._folder.sub(str(PLACEHOLDER_FOLDER), self._keep.join(map(self._replace_in_text, parts)))
            case dict():
                return {key: self.replace(value) for key, value in data.items()}
            case list():
                return [self.replace(item) for item in data]
            case int() | float() if not isinstance(data, bool) and self._is_now(data):
                return "{time}"
        return data

    def _replace_in_text(self, text: str) -> str:
        text = _UUID.sub(lambda match: self._ids.setdefault(match[0], f"{{id {len(self._ids) + 1}}}"), text)
        text = _UNIX_TIME.sub(lambda match: "{time}" if self._is_now(float(match[0])) else match[0], text)
        return re.sub(_ISO_TIME.format(dates="|".join(self._dates())), self._name_date_or_time, text)

    def _name_date_or_time(self, match: re.Match[str]) -> str:
        return "{date}" if len(match[0]) == len("2000-01-01") else "{time}"

    def _dates(self) -> set[str]:
        """The dates of the run, here and in UTC."""
        moments = (self._started, time.time())
        return {datetime.fromtimestamp(at, zone).date().isoformat() for at in moments for zone in (None, UTC)}

    def _is_now(self, number: float) -> bool:
        seconds = number / 1000 if number > _MILLISECONDS else number
        return self._started - _TOLERANCE_SECONDS <= seconds <= time.time() + _TOLERANCE_SECONDS
