"""Exact symmetric noise distributions on the integers, and their draws for tree nodes."""
