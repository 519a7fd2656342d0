"""Combination of parts into one release, with all files of a release of one machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.io.folder.staged_release import write_publication
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write.view import View
from geodp.release.opening import state_margins
from geodp.release.release import Release
from geodp.release.simulated_cells import errors_of
from geodp.table.card import SCHEMA
from geodp.table.stated.domain import StatedDomain


def join(
    parts: str | Path,
    path: str | Path,
    *,
    grid: Grid | None = None,
    overwrite: bool = False,
    restricted: dict[str, Any] | None = None,
) -> dict[str, list[str]]:
    """Combine a release in parts into one release, byte for byte that of one machine.

    All of it is public, so no budget is spent. The parts remain.

    Parameters
    ----------
    parts : path
        Folder written by :func:`geodp.features.cluster.write`; it is verified first.
    path, overwrite, restricted
        See :meth:`geodp.Release.write`.
    grid : Grid, optional
        Grid of the release; needed if it has a mask that no raster shows.

    Returns
    -------
    dict
        ``{"public": [...], "restricted": [...]}``: the paths written.

    Raises
    ------
    VerificationError
        The parts do not agree with their card.
    UsageError
        The grid is not that of the release, or is missing although it is needed.
    """
    for check in verify(parts, errors_of):
        if not check.ok:
            raise VerificationError(
                f"{parts}: {check.name}: {check.detail}", code="parts-contradict-card"
            )
    table, card = read_release_table(parts)
    if grid is not None:
        table = replace(table, grid=grid)
    # Without a raster the mask cannot be read back, and the domain would be too large.
    if StatedDomain.of(table.grid) != card.domain:
        raise UsageError(
            "Give the grid of the release, with its mask: without a raster the mask is unknown.",
            code="grid-of-parts-missing",
        )
    release, name = Release(table, margins=state_margins(card)), card.name
    # These fields describe the parts; writing sets them anew.
    card = replace(card, schema=SCHEMA, name="", release_id="", files=(), left_out=())
    return write_publication(
        View(table, card, release.errors(), release.areas),
        path,
        name=name,
        overwrite=overwrite,
        restricted=restricted or {},
    )
