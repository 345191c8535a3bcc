"""The built-in providers that speak an API, in the order of the table."""

from __future__ import annotations

from functools import cache

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.table import PROVIDERS, get_provider


@cache
def chat_providers() -> tuple[type[ChatProvider], ...]:
    classes = map(get_provider, PROVIDERS)
    return tuple(each for each in classes if issubclass(each, ChatProvider))
