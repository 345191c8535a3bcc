"""Clients: take the requests of every HTTP client of this process, from any library, by a seam at its transport."""
