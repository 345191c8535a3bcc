"""HTTP: one request to an API, and what becomes of it.

In: a URL and the bytes of a body.
Out: the reply, or an error of `pytest_chatprompt.errors` that says what happened and what to do.
`client` posts, `retry` sends again, `error_replies` and `error_body` read the replies that are errors.
`chat` and every later room may import this one. It knows no vendor's payloads.
"""
