"""`LateAssertion`: syrupy's assertion of which syrupy learns when it is first used.

Syrupy notes each assertion when it is made, and looks for unused snapshots in the folder of each. An eval item has one
that nobody compares with, unless the project asks for it: what is sent is compared by an `EvalSnapshot`. `items` makes
one for each item.
"""

from __future__ import annotations

from typing import Any

from syrupy.assertion import SnapshotAssertion


class LateAssertion(SnapshotAssertion):
    """Becomes a `SnapshotAssertion` that syrupy knows as soon as it compares, or gets options."""

    def __post_init__(self) -> None:
        """Tell syrupy nothing yet."""

    def _become_known(self) -> SnapshotAssertion:
        known: SnapshotAssertion = self
        known.__class__ = SnapshotAssertion
        known.__post_init__()
        return known

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Compare a value with its snapshot."""
        return self._become_known() == other

    def __call__(self, **options: Any) -> SnapshotAssertion:
        """Set options for the next comparison."""
        return self._become_known()(**options)

    def with_defaults(self, **defaults: Any) -> SnapshotAssertion:
        """A new assertion of the same test, with other defaults."""
        return self._become_known().with_defaults(**defaults)
