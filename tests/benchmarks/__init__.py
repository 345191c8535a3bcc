"""What a case costs, beside the least that an eval item can cost. Run by `make bench`, never by `make test`."""
