"""The rows of `make bench`, a module for each group. Each module has `ROWS`."""
