"""Methods of papers, to compare with: one published method, one file."""
