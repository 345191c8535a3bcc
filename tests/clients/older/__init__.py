"""Tests with clients that `make test` does not install."""
