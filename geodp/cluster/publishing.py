"""``geodp publish`` on a cluster of workers that it is given or starts: parts out."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.readers import make_reader
from geodp.cluster.cluster import prepare
from geodp.cluster.partitions import Partitions
from geodp.cluster.run import Options
from geodp.cluster.secret import require_owners
from geodp.errors import Rule, UsageError
from geodp.io.read.points import Points
from geodp.io.read.table import Table
from geodp.release.preview import warn_before_release

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.privacy.key import NoiseKey
    from geodp.release.request import Request


PATIENCE = 30.0
"""Seconds in which a scheduler must answer."""

SILENT = Rule(
    "cluster-silent",
    "The scheduler of the cluster does not answer; check its address (--cluster), and for tls:// "
    "the certificates in Dask's configuration.",
)


@contextmanager
def connect(address: str | None, workers: int) -> Iterator[Any]:
    """Connect to a cluster until the block ends; without an address, start one.

    Parameters
    ----------
    address : str, optional
        Address of the scheduler. Certificates are those of Dask's configuration.
    workers : int
        Number of processes of a cluster that is started here, and listens on the
        loopback interface only.

    Raises UsageError if no scheduler answers.
    """
    from distributed import Client, LocalCluster

    if address is None:
        started = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            # Dask logs arguments of failed tasks.
            silence_logs=logging.CRITICAL,
        )
        with started, Client(started) as client:
            yield client
        return
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TypeError, RuntimeError):
        client = None
    if client is None:
        raise UsageError(SILENT)
    with client:
        yield client


def publish(options: Mapping[str, Any], grid: Grid, request: Request) -> str:
    """Publish on the requested cluster, and return the final message."""
    files = _partitions(options, grid, request.key)
    require_owners()
    with connect(options["cluster"], options["workers"] or 1) as client, _print_warnings():
        progress.begin("Releasing", 1.0)
        trusted = Options(
            key_folder=options["key_folder"],
            trust_cluster=options["trust_cluster"],
            progress=lambda done, tasks: progress.part(done / max(tasks, 1), 1.0),
        )
        prepared = prepare(client, files, request, trusted)
        warn_before_release(prepared.preview, request=request)
        card = prepared.write(
            options["output"], name=options["name"], overwrite=options["overwrite"]
        )
    public = options["output"] / "public"
    if options["as_json"]:
        document = {"output": str(options["output"]), "parts": [*card.listed]}
        return json.dumps(document, ensure_ascii=False, indent=1)
    return f"Published in parts in {public}; geodp join combines them."


def _partitions(options: Mapping[str, Any], grid: Grid, key: NoiseKey | None) -> Partitions:
    """Return the files as parts of one table; UsageError if a cluster cannot read them."""
    reader = make_reader(options, grid, key)
    if not isinstance(reader, Points | Table) or (
        isinstance(reader, Table) and reader.rounding is not None
    ):
        raise UsageError(
            "A cluster reads tables of cells and integer counts (--code, --x and --y, --column), "
            "and records (--points, --person): convert other inputs to such a table first.",
            code="cluster-input-kind",
        )
    # The reader has validated the options, from which every worker makes the same reader again.
    reading = reader.shared(type(reader))
    del reading["secret"]
    make = Partitions.of_points if isinstance(reader, Points) else Partitions.of_tables
    return make(options["inputs"], grid=grid, **reading)


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print warnings about a release on stderr, as other commands do."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if category is UserWarning:
                click.echo(f"Warning: {message}", err=True)
            else:
                shown(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        yield
