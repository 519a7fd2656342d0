"""What comes in: one kind of input, one file."""
