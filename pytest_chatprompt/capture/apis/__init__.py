"""The APIs of models: how each one answers, and how the body of a request to it is read back as a conversation.

An httpx request comes in, with a `Reply` that a test queued or none. A complete httpx response in the API's own shape
comes out, JSON or a stream. One module for each API, one line for each in `table`. Nothing here sends anything.
"""
