"""Files of other tools, read as eval files: each reader translates the tree of a file into that of our own format.

The translated values keep their places, so that checks, errors and reports are those of our own files. To add a format,
write a module with a function `translate`, and a line in `table.FORMATS`.
"""
