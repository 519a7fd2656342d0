"""The same publish on a Dask cluster: files in, released parts out, bit for bit the same table.

Needs the extra ``dask``. See ``docs/distributed.md`` for what passes where, and who is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodp.features.cluster.partitions import Partitions
from geodp.features.cluster.prepared import prepare, require_partitions
from geodp.features.cluster.run import PARTS, Options, Progress
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
    parts: int = PARTS,
    key_folder: str | Path | None = None,
    trust_cluster: bool = False,
    progress: Progress | None = None,
) -> Release:
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
        a worker may not read.
    InputError
        Data that must not be used, or a file that changed during the run.
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
    warn_before_release(prepared.preview)
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
    parts: int = PARTS,
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
        On storage that the workers see under the same name; does not exist yet or is empty, or
        with ``overwrite`` holds an earlier release.
    name, overwrite, restricted
        As for :meth:`geodp.Release.write`.
    parts : int
        Files. Each holds evenly many nodes of the public tree, so that nothing about the data
        can be told from where one ends.
    raster : bool
        Whether to draw the map, where the grid has one.
    All other parameters
        As for :func:`publish`.

    Returns
    -------
    Card
        With the list of files.
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
    warn_before_release(prepared.preview)
    return prepared.write(
        path, name=name, overwrite=overwrite, restricted=restricted, raster=raster
    )
