"""Measures: time, memory, instructions, nodes, errors."""
