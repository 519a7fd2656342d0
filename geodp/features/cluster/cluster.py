"""Publication on a Dask cluster: files in, released parts out, bit for bit the same table.

Needs the extra ``dask``. See ``docs/distributed.md`` for the data that is
transferred, and for trust.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geodp.advice import pick, takes
from geodp.features.cluster.partitions import Partitions
from geodp.features.cluster.prepared import PreparedRun, prepare, require_partitions
from geodp.features.cluster.run import Options
from geodp.mechanisms import Mechanism
from geodp.release.preview import warn_before_release
from geodp.release.prior import choose_prior
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, make_request
from geodp.table.card import Card
from geodp.table.counts import CountTable
from geodp.table.prior import Prior


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
    named: dict[str, Any] = {"method": method, "prior": prior, "prior_source": prior_source}
    return _prepare(client, partitions, **named, **options).release()


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
    prepared = _prepare(client, partitions, **options)
    return prepared.write(
        path, name=name, overwrite=overwrite, restricted=restricted, raster=raster
    )


def _prepare(
    client: Any,
    partitions: Partitions,
    *,
    method: str | Mechanism = "pyramid",
    prior: CountTable | Release | Prior | None = None,
    prior_source: str | None = None,
    **options: Any,
) -> PreparedRun:
    """Prepare a release, and warn before it; parameters as of :func:`publish`."""
    require_partitions(partitions)
    request = make_request(
        **pick(make_request, options),
        method=method,
        prior=choose_prior(partitions.empty, prior, prior_source),
    )
    prepared = prepare(client, partitions, request, Options(**options))
    # Between: the function that calls this, and the frame of its decorator.
    warn_before_release(prepared.preview, between=2, request=request)
    return prepared
