"""The noisy total, spread evenly: the baseline that any other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geodp.grid.grid import Grid
from geodp.mechanisms.base import Mechanism, Query
from geodp.mechanisms.measure import add_noise, release_vector, stage_query
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable, ReleasedTable


@dataclass(frozen=True)
class Uniform(Mechanism):
    """The total with noise of scale 1/epsilon, shared out evenly over all cells of the domain.

    The lower baseline of Hay et al. (2016): the places of the people are not looked at.
    """

    name: ClassVar[str] = "uniform"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "noisy total, spread evenly (Hay et al. 2016)"
    citation: ClassVar[str] = (
        "Hay, Machanavajjhala, Miklau, Chen, Zhang: Principled Evaluation of Differentially "
        "Private Algorithms using DPBench. SIGMOD 2016."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Dwork, McSherry, Nissim, Smith (2006), proposition 1: one person changes the "
        "total by 1; the number of cells is public",
    )
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Uniformity: every cell has the same value, so a cell's error is its distance from the "
        "mean, whatever the budget.",
        "Non-negativity: a total below 0 becomes 0.",
    )

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return "a person counted once changes the total by 1"

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the total."""
        return (stage_query(0, event.scale, "total"),)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release one value for all cells of the domain."""
        grid = table.grid
        total = int(add_noise(table.count.sum(keepdims=True), key, 0, event.scale)[0])
        # Values outside the domain are dropped by release_vector, so the sum of the release is the
        # total.
        values = np.full(1 << grid.bits, max(total, 0) / grid.size)
        return release_vector(values, grid, event)


METHODS = (Uniform(),)
