"""Answers of commands about a census, beyond other kinds."""
