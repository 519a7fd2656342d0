"""Declare the interface of a release that cards, estimates and simulations use.

They take this protocol instead of :class:`geodp.Release`, which imports them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from geodp.accuracy.blocks import BlockError
from geodp.accuracy.interval import Estimate, NodeSums
from geodp.accuracy.margins import Margins
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.write.uncertainty import Intervals
from geodp.mechanisms.base import Method
from geodp.privacy.event import TableEvent
from geodp.privacy.ledger import Charge
from geodp.table.card import StatedMetadata
from geodp.table.charged import StatedCharge
from geodp.table.public_totals import PublicTotals
from geodp.table.released import ReleasedTable
from geodp.table.stated.error import StatedSettlements
from geodp.table.stated.prior import StatedPrior
from geodp.table.stated.reading import StatedReading


class PartsOfMap(Protocol):
    """Errors of parts of a map; see :class:`geodp.release.parts.PartErrors`."""

    def estimate_all(self, regions: Sequence[Region], method: str) -> list[Estimate]:
        """Estimate sums over regions, with their standard errors and intervals."""
        ...


class ReleaseProtocol(Protocol):
    """A released table, its errors and the facts about it; see :class:`geodp.Release`."""

    @property
    def table(self) -> ReleasedTable:
        """The released counts."""
        ...

    @property
    def charge(self) -> Charge | StatedCharge | None:
        """The charge to a ledger."""
        ...

    @property
    def people(self) -> float | None:
        """A public guess of the sum of all counts."""
        ...

    @property
    def public_facts(self) -> tuple[str, ...]:
        """Facts about the input that the absence of an error reveals, a sentence each."""
        ...

    @property
    def totals(self) -> PublicTotals | None:
        """Public totals that the table meets exactly."""
        ...

    @property
    def prior(self) -> StatedPrior | None:
        """The prior that the table was made with."""
        ...

    @property
    def postprocessing(self) -> tuple[str, ...]:
        """Post-processing in addition to that of the method."""
        ...

    @property
    def margins(self) -> Margins | None:
        """Margins of single cells, if they are not those of the method."""
        ...

    @property
    def settlements(self) -> StatedSettlements | None:
        """Simulated biases of settlements, as the card states them."""
        ...

    @property
    def metadata(self) -> StatedMetadata | None:
        """Metadata by the publishing office."""
        ...

    @property
    def reading(self) -> StatedReading | None:
        """Facts about how the input was read."""
        ...

    @property
    def grid(self) -> Grid:
        """The public grid."""
        ...

    @property
    def event(self) -> TableEvent:
        """Mechanism, budget, neighbours and sensitivity."""
        ...

    @property
    def method(self) -> Method[Any]:
        """The method, with its settings."""
        ...

    @property
    def node_sums(self) -> NodeSums:
        """Sums of the table's nodes."""
        ...

    @property
    def parts(self) -> PartsOfMap | None:
        """Errors of a map and its parts, of a method that shares out a map."""
        ...

    @property
    def block_errors(self) -> tuple[BlockError, ...] | None:
        """Errors of blocks whose keys share their first i digits, at index i."""
        ...

    @property
    def pixel_errors(self) -> list[dict[str, Any]]:
        """Errors of the sums that pixels of each map show."""
        ...

    @property
    def has_public_margins(self) -> bool:
        """Whether the margins of cells were measured on public maps."""
        ...

    def expected_error(self) -> list[dict[str, Any]]:
        """List error and 95 % margin of aligned blocks of 1, 4, 16 ... cells, and of all."""
        ...

    def cell_errors(self) -> float | NDArray[Any] | None:
        """Compute the standard error of every released cell, or one number if all are equal."""
        ...

    def intervals(self) -> Intervals | None:
        """Compute 95 % intervals of single cells."""
        ...

    def estimate_all(self, regions: Iterable[Any], *, method: str = ...) -> list[Estimate]:
        """Estimate many regions, in their order."""
        ...
