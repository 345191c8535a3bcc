"""The conversion: a case becomes the request that a provider gets; start at `request.build_request`."""
