"""Commands of the core, one a file of its name, which calls it ``COMMAND``."""
