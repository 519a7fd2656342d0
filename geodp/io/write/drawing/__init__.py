"""Sheets of text, lines and maps, and their formats of files; independent of releases."""
