"""What readers share: files into rows of columns, rows into cells, cells into one table."""
