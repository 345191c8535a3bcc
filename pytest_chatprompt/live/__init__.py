"""Live: send the requests of many cases at once.

Upcoming cases come in; futures of their responses come out, for those whose requests equal their snapshots. `executor`
runs the requests in threads, of which `compute_turn` lets one at a time compute, `snapshot_matcher` decides which ones,
`prefetch` sends them, `judging` asks a judge about the answers. `budget` decides how many are paid for,
`cost_estimate` says what they would cost. `items` calls it and says which cases are upcoming. It knows nothing of
pytest.
"""
