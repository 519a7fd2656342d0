"""Released counts, which writers accept."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from geodp.errors import UsageError
from geodp.privacy.event import TableEvent
from geodp.table.counts import Cells
from geodp.typing import CountArray


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable(Cells):
    """Counts that a mechanism has made public: whole or real numbers, some perhaps negative.

    Attributes
    ----------
    count : int64[m] or float64[m]
        Finite and not 0; read-only.
    event : TableEvent
        The mechanism's use, its privacy loss and its guarantee.
    """

    count: CountArray = field(repr=False)
    event: TableEvent

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = self.count.dtype
        if (
            kind not in (np.int64, np.float64)
            or not self.count.all()
            or (kind == np.float64 and not np.isfinite(self.count).all())
        ):
            raise UsageError(
                "Released counts must be int64 or float64, finite and not 0.",
                code="released-counts-form",
            )

    @property
    def summary(self) -> str:
        """One line about the table: its size, mechanism and privacy loss."""
        size = f"{len(self):,} of {self.grid.size:,} cells listed, shape={self.grid.shape}"
        return f"{size}, {self.event.mechanism}, {self.event.loss}"

    def __repr__(self) -> str:
        return f"ReleasedTable({self.summary})"

    @property
    def total(self) -> int | float:
        """Sum of all released counts."""
        total: int | float = self.count.sum().item()
        return total
