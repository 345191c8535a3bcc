"""Reports: what people read about a whole run.

The `CaseResult`s of a run come in, from pytest's reports; the distinct changes come out, and what pytest's terminal
shows of them. `plugin` calls it when a run with results ends.
"""
