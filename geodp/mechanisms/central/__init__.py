"""Methods for one who holds everybody's place: one published method, one file."""
