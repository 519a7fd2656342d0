"""Formats of a release: one file for each format."""
