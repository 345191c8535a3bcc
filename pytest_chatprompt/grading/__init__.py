"""Grading: whether an answer, or what is sent, passes the checks of its case."""
