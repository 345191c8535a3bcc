"""Preflight: what an API is known to refuse or to misread, found before anything is sent.

`rule` says what a rule is, the other modules have the functions; each API's module has the table of its rules.
Pure functions.
"""
