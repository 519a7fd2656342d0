"""Kernels of local collection: bare arrays in, bare arrays out."""
