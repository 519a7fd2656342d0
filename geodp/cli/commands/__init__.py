"""One command, one file, which lists it in ``COMMANDS``."""
