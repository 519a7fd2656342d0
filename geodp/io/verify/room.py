"""Check that a written release fits into a limit of memory, before its rows are read."""

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
"""Bytes a row that a command holds for all rows; working memory comes on top."""

MIB = 1 << 20


@contextmanager
def read_within(paths: Sequence[Path], memory: str | None, each: int) -> Iterator[None]:
    """Read written releases within a limit of memory, which sizes of chunks follow.

    Parameters
    ----------
    paths : sequence of path
        Folders of the releases.
    memory : str or None
        The limit, beside what the interpreter and the libraries take; None: no limit.
    each : int
        Bytes a row that are held for all rows.

    Raises
    ------
    UsageError
        ``memory`` is no size of memory, or the rows need more.
    """
    if memory is not None:
        allowed, rows = bytes_of(memory), sum(map(_count_rows, paths))
        need = WORK + each * rows
        if need > allowed:
            # Rounded up, so that the size that is named suffices.
            size = f"{-(-need // MIB):,}MiB".replace(",", "")
            raise UsageError(
                f"{rows:,} released rows take about {size} here, and --memory allows "
                f"{allowed // MIB}MiB; give --memory {size}, or leave it out.",
                code="memory-below-release",
            )
    with work_within(memory):
        yield


def _count_rows(path: Path) -> int:
    """Count the rows of a table's release; 0 if it cannot be read, which its checks report."""
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
