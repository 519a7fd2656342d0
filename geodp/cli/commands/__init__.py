"""Commands of the core: one per file, as what has the name of the file."""
