"""Secrets: what must not reach a snapshot, a recording or a report; docs/security.md says what is found."""
