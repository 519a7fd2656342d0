"""Values of options that Click does not know: bounds, and files given by patterns and URLs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.translation import translate

if TYPE_CHECKING:
    Param = click.ParamType[Any]
else:
    Param = click.ParamType  # not generic in the oldest supported Click


BOUNDS_FORM = (
    "west south east north, in units of the grid's CRS or with the word degrees after them, or "
    "the name of a public area."
)
"""Form of bounds, as an error states it."""

EDGES = 4
"""Numbers of bounds: west, south, east, north."""


DEGREES = " degrees"
"""Suffix of bounds in degrees, whatever the grid's units."""


class BoundsType(Param):
    """Four numbers as a tuple of floats; bounds in degrees as a text; or the name of a public area.

    Numbers alone are in units of the grid's CRS, in degrees with the word ``degrees`` after them.
    """

    name = "W S E N [degrees]|NAME"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, ...] | str:
        """Convert a text or a list to four numbers, or return the name; fails for other lengths."""
        parts = value.replace(",", " ").split() if isinstance(value, str) else [*value]
        degrees = len(parts) > 1 and str(parts[-1]).lower() in UNITS
        try:
            numbers = tuple(map(float, parts[:-1] if degrees else parts))
        except ValueError:
            if isinstance(value, str) and not _is_number(parts[0]):
                return value
            numbers = ()
        if len(numbers) != EDGES:
            self.fail(translate(BOUNDS_FORM), param, ctx)
        if degrees:
            return " ".join(map(str, numbers)) + DEGREES
        return numbers


UNITS = ("degrees", "degree", "deg")
"""Words after bounds in degrees."""


def _split(word: str) -> list[str]:
    """Split a word at its commas."""
    return word.split(",")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def join_bounds(args: list[str]) -> list[str]:
    """Join the numbers after ``--bounds``, and their unit, to one argument of a command line.

    Examples
    --------
    >>> join_bounds(["--bounds", "1", "2", "3", "4", "a.csv", "--bounds", "germany"])
    ['--bounds', '1 2 3 4', 'a.csv', '--bounds', 'germany']
    >>> join_bounds(["--bounds", "1,2,3,4", "degrees", "a.csv"])
    ['--bounds', '1,2,3,4 degrees', 'a.csv']
    """
    # Arguments after "--" are inputs, whatever they look like.
    end = args.index("--") if "--" in args else len(args)
    at = 0
    while "--bounds" in args[at:end]:
        at = args.index("--bounds", at, end) + 1
        count = edges = 0
        while edges < EDGES and at + count < end and all(map(_is_number, _split(args[at + count]))):
            edges += len(_split(args[at + count]))
            count += 1
        count += bool(count and at + count < end and args[at + count].lower() in UNITS)
        if count:
            args = [*args[:at], " ".join(args[at : at + count]), *args[at + count :]]
            end -= count - 1
    return args


def find_inputs(
    _context: click.Context, _parameter: click.Parameter, arguments: tuple[str, ...]
) -> tuple[Path | str, ...]:
    """Expand inputs to files, also from folders and patterns; URLs stay texts."""
    # The usual case needs no module for URLs and patterns, which keeps short runs quick.
    if all(os.path.isfile(path) for path in arguments):
        return tuple(map(Path, arguments))
    from geodp.io.read.rows.forms.locations import is_url, require_readable
    from geodp.io.read.rows.input_files import list_paths

    urls = [path for path in arguments if is_url(path)]
    for one in urls:
        require_readable(one)
    files = [path for path in arguments if path not in urls]
    return (*(Path(path) for path in (list_paths(files) if files else ())), *urls)
