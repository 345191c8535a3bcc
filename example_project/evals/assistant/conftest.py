"""The team's own application as providers: what it sends through the vendors' SDKs stands in the snapshots."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from assistant.chat import answer
from assistant.triage import triage

from pytest_chatprompt import EvalAPI, ProviderRequest


@pytest.fixture
def assistant_provider(eval_api: EvalAPI) -> Callable[[ProviderRequest], str]:
    """The assistant, which streams its answer; it is made to look up the stock once."""
    eval_api.reply(tool_calls=[{"name": "count_in_stock", "arguments": {"article": "steel kettle"}}])
    eval_api.reply("Yes, we have 12 of them.")
    return lambda request: "".join(answer(request.question))


@pytest.fixture
def triage_provider() -> Callable[[ProviderRequest], str]:
    """The sorting of mails; without a reply of the test, the answer is the least that fits the shape."""
    return lambda request: triage(request.question).model_dump_json()
