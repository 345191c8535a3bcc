"""Grading: whether an answer, or what is sent, passes the checks of its case.

Pure functions over frozen data, which send nothing and know neither pytest nor HTTP; only `python` calls other code.
`judge` says what a judge is asked and reads its replies, but does not ask it. The table of types is in `parsing`.
"""
