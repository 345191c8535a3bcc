"""HTTP: one request to an API, and what becomes of it; no vendor's payloads.

`client` posts, `retry` says when and how often, `error_replies` reads the replies that are errors.
"""
