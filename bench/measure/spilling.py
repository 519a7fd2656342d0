"""Count the bytes that readers write to disk when their rows do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from geodp.io.read.rows.scratch import Spill


@dataclass
class Spilled:
    """Bytes that were written so far."""

    bytes: int = 0


@contextmanager
def count_spilled() -> Iterator[Spilled]:
    """Count the bytes that are written meanwhile; readers do not report them."""
    spilled, wrote = Spilled(), Spill.write

    def counted(self: Spill, columns: Any) -> None:
        before = self.size
        wrote(self, columns)
        spilled.bytes += self.size - before

    Spill.write = counted  # type: ignore[method-assign]
    try:
        yield spilled
    finally:
        Spill.write = wrote  # type: ignore[method-assign]
