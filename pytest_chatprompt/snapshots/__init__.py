"""Snapshots and recordings: the files that people review in pull requests, and the replies kept beside them."""
