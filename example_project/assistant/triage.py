"""Sorts the shop's mail with an OpenAI model, which answers with data of a fixed shape."""

from __future__ import annotations

from typing import Literal

from openai import OpenAI
from pydantic import BaseModel, Field

MODEL = "gpt-5.5"


class Ticket(BaseModel):
    """What a mail is about, and what has to be done."""

    topic: Literal["order", "return", "question", "other"]
    order_number: str | None = Field(description="As the customer wrote it; null if the mail names none.")
    summary: str = Field(description="One sentence.")


def triage(mail: str) -> Ticket:
    """Read a customer's mail."""
    response = OpenAI().responses.parse(
        model=MODEL,
        instructions="Sort the mail of a shop for tea and kettles.",
        input=mail,
        text_format=Ticket,
    )
    ticket = response.output_parsed
    if ticket is None:
        raise ValueError("the model did not answer with a ticket")
    return ticket
