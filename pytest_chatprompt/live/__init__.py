"""Live: send the requests of many cases at once. `pool` has the threads, `answers` the requests of a case."""
