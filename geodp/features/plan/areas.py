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
        Standard error in counts, without a clamp, of blocks inside the domain; None if there is no
        closed form, or the area has too many cells.
    largest : float, optional
        Largest standard error of any block, including the edges of the domain.
    """

    name: str
    cells: int
    standard_error: float | None
    largest: float | None = None

    @classmethod
    def of(cls, error: BlockError, name: str = "") -> Self:
        """Create the plan of blocks of one size."""
        return cls(name, error.cells, error.standard_error, error.largest)

    @property
    def margin_95(self) -> float | None:
        """Half the width of a 95 % interval, 1.96 standard errors."""
        return None if self.standard_error is None else Z * self.standard_error

    @property
    def title(self) -> str:
        """Description for people."""
        return f"{self.name or 'block'} of {self.cells:,} cell{'s' * (self.cells > 1)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        named = {"name": self.name} if self.name else {}
        return {
            **named,
            "cells": self.cells,
            "standard_error": self.standard_error,
            "margin_95": self.margin_95,
            "largest": self.largest,
        }

    def is_within(self, error: float) -> bool:
        """Whether the standard error is known and at most ``error``."""
        return self.standard_error is not None and self.standard_error <= error


def nodes_of(grid: Grid) -> dict[str, int]:
    """Return areas or regions that are runs of keys, with the number of digits that
    their keys share.
    """
    order, ndim = grid.order, len(grid.shape)
    if grid.areas.nested:
        return grid.areas.list_nodes()
    nodes, full_sides = {}, order.sides(0, ndim)
    for name, side in grid.maps.areas:
        place = grid.places[0]
        for digits in range(len(order.radices) + 1):
            sides = order.sides(digits, ndim)
            # An area is a node only if a block has its size and starts where it starts.
            aligned = (sides[:2] == side).all() and (sides[2:] == full_sides[2:]).all()
            if aligned and not place.row0 % side and not place.col0 % side:
                nodes[name] = digits
    return nodes
