"""A server on loopback, for the clients that run in another process, or in another language.

Requests come in, whose clients were led here by environment variables. A `CaptureServer` hands each of them, with the
URL that it has at the real API, to a function of its owner, and writes the response; or it forwards the request to the
real API. `capture.agent_requests` and `capture.child_processes` call it. To add an API: one line in `table`.
"""
