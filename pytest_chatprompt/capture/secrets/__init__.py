"""Secrets: what must not reach a snapshot, a recording or a report.

The environment, headers, URLs and the names of keys teach a `Redactor` what is secret. Data that is about to be written
comes in, and out comes where a secret stands in it; texts of reports come in, and come out without their secrets. Other
rooms call `redaction`; `capture.sent_request` also asks `names`. docs/security.md says what is found.
"""
