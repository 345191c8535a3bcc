"""Recording: keep the replies of real APIs, and give each to its very request again.

Replies are kept whole: status, body, a stream as its events. `snapshots` reads and writes the files.
"""
