"""Shared parts of the readers: from files to rows, from rows to cells, from cells to one table."""
