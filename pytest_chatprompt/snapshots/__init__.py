"""Snapshots and recordings: the files that people review in pull requests, and the replies kept beside them.

What is sent becomes exact and readable YAML, and is compared with what is stored. Only `assertion` imports syrupy, and
nothing imports pytest.
"""
