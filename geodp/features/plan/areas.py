"""Areas whose errors are planned, and which of them are nodes of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from geodp.accuracy.blocks import BlockError
from geodp.accuracy.interval import Z
from geodp.grid.grid import Grid


@dataclass(frozen=True)
class Planned:
    """An area and its planned error.

    Attributes
    ----------
    name : str
        Empty for an aligned block.
    cells : int
    standard_error : float or None
        In counts, where nothing is clamped; None where there is no closed form for it, or the
        area has too many cells to look at. Of blocks inside the domain.
    largest : float, optional
        Of a block anywhere, at the edges of the domain too.
    """

    name: str
    cells: int
    standard_error: float | None
    largest: float | None = None

    @classmethod
    def of(cls, error: BlockError, name: str = "") -> Self:
        """Of blocks of one size."""
        return cls(name, error.cells, error.standard_error, error.largest)

    @property
    def margin_95(self) -> float | None:
        """Half the width of a 95 % interval: 1.96 standard errors."""
        return None if self.standard_error is None else Z * self.standard_error

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.name or 'block'} of {self.cells:,} cell{'s' * (self.cells > 1)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        named = {"name": self.name} if self.name else {}
        return {
            **named,
            "cells": self.cells,
            "standard_error": self.standard_error,
            "margin_95": self.margin_95,
            "largest": self.largest,
        }

    def at_most(self, error: float) -> bool:
        """Whether the standard error is known and no larger."""
        return self.standard_error is not None and self.standard_error <= error


def nodes_of(grid: Grid) -> dict[str, int]:
    """Return areas or regions that are runs of keys, and how many first digits these share."""
    order, ndim = grid.order, len(grid.shape)
    if grid.areas.nested:
        return grid.areas.list_nodes()
    found, whole = {}, order.sides(0, ndim)
    for name, side in grid.maps.areas:
        place = grid.places[0]
        for digits in range(len(order.radices) + 1):
            sides = order.sides(digits, ndim)
            aligned = (sides[:2] == side).all() and (sides[2:] == whole[2:]).all()
            if aligned and not place.row0 % side and not place.col0 % side:
                found[name] = digits
    return found
