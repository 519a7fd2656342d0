"""Commands of selections, one in each file."""
