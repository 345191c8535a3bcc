"""Live: send the requests of many cases at once, ask judges about the answers, and know what it costs. No pytest."""
