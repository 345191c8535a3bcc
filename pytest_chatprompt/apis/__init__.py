"""The APIs of models: all that is known of each one stands in its module.

In: a `ProviderRequest`, or the body that any client sends to an API.
Out: the request that a provider sends and the `ProviderResponse` that it reads; the `Conversation` in a body, and the
reply that answers it offline.
`table` lists the providers and the APIs; `chat_provider`, `vendor_api` and `model_api` have what they share.
"""
