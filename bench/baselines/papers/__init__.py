"""Published methods without a maintained package, written from their papers for comparison.

They draw plain floating-point noise, which leaks (Mironov 2012): for measuring errors only.
"""
