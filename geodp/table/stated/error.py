"""The expected errors of a release, as its card states them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from geodp.table.stated.release import Amount, Count, Size


@dataclass(frozen=True)
class StatedBlock:
    """Standard error and 95 % margin of blocks of so many cells, and the largest of any."""

    cells: Size
    standard_error: Amount
    margin_95: Amount
    largest: Amount


@dataclass(frozen=True)
class StatedLevel:
    """Standard error and 95 % margin of the areas of a level."""

    level: str
    cells: Size
    standard_error: Amount
    margin_95: Amount
    largest: Amount


@dataclass(frozen=True)
class StatedPixel:
    """Cells that a pixel of the map sums, and the standard error of that, if there is one."""

    cells: Count
    standard_error: Amount | None


@dataclass(frozen=True)
class StatedFloor:
    """The resolution floor by a public guess of the people: cells of a block, or None."""

    meaning: str
    people: Amount
    cells: Size | None


@dataclass(frozen=True)
class StatedIsolatedCell:
    """Bias and root-mean-square error of an isolated cell, in counts."""

    meaning: str
    bias: float
    rmse: Amount


@dataclass(frozen=True)
class StatedIsolatedBlock:
    """Bias and error of an isolated settlement of several cells."""

    meaning: str
    cells: Size
    bias: float
    rmse: Amount


@dataclass(frozen=True)
class StatedSettlement:
    """Bias of settlements of so many people, in per cent of these, with its simulation error.

    They hold for the settlements' own cells and for all ``near`` them; ``below`` is None for the
    largest ones.
    """

    people: Size
    below: Size | None
    surroundings: Literal["alone", "coastal", "inland"]
    own: float
    own_simulation_error: Amount
    near: float
    near_simulation_error: Amount


@dataclass(frozen=True)
class StatedSettlements:
    """Losses of settlements of all sizes and surroundings, and what they mean."""

    meaning: str
    settlements: tuple[StatedSettlement, ...]


@dataclass(frozen=True)
class StatedLabel:
    """Bias of the total of a small label of an attribute, in counts, and its stated error."""

    attribute: str
    people_per_cell: Amount
    people_from: str
    bias_per_cell: float
    bias: float
    simulation_error: Amount
    standard_error: Amount
    holds: bool


@dataclass(frozen=True)
class StatedLabels:
    """Biases of small labels of all attributes, and what they mean."""

    meaning: str
    labels: tuple[StatedLabel, ...]


Factors = tuple[tuple[Amount | None, ...], ...]
"""Standard errors by group of children and group of shares of zeros; None: unbounded."""


@dataclass(frozen=True)
class StatedTree:
    """Levels that the intervals of a method that clamps follow from, with the counts.

    Numbers have nine significant digits, with which an end is within a millionth of its width.

    Attributes
    ----------
    fanouts : tuple of int
        Children of a node of each level but the last, the root's first.
    variances, fourth_cumulants : tuple of float
        Moments of the estimate of a node of each level, the root's first; the fourth cumulants are
        0 where they are not known.
    dropped : tuple of (float, float)
        The count below which a child is dropped on each level but the root's, and the scale of its
        Laplace noise (0: noise of another law); empty: none is dropped.
    losses, children, shares, below, above, isolated_losses
        Of intervals of earlier versions. ``isolated_losses`` is ``alone`` in the card.
    """

    fanouts: tuple[Size, ...]
    variances: tuple[Amount, ...]
    fourth_cumulants: tuple[Amount, ...]
    losses: tuple[tuple[float, Amount], ...] | None = None
    dropped: tuple[tuple[Amount, Amount], ...] = ()
    children: tuple[Size, ...] | None = None
    shares: tuple[Amount, ...] | None = None
    below: Factors | None = None
    above: Factors | None = None
    isolated_losses: tuple[Amount | None, ...] | None = field(
        default=None, metadata={"key": "alone"}
    )


@dataclass(frozen=True)
class StatedCells:
    """Intervals of single cells, and those of cells that are not listed.

    Attributes
    ----------
    meaning : str
    version : int
        Version of the intervals.
    low, high : float
        Where the interval of a cell that is not listed begins, and where it ends at most.
    simulated : int or None
        Simulated releases behind the biases of settlements.
    parts : int or None
        Version of what is known of parts of cells, where the table has them.
    tree : StatedTree or None
        What the intervals follow from, where the method clamps; None in cards of earlier versions.
    beside, isolated, closed_form
        Of intervals of earlier versions. ``isolated`` is ``alone`` in the card.
    """

    meaning: str
    version: Size
    low: float
    beside: Amount | None = None
    isolated: Amount | None = field(default=None, metadata={"key": "alone"})
    closed_form: bool | None = None
    high: Amount | None = None
    simulated: Size | None = None
    parts: Size | None = None
    tree: StatedTree | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval of a cell that is not listed, at most."""
        known = [one for one in (self.high, self.beside, self.isolated) if one is not None]
        return self.low, max(known, default=float("inf"))


@dataclass(frozen=True)
class StatedError:
    """Errors that are known without any data, in counts.

    Attributes
    ----------
    meaning : str
    holds : str or None
        Where the standard errors hold; None where there are none.
    blocks : tuple of StatedBlock or None
        By size, single cells first.
    areas : tuple of StatedLevel
        The coarsest first.
    map : tuple of StatedPixel
        One a map.
    floor, isolated_cell, isolated_block, attributes
        None where there is none.
    cells : StatedCells or None
        None where there are no standard errors, and in cards of earlier versions.
    settlements : StatedSettlements or None
        None where nothing was simulated, or not on one map.
    sums : tuple of StatedBlock or None
        Of sums over all labels, by number of cells of the map, where parts of cells have errors of
        their own, which depend on the release; else None.
    """

    meaning: str
    holds: str | None
    blocks: tuple[StatedBlock, ...] | None
    areas: tuple[StatedLevel, ...]
    map: tuple[StatedPixel, ...]
    floor: StatedFloor | None
    isolated_cell: StatedIsolatedCell | None
    isolated_block: StatedIsolatedBlock | None
    attributes: StatedLabels | None
    cells: StatedCells | None = None
    settlements: StatedSettlements | None = None
    sums: tuple[StatedBlock, ...] | None = None

    @property
    def known(self) -> tuple[StatedBlock, ...]:
        """Errors of blocks, or of their sums over labels; empty where none are known."""
        return self.blocks or self.sums or ()

    @property
    def largest(self) -> float | None:
        """The largest standard error of a cell; None where it depends on the data."""
        return None if self.blocks is None else float(self.blocks[0].largest)

    @property
    def has_parts(self) -> bool:
        """Whether the tables have errors of parts of cells, each its own."""
        return self.cells is not None and self.cells.parts is not None
