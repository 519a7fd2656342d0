"""Quoting of names and insertion of rows in SQLite."""

from __future__ import annotations

import sqlite3
from typing import Any

TOGETHER = 1 << 6
"""Number of rows that one statement inserts."""


def quote(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def insert(base: sqlite3.Connection, name: str, columns: list[Any]) -> None:
    """Insert rows, many with each statement, as every statement has a cost.

    ``columns``: sequences of equal length.
    """
    width, n = len(columns), len(columns[0])
    values: list[Any] = [None] * (width * n)
    for at, column in enumerate(columns):
        values[at::width] = column
    row, start = f"({', '.join('?' * width)})", 0
    # First many rows with each statement, then the remainder one by one.
    for rows in (min(TOGETHER, base.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // width), 1):
        each, stop = width * rows, len(values) - (len(values) - start) % (width * rows)
        statement = f"INSERT INTO {quote(name)} VALUES {', '.join([row] * rows)}"
        base.executemany(statement, (values[i : i + each] for i in range(start, stop, each)))
        start = stop
