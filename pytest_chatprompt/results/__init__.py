"""Results: what each test did, as one record that every report reads.

The records are JSON on their way from the workers of pytest-xdist. The room knows neither pytest nor HTTP.
"""
