"""Publication on a Dask cluster: files in, released parts out, bit for bit the same table.

Needs the extra ``dask``. See ``docs/distributed.md`` for the data that is
transferred, and for trust.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodp.features.cluster.partitions import Partitions
from geodp.features.cluster.prepared import prepare, require_partitions
from geodp.features.cluster.run import Options, Progress
from geodp.mechanisms import Mechanism
from geodp.privacy.budget import Budget
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms
from geodp.release.metadata import state_metadata
from geodp.release.preview import warn_before_release
from geodp.release.prior import choose_prior
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.card import Card
from geodp.table.counts import CountTable
from geodp.table.prior import Prior


def publish(
    client: Any,
    partitions: Partitions,
    *,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    method: str | Mechanism = "pyramid",
    prior: CountTable | Release | Prior | None = None,
    prior_source: str | None = None,
    metadata: Mapping[str, str | int] | None = None,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
    parts: int | None = None,
    key_folder: str | Path | None = None,
    trust_cluster: bool = False,
    progress: Progress | None = None,
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
    epsilon, rho, delta, neighbours, contribution, unit, people
        See :func:`geodp.publish`.
    allow_empty, key, ledger, dataset, records, metadata
        See :func:`geodp.publish`.
    prior, prior_source
        See :func:`geodp.publish`; with ``"pyramid"`` only. The reliability of a level is learned
        from all subtrees together; every worker gets the entire prior, 16 bytes per cell.
    parts : int, optional
        Most ranges of keys that are refined in parallel, each with about as many people by noisy
        totals; four for every worker keep all of them busy. Default: 400, but none with fewer than
        2**16 people.
    key_folder : path, optional
        Folder of the key of this release for the workers while it runs. Default: in this machine's
        memory, which workers on this machine can read. Otherwise a folder on storage that only this
        user's processes on every machine can read.
    trust_cluster : bool
        You assert that everybody who can reach the scheduler and its workers, now and during the
        run, may see the counts and the key, as they can run code there. Otherwise a cluster that
        listens beyond this machine without TLS, or has other clients, is refused.
    progress : callable, optional
        Called with the numbers of finished and of all tasks, in this process; an exception that it
        raises ends the run.

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
    require_partitions(partitions)
    request = Request(
        terms=Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people),
        method=method,
        prior=choose_prior(partitions.empty, prior, prior_source),
        metadata=state_metadata(metadata or {}),
        allow_empty=allow_empty,
        key=key,
        ledger=ledger,
        dataset=dataset,
        records=records,
    )
    options = Options(
        parts=parts, key_folder=key_folder, trust_cluster=trust_cluster, progress=progress
    )
    prepared = prepare(client, partitions, request, options)
    warn_before_release(prepared.preview, request=request)
    return prepared.release()


def write(
    client: Any,
    partitions: Partitions,
    path: str | Path,
    *,
    name: str = "population",
    overwrite: bool = False,
    restricted: dict[str, Any] | None = None,
    raster: bool = True,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    method: str | Mechanism = "pyramid",
    prior: CountTable | Release | Prior | None = None,
    prior_source: str | None = None,
    metadata: Mapping[str, str | int] | None = None,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
    parts: int | None = None,
    key_folder: str | Path | None = None,
    trust_cluster: bool = False,
    progress: Progress | None = None,
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
    parts : int, optional
        Most files, one for every range of :func:`publish`. Noisy totals decide where a file ends,
        so the ends reveal nothing more about the data than the release.
    raster : bool
        Whether to draw the map, if the grid has one.
    All other parameters
        See :func:`publish`.

    Returns
    -------
    Card
        Card with the list of files.
    """
    require_partitions(partitions)
    request = Request(
        terms=Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people),
        method=method,
        prior=choose_prior(partitions.empty, prior, prior_source),
        metadata=state_metadata(metadata or {}),
        allow_empty=allow_empty,
        key=key,
        ledger=ledger,
        dataset=dataset,
        records=records,
    )
    options = Options(
        parts=parts, key_folder=key_folder, trust_cluster=trust_cluster, progress=progress
    )
    prepared = prepare(client, partitions, request, options)
    warn_before_release(prepared.preview, request=request)
    return prepared.write(
        path, name=name, overwrite=overwrite, restricted=restricted, raster=raster
    )
