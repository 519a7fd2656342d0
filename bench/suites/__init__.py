"""Benchmarks, one in each file."""
