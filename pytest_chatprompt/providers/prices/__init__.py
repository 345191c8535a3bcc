"""Prices: what the tokens of a request cost.

A model, its API and a `TokenUsage` come in, US dollars come out, or `None` where the price is not known. Pure but for
the price list, which is read from the package `genai-prices`; nothing is sent. `chat` prices its answers with it,
`live` keeps the budget, `items` estimates a run.
"""
