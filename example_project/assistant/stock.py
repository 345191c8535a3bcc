"""The shop's stock; a table here, a database in a real shop."""

from __future__ import annotations

_STOCK = {"steel kettle": 12, "glass kettle": 0, "sencha, 100 g": 40}


def count_in_stock(article: str) -> int:
    """How many pieces of an article are in stock; 0 for an article that the shop does not have."""
    return _STOCK.get(article.strip().lower(), 0)
