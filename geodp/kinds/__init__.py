"""Kinds of release besides the table of counts, each in a folder of its own.

A module ``kind`` states a kind; see :mod:`geodp.registry`. Releases of counts are those of
:mod:`geodp.release`.
"""
