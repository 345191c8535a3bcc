"""Stored requests: the HTTP requests that a snapshot on disk shows.

The file of a snapshot comes in; its data comes out, or the endpoint and body of its requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.capture.recording.recorded_exchange import data_sha256, request_sha256
from pytest_chatprompt.snapshots.files import SnapshotFileError, read_snapshot
from pytest_chatprompt.snapshots.stored_data import read_data

# What a recorded answer of an agent belongs to, as in `snapshot_data.payload_data`.
_AGENT_KEYS: Final = ("argv", "prompt", "files", "requests")


def stored_data(path: Path) -> Mapping[str, Any]:
    """The data of a snapshot; empty if there is none, or if it cannot be read.

    Args:
        path: the snapshot's file.
    """
    try:
        data = read_data(read_snapshot(path) or "")
    except SnapshotFileError:
        return {}
    return data if isinstance(data, Mapping) else {}


def stored_requests(path: Path) -> list[tuple[str, Any, Any]]:
    """The HTTP requests that a snapshot shows: endpoint, body and headers of each; `None` for no headers."""
    data = stored_data(path)
    entries = data["requests"] if isinstance(data.get("requests"), list) else [data]
    return [
        (entry["endpoint"], entry["request"], headers if isinstance(headers := entry.get("headers"), Mapping) else None)
        for entry in entries
        if isinstance(entry, Mapping) and isinstance(entry.get("endpoint"), str) and "request" in entry
    ]


def stored_hashes(path: Path) -> frozenset[str]:
    """The hashes by which recordings know what a snapshot shows: of each request, or of what an agent was given."""
    hashes = {request_sha256(*request) for request in stored_requests(path)}
    data = stored_data(path)
    if "argv" in data:
        hashes.add(data_sha256({key: data[key] for key in _AGENT_KEYS if key in data}))
    elif "messages" in data:
        hashes.add(data_sha256(data["messages"]))
    return frozenset(hashes)
