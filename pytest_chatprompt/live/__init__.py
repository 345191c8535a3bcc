"""Live: send the requests of many cases at once.

Cases whose requests equal their snapshots come in; their responses come out, in futures. `items` calls it and decides
which cases are upcoming. It knows nothing of pytest.
"""
