"""Options of a cluster of workers; the feature :mod:`geodp.cluster` does the work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import add_options, option
from geodp.errors import UsageError
from geodp.registry import find_modules

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.release.request import Request

ALONE = (
    *("check", "resume", "stop_at", "measurements", "public_totals", "simulate"),
    *("formats", "profile"),
)
"""Options that need a single machine: no process of a cluster holds the entire table."""

# Declared here and not in the feature, so that --help needs no import of Dask.
cluster_options = add_options(
    option(
        "--cluster",
        group="Cluster",
        help="Address of a Dask scheduler, such as tls://host:8786: its workers read INPUTS, "
        "tables of cells or records (--person), and write parts, which geodp join combines.",
    ),
    option(
        "--workers",
        group="Cluster",
        type=click.IntRange(1),
        help="Like --cluster, with this many processes on this machine, which nobody else can "
        "reach.",
    ),
    option(
        "--key-folder",
        group="Cluster",
        type=click.Path(path_type=Path),
        help="Folder that only the workers of --cluster can read, for the key of this release "
        "while it runs.  [default: this machine's memory]",
    ),
    option(
        "--trust-cluster",
        group="Cluster",
        is_flag=True,
        help="Assert that everyone who can reach the scheduler and workers of --cluster is "
        "trusted.",
    ),
)
"""Options of a cluster."""


def wants_cluster(options: Mapping[str, Any]) -> bool:
    """Return whether a cluster is requested; UsageError for options that do not fit."""
    if options["cluster"] is None:
        for name in ("key_folder", "trust_cluster"):
            if options[name]:
                raise UsageError(
                    f"--{name.replace('_', '-')} goes with --cluster only.",
                    code="option-needs-cluster",
                )
    if options["cluster"] is None and options["workers"] is None:
        return False
    if options["cluster"] is not None and options["workers"] is not None:
        raise UsageError("Give --cluster or --workers, not both.", code="cluster-or-workers")
    if conflicting := [f"--{name.replace('_', '-')}" for name in ALONE if options[name]]:
        raise UsageError(
            f"A cluster releases counts alone, without {', '.join(conflicting)}: leave out "
            "--cluster and --workers, or these.",
            code="cluster-counts-only",
        )
    _feature().require_dask()
    return True


def publish_on_cluster(options: Mapping[str, Any], grid: Grid, request: Request) -> str:
    """Publish on the requested cluster; return a message."""
    message: str = _feature().publish(options, grid, request)
    return message


def _feature() -> Any:
    """Import the cluster feature, which is loaded only on request."""
    return next(find_modules("publishing"))
