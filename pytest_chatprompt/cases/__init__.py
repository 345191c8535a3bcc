"""Eval files: YAML text becomes cases, frozen and checked.

In: the path of an eval file and pytest's root folder. Out: an `EvalCase` for each valid case, an `InvalidCase` for each
invalid one, or `EvalFileError` if the file itself is invalid. Every problem has its line and column.
Start at `loader.load_eval_file`. The types of parts are in `message`, the error texts in `diagnostics`.
Every other room may import this one. It knows neither pytest nor HTTP.
"""
