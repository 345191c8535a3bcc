"""HTTP: one request to an API, and what becomes of it; no vendor's payloads."""
