"""Whether a limit of memory holds a written release, asked before its rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from geodp.errors import UsageError
from geodp.io.memory import WORK, bytes_of, work_within
from geodp.io.opening import open_parquet
from geodp.io.verify.card import open_card, public_folder
from geodp.io.verify.chunks import parquet_files
from geodp.io.verify.readback import BROKEN
from geodp.table.card import Card

VERIFYING, REPORTING, DRAWING = 80, 120, 60
"""Bytes of a row that a command takes, beside what it holds at a time."""

MIB = 1 << 20


@contextmanager
def read_within(paths: Sequence[Path], memory: str | None, each: int) -> Iterator[None]:
    """Read written releases within a limit, if there is one; what is held at a time follows it.

    Parameters
    ----------
    paths : sequence of path
        Of the releases.
    memory : str or None
        Beside what the interpreter and the libraries take.
    each : int
        Bytes of a row that are held for all rows.

    Raises
    ------
    UsageError
        No size of memory, or one that the rows go beyond.
    """
    if memory is not None:
        allowed, rows = bytes_of(memory), sum(map(_count_rows, paths))
        need = WORK + each * rows
        if need > allowed:
            size = f"{-(-need // MIB):,}MiB".replace(",", "")
            raise UsageError(
                f"{rows:,} released rows take about {size} here, and --memory allows "
                f"{allowed // MIB}MiB; give --memory {size}, or leave it out.",
                code="memory-below-release",
            )
    with work_within(memory):
        yield


def _count_rows(path: Path) -> int:
    """Return the rows of a release of a table; 0 of one that cannot be read, which others tell."""
    folder = public_folder(path)
    try:
        card = open_card(folder)
        if not isinstance(card, Card):
            return 0
        return sum(open_parquet(file).metadata.num_rows for file in parquet_files(folder, card))
    except MemoryError:
        raise
    except BROKEN:
        return 0
