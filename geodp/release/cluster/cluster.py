"""The same publish on a Dask cluster: files in, released parts out, bit for bit the same table.

Needs the extra ``dask``. See ``docs/distributed.md`` for what passes where, and who is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from geodp.errors import UsageError
from geodp.io.folder.parts import about, check_parts, part_path, write_parts
from geodp.io.write import tiles
from geodp.io.write.geotiff import EXACT_FLOAT64
from geodp.io.write.tiles import Tiling, why_no_mosaic
from geodp.mechanisms import Mechanism, mechanism
from geodp.mechanisms.central.partitioned import partition_of
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.terms import Terms, TermsGiven, split
from geodp.release.cluster import tasks
from geodp.release.cluster.joining import join
from geodp.release.cluster.partitions import Partitions
from geodp.release.cluster.run import Options, Progress, Run
from geodp.release.cluster.secret import require_owners
from geodp.release.cluster.tiles import draw
from geodp.release.cluster.trust import require_trusted
from geodp.release.metadata import state_metadata
from geodp.release.outline import outline, warn_of
from geodp.release.prior import choose_prior
from geodp.release.publish import agree
from geodp.release.release import Release
from geodp.table.card import Card, File
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.released import ReleasedTable

__all__ = ["Partitions", "join", "publish", "write"]


ALONE = ("measurements", "totals", "simulate")
"""What one machine publishes beside the counts: no process of a cluster holds the whole table."""


class RunGiven(TermsGiven, total=False):
    """Keyword arguments that :func:`publish` and :func:`write` share; publish tells of them."""

    method: str | Mechanism
    allow_empty: bool
    key: NoiseKey | None
    ledger: Ledger | None
    dataset: str | None
    records: str | None
    parts: int
    key_folder: str | Path | None
    trust_cluster: bool
    progress: Progress | None
    metadata: Mapping[str, str | int] | None
    prior: CountTable | Release | Prior | None
    prior_source: str | None


def publish(client: Any, partitions: Partitions, **given: Unpack[RunGiven]) -> Release:
    """Release partitions and bring the released table to this process.

    With a kept key it is the release of :func:`geodp.publish` by the same method for the table of
    all partitions, bit for bit, whatever the partitions, the workers and ``parts`` are.

    Parameters
    ----------
    client : distributed.Client
        Of a cluster whose workers see the same files under the same paths and run as this user.
    partitions : Partitions
    method : str or Mechanism
        ``"pyramid"`` (the default, on grids with attributes too) or ``"topdown"``, with settings.
    epsilon, rho, delta, neighbours, contribution, unit, people
        As for :func:`geodp.publish`.
    allow_empty, key, ledger, dataset, records, metadata
        As for :func:`geodp.publish`.
    prior, prior_source
        As for :func:`geodp.publish`, with ``"pyramid"``. What is learned of a level, all subtrees
        tell together; every worker is sent the whole prior, 16 bytes a cell.
    parts : int
        Ranges of keys that are refined side by side. Default: 64.
    key_folder : path, optional
        Where the workers find the key of this release while it runs. Default: in this machine's
        memory, which workers on this machine can read. Otherwise a folder on storage that this
        user's processes on every machine see, and nobody else.
    trust_cluster : bool
        You vouch for whoever can reach the scheduler and its workers, now and while it runs: they
        can run code there that reads the counts and the key. Without it, a cluster that listens
        beyond this machine without TLS, or has other clients, is refused.
    progress : callable, optional
        Told how many of how many tasks are done, in this process; what it raises ends the run.

    Returns
    -------
    Release

    Raises
    ------
    UsageError
        As :func:`geodp.publish`; another method; a cluster that others can reach; a key file that
        a worker may not read; what one machine alone publishes beside counts.
    InputError
        Data that must not be used, or a file that changed during the run.
    BudgetError
        The ledger's cap would be exceeded; no noise was drawn.
    """
    run, nobody = _run(client, partitions, given)
    _require_trusted(run)
    warn_of(nobody)
    found, charge = run.release(lambda _: (tasks.finish,))
    cells, counts = (np.concatenate(column) for column in zip(*found, strict=True))
    table = ReleasedTable(run.cut.grid, cells, counts, run.cut.event)
    return replace(nobody, table=table, charge=charge, **_known(run))


def write(
    client: Any,
    partitions: Partitions,
    path: str | Path,
    *,
    name: str = "population",
    overwrite: bool = False,
    restricted: dict[str, Any] | None = None,
    raster: bool = True,
    **given: Unpack[RunGiven],
) -> Card:
    """Release partitions into a folder of GeoParquet files and tiles, which the workers write.

    ``path/public`` holds ``NAME.parquet/part-00000.parquet`` and so on, in key order, the map as
    ``NAME.vrt`` with Cloud Optimized GeoTIFFs in ``NAME.tiles``, the card ``release.json`` with
    the digests of all, and ``SHA256SUMS``; all or nothing.

    Parameters
    ----------
    path : path
        On storage that the workers see under the same name; does not exist yet or is empty, or
        with ``overwrite`` holds an earlier release.
    name, overwrite, restricted
        As for :meth:`geodp.Release.write`.
    parts : int
        Files. Each holds evenly many nodes of the public tree, so that nothing about the data
        can be told from where one ends.
    raster : bool
        Whether to draw the map, where the grid has one.
    client, partitions, given
        As for :func:`publish`.

    Returns
    -------
    Card
        With the list of files.
    """
    run, nobody = _run(client, partitions, given)
    check_parts(run.cut.grid, path, name=name, overwrite=overwrite)
    _require_trusted(run)
    said = about(run.cut.event, name)
    why = why_no_mosaic(partitions.grid, tiles.SIDE) if raster else "it was not asked for"
    tiling = Tiling(partitions.grid.places[0], tiles.SIDE) if why is None else None
    warn_of(nobody)
    with write_parts(path, run.cut.grid, name=name, overwrite=overwrite) as folder:

        def last(number: int) -> tuple[Any, ...]:
            return tasks.write, str(part_path(folder.public, name, number)), name, said, tiling

        entries, charge = run.release(last, folder.require_space)
        card = replace(nobody, charge=charge, **_known(run)).card()
        rasters: list[File] = []
        if tiling is not None and max(entry["largest"] for entry in entries) > EXACT_FLOAT64:
            why, tiling = "a count is too large to be exact in a raster", None
        if tiling is not None:
            rasters = draw(run, tiling, folder, card, entries)
        return folder.finish(card, entries, restricted or {}, rasters, why)


def _run(client: Any, partitions: Partitions, given: RunGiven) -> tuple[Run, Release]:
    """Settle what is to be done, before any task runs; and the release of nobody."""
    require_owners()
    if not isinstance(partitions, Partitions):
        raise UsageError("Give Partitions: Partitions.of_tables or Partitions.of_keys makes them.")
    if any(name in given for name in ALONE):
        raise UsageError(
            "A cluster releases counts alone: measurements, public totals and simulated intervals "
            "are those of one machine, geodp.publish(table, measurements=..., ...)."
        )
    wanted, rest = split(given, *RunGiven.__annotations__)
    method, terms = mechanism(rest.pop("method", "pyramid")), Terms.of(**wanted)
    said = state_metadata(rest.pop("metadata", None) or {})
    asked = rest.pop("prior", None), rest.pop("prior_source", None)
    options, prior = Options(**rest), choose_prior(partitions.empty, *asked)
    spent = agree(partitions.empty, method, terms, options.key)
    cut = partition_of(method, partitions.grid, spent, prior)
    nobody = outline(partitions.grid, method, spent, terms.people)
    if prior is not None:
        nobody = replace(nobody, prior=prior.describe(), margins=cut.margins)
    return Run(client, partitions, cut, options), replace(nobody, metadata=said)


def _known(run: Run) -> dict[str, Any]:
    """Return what a run tells of its release beside the table."""
    return {"public_facts": run.public_facts, "reading": run.reading, "prior": run.prior}


def _require_trusted(run: Run) -> None:
    if not run.options.trust_cluster:
        require_trusted(run.client)
