"""Declare what cards, estimates and simulations use of a release.

They take this class instead of :class:`geodp.Release`, which imports them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from numpy.typing import NDArray

from geodp.accuracy.closed_form import BlockError
from geodp.accuracy.interval import Estimate, NodeSums
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.write.tables import Intervals
from geodp.mechanisms import find_method
from geodp.mechanisms.base import Method
from geodp.privacy.event import TableEvent
from geodp.privacy.ledger import Charge
from geodp.table.card import StatedMetadata
from geodp.table.counts import ReleasedTable
from geodp.table.measured import MeasuredLevels
from geodp.table.public_totals import PublicTotals
from geodp.table.reading import StatedReading
from geodp.table.stated.error import StatedSettlements
from geodp.table.stated.release import StatedCharge, StatedPrior


class PartsOfMap(Protocol):
    """Errors of parts of a map; see :class:`geodp.release.estimates.PartErrors`."""

    def estimate_all(self, regions: Sequence[Region], interval: str) -> list[Estimate]:
        """Estimate sums over regions, with their standard errors and intervals."""


@dataclass(frozen=True, eq=False, repr=False)
class BaseRelease(ABC):
    """A released table and the facts about it; :class:`geodp.Release` says what each is."""

    table: ReleasedTable
    charge: Charge | StatedCharge | None = None
    people: float | None = None
    public_facts: tuple[str, ...] = ()
    custom_method: Method[Any] | None = None
    measurements: MeasuredLevels | None = None
    totals: PublicTotals | None = None
    prior: StatedPrior | None = None
    postprocessing: tuple[str, ...] = ()
    simulated: int | None = None
    settlements: StatedSettlements | None = None
    metadata: StatedMetadata | None = None
    reading: StatedReading | None = None

    @cached_property
    def grid(self) -> Grid:
        """The public grid."""
        return self.table.grid

    @property
    def ground(self) -> Grid:
        """The grid on which regions and places lie."""
        return self.grid

    @cached_property
    def event(self) -> TableEvent:
        """Mechanism, epsilon, neighbours and sensitivity."""
        return self.table.event

    @cached_property
    def method(self) -> Method[Any]:
        """The method, with its settings."""
        return self.custom_method or find_method(self.event.mechanism)

    @cached_property
    def node_sums(self) -> NodeSums:
        """Sums of the table's nodes, which all regions share."""
        return NodeSums(self.table)

    @property
    @abstractmethod
    def parts(self) -> PartsOfMap | None:
        """Errors of a map and its parts, of a method that shares out a map."""

    @property
    @abstractmethod
    def block_errors(self) -> tuple[BlockError, ...] | None:
        """Errors of blocks whose keys share their first i digits, at index i."""

    @property
    @abstractmethod
    def pixel_errors(self) -> list[dict[str, Any]]:
        """Errors of the sums that pixels of each map show."""

    @abstractmethod
    def expected_error(self) -> list[dict[str, Any]]:
        """List error and 95 % margin of aligned blocks of 1, 4, 16 ... cells, and of all."""

    @abstractmethod
    def cell_errors(self) -> float | NDArray[Any] | None:
        """Compute the standard error of every released cell, or one number if all are equal."""

    @abstractmethod
    def intervals(self) -> Intervals | None:
        """Compute 95 % intervals of single cells."""

    @abstractmethod
    def estimate_all(self, regions: Iterable[Any], *, interval: str = ...) -> list[Estimate]:
        """Estimate many regions, in their order."""
