"""Parameters of the closed form of a release's errors, for its page; all of them public."""

from __future__ import annotations

from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.cell_interval import count_unseen
from geodp.accuracy.margins import Margins
from geodp.grid.grid import Grid
from geodp.release.report.html.embed import MAX_NUMBER, pack_integers, pack_sorted

if TYPE_CHECKING:
    from geodp.release.release import Release

KEY_BITS = 50
"""Maximum bits of keys, which a browser divides without an error."""

MAX_CHILDREN = 1 << 20
"""Maximum children of a node, which a browser visits one by one."""


def missing_cells_reason(release: Release) -> str | None:
    """Name the text on why a page has sums of blocks only; None: it has every cell."""
    grid, table = release.grid, release.table
    if grid.maps.missing:
        return grid.maps.missing
    if release.card().domain.lacks_table(grid):
        return "no_regions"
    if grid.bits > KEY_BITS or table.key.size > MAX_CHILDREN * 4:
        return "no_room"
    # Sums of counts must stay exact in the page's script.
    if float(np.abs(table.count).sum(dtype=np.float64)) >= MAX_NUMBER / 4:
        return "no_room"
    return None


def missing_formula_reason(release: Release) -> str | None:
    """Name the text on why a page computes no errors of areas; None where it does."""
    reason = missing_cells_reason(release)
    if reason is not None:
        return reason
    tree = release.method.tree_variance(release.grid, release.event)
    if tree is None:
        return "no_closed_form"
    if tree.drops:
        return "drops"
    return "no_room" if max(tree.fanouts, default=1) > MAX_CHILDREN else None


def pack_formula(release: Release) -> dict[str, Any]:
    """Collect the parameters of :meth:`geodp.Release.estimate` as plain values."""
    grid, event, method = release.grid, release.event, release.method
    tree = method.tree_variance(grid, event)
    assert tree is not None  # missing_formula_reason names a reason
    padded = grid.size < prod(tree.fanouts)
    isolated = method.isolated_cell(grid, event) if method.nonnegative else None
    taken = method.clamp_losses(grid, event) if method.nonnegative else None
    losses = count_unseen(taken, tree.fanouts)
    return {
        "nonnegative": method.nonnegative,
        "gaussian": event.is_normal,
        "fanouts": list(tree.fanouts),
        "variances": list(tree.variances),
        "fourths": list(tree.fourths),
        "padded": padded,
        "skips": padded and method.skips_outside,
        "isolated": isolated and {name: float(isolated[name]) for name in ("bias", "rmse")},
        "losses": losses and [[float(value) for value in one] for one in losses],
        "margins": _pack_margins(release.cell_margins),
    }


def _pack_margins(margins: Margins) -> dict[str, Any]:
    """Convert the margins of cells to plain values; None where they are not known."""

    # JSON has no infinities and no NaN: null stands for both.
    def plain(side: NDArray[np.float64]) -> list[float | None]:
        return [value if isfinite(value) else None for value in side.reshape(-1).tolist()]

    losses = [float(value) for value in margins.isolated_losses]
    return {"down": plain(margins.down), "up": plain(margins.up), "alone": losses}


def pack_grid(grid: Grid) -> dict[str, Any]:
    """Collect the key order of a grid, and its mask or its regions' cells, as plain values."""
    limits, (start, stop) = grid.order.limits(grid.shape), grid.domain.ranges.T
    values = {
        "shape": (limits.high - limits.low).tolist(),
        "axes": list(limits.axes),
        "radices": list(grid.order.radices),
        "offset": list(grid.order.offset),
        "mask": {"start": pack_sorted(start), "stop": pack_sorted(stop)} if start.size else None,
    }
    for regions in grid.areas.tables:
        row, col = regions.cell
        values["number"] = pack_sorted(regions.number)
        values["cell"] = pack_integers(row * grid.shape[1] + col)
    return values
