"""Reports: what people read about a whole run.

Its distinct changes and answers are shown in pytest's terminal, and in the files that the user asked for: the page,
Markdown and JSON. A run's end begins in `terminal_hooks` and `run_hooks`; `formats` lists the formats of files.
"""
