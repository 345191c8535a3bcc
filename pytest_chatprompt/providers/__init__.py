"""Providers: they send a request to an LLM API or hand it to an agent, and read the answer.

In: a `ProviderRequest`, made by `prompt`.
Out: a `ProviderResponse`, or a `ProviderError`.
`chat` has a module for each API, `agents` one for each agent, `registry` the table of both; `http` and `preflight`
serve `chat`. All share `arguments` (checks of settings), `context` (offline or live) and `response` (what comes out).
Users and every later room may call it; knows neither pytest nor snapshots.
"""
