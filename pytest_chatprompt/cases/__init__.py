"""Eval files: YAML text becomes cases, frozen and checked, and every problem has its line and column.

Start at `loader.load_eval_file`. The types of parts are in `message`, the error texts in `diagnostics`.
It knows neither pytest nor HTTP.
"""
