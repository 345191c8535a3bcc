"""Grading: whether an answer, or what is sent, passes the checks of its case.

In: the checks of an `EvalCase`, and a `ProviderResponse` or what a snapshot shows. Out: a verdict for each check.
Pure functions over frozen data, which send nothing and know neither pytest nor HTTP; only `python` calls other code.
`llm_rubric` says what a judge is asked, and `judge_verdict` reads its replies; `live` asks it. `table` lists the types.
`items` parses the checks of a case when it runs, and reports what fails.
"""
