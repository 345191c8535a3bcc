"""Filters: syrupy's `matcher`, `exclude` and `include`, applied to the data of a snapshot.

JSON data and the three functions come in; the data comes out with values replaced and keys left out. Pure; `extension`
calls it. A path is what syrupy gives to these functions: a tuple of pairs, a key or index and the type of its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syrupy.types import PropertyFilter, PropertyMatcher, PropertyName, PropertyPath


@dataclass(frozen=True, slots=True)
class Filters:
    """Syrupy's `matcher`, `exclude` and `include` of one assertion.

    Args:
        matcher: gives what to show for a value; `None` shows every value as it is.
        exclude: says which keys to leave out; `None` for none.
        include: says which keys to show; `None` for all.
    """

    matcher: PropertyMatcher | None = None
    exclude: PropertyFilter | None = None
    include: PropertyFilter | None = None

    def apply(self, data: Any, path: PropertyPath = ()) -> Any:
        """Replace values of data, and leave out keys, as the filters say.

        Args:
            data: mappings, sequences and scalars; a value of another type that the matcher gives becomes its `repr`.
            path: where the data stands.
        """
        if self.matcher is not None:
            shown = self.matcher(data=data, path=path)
            data = shown if shown is data or _is_json(shown) else repr(shown)
        match data:
            case Mapping():
                return {
                    key: self.apply(value, (*path, (key, type(value))))
                    for key, value in data.items()
                    if self._shows(key, path)
                }
            case list() | tuple():
                return [self.apply(value, (*path, (index, type(value)))) for index, value in enumerate(data)]
        return data

    def _shows(self, key: PropertyName, path: PropertyPath) -> bool:
        if self.exclude is not None and self.exclude(prop=key, path=path):
            return False
        return self.include is None or self.include(prop=key, path=path)


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list | tuple | Mapping)
