"""Mechanisms of central differential privacy: one published method, one file, one row here."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event, Guarantee
from geodp.grid import Grid
from geodp.mechanisms.topdown import TopDown
from geodp.randomness import NoiseKey
from geodp.table import CountTable, ReleasedTable


class Mechanism(Protocol):
    """What every row of ``METHODS`` offers."""

    @property
    def name(self) -> str:
        """As in ``METHODS`` and on the command line."""

    @property
    def title(self) -> str:
        """One line for people."""

    @property
    def citation(self) -> str:
        """The publication that defines it."""

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""

    @property
    def postprocessing(self) -> tuple[str, ...]:
        """What is done to the noisy values, and the bias that it causes."""

    def sensitivity(self, grid: Grid) -> int:
        """L1 change of the measured vector when one person is added, once, to one cell."""

    def release(self, table: CountTable, event: Event, key: NoiseKey) -> ReleasedTable:
        """Run the mechanism; ``event.scale`` is the noise's scale."""

    def sensitivity_words(self, grid: Grid) -> str:
        """Why it is that, as one sentence for the release card."""

    def isolated_cell(self, grid: Grid, event: Event) -> dict[str, float]:
        """``bias`` and ``rmse`` of a populous cell in an empty region."""

    def variances(self, grid: Grid, event: Event) -> NDArray[np.float64]:
        """Closed-form variance of the sum of a block of ``2**(bits - i)`` keys at index i."""


METHODS: dict[str, Mechanism] = {method.name: method for method in (TopDown(),)}
"""Every method by its name."""
