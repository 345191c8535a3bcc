"""Benchmarks: what a case costs, compared with the least that an eval item can cost. `make bench` runs them, no test does."""
