"""Clients: take the requests of every HTTP client of this process, from any library.

An `Interceptor` gets each request as an `httpx.Request`, and what it returns goes back to the client as a reply of its
own library. Each library is one module, a seam at its transport, and one line in the table of `interception`.
"""
