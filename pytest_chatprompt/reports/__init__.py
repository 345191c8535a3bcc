"""Reports: what people read about a whole run, in pytest's terminal and in files."""
