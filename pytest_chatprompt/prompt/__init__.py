"""The conversion: a case becomes the request that a provider gets.

Start at `request.build_request`. How a part is written, and the rules for messages, are in `conversion`.
It knows neither pytest nor HTTP.
"""
