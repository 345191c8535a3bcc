"""Capture: see what a provider sends, and answer it offline.

A provider and a `ProviderRequest` come in. An `Exchange` comes out: the requests that were sent, decoded from their
bytes, and the response. Every later room may import this one. It knows httpx and respx, not pytest.
"""
