"""Snapshots and recordings: the files that people review in pull requests, and the answers kept beside them.

An `Exchange` comes in. Out come its snapshot as exact and readable YAML, the snapshot's file name, the diff from the
stored one, and which snapshots are unused. A `ProviderResponse` is saved as a recording, and loaded from it.
`items`, `live`, `results` and `reports` call this room. It does not import pytest, and syrupy only in `extension`.
"""
