"""What goes out: one format, one file."""
