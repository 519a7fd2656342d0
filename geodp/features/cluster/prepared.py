"""A release on a cluster of which all is settled that is public, before any task runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import UsageError
from geodp.features.cluster import tasks
from geodp.features.cluster.partitioned import partition_of
from geodp.features.cluster.partitions import Partitions
from geodp.features.cluster.run import Options, Run
from geodp.features.cluster.secret import require_owners
from geodp.features.cluster.tiles import draw
from geodp.features.cluster.trust import require_trusted
from geodp.io.folder.parts import check_parts, part_path, write_parts
from geodp.io.write import tiles
from geodp.io.write.geotiff import EXACT_FLOAT64
from geodp.io.write.tiles import Tiling, why_no_mosaic
from geodp.mechanisms import choose_method
from geodp.release.preview import preview_release
from geodp.release.publish import make_table_event
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.card import Card, File
from geodp.table.released import ReleasedTable


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """A release on a cluster of which all is settled that is public; no task has run.

    Attributes
    ----------
    run : Run
    preview : Release
        Of nobody: card and closed forms are those of the release, but for its charge.
    """

    run: Run
    preview: Release

    def release(self) -> Release:
        """Draw, and charge, and bring the released table to this process."""
        run = self.run
        self._require_trusted()
        found, charge = run.release(lambda _: (tasks.finish,))
        cells, counts = (np.concatenate(column) for column in zip(*found, strict=True))
        table = ReleasedTable(run.cut.grid, cells, counts, run.cut.event)
        return replace(self.preview, table=table, charge=charge, **self._known())

    def write(
        self,
        path: str | Path,
        *,
        name: str = "population",
        overwrite: bool = False,
        restricted: dict[str, Any] | None = None,
        raster: bool = True,
    ) -> Card:
        """Draw, and charge, into a folder that the workers write; see :func:`write`."""
        run, grid = self.run, self.run.cut.grid
        check_parts(grid, path, name=name, overwrite=overwrite)
        self._require_trusted()
        why = why_no_mosaic(grid, tiles.SIDE) if raster else "it was not asked for"
        tiling = Tiling(grid.places[0], tiles.SIDE) if why is None else None
        with write_parts(path, grid, name=name, overwrite=overwrite) as folder:
            stated = folder.name_card(self.preview.card())

            def last(number: int) -> tuple[Any, ...]:
                return tasks.write, str(part_path(folder.public, name, number)), stated, tiling

            entries, charge = run.release(last, folder.require_space)
            card = replace(self.preview, charge=charge, **self._known()).card()
            rasters: list[File] = []
            if tiling is not None and max(entry["largest"] for entry in entries) > EXACT_FLOAT64:
                why, tiling = "a count is too large to be exact in a raster", None
            if tiling is not None:
                rasters = draw(run, tiling, folder, card, entries)
            return folder.finish(card, entries, restricted or {}, rasters, why)

    def _known(self) -> dict[str, Any]:
        """Return what a run tells of its release beside the table."""
        run = self.run
        return {"public_facts": run.public_facts, "reading": run.reading, "prior": run.prior}

    def _require_trusted(self) -> None:
        if not self.run.options.trust_cluster:
            require_trusted(self.run.client)


def prepare(client: Any, partitions: Partitions, request: Request, options: Options) -> PreparedRun:
    """Do everything of :func:`geodp.cluster.publish` that comes before any task runs.

    Raises
    ------
    UsageError
        As :func:`geodp.cluster.publish`.
    """
    grid, prior = partitions.grid, request.prior
    method = choose_method(request.method, grid)
    event = make_table_event(partitions.empty, method, request)
    cut = partition_of(method, grid, event, prior)
    nobody = preview_release(grid, method, event, request.terms.people, metadata=request.metadata)
    if prior is not None:
        nobody = replace(nobody, prior=prior.describe(), margins=cut.margins)
    return PreparedRun(Run(client, partitions, cut, request, options), nobody)


def require_partitions(partitions: object) -> None:
    """Raise UsageError for what is no input of a cluster, or a system that is none for it."""
    require_owners()
    if not isinstance(partitions, Partitions):
        raise UsageError(
            "Give Partitions: Partitions.of_tables or Partitions.of_keys makes them.",
            code="partitions-expected",
        )
