"""``geodp mesh``: cell codes to and from coordinates."""

from __future__ import annotations

import json
import sys

import click

from geodp.cli.help import Room, with_options
from geodp.cli.options import StrictCommand
from geodp.errors import InputError, UsageError
from geodp.options.option import Option
from geodp.options.shared import JSON


@click.group(cls=Room)
def mesh() -> None:
    """Convert between coordinates and cell codes of JIS X 0410 and INSPIRE grids."""


@mesh.command(cls=StrictCommand)
@with_options(
    Option("--grid", "Grid, such as jis:half or inspire:1km.", name="spec", required=True)
)
@click.argument("coordinates", nargs=-1, type=float)
def encode(spec: str, coordinates: tuple[float, ...]) -> None:
    """Print the code of the cell at every X Y (longitude latitude, or easting northing).

    Without COORDINATES, reads lines of X Y or X,Y from standard input.
    """
    from geodp.errors import CodeError
    from geodp.grid.codes import code_system

    # Standard input takes lists that are too long for a command line.
    numbers = list(coordinates) or _numbers(sys.stdin.read())
    if len(numbers) % 2:
        raise UsageError(
            "Coordinates come in pairs: X Y, longitude before latitude.",
            code="coordinates-in-pairs",
        )
    system = code_system(spec)
    try:
        row, col = system.locate(numbers[::2], numbers[1::2])
        codes = system.format(row, col)
    except CodeError as error:
        raise InputError(f"Pair {error.position + 1}: {error.rule}", code=error.code) from None
    for code in codes:
        click.echo(str(code))


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise InputError(
            "Standard input must hold numbers: X Y, one pair a line.", code="stdin-not-numbers"
        ) from None


@mesh.command(cls=StrictCommand)
@with_options(
    Option(
        "--grid",
        "Grid of the codes. Default: inferred from the code, if it is unambiguous.",
        name="spec",
    ),
    JSON,
)
@click.argument("codes", nargs=-1)
def decode(spec: str | None, as_json: bool, codes: tuple[str, ...]) -> None:
    """Print west, south, east, north of the cell of every CODE.

    Without CODES, reads them from standard input.
    """
    from geodp.errors import CodeError
    from geodp.grid.codes import code_system

    rows = []
    for position, code in enumerate(codes or sys.stdin.read().split()):
        try:
            system = code_system(spec or _grid_of_code(code))
            row, col = system.parse([code])
        except CodeError as error:
            raise InputError(f"Code {position + 1}: {error.rule}", code=error.code) from None
        south, west = (
            system.origin[i] + int(at[0]) * system.step[i] for i, at in ((0, row), (1, col))
        )
        north, east = south + system.step[0], west + system.step[1]
        box = [float(edge) for edge in (west, south, east, north)]
        rows.append({"code": code, "grid": system.name, "crs": system.crs, "bounds": box})
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for entry in rows:
        click.echo(f"{entry['code']}  " + " ".join(f"{edge:.10f}" for edge in entry["bounds"]))


def _grid_of_code(code: str) -> str:
    """Infer the code system of a code; CodeError if it is ambiguous."""
    from geodp.errors import CodeError
    from geodp.grid.codes import infer_jis_level
    from geodp.grid.codes.recognise import systems_of

    systems = systems_of([code])
    # Digits alone are most likely a JIS code, whose length shows the level.
    if code.isdecimal() and (not systems or systems[0].startswith("jis:")):
        return f"jis:{infer_jis_level(code)}"
    if len(systems) == 1:
        return systems[0]
    several = f"the code is one of {', '.join(systems)}" if systems else "no grid has such a code"
    raise CodeError(0, f"{several}: name the grid (--grid)", code="grid-ambiguous")
