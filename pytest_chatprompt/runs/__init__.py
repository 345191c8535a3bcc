"""Items: pytest's side of eval files.

An eval file comes in from pytest's collection. Items come out, one for each case and provider, and what they do when
they run: send, compare with the snapshot, in a live run get the response. Only `plugin` and `fixtures` call it.
Collection begins in `file`, a test's run in `item` and `case_runner`, a live run in `live_run`.
"""
