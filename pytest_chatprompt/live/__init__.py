"""Live: send the requests of many cases at once.

What cases send, compared with their snapshots, comes in; answers come out, with the votes of judges, and what they
cost. `pool` has the threads, `answers` the requests of a case. It knows nothing of pytest.
"""
