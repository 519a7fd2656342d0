"""How the maps of ends are made, as their cards state it, with closed forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Method
from geodp.mechanisms.central.pyramid import OfPyramid, Pyramid
from geodp.privacy.event import Guarantee, Measurement

FLOWS_PROOF = (
    "a unit adds at most `contribution` trips, and a trip changes one count by 1 on each level of "
    "each map of ends, one of the pairs of blocks of each size, and where trips have labels one "
    "count by label of each kind; all of these have independent noise, their shares of the budget "
    "add up to 1, and everything else is post-processing"
)
"""Why a release of flows holds what it promises."""


@dataclass(frozen=True)
class EndsOfFlows(OfPyramid):
    """Origins or destinations of trips: a pyramid, with one total for both maps.

    Attributes
    ----------
    setting, chain, shares
        Those of the pyramid of both maps.
    """

    setting: str = "auto"
    chain: str = ""
    shares: str = ""

    name: ClassVar[str] = "ends-of-flows"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "noisy counts of few levels, with one total for origins and destinations"
    citation: ClassVar[str] = "geodp: its own method, defined and proved in docs/proofs/flows.md."
    guarantee: ClassVar[Guarantee] = Guarantee(
        precondition="one unit adds at most `contribution` trips, and zones and labels were chosen "
        "without looking at the data",
        source=FLOWS_PROOF,
    )
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "One total: the totals of origins and of destinations, each improved by the counts below "
        "it, are averaged, so that the errors of totals are smaller than stated.",
        *Pyramid.postprocessing,
    )

    @classmethod
    def of(cls, pyramid: Pyramid) -> EndsOfFlows:
        """Make the method of maps that a pyramid measures."""
        return cls(pyramid.setting, pyramid.chain, pyramid.shares)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        listed = self.list_shares(grid, event)
        return (
            "a trip changes, on each level, one count of its end by 1; the levels, from the total "
            f"to the zones, have these shares of this map's budget: {listed}"
        )

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Return the tree of the levels, which is that of the pyramid."""
        return self.pyramid.tree_variance(grid, event)

    def isolated_cell(self, grid: Grid, event: Measurement) -> dict[str, float]:
        """Compute bias and root-mean-square error of an isolated zone, in trips."""
        return self.pyramid.isolated_cell(grid, event)

    def clamp_losses(self, grid: Grid, event: Measurement) -> list[tuple[float, float]]:
        """Compute the clamp's loss: what a node's occupied children lose to empty siblings."""
        return self.pyramid.clamp_losses(grid, event)


@dataclass(frozen=True)
class FlowsOfTrips(Method[Measurement]):
    """Trips between zones, estimated from both maps of ends and noisy pairs of blocks.

    Attributes
    ----------
    sides : str
        Sides of the measured blocks in zones, such as ``"4-8"``.
    shares : str
        Share of the budget of each: ``"2/5-1/10"``; both ends have half of the rest each.
    labels : str
        Side of the blocks whose ends are counted by label, and the share of all counts by label:
        ``"8-3/20"``; empty: flows have no labels.
    """

    sides: str = ""
    shares: str = ""
    labels: str = ""

    name: ClassVar[str] = "flows-of-trips"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "released ends, a law of distance and noisy pairs of blocks, together"
    citation: ClassVar[str] = "geodp: its own method, defined and proved in docs/proofs/flows.md."
    guarantee: ClassVar[Guarantee] = EndsOfFlows.guarantee
    noise: ClassVar[str] = EndsOfFlows.noise
    noise_format: ClassVar[str] = EndsOfFlows.noise_format
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Model: what the noisy pairs do not show is filled in by a law of distance, balanced to "
        "both ends. Single pairs are estimates, and habits between two zones that neither "
        "distance nor their blocks explain are not in them.",
        "Far pairs that hardly anybody travels, and zones to themselves, may have too many trips: "
        "the law of distance decreases slowly, and is the same everywhere.",
        "Shrinkage: noisy pairs count by as much as pairs of their size turn out to differ from "
        "the law, so that differences which are smaller than the noise are lowered.",
        "Additivity: trips from every zone, and to every zone, are exactly the released origins "
        "and destinations, and so in every area.",
        "Whole numbers: expected trips are rounded up or down at random, with nearly the same "
        "mean; most pairs with an expectation far below 1 are empty.",
        "Labels, where trips have any: flows of all labels are divided by what was measured of "
        "large blocks, so that zones of one block differ in their labels only by where their "
        "trips go and come from.",
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Explain in one sentence why a grid cannot be taken; None: it can."""
        return None

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        sides = self.sides.replace("-", ", ")
        blocks = f"sides of {sides} zones"
        if not grid.names.on_map:
            blocks = f"at most {', '.join(str(int(n) ** 2) for n in self.sides.split('-'))} zones"
        return (
            "a trip changes one count by 1 on each level of both maps of ends, and one pair of "
            f"blocks of each size; the blocks have {blocks}, whose pairs have these "
            f"shares of the budget: {self.shares.replace('-', ', ')}; "
            f"{self._describe_labels(grid)}both maps share the rest"
        )

    def _describe_labels(self, grid: Grid) -> str:
        """Explain the sensitivity of counts by label; empty without labels."""
        if not self.labels:
            return ""
        side, _, share = self.labels.partition("-")
        blocks = f"with a side of {side} zones"
        if not grid.names.on_map:
            blocks = f"of at most {int(side) ** 2} zones"
        return (
            "it changes one count by 1 of the labels of pairs of larger blocks, of origins and of "
            f"destinations in blocks {blocks}, which have {share} of the budget together; "
        )


PROTOCOLS = {one.name: one for one in (EndsOfFlows(), FlowsOfTrips())}
"""Both methods by their names in cards, with default settings; the core finds them here."""
