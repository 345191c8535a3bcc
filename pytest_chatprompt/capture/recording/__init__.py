"""Recording: keep the replies of real APIs, and give each to its very request again.

An `OpenRecording` holds the replies that were recorded for a test, and takes the new ones. Requests come in; the reply
comes out that belongs to a request, or what the network sends, which is kept whole: status, body, a stream as its
events. `eval_api`, `live_capture`, `provider_capture`, `live` and `items` use it; `snapshots` reads and writes the
files.
"""
