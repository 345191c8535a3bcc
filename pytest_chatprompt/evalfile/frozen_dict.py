"""A dict that cannot be changed, for data of a case that has no model, such as `metadata`.

In: plain JSON data. Out: the same data, read-only; `thaw` gives plain data again. The models of this room make them,
because the items of a case share what is in it.
They are real dicts, not views, so that `json`, `copy`, `pickle` and pydantic accept them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn


class FrozenDict(dict[str, Any]):
    """A read-only dict; `freeze` makes one, and freezes the values too.

    Raises:
        TypeError: on any attempt to change it.
    """

    def _refuse_change(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a case cannot be changed; make a copy of this with dict()")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse_change

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        # By default a copy is filled item by item, which `__setitem__` refuses.
        return type(self), (dict(self),)


def freeze(value: Any) -> Any:
    """Make JSON data read-only: mappings become `FrozenDict`s, lists become tuples, scalars stay as they are."""
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(inner) for key, inner in value.items()})
    return tuple(map(freeze, value)) if isinstance(value, list | tuple) else value


def thaw(value: Any) -> Any:
    """Frozen JSON data as plain data, which is how templates and validators know it: a tuple is a list again."""
    if isinstance(value, Mapping):
        return {key: thaw(inner) for key, inner in value.items()}
    return [thaw(inner) for inner in value] if isinstance(value, tuple) else value
