"""Providers: they send a request to an LLM API or hand it to an agent, and read the answer.

In: a `ProviderRequest`, made by `prompt`.
Out: a `ProviderResponse`, or a `ProviderError`.
`chat` has a module for each API, `agents` one for each agent, `registry` the table of both; `http` and `preflight`
serve `chat`. Called by `capture`, `snapshots`, `live` and `items`, and by users; knows neither pytest nor snapshots.
"""
