"""One benchmark, one file."""
