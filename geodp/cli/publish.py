"""``geodp publish``: read, release, write."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid import Grid
    from geodp.io.tally import Outside
    from geodp.randomness import NoiseKey
    from geodp.table import CountTable


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
@click.option("--crs", help="Of a regular grid, such as EPSG:3035.")
@click.option("--origin", nargs=2, type=float, help="X Y of a regular grid's lower left corner.")
@click.option("--cell", type=float, help="Cell size of a regular grid in units of its CRS.")
@click.option("--pairs", is_flag=True, help="Origin-destination table on the grid.")
@click.option("--value", multiple=True, help="Label or name of the count's column; repeatable.")
@click.option("--attribute", help="Name of the axis that several --value columns make.")
@click.option("--code", help="Column of cell codes (tables).")
@click.option("--x", help="Column of x or longitude (tables, points).")
@click.option("--y", help="Column of y or latitude (tables, points).")
@click.option(
    "--anchor",
    type=click.Choice(["centre", "corner", "index"]),
    default="centre",
    help="What x and y of a table are: the cell's centre, its lower left corner, its indices.",
)
@click.option("--column", "columns", multiple=True, help="AXIS=COLUMN of cell indices; repeatable.")
@click.option("--points", is_flag=True, help="Every row is one person at x, y.")
@click.option("--person", help="Column of persons (points); enforces the bounds that follow.")
@click.option("--cells", type=int, default=1, show_default=True, help="Kept of a person.")
@click.option("--per-cell", type=int, default=1, show_default=True, help="Records a person.")
@click.option("--truncation", type=click.Choice(["first", "sample"]), default="first")
@click.option("--points-crs", help="CRS of x, y if not the grid's.")
@click.option("--where", multiple=True, help="COLUMN=VALUE that rows must have; repeatable.")
@click.option("--missing", multiple=True, help="Value that means nobody, such as -1; repeatable.")
@click.option("--raster-unit", type=float, default=1.0, help="Raster value of one person.")
@click.option("--duplicates", type=click.Choice(["error", "sum"]), default="error")
@click.option("--suppressed", type=click.Choice(["error", "zero"]), default="error")
@click.option(
    "--outside",
    type=click.Choice(["error", "crop", "drop"]),
    help="Rows outside the domain; crop: outside the bounds only. Default with --bounds: crop.",
)
@click.option("--epsilon", required=True, help="Budget, read exactly: 0.1 or 1/10.")
@click.option("--method", default="topdown", show_default=True)
@click.option("--neighbours", default="add-remove-one", show_default=True)
@click.option("--contribution", type=int, help="The most a person is counted; you vouch for it.")
@click.option("--unit", default="person", show_default=True, help="Whom it protects, in words.")
@click.option("--key-file", type=click.Path(path_type=Path), help="Kept key (see: geodp key).")
@click.option("--output", required=True, type=click.Path(path_type=Path), help="New folder.")
@click.option("--name", default="population", show_default=True, help="Of column and files.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier release.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def publish(**options: Any) -> None:
    """Release confidential counts from INPUTS with differential privacy.

    \b
    Official mesh files:  geodp publish *.zip --grid jis:half --value LABEL
                              --bounds 138 35 141.2 37.1333333333 --epsilon 0.1 --output out
    Tables:               geodp publish grid.parquet --grid inspire:1km --x x --y y --value T ...
    Points:               geodp publish people.csv --grid jis:quarter --points --x lon --y lat ...
    Count rasters:        geodp publish counts.tif --grid like:counts.tif ...

    Writes OUTPUT/public and OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    seconds: dict[str, float] = {}
    with _phase("Starting", "imports", seconds):
        import geodp

        key = None
        if options["key_file"] is not None:
            key = geodp.NoiseKey.from_file(options["key_file"])
    with _phase("Reading", "reading", seconds):
        table = _read(options, key)
    from geodp.io.publication import check_publication

    check_publication(
        table.grid, options["output"], name=options["name"], overwrite=options["overwrite"]
    )
    with _phase("Releasing", "mechanism", seconds):
        release = geodp.publish(
            table,
            method=options["method"],
            epsilon=options["epsilon"],
            neighbours=options["neighbours"],
            contribution=options["contribution"],
            unit=options["unit"],
            key=key,
        )
    with _phase("Writing", "writing", seconds):
        written = release.write(
            options["output"],
            name=options["name"],
            overwrite=options["overwrite"],
            restricted={
                "inputs": {str(path): _sha256(path) for path in options["inputs"]},
                "occupied_cells": int(table.key.size),
                "people": int(table.count.sum()),
                "released_people": release.table.total,
                "seconds": seconds,
            },
        )
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


def _read(options: dict[str, Any], key: NoiseKey | None) -> CountTable:
    """Choose the reader by the options, not by a look at the data."""
    inputs: tuple[Path, ...] = options["inputs"]
    values: list[str] = list(options["value"])
    raster = inputs[0].suffix.lower() in (".tif", ".tiff")
    if options["points"]:
        from geodp.io.points import read_points

        return read_points(
            inputs,
            grid=_grid(options),
            x=_needed(options, "x"),
            y=_needed(options, "y"),
            crs=options["points_crs"],
            person=options["person"],
            cells=options["cells"],
            per_cell=options["per_cell"],
            truncation=options["truncation"],
            secret=key,
            outside=_outside(options),
        )
    if raster:
        from geodp.io.raster import read_raster

        if len(inputs) > 1:
            raise UsageError("Give one raster at a time.")
        return read_raster(inputs[0], grid=_grid(options), unit=options["raster_unit"])
    if options["code"] or options["x"] or options["columns"]:
        from geodp.io.tabular import read_table

        if len(values) != 1:
            raise UsageError("A table needs exactly one --value column.")
        return read_table(
            inputs,
            grid=_grid(options),
            value=values[0],
            code=options["code"],
            x=options["x"],
            y=options["y"],
            anchor=options["anchor"],
            columns=_pairs(options["columns"], "--column") or None,
            missing=options["missing"],
            where=_pairs(options["where"], "--where") or None,
            duplicates=options["duplicates"],
            outside=_outside(options),
        )
    from geodp.io.mesh import read_mesh

    return read_mesh(
        inputs,
        grid=_grid(options),
        value=values or None,
        attribute=options["attribute"],
        duplicates=options["duplicates"],
        suppressed=options["suppressed"],
        outside=_outside(options),
    )


def _outside(options: dict[str, Any]) -> Outside:
    """Cropping is what bounds are for; elsewhere a cell outside the domain is a mistake."""
    chosen: Outside | None = options["outside"]
    return chosen or ("drop" if options["primary"] else "crop" if options["bounds"] else "error")


def _grid(options: dict[str, Any]) -> Grid:
    """The public grid that the options name."""
    from geodp.grid import Grid

    kind, _, rest = str(options["spec"]).partition(":")
    bounds = options["bounds"]
    if kind == "regular":
        grid = _regular(rest, options)
    elif kind == "like":
        from geodp.io.raster import grid_like

        grid = grid_like(rest)
    elif options["primary"]:
        if bounds:
            raise UsageError("Give --bounds or --primary, not both.")
        from geodp.domain import grid_of_primaries

        grid = grid_of_primaries(options["spec"], options["primary"])
    else:
        grid = Grid.mesh(options["spec"], bounds=bounds)
    if kind in ("regular", "like") and (bounds or options["primary"]):
        raise UsageError("--bounds and --primary belong to jis: and inspire: grids.")
    if options["pairs"]:
        grid = grid.pairs()
    if options["mask"] is not None:
        from geodp.io.masks import read_mask

        if any(_sha256(path) == _sha256(options["mask"]) for path in options["inputs"]):
            raise UsageError("The mask is one of the inputs; a mask must be public.")
        grid = read_mask(options["mask"], grid, source=_needed(options, "mask_source"))
    return grid


def _regular(size: str, options: dict[str, Any]) -> Grid:
    from geodp.grid import Grid

    try:
        shape = [int(part) for part in size.lower().split("x")]
    except ValueError:
        raise UsageError("Write a regular grid as regular:ROWSxCOLS.") from None
    if options["origin"] is None and options["cell"] is None and options["crs"] is None:
        return Grid.regular(shape)
    x, y = _needed(options, "origin")
    step = _needed(options, "cell")
    return Grid.regular(shape, crs=_needed(options, "crs"), transform=(step, 0, x, 0, step, y))


def _needed(options: dict[str, Any], name: str) -> Any:
    if options[name] is None:
        raise UsageError(f"--{name.replace('_', '-')} is needed here.")
    return options[name]


def _pairs(given: tuple[str, ...], option: str) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option} is written NAME=VALUE.")
        pairs[name] = value
    return pairs


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
