"""Writes the line of the day for the shop's door, with an OpenAI model."""

from __future__ import annotations

from datetime import date

from openai import OpenAI

MODEL = "gpt-5.5"


def line_of_the_day() -> str:
    """One line about today, for the chalkboard."""
    response = OpenAI().responses.create(
        model=MODEL,
        instructions="Write one line for the chalkboard of a shop for tea and kettles.",
        input=f"Today is {date.today().isoformat()}.",
    )
    return response.output_text
