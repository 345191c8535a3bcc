"""Results: what each test did, as one record that every report reads.

What happened in a test comes in: its identity, what it compared, what it sent and got, how it ended. A `CaseResult`
comes out, which is JSON on its way from the workers of pytest-xdist. `items` makes one, `reports` read it. The room
knows neither pytest nor HTTP.
"""
