"""Options as data, for the command line, for functions of Python, and for other programs."""
