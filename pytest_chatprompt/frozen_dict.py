"""A dict that nobody can change: what a case holds that has no model.

`eval_file` makes them. They are dicts, and not views of dicts, so that `json`, `copy`, `pickle` and pydantic take them.
"""

from __future__ import annotations

from typing import Any, NoReturn


class FrozenDict(dict[str, Any]):
    """JSON data by key. `frozen` makes one of a dict and of all in it.

    Raises:
        TypeError: something was to be changed.
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a case cannot be changed; make a copy of this with dict()")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        # Copies are filled by way of the constructor.
        return type(self), (dict(self),)


def frozen(value: Any) -> Any:
    """JSON data that nobody can change: mappings as `FrozenDict`, lists as tuples."""
    if isinstance(value, dict):
        return FrozenDict({key: frozen(inner) for key, inner in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value
