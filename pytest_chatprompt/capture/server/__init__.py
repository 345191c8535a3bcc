"""A server on loopback, for the clients that run in another process, or in another language."""
