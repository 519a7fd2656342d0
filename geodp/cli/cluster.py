"""A release on a cluster of workers, asked for from the shell."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from geodp import progress
from geodp.cli.help import option
from geodp.cli.options import add_options
from geodp.cli.readers import make_reader
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.privacy.key import NoiseKey
    from geodp.release.cluster import Partitions
    from geodp.release.request import Request

Command = TypeVar("Command", bound=Callable[..., Any])

ALONE = (
    *("check", "resume", "stop_at", "measurements", "public_totals", "simulate"),
    *("formats", "profile"),
)
"""Options of what one machine does alone: no process of a cluster holds the whole table."""

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    option(
        "--cluster",
        group="Cluster",
        help="Address of a Dask scheduler, such as tls://host:8786: its workers read INPUTS, "
        "tables of cells or records (--person), and write parts, which geodp join joins.",
    ),
    option(
        "--workers",
        group="Cluster",
        type=click.IntRange(1),
        help="The same with so many processes on this machine, which nobody else reaches.",
    ),
    option(
        "--key-folder",
        group="Cluster",
        type=click.Path(path_type=Path),
        help="Folder that the workers of --cluster see and nobody else, for the key of this "
        "release while it runs.  [default: this machine's memory]",
    ),
    option(
        "--trust-cluster",
        group="Cluster",
        is_flag=True,
        help="You vouch for whoever can reach the scheduler and workers of --cluster.",
    ),
)


def cluster_options(command: Command) -> Command:
    """Give a command the options of a cluster."""
    return add_options(command, _OPTIONS)


def ask_cluster(options: Mapping[str, Any]) -> bool:
    """Whether the options ask for a cluster; UsageError for options that do not go with that."""
    if options["cluster"] is None:
        for name in ("key_folder", "trust_cluster"):
            if options[name]:
                raise UsageError(f"--{name.replace('_', '-')} goes with --cluster only.")
    if options["cluster"] is None and options["workers"] is None:
        return False
    if options["cluster"] is not None and options["workers"] is not None:
        raise UsageError("Give --cluster or --workers, not both.")
    if given := [f"--{name.replace('_', '-')}" for name in ALONE if options[name]]:
        raise UsageError(
            f"A cluster releases counts alone, without {', '.join(given)}: leave out --cluster and "
            "--workers, or these."
        )
    from geodp.release.cluster.connecting import require_dask

    require_dask()
    return True


def publish_on_cluster(options: Mapping[str, Any], grid: Grid, request: Request) -> str:
    """Publish on the cluster that the options name; what is to be said of it."""
    from geodp.release.cluster.connecting import connect
    from geodp.release.cluster.prepared import prepare
    from geodp.release.cluster.run import Options
    from geodp.release.cluster.secret import require_owners
    from geodp.release.outline import warn_of

    files = _partitions(options, grid, request.key)
    require_owners()
    with connect(options["cluster"], options["workers"] or 1) as client, _tell_warnings():
        progress.begin("Releasing", 1.0)
        trusted = Options(
            key_folder=options["key_folder"],
            trust_cluster=options["trust_cluster"],
            progress=lambda done, tasks: progress.part(done / max(tasks, 1), 1.0),
        )
        prepared = prepare(client, files, request, trusted)
        warn_of(prepared.outline)
        card = prepared.write(
            options["output"], name=options["name"], overwrite=options["overwrite"]
        )
    public = options["output"] / "public"
    if options["as_json"]:
        document = {"output": str(options["output"]), "parts": [*card.listed]}
        return json.dumps(document, ensure_ascii=False, indent=1)
    return f"Published in parts in {public}; geodp join makes them one."


def _partitions(options: Mapping[str, Any], grid: Grid, key: NoiseKey | None) -> Partitions:
    """Return the files as parts of one table; UsageError for what a cluster does not read."""
    from dataclasses import fields

    from geodp.io.read.points import Points
    from geodp.io.read.table import Table
    from geodp.release.cluster import Partitions

    reader = make_reader(options, grid, key)
    if not isinstance(reader, Points | Table) or (
        isinstance(reader, Table) and reader.rounding is not None
    ):
        raise UsageError(
            "A cluster reads tables of cells and whole counts (--code, --x and --y, --column), and "
            "records (--points, --person): make such a table of others before."
        )
    given = {one.name: getattr(reader, one.name) for one in fields(reader)}
    own = {name: given[name] for name in given if name not in ("grid", "secret")}
    make = Partitions.of_points if isinstance(reader, Points) else Partitions.of_tables
    return make(options["inputs"], grid=grid, **own)


@contextmanager
def _tell_warnings() -> Iterator[None]:
    """Tell what must be known of a release before it is published as other commands do."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if category is UserWarning:
                click.echo(f"Warning: {message}", err=True)
            else:
                shown(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        yield
