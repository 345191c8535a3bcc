"""Capture: see what a provider or an application sends to a model, and answer it offline.

A provider and a `ProviderRequest` come in. An `Exchange` comes out: the requests that were sent, decoded from their
bytes, and the response. For an ordinary test, `EvalAPI` takes the requests of the test's own code. Every later room may
import this one. It knows httpx and respx, not pytest.
"""
