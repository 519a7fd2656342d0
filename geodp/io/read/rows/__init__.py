"""Shared parts of the readers: from files to rows, from rows to cells, from cells to one table.

``input_files`` opens files, folders and archives, and ``columns`` reads their tables in batches.
``selecting`` filters rows, ``fields`` converts values to numbers and codes, ``locators`` finds the
cell of each row, and ``tally`` adds the counts up. The formats besides text and Parquet are in
``forms``; the checks that a file is complete are in ``complete``.
"""
