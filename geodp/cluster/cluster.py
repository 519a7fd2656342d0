"""Publication on a Dask cluster, and what joins its parts or sums reports: the same bytes.

Needs the extra ``dask``. See ``docs/distributed.md`` for the data that is
transferred, and for trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from geodp.advice import pick, takes
from geodp.cluster import tasks
from geodp.cluster.partitions import Partitions, partition_of
from geodp.cluster.run import Options, Run
from geodp.cluster.secret import require_owners, require_trusted
from geodp.errors import UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.io.folder.publication import list_file
from geodp.io.folder.release_in_parts import PartsFolder, part_path, write_parts
from geodp.io.folder.staged_release import check_publication, write_publication
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write import qgis_style, tiles
from geodp.io.write.geotiff import EXACT_FLOAT32, EXACT_FLOAT64, MEDIA_TYPE
from geodp.io.write.tiles import Tiling, tile_bands, view_tiles, why_no_mosaic, write_vrt
from geodp.io.write.view import View
from geodp.local import collect
from geodp.local.collect import Sums
from geodp.local.round import Round
from geodp.mechanisms import Mechanism, choose_method
from geodp.release.inputs import choose_prior
from geodp.release.opening import errors_of
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.publish import make_table_event
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, Request, make_request
from geodp.table.card import SCHEMA, Card, File
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.table.stated.domain import StatedDomain

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
    return list_file(
        vrt,
        "application/xml",
        "the counts as a map, north up: tiles joined; cells that the tables do not list are 0",
        bands=tuple(tile_bands(view)),
        data_type=dtype,
        nodata="NaN, outside the domain",
        unit=view.counted,
    )


def _style(view: View, public: Path) -> File:
    """Write the style of the map, and return its entry in the card."""
    path = public / f"{view.name}.qml"
    path.write_text(qgis_style.qml(view), encoding="utf-8", newline="\n")
    return list_file(path, qgis_style.MEDIA_TYPE, qgis_style.WHAT)


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
        """Draw, charge, and write into a folder on the workers; see :func:`write`.

        Parameters
        ----------
        path : path
            See :func:`write`.
        name, overwrite, restricted
            See :meth:`geodp.Release.write`.
        raster : bool
            Whether to draw the map, if the grid has one.
        """
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
    if prior is not None:
        preview = replace(preview, prior=prior.describe())
    return PreparedRun(Run(client, partitions, cut, request, options), preview)


def require_partitions(partitions: object) -> None:
    """Raise UsageError for an invalid input of a cluster, or an unsupported operating system."""
    require_owners()
    if not isinstance(partitions, Partitions):
        raise UsageError(
            "Give Partitions: create them with Partitions.of_tables, of_keys or of_points.",
            code="partitions-expected",
        )


@takes(make_request, Options, without=OF_TABLES)
def publish(
    client: Any,
    partitions: Partitions,
    *,
    method: str | Mechanism = "pyramid",
    prior: CountTable | Release | Prior | None = None,
    prior_source: str | None = None,
    **options: Any,
) -> Release:
    """Release partitions and bring the released table to this process.

    With a stored key it is, bit for bit, the release of :func:`geodp.publish` by the same method
    for the table of all partitions, for any partitions, workers and ``parts``.

    Parameters
    ----------
    client : distributed.Client
        Client of a cluster whose workers see the same files under the same paths and
        run as this user.
    partitions : Partitions
    method : str or Mechanism
        ``"pyramid"`` (the default, on grids with attributes too) or ``"topdown"``, with settings.
    prior, prior_source
        See :func:`geodp.publish`; with ``"pyramid"`` only. The reliability of a level is learned
        from all subtrees together; every worker gets the entire prior, 16 bytes per cell.

    Returns
    -------
    Release

    Raises
    ------
    UsageError
        See :func:`geodp.publish`. Also: the method is not supported, others can reach the cluster,
        or a worker may not read the key file.
    InputError
        The data must not be used, or a file changed during the run.
    BudgetError
        The ledger's cap would be exceeded; no noise was drawn.
    """
    named = {"method": method, "prior": prior, "prior_source": prior_source}
    return _prepare(client, partitions, {**named, **options}).release()


@takes(publish, PreparedRun.write, without=("self",))
def write(client: Any, partitions: Partitions, path: str | Path, **options: Any) -> Card:
    """Release partitions into a folder of GeoParquet files and tiles, which the workers write.

    ``path/public`` holds ``NAME.parquet/part-00000.parquet`` and so on, in key order, the map as
    ``NAME.vrt`` with Cloud Optimized GeoTIFFs in ``NAME.tiles``, the card ``release.json`` with
    the digests of all, and ``SHA256SUMS``; all or nothing.

    Parameters
    ----------
    path : path
        On storage that the workers see under the same name; must not exist or be empty, or with
        ``overwrite`` contain an earlier release.
    parts
        Most files, one for every range of :func:`publish`. Noisy totals decide where a file ends,
        so the ends reveal nothing more about the data than the release.

    Returns
    -------
    Card
        Card with the list of files.
    """
    written = pick(PreparedRun.write, options)
    return _prepare(client, partitions, options).write(path, **written)


def _prepare(client: Any, partitions: Partitions, options: dict[str, Any]) -> PreparedRun:
    """Prepare a release, and warn before it; options are keywords of :func:`publish`."""
    require_partitions(partitions)
    prior_options = {name: options.pop(name, None) for name in ("prior", "prior_source")}
    prior = choose_prior(partitions.empty, *prior_options.values())
    request = make_request(**{"method": "pyramid", **pick(make_request, options)}, prior=prior)
    prepared = prepare(client, partitions, request, Options(**options))
    # Between: the function that calls this, and the frame of its decorator.
    warn_before_release(prepared.preview, between=2, request=request)
    return prepared


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
        Folder written by :func:`geodp.cluster.write`; it is verified first.
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
    release, name = Release(table), card.name
    # These fields describe the parts; writing sets them anew.
    card = replace(card, schema=SCHEMA, name="", release_id="", files=(), left_out=())
    return write_publication(
        View(table, card, release.errors(), release.areas),
        path,
        name=name,
        overwrite=overwrite,
        restricted=restricted or {},
    )


TOGETHER = 8
"""Number of sums that a task adds up."""


def aggregate(client: Any, round_: Round, files: Iterable[str | Path]) -> Sums:
    """Add up files of reports on the workers, and bring the sums to this process.

    Reports are protected before they leave a device, so nothing here is secret: no key is used, and
    workers need not be trusted. They must see the files under the same paths.

    Parameters
    ----------
    client : distributed.Client
    round_ : Round
    files : list of path
        Files, each of which is read by one worker.

    Returns
    -------
    Sums
        Equal to those of :func:`geodp.local.aggregate`, for any workers and any split into files.

    Raises
    ------
    InputError
        See :func:`geodp.local.aggregate`; with the file's name.
    UsageError
        There are no files.
    """
    paths = [str(path) for path in files]
    if not paths:
        raise UsageError("Give at least one file of reports.", code="reports-missing")
    run = uuid4().hex
    parts = [
        client.submit(collect.aggregate, round_, path, key=f"geodp-reports-{run}-{i}", pure=False)
        for i, path in enumerate(paths)
    ]
    level = 0
    # A tree of additions: no task holds more than a few sums, and integers add up to the same in
    # any grouping.
    while len(parts) > 1:
        level += 1
        groups = [parts[i : i + TOGETHER] for i in range(0, len(parts), TOGETHER)]
        parts = [
            client.submit(_add, group, key=f"geodp-sums-{run}-{level}-{i}", pure=False)
            for i, group in enumerate(groups)
        ]
    total: Sums = parts[0].result()
    return total


def _add(parts: list[Sums]) -> Sums:
    """Return the sums of some parts, which have no file in common."""
    return sum(parts[1:], parts[0])
