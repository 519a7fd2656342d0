"""Inputs of publications: tables that were read already, or what is read into one."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, TypeVar

from geodp.errors import Rule, UsageError
from geodp.io.read.rows.input_files import ArrowStream, LabelledArray, TableSource
from geodp.table.released import ReleasedTable

NO_TABLE = Rule(
    "table-or-grid-expected",
    "Publishing takes a table of counts, or a frame or a file with the public grid that it is "
    "counted on: geodp.publish(frame, grid='jis:half', epsilon=..., contribution=...). An array "
    "of NumPy becomes a table by geodp.CountTable.from_dense(array, grid).",
)
READY = Rule(
    "table-released",
    "This is published already: release.write(folder) writes it, release.to_pandas() has its rows.",
)
LAZY = Rule("frame-lazy", "A lazy frame has no rows yet: geodp.publish(frame.collect(), ...).")
READ_ALREADY = Rule(
    "read-already",
    "These arguments say how a frame or a file is read, and this table was read already: {}. Leave "
    "them out, or give the frame or the file.",
)

Read = TypeVar("Read")


def read_input(
    source: TableSource | Read, kind: type[Read], read: Callable[..., Read], **reading: Any
) -> Read:
    """Return a table that was read already; otherwise read it.

    Parameters
    ----------
    source : table, or what is read
    kind : type
        Of tables that were read.
    read : callable
        Reads a frame or files.
    **reading
        Keywords of ``read``.

    Raises
    ------
    UsageError
        Keywords for a table that was read: one that is ignored may be a selection, and others would
        be counted; or a source that is neither read nor can be.
    """
    if isinstance(source, kind):
        if given := [name for name, value in reading.items() if value is not None]:
            raise UsageError(READ_ALREADY.format(", ".join(given)))
        return source
    if not isinstance(source, str | PathLike | list | tuple | ArrowStream | LabelledArray):
        released = isinstance(source, ReleasedTable) or hasattr(source, "card")
        raise UsageError(READY if released else LAZY if hasattr(source, "collect") else NO_TABLE)
    return read(source, **reading)
