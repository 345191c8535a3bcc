"""Eval files: YAML text becomes cases, frozen and checked; start at `loader.load_eval_file`."""
