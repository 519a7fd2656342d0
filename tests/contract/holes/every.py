"""The name that stands for all kinds."""

EVERY = "every kind"
"""Stands for all kinds in a row that holds for each of them."""
