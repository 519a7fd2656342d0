"""Publication on a Dask cluster, and what joins its parts or sums reports: the same bytes.

Needs the extra ``dask``. See ``docs/distributed.md`` for the data that is
transferred, and for trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from geodp.advice import pick, takes
from geodp.cluster.partitions import Partitions
from geodp.cluster.prepared import PreparedRun, prepare, require_partitions
from geodp.cluster.run import Options
from geodp.errors import UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.io.folder.staged_release import write_publication
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write.view import View
from geodp.local import collect
from geodp.local.collect import Sums
from geodp.local.round import Round
from geodp.mechanisms import Mechanism
from geodp.release.inputs import choose_prior
from geodp.release.opening import state_margins
from geodp.release.preview import warn_before_release
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, make_request
from geodp.release.simulated_cells import errors_of
from geodp.table.card import SCHEMA, Card
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.stated.domain import StatedDomain


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


@takes(publish)
def write(
    client: Any,
    partitions: Partitions,
    path: str | Path,
    *,
    name: str = "population",
    overwrite: bool = False,
    restricted: dict[str, Any] | None = None,
    raster: bool = True,
    **options: Any,
) -> Card:
    """Release partitions into a folder of GeoParquet files and tiles, which the workers write.

    ``path/public`` holds ``NAME.parquet/part-00000.parquet`` and so on, in key order, the map as
    ``NAME.vrt`` with Cloud Optimized GeoTIFFs in ``NAME.tiles``, the card ``release.json`` with
    the digests of all, and ``SHA256SUMS``; all or nothing.

    Parameters
    ----------
    path : path
        On storage that the workers see under the same name; must not exist or be empty, or with
        ``overwrite`` contain an earlier release.
    name, overwrite, restricted
        See :meth:`geodp.Release.write`.
    parts
        Most files, one for every range of :func:`publish`. Noisy totals decide where a file ends,
        so the ends reveal nothing more about the data than the release.
    raster : bool
        Whether to draw the map, if the grid has one.

    Returns
    -------
    Card
        Card with the list of files.
    """
    prepared = _prepare(client, partitions, options)
    return prepared.write(
        path, name=name, overwrite=overwrite, restricted=restricted, raster=raster
    )


def _prepare(client: Any, partitions: Partitions, options: dict[str, Any]) -> PreparedRun:
    """Prepare a release, and warn before it; options are keywords of :func:`publish`."""
    require_partitions(partitions)
    given = {name: options.pop(name, None) for name in ("prior", "prior_source")}
    prior = choose_prior(partitions.empty, *given.values())
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
