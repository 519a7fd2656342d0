"""Inputs of benchmarks: synthetic, named and public tables."""
