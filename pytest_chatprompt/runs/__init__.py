"""Runs: pytest's side of eval files and own code. Read `run` first: what happens to one case.

Collection begins in `file`, a test's run in `item`, a live run in `live_run`.
"""
