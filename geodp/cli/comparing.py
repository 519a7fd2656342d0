"""What commands that compare regions of one release, or of two, have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.release.release import Release

Place = tuple[int, int]
"""Positions of a release and of a region."""


def pair_regions(
    regions: Sequence[str], releases: Sequence[Release]
) -> dict[str, tuple[Place, Place]]:
    """Pair two regions of one release, or the same regions in two releases, by their names.

    Parameters
    ----------
    regions : sequence of str
        Their names.
    releases : sequence of Release
        The counts of one release or of two.

    Raises
    ------
    UsageError
        Other numbers of releases or regions, releases of different grids, or the same one twice.
    """
    if len(releases) > 2 or (len(releases) == 1 and len(regions) != 2) or not regions:
        raise UsageError(
            "Compare exactly two regions of one release (two --area, or --polygons with two), or "
            "the same regions in two releases.",
            code="compare-two",
        )
    if len(releases) == 1:
        return {" - ".join(regions[::-1]): ((0, 0), (0, 1))}
    first, second = releases
    if first.grid != second.grid:
        raise UsageError("The two releases have different grids.", code="compare-grids")
    if first.card().release_id == second.card().release_id:
        raise UsageError(
            "Both folders hold the same release, which differs nowhere from itself.",
            code="compare-same",
        )
    return {name: ((0, i), (1, i)) for i, name in enumerate(regions)}


def mark_below(hidden: bool, limits: Sequence[int | None]) -> dict[str, bool]:
    """Return the field that tells programs what people see as below a limit of display.

    ``limits``: those of the releases; without any there is no such field.
    """
    return {} if all(one is None for one in limits) else {"below": hidden}
