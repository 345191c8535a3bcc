"""Chat providers: one module for each LLM API.

In: a `ProviderRequest`, with the chat prompt of a case.
Out: the `PreparedRequest` that the API gets, and the `ProviderResponse` that it answers.
`base` has `ChatProvider`, which does what all APIs have in common; each API's module subclasses it, as `vendor_api`
says. `compatible` is for vendors whose API is OpenAI's.
Called by `capture`, `live` and `items`; users subclass and call providers too.
"""
