"""Commands of local collection, one in each file."""
