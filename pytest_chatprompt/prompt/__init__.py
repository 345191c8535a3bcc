"""The conversion: a case becomes the request that a provider gets.

Start at `request.build_request`; the rules for messages are in `conversion`.
"""
