"""A module that cannot be imported."""

raise RuntimeError("not today")
