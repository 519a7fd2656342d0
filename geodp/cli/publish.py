"""``geodp publish``: read, release, write."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from geodp.cli.inputs import grid_of, named, read, require_known, sha256
from geodp.errors import UsageError

NEIGHBOURS = ("add-remove-one", "replace-one")
"""Names of the library, repeated so that ``--help`` imports nothing heavy."""


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--grid",
    "spec",
    required=True,
    help="jis:half, inspire:1km, regular:ROWSxCOLS, like:RASTER.tif ...; names a public grid.",
)
@click.option("--bounds", nargs=4, type=float, help="West south east north, along cell edges.")
@click.option("--primary", multiple=True, help="JIS primary mesh of the domain; repeatable.")
@click.option("--mask", type=click.Path(path_type=Path), help="Codes or raster of the domain.")
@click.option("--mask-source", help="Where the mask comes from; published.")
@click.option("--crs", help="Of a regular grid (EPSG:3035), or datum of a jis: grid (EPSG:4612).")
@click.option("--origin", nargs=2, type=float, help="X Y of a regular grid's lower left corner.")
@click.option("--cell", type=float, help="Cell size of a regular grid in units of its CRS.")
@click.option("--domain-is-public", is_flag=True, help="You vouch that like:INPUT may be public.")
@click.option("--pairs", is_flag=True, help="Origin-destination table on the grid.")
@click.option("--value", multiple=True, help="Label or name of the count's column; repeatable.")
@click.option(
    "--attribute",
    help="Name of the axis that several --value columns make; where one is the total of others, "
    "give a --contribution.",
)
@click.option("--axis", multiple=True, help="NAME=LABEL,LABEL... of an attribute; repeatable.")
@click.option("--code", help="Column of cell codes (tables).")
@click.option("--x", help="Column of x or longitude (tables, points).")
@click.option("--y", help="Column of y or latitude (tables, points).")
@click.option(
    "--anchor",
    type=click.Choice(["centre", "corner", "index"]),
    default="centre",
    help="What x and y of a table are: the cell's centre, its lower left corner, its indices.",
)
@click.option("--column", "columns", multiple=True, help="AXIS=COLUMN; repeatable.")
@click.option("--points", is_flag=True, help="Every row is one person at x, y.")
@click.option("--person", help="Column of persons (points); enforces the bounds that follow.")
@click.option("--cells", type=int, default=1, show_default=True, help="Kept of a person.")
@click.option("--per-cell", type=int, default=1, show_default=True, help="Records a person.")
@click.option("--truncation", type=click.Choice(["first", "sample"]), default="first")
@click.option("--points-crs", help="CRS of x, y if not the grid's.")
@click.option("--allow-ballpark", is_flag=True, help="Accept an inexact change of datum.")
@click.option("--where", multiple=True, help="COLUMN=VALUE that rows must have; repeatable.")
@click.option("--missing", multiple=True, help="Value that means nobody, such as -1; repeatable.")
@click.option("--raster-unit", type=float, default=1.0, help="Raster value of one person.")
@click.option("--band", type=int, help="Of a raster with several, counted from 1.")
@click.option("--encoding", help="Of texts (tables, points), such as cp1252; default: found.")
@click.option("--delimiter", help="Of texts (tables, points), one character; default: found.")
@click.option("--duplicates", type=click.Choice(["error", "sum"]), default="error")
@click.option("--suppressed", type=click.Choice(["error", "zero"]), default="error")
@click.option(
    "--outside",
    type=click.Choice(["error", "crop", "drop"]),
    help="Rows outside the domain; crop: outside the bounds only. Default with --bounds: crop.",
)
@click.option("--epsilon", required=True, help="Budget, read exactly: 0.1 or 1/10.")
@click.option(
    "--method", default="topdown", show_default=True, help="See: geodp methods. NAME:SETTING=VALUE."
)
@click.option(
    "--neighbours", type=click.Choice(NEIGHBOURS), default="add-remove-one", show_default=True
)
@click.option(
    "--contribution", type=click.IntRange(1), help="The most a person is counted; you vouch for it."
)
@click.option("--unit", default="person", show_default=True, help="Whom it protects, in words.")
@click.option("--key-file", type=click.Path(path_type=Path), help="Kept key (see: geodp key).")
@click.option("--ledger", type=click.Path(path_type=Path), help="Charged before any noise.")
@click.option("--dataset", help="Name of the data set in the ledger (see: geodp budget).")
@click.option(
    "--pad-time",
    type=click.FloatRange(0),
    default=0.0,
    help="Seconds that the run shall take at least, as its duration depends on the data.",
)
@click.option("--output", required=True, type=click.Path(path_type=Path), help="New folder.")
@click.option("--name", default="population", show_default=True, help="Of column and files.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier release.")
@click.option(
    "--profile",
    is_flag=True,
    help="Seconds of each phase on stderr, for the operator only: they depend on the data.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def publish(**options: Any) -> None:
    """Release confidential counts from INPUTS with differential privacy.

    \b
    Official mesh files:  geodp publish *.zip --grid jis:half --value LABEL
                              --bounds 138 35 141.2 37.1333333333 --epsilon 0.1 --output out
    Tables:               geodp publish grid.parquet --grid inspire:1km --x x --y y --value T ...
    Points:               geodp publish people.csv --grid jis:quarter --points --x lon --y lat ...
    Count rasters:        geodp publish counts.tif --grid like:template.tif ...

    Writes OUTPUT/public and OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    with _padded(options["pad_time"]):
        _publish(options)


def _publish(options: dict[str, Any]) -> None:
    require_known(click.get_current_context())
    named(options["columns"], "--column")
    named(options["where"], "--where")
    if not options["unit"].strip() or not options["unit"].isprintable():
        raise UsageError("--unit says in words whom the guarantee protects.")
    seconds: dict[str, float] = {}
    with _phase("Starting", "imports", seconds):
        import geodp
        from geodp.accounting import rational
        from geodp.io.publication import check_publication
        from geodp.mechanisms import mechanism

        rational(options["epsilon"])
        method = mechanism(options["method"])
        key = None
        if options["key_file"] is not None:
            key = geodp.NoiseKey.from_file(options["key_file"])
        ledger = None
        if options["ledger"] is not None:
            from geodp.ledger import Ledger

            ledger = Ledger.open(options["ledger"])
        grid = grid_of(options)
        if refusal := method.refusal(grid):
            raise UsageError(refusal)
        check_publication(
            grid, options["output"], name=options["name"], overwrite=options["overwrite"]
        )
    with _phase("Reading", "reading", seconds):
        table = read(options, grid, key)
    with _phase("Releasing", "mechanism", seconds):
        release = geodp.publish(
            table,
            method=options["method"],
            epsilon=options["epsilon"],
            neighbours=options["neighbours"],
            contribution=options["contribution"],
            unit=options["unit"],
            key=key,
            ledger=ledger,
            dataset=options["dataset"],
        )
    with _phase("Writing", "writing", seconds):
        written = release.write(
            options["output"],
            name=options["name"],
            overwrite=options["overwrite"],
            restricted={
                "inputs": {str(path): sha256(path) for path in options["inputs"]},
                "occupied_cells": int(table.key.size),
                "people": int(table.count.sum()),
                "released_people": release.table.total,
                "seconds": dict(seconds),
            },
        )
    if options["profile"]:
        for phase, took in seconds.items():
            click.echo(f"{phase} {took:.3f} s", err=True)
    if options["as_json"]:
        event = release.event
        document = {
            "output": str(options["output"]),
            **written,
            "epsilon": str(event.epsilon),
            "method": event.mechanism,
            "private": event.is_private,
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo(f"Published in {options['output'] / 'public'}; for the operator only: ", nl=False)
    click.echo(f"{options['output'] / 'restricted'}")
    click.echo(release.event.words)


@contextmanager
def _padded(least: float) -> Iterator[None]:
    """Sleep until ``least`` seconds have passed, also after an error."""
    started = time.perf_counter()
    try:
        yield
    finally:
        left = least - (time.perf_counter() - started)
        if left > 0:
            time.sleep(left)
        elif least:
            click.echo("The run took longer than --pad-time; choose a longer one.", err=True)


@contextmanager
def _phase(label: str, name: str, seconds: dict[str, float]) -> Iterator[None]:
    """Time a phase, and show that it runs where a person looks on."""
    started = time.perf_counter()
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(f"{label} ..."):
            yield
    else:
        yield
    seconds[name] = round(time.perf_counter() - started, 3)
