"""Published methods that no maintained package installs, written from their papers to compare with.

They draw plain floating-point noise, which leaks (Mironov 2012): for measuring errors only.
"""
