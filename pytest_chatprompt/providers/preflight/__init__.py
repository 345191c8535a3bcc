"""Preflight: what an API is known to refuse or to misread, found before anything is sent.

In: a `PreflightInput` (the messages, the model, its parameters) and the rules of its API.
Out: a `Finding` for each place that breaks a rule; users see it as a `PayloadWarning`.
`rules` has a table for each vendor, the `*_rules` modules have the functions, `models` has what is known about models.
The providers and every later room may import this one. Pure functions.
"""
