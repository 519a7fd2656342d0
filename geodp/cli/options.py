"""Options that several commands share: what the inputs are, on which grid, under which budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from geodp.privacy.terms import Terms

Command = TypeVar("Command", bound=Callable[..., Any])

NEIGHBOURS = ("add-remove-one", "replace-one")
"""Names of the library, repeated so that ``--help`` imports nothing heavy."""

ORDERS = ("morton", "official")

_INPUTS: tuple[Callable[[Any], Any], ...] = (
    click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path)),
    click.option(
        "--grid",
        "spec",
        required=True,
        help="jis:half, inspire:1km, regular:ROWSxCOLS, like:RASTER.tif ...; names a public grid.",
    ),
    click.option("--bounds", nargs=4, type=float, help="West south east north, along cell edges."),
    click.option("--primary", multiple=True, help="JIS primary mesh of the domain; repeatable."),
    click.option("--mask", type=click.Path(path_type=Path), help="Codes or raster of the domain."),
    click.option(
        "--mask-source",
        help="Where the mask comes from, in words. With it you vouch that the mask is public and "
        "not made from the inputs; the card quotes it.",
    ),
    click.option(
        "--order",
        type=click.Choice(ORDERS),
        default="morton",
        show_default=True,
        help="Of the cells; official: every published area of the code system (80, 10, 1 km of "
        "jis:, 100, 10, 1 km of inspire:) is a node, and pyramid measures these areas.",
    ),
    click.option(
        "--regions",
        type=click.Path(path_type=Path),
        help="Public table of your own areas, instead of --order. One row a cell: first column "
        "its code, then its regions from the finest level to the coarsest (cell, municipality, "
        "prefecture). The domain is these cells, and pyramid measures these areas.",
    ),
    click.option(
        "--regions-source",
        help="Where the table of regions comes from, in words. With it you vouch that the table is "
        "public and not made from the inputs; the card quotes it.",
    ),
    click.option(
        "--regions-columns",
        help="Columns of the table in this order, with commas between. Default: all, as they are.",
    ),
    click.option(
        "--attributes",
        help="Where attributes are split: below the cells, above all areas, interleaved with the "
        "bits of places (morton), or under a level of areas, by its name.  [default: below]",
    ),
    click.option(
        "--crs", help="Of a regular grid (EPSG:3035), or datum of a jis: grid (EPSG:4612)."
    ),
    click.option(
        "--origin", nargs=2, type=float, help="X Y of a regular grid's lower left corner."
    ),
    click.option("--cell", type=float, help="Cell size of a regular grid in units of its CRS."),
    click.option(
        "--domain-is-public",
        is_flag=True,
        help="You vouch that like:INPUT may be public: its extent was not chosen by looking at "
        "where people are.",
    ),
    click.option("--pairs", is_flag=True, help="Origin-destination table on the grid."),
    click.option("--value", multiple=True, help="Label or name of the count's column; repeatable."),
    click.option(
        "--attribute",
        help="Name of the axis that several --value columns make; needs a --contribution, as "
        "columns may count a person several times.",
    ),
    click.option(
        "--axis",
        multiple=True,
        help="NAME=LABEL,LABEL... of an attribute; repeatable. Needs a --contribution, unless "
        "--person enforces one.",
    ),
    click.option("--code", help="Column of cell codes (tables)."),
    click.option("--x", help="Column of x or longitude (tables, points)."),
    click.option("--y", help="Column of y or latitude (tables, points)."),
    click.option(
        "--anchor",
        type=click.Choice(["centre", "corner", "index"]),
        default="centre",
        help="What x and y of a table are: the cell's centre, its lower left corner, its indices.",
    ),
    click.option("--column", "columns", multiple=True, help="AXIS=COLUMN; repeatable."),
    click.option("--points", is_flag=True, help="Every row is one person at x, y."),
    click.option("--person", help="Column of persons (points); enforces the bounds that follow."),
    click.option("--cells", type=int, default=1, show_default=True, help="Kept of a person."),
    click.option("--per-cell", type=int, default=1, show_default=True, help="Records a person."),
    click.option("--truncation", type=click.Choice(["first", "sample"]), default="first"),
    click.option("--points-crs", help="CRS of x, y if not the grid's."),
    click.option("--allow-ballpark", is_flag=True, help="Accept an inexact change of datum."),
    click.option("--where", multiple=True, help="COLUMN=VALUE that rows must have; repeatable."),
    click.option(
        "--missing",
        multiple=True,
        help="Value that means nobody, such as -1 or nan, however the file writes it; repeatable.",
    ),
    click.option("--raster-unit", type=float, default=1.0, help="Raster value of one person."),
    click.option("--band", type=int, help="Of a raster with several, counted from 1."),
    click.option("--encoding", help="Of texts (tables, points), such as cp1252; default: found."),
    click.option("--delimiter", help="Of texts (tables, points), one character; default: found."),
    click.option(
        "--duplicates",
        type=click.Choice(["error", "sum"]),
        default="error",
        show_default=True,
        help="Of a cell that is there several times; sum needs a --contribution.",
    ),
    click.option("--suppressed", type=click.Choice(["error", "zero"]), default="error"),
    click.option(
        "--outside",
        type=click.Choice(["error", "crop", "drop"]),
        help="Rows outside the domain; crop: outside the bounds only. Default with --bounds: crop.",
    ),
    click.option(
        "--memory",
        help="Limit for rows that wait, such as 4GiB; what goes beyond is sorted on disk. The "
        "table (16 bytes an occupied cell) comes on top.  [default: half the machine's]",
    ),
    click.option(
        "--scratch",
        type=click.Path(path_type=Path),
        help="Folder for that, on a disk where confidential data may lie; its files have no names "
        "and go with the process.  [default: the system's]",
    ),
)


def input_options(command: Command) -> Command:
    """Give a command the inputs, and the options that :mod:`geodp.cli.inputs` reads."""
    for option in reversed(_INPUTS):
        command = option(command)
    return command


epsilon = click.option("--epsilon", help="Budget, read exactly: 0.1 or 1/10.")
rho = click.option("--rho", help="Instead: Gaussian noise under zero-concentrated privacy.")
delta = click.option(
    "--delta", help="With --epsilon: Gaussian noise for both; with --rho: states epsilon too."
)
people = click.option(
    "--people",
    type=float,
    help="A public guess of the sum of all counts, never taken from the data; for the resolution "
    "floor.",
)
neighbours = click.option(
    "--neighbours",
    type=click.Choice(NEIGHBOURS),
    default="add-remove-one",
    show_default=True,
    help="What stays hidden: whether any one person is there, or who it is.",
)
contribution = click.option(
    "--contribution", type=click.IntRange(1), help="The most a person is counted; you vouch for it."
)


def terms_of(options: dict[str, Any]) -> Terms:
    """Return the terms of a command's options; those that it does not have are left out."""
    from geodp.privacy.terms import Terms, TermsGiven

    names = TermsGiven.__annotations__
    return Terms.of(**{name: options[name] for name in names if name in options})
