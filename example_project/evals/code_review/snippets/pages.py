"""Pages of a list."""


def page(items: list[str], number: int, size: int = 20) -> list[str]:
    """Return one page; the first is number 1."""
    start = number * size
    return items[start : start + size]
