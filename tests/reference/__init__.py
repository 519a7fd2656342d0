"""Naive twins: the definitions, slow and obvious."""
