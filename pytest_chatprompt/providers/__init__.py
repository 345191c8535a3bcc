"""What providers need to send a request to an API, and the agents that a request can be handed to.

In: a `ProviderRequest`, made by `prompt`, or what `apis` makes of it.
Out: a `ProviderResponse`, or a `ProviderError`.
`agents` has a module for each agent; `http` sends, `prices` says what tokens cost. All share `arguments` (checks of
settings), `context` (offline or live) and `response` (what comes out).
Users and every later room may call it; knows neither pytest nor snapshots.
"""
