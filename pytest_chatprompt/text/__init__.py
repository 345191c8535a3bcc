"""Text and data that every room may use: files read safely, YAML with positions, JSON data, media types.

It knows nothing of eval files, of pytest or of HTTP.
"""
