"""The picture of a release of flows: the largest that noise does not hide, or both maps of ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Estimate
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.folder.publication import list_file
from geodp.io.write.drawing.sheet import Sheet
from geodp.io.write.map.flows import compose_flows, find_flows
from geodp.io.write.map.look import Look
from geodp.io.write.map.page import compose
from geodp.io.write.picture import MEDIA_TYPE, render_sheet, require_picture, why_no_picture
from geodp.io.write.view import View
from geodp.kinds.flows.english import FILES, describe_file
from geodp.kinds.flows.kind import FLOWS
from geodp.table.card import LeftOut
from geodp.table.display import is_below
from geodp.table.index import Joint
from geodp.typing import IntArray

MAX_ZONES = 1 << 22
"""Largest number of zones of which flows are drawn: all trips from and to squares are estimated."""

EstimateAll: TypeAlias = Callable[[Sequence[tuple[Region, Region]]], list[Estimate]]


@dataclass(frozen=True, eq=False)
class FlowsMap:
    """The inputs of the map of a release of flows.

    Attributes
    ----------
    view : View
        All pairs of zones, with both maps of ends.
    zones : Grid
    finest : int
        Side in zones of the smallest blocks whose pairs were measured.
    estimate_all : callable or None
        Estimates trips between regions; None: whoever opens the release cannot.
    """

    view: View
    zones: Grid
    finest: int
    estimate_all: EstimateAll | None

    def draw(self, look: Look) -> Sheet:
        """Lay out the map of the largest flows, or of both ends where no flow is known.

        Raises UsageError for zones without a map, for bounds without a cell, and for requested
        texts that no font can draw.
        """
        require_picture(self.zones)
        flows = None
        on_map = self.zones.names.on_map and self.zones.size <= MAX_ZONES
        if look.flows and on_map and self.estimate_all is not None:
            flows = find_flows(self.view, look.bounds, self._are_known)
        return compose(self.view, look) if flows is None else compose_flows(self.view, look, flows)

    def write(self, folder: Path) -> Joint:
        """Draw the map into a folder; return the index's entry of the file."""
        path = folder / f"{FLOWS}.png"
        if (reason := why_no_picture(self.zones)) is not None:
            return (), (LeftOut(path.name, reason),)
        path.write_bytes(render_sheet(self.draw(Look()), "png"))
        return (list_file(path, MEDIA_TYPE, describe_file(FILES, "picture")),), ()

    def _are_known(self, side: int, index: IntArray) -> NDArray[np.bool_]:
        """Estimate flows between squares; see :data:`geodp.io.write.map.flows.Known`."""
        # Of smaller squares nothing was measured.
        if side < self.finest or not index.size or self.estimate_all is None:
            return np.zeros(index.shape[1], np.bool_)
        pairs = [((a, b), (c, d)) for a, b, c, d in index.T.tolist()]
        squares = {one: self._find_square(side, *one) for pair in pairs for one in pair}
        every = list_all(self.zones)
        starts, ends = (list(dict.fromkeys(one)) for one in zip(*pairs, strict=True))
        flows = [(squares[a], squares[b]) for a, b in pairs]
        out = [(squares[one], every) for one in starts]
        found = iter(self.estimate_all(flows + out + [(every, squares[one]) for one in ends]))
        between = [next(found) for _ in pairs]
        begin, end = ({one: next(found) for one in some} for some in (starts, ends))
        sure = [
            is_sure(flow, (begin[a], end[b]), self.view.limit)
            for flow, (a, b) in zip(between, pairs, strict=True)
        ]
        return np.array(sure)

    def _find_square(self, side: int, row: int, col: int) -> Region:
        """Return the zones of the square in a row and a column of squares."""
        place = self.zones.places[0]
        rows, cols = np.meshgrid(
            np.arange(row * side, min((row + 1) * side, place.rows)),
            np.arange(col * side, min((col + 1) * side, place.cols)),
        )
        return Region.of_map(self.zones, rows.ravel(), cols.ravel())


def is_believed(one: Estimate, limit: int | None) -> bool:
    """Return whether a flow reaches its 95 % margin, as on maps, and is shown at all."""
    margin = (one.high - one.low) / 2
    return one.count >= margin and not is_below(one.count, limit)


def is_sure(flow: Estimate, ends: tuple[Estimate, Estimate], limit: int | None) -> bool:
    """Return whether a flow is believed, and so are the trips of both of its ends.

    Of thousands of flows noise alone carries some over their margins, and few of whole places.
    """
    return all(is_believed(one, limit) for one in (flow, *ends))


def list_all(grid: Grid) -> Region:
    """Return the region of all zones."""
    return Region(grid, np.sort(grid.domain.keys_of_ranks(np.arange(grid.size))))
