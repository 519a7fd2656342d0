"""A release on a cluster, and its map, with all public properties resolved before any task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from geodp.cluster import tasks
from geodp.cluster.partitioned import partition_of
from geodp.cluster.partitions import Partitions
from geodp.cluster.run import Options, Run
from geodp.cluster.secret import require_owners, require_trusted
from geodp.errors import UsageError
from geodp.io.folder.manifest import sha256
from geodp.io.folder.release_in_parts import PartsFolder, part_path, write_parts
from geodp.io.folder.staged_release import check_publication
from geodp.io.write import qgis_style, tiles
from geodp.io.write.geotiff import EXACT_FLOAT32, EXACT_FLOAT64, MEDIA_TYPE
from geodp.io.write.tiles import Tiling, tile_bands, view_tiles, why_no_mosaic, write_vrt
from geodp.io.write.view import View
from geodp.mechanisms import choose_method
from geodp.release.preview import preview_release
from geodp.release.publish import make_table_event
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.card import Card, File
from geodp.table.counts import ReleasedTable

EMPTY = "empty.tif"
"""A single file for all empty tiles inside the domain."""


def draw(
    run: Run,
    tiling: Tiling,
    folder: PartsFolder,
    card: Card,
    entries: list[dict[str, Any]],
) -> list[File]:
    """Have the workers draw the tiles, and join them.

    Parameters
    ----------
    run, tiling, folder
    card : Card
        Card of the release.
    entries : list of dict
        Entries of the parts, with the tiles that they touch.

    Returns
    -------
    list of File
        Files for the card.
    """
    name, card = folder.name, folder.name_card(card)
    largest = max(entry["largest"] for entry in entries)
    dtype = "float32" if largest <= EXACT_FLOAT32 else "float64"
    none = np.empty(0, np.int64)
    table = ReleasedTable(run.cut.grid, none.astype(np.uint64), none, run.cut.event)
    view = view_tiles(table, card)
    parts: dict[int, list[str]] = {number: [] for number in range(tiling.count)}
    for entry in entries:
        for number in entry["tiles"]:
            parts[number].append(str(folder.public / entry["name"]))
    files = _files(run, tiling, name, parts)
    (folder.public / f"{name}.tiles").mkdir()
    # The window of the first tile is the largest, so an empty tile of this size fits everywhere.
    drawn = {file: 0 if file.endswith(EMPTY) else number for number, file in files.items()}
    rows = [
        (
            tiling.window(number),
            [] if file.endswith(EMPTY) else parts[number],
            str(folder.public / file),
            card,
            dtype,
        )
        for file, number in drawn.items()
    ]
    digests = dict(zip(drawn, run.results(tasks.tile, rows), strict=True))
    # A tile outside the domain has no file.
    there = {number: file for number, file in files.items() if digests[file] is not None}
    tiles = [
        File(name=file, media_type=MEDIA_TYPE, what="a tile of the map", sha256=digest)
        for file, digest in sorted(digests.items())
        if digest is not None
    ]
    return [_join(view, tiling, there, folder.public, dtype), _style(view, folder.public), *tiles]


def _files(run: Run, tiling: Tiling, name: str, parts: dict[int, list[str]]) -> dict[int, str]:
    """Return the file of every tile; empty tiles share one, if all lie inside the domain."""
    within, grid = f"{name}.tiles", run.cut.grid
    files = {number: f"{within}/{tiling.name(number)}" for number in parts}
    if grid.domain.is_box:
        files |= {number: f"{within}/{EMPTY}" for number, held in parts.items() if not held}
    return files


def _join(view: View, tiling: Tiling, there: dict[int, str], public: Path, dtype: str) -> File:
    """Join the tiles that were drawn, and return the file's entry in the card."""
    vrt = public / f"{view.name}.vrt"
    write_vrt(view, tiling, there, vrt, dtype=dtype)
    return File(
        name=vrt.name,
        media_type="application/xml",
        what="the counts as a map, north up: tiles joined; cells that the tables do not list are 0",
        extras={
            "bands": tuple(tile_bands(view)),
            "data_type": dtype,
            "nodata": "NaN, outside the domain",
            "unit": view.counted,
        },
        sha256=sha256(vrt),
    )


def _style(view: View, public: Path) -> File:
    """Write the style of the map, and return its entry in the card."""
    path = public / f"{view.name}.qml"
    path.write_text(qgis_style.qml(view), encoding="utf-8", newline="\n")
    return File(
        name=path.name,
        media_type=qgis_style.MEDIA_TYPE,
        what=qgis_style.WHAT,
        sha256=sha256(path),
    )


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """A release on a cluster with all public properties resolved; no task has run.

    Attributes
    ----------
    run : Run
    preview : Release
        Empty release: card and closed forms are those of the release, without its charge.
    """

    run: Run
    preview: Release

    def release(self) -> Release:
        """Draw, charge, and bring the released table to this process."""
        run = self.run
        self._require_trusted()
        columns, charge = run.release(lambda _: (tasks.finish,))
        cells, counts = (np.concatenate(column) for column in zip(*columns, strict=True))
        table = ReleasedTable(run.cut.grid, cells, counts, run.cut.event)
        return replace(self.preview, table=table, charge=charge, **self._run_facts())

    def write(
        self,
        path: str | Path,
        *,
        name: str = "population",
        overwrite: bool = False,
        restricted: dict[str, Any] | None = None,
        raster: bool = True,
    ) -> Card:
        """Draw, charge, and write into a folder on the workers; see :func:`write`."""
        run, grid = self.run, self.run.cut.grid
        check_publication(grid, path, name=name, overwrite=overwrite)
        self._require_trusted()
        why = why_no_mosaic(grid, tiles.SIDE) if raster else "it was not requested"
        tiling = Tiling(grid.places[0], tiles.SIDE) if why is None else None
        with write_parts(path, grid, name=name, overwrite=overwrite) as folder:
            card_of_parts = folder.name_card(self.preview.card())

            def last(number: int) -> tuple[Any, ...]:
                return (
                    tasks.write,
                    str(part_path(folder.public, name, number)),
                    card_of_parts,
                    tiling,
                )

            entries, charge = run.release(last, folder.require_space)
            card = replace(self.preview, charge=charge, **self._run_facts()).card()
            rasters: list[File] = []
            # Beyond 2**53 float64 is not exact, and the raster would differ from the table.
            if tiling is not None and max(entry["largest"] for entry in entries) > EXACT_FLOAT64:
                why, tiling = "a count is too large to be exact in a raster", None
            if tiling is not None:
                rasters = draw(run, tiling, folder, card, entries)
            return folder.finish(card, entries, restricted or {}, rasters, why)

    def _run_facts(self) -> dict[str, Any]:
        """Return the properties of a release that are known only after the run."""
        run = self.run
        return {"public_facts": run.public_facts, "reading": run.reading, "prior": run.prior}

    def _require_trusted(self) -> None:
        if not self.run.options.trust_cluster:
            require_trusted(self.run.client)


def prepare(client: Any, partitions: Partitions, request: Request, options: Options) -> PreparedRun:
    """Do everything of :func:`geodp.cluster.publish` that precedes the tasks.

    Raises
    ------
    UsageError
        See :func:`geodp.cluster.publish`.
    """
    grid, prior = partitions.grid, request.prior
    method = choose_method(request.method, grid)
    event = make_table_event(partitions.empty, method, request)
    cut = partition_of(method, grid, event, prior)
    preview = preview_release(grid, method, event, request.terms.people, metadata=request.metadata)
    # Margins were measured without a prior and do not hold for a release that uses one.
    if prior is not None:
        preview = replace(preview, prior=prior.describe(), margins=cut.margins)
    return PreparedRun(Run(client, partitions, cut, request, options), preview)


def require_partitions(partitions: object) -> None:
    """Raise UsageError for an invalid input of a cluster, or an unsupported operating system."""
    require_owners()
    if not isinstance(partitions, Partitions):
        raise UsageError(
            "Give Partitions: create them with Partitions.of_tables, of_keys or of_points.",
            code="partitions-expected",
        )
