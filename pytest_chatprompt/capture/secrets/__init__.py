"""Secrets: what must not reach a snapshot, a recording or a report.

The environment, headers, URLs and the names of keys teach a `Redactor` what is secret. It finds secrets in data that is
about to be written, and takes them out of recordings and reports. docs/security.md says what is found.
"""
