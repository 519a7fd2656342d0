"""Commands of the core: one per file of the same name, as its ``COMMAND``."""
