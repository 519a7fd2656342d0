"""Commands of the interview, one in each file."""
