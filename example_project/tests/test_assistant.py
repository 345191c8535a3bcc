"""Ordinary tests of the team's application: what it sends, what it does with replies, and one real reply replayed."""

from __future__ import annotations

import re

import openai
import pytest
from assistant.chat import answer
from assistant.daily import line_of_the_day
from assistant.triage import Ticket, triage
from syrupy.assertion import SnapshotAssertion

from pytest_chatprompt import EvalAPI


@pytest.fixture
def eval_masks() -> dict[str, str]:
    """The line of the day is about today."""
    return {r"\d{4}-\d\d-\d\d": "<today>"}


def test_the_stock_is_looked_up_before_the_answer(eval_api: EvalAPI, eval_snapshot: SnapshotAssertion) -> None:
    eval_api.reply("Let me see. ", tool_calls=[{"name": "count_in_stock", "arguments": {"article": "Glass kettle"}}])
    eval_api.reply("I am sorry, it is sold out.")
    assert "".join(answer("Do you have the glass kettle?")) == "Let me see. I am sorry, it is sold out."
    assert eval_api.sent == eval_snapshot


def test_a_mail_becomes_a_ticket(eval_api: EvalAPI, eval_snapshot: SnapshotAssertion) -> None:
    eval_api.reply(json={"topic": "return", "order_number": "B-17", "summary": "The lid is broken."})
    ticket = triage("The lid of my kettle broke. Order B-17.")
    assert ticket == Ticket(topic="return", order_number="B-17", summary="The lid is broken.")
    assert eval_api.sent == eval_snapshot


def test_a_wrong_key_is_no_ticket(eval_api: EvalAPI) -> None:
    eval_api.reply(error=401)
    with pytest.raises(openai.AuthenticationError):
        triage("Hello!")


def test_the_line_of_the_day_is_one_line(eval_api: EvalAPI, eval_snapshot: SnapshotAssertion) -> None:
    """`pytest --chatprompt-replay` gives it the recorded reply, whatever day it is."""
    line = line_of_the_day()
    assert re.fullmatch(r".+", line)
    assert eval_api.sent == eval_snapshot
