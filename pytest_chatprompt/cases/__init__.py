"""Eval files: YAML text becomes cases, frozen and checked, and every problem has its line and column.

Start at `loader.load_eval_file`.
"""
