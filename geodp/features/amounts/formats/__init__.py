"""Files that show records, sums and means of amounts side by side."""
