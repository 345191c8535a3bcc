"""A server on loopback, for the clients that run in another process, or in another language.

Environment variables lead them here. To add an API: one line in `table`.
"""
