"""Published cell codes and the integer cell indices behind them.

A *code* is the label under which a cell is published ("533946113", "1kmN2599E4695"); its *index*
is its position ``(row, col)`` on the lattice of a code system, rows counted northwards and columns
eastwards. Conversions between the two use integer arithmetic only.

Codes composed of coordinates are described by TOML files, either geodp's (in ``systems``) or the
user's (:mod:`geodp.grid.codes.description`); other systems are classes. Sources of these: JIS X
0410:2002 (area partition codes, with the integrated partitions); Bing Maps Tile System;
geohash.org.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, printable
from geodp.grid.codes.description import (
    GridDescription,
    described_names,
    find_description,
    read_description,
)
from geodp.grid.codes.geohash import Geohashes
from geodp.grid.codes.jis import LEVELS, JISMesh, infer_jis_level
from geodp.grid.codes.pattern_grid import PatternGrid, check_examples
from geodp.grid.codes.quadkey import Quadkeys
from geodp.grid.codes.system import CodeSystem

__all__ = [
    "CodeSystem",
    "Geohashes",
    "GridDescription",
    "JISMesh",
    "PatternGrid",
    "Quadkeys",
    "coarser_system",
    "code_system",
    "infer_jis_level",
]

FILE = "file:"
"""Prefix of the names of grids that a user's file describes."""


def code_system(spec: str, definition: Mapping[str, Any] | None = None) -> CodeSystem:
    """Return the code system with a name; UsageError if unknown.

    Parameters
    ----------
    spec : str
        "jis:<level>"; "quadkey:<zoom>"; "geohash:<length>"; the name and a size of a description,
        such as "inspire:1km", "cbs:100m", "national:3067:1km", or "inspire:1000" in units of its
        CRS; "file:<path>" of a TOML file of one size, or "file:<path>:<size>".
    definition : mapping, optional
        Description of the grid as a release's card contains it; it replaces the one
        that geodp ships.

    >>> code_system("jis:half"), code_system("inspire:1km") == code_system("inspire:1000")
    (JISMesh(level='half', crs='EPSG:6668'), True)
    """
    family, _, size = spec.partition(":")
    if spec.startswith(FILE):
        return _of_file(spec.removeprefix(FILE))
    if family == "jis" and size in LEVELS:
        return JISMesh(size)
    if family in ("quadkey", "geohash") and re.fullmatch(r"[0-9]{1,2}", size):
        return Quadkeys(int(size)) if family == "quadkey" else Geohashes(int(size))
    name, _, size = spec.rpartition(":")
    description = find_description(name)
    # The card's definition wins over the installed one: a release stays readable after the shipped
    # description changes.
    if definition is not None:
        description = GridDescription.of(definition, "The definition of the grid")
        if description.name != name:
            raise UsageError(
                "The definition of the grid is of another grid.", code="definition-of-other-grid"
            )
    # Names of described grids may contain a colon themselves (national:3067), so that a name
    # without a size looks like one with a size.
    if description is None and (unsized := find_description(spec)) is not None:
        return _of_size(unsized, "")
    if description is not None:
        return _of_size(description, size)
    named = [name for name in described_names() if not name.startswith("national:")]
    numbers = [name.partition(":")[2] for name in described_names() if name not in named]
    raise UsageError(
        f"there is no code system {printable(spec)}; code systems are jis:<level>, level one of "
        f"{', '.join(LEVELS)}; quadkey:<zoom>; geohash:<length>; <name>:<size>, such as "
        "inspire:1km or inspire:10km, name one of "
        f"{', '.join(named)}; national:<epsg>:<size>, epsg one of {', '.join(numbers)}; and "
        "file:<path> of a description of your own (TOML)",
        code="code-system-unknown",
    )


def coarser_system(system: CodeSystem, name: str) -> CodeSystem:
    """Return the code system of one of a system's areas, on the same datum."""
    if isinstance(system, PatternGrid):
        return _of_size(system.description, name.rpartition(":")[2])
    coarser = code_system(name)
    return JISMesh(coarser.level, system.crs) if isinstance(coarser, JISMesh) else coarser


def _of_size(description: GridDescription, size: str) -> PatternGrid:
    """Return the grid of one size of a description; UsageError for another size."""
    label = description.label_of(size)
    if label is None:
        names = [f"{description.name}:{label.lower()}" for label, _ in description.sizes]
        raise UsageError(
            f"grids of {description.name} are {', '.join(names)}", code="grid-size-unknown"
        )
    return PatternGrid(description, label)


def _of_file(text: str) -> PatternGrid:
    """Return the grid of a path, or of a path and a size; UsageError if the size is missing."""
    match = re.fullmatch(r"(?P<path>.+?\.toml)(:(?P<size>[^:/\\]+))?", text, re.IGNORECASE)
    if match is None:
        raise UsageError(
            "a grid of your own is file:<path> or file:<path>:<size>, of a TOML file whose name "
            "ends in .toml",
            code="own-grid-form",
        )
    path = Path(match["path"])
    description = read_description(path)
    try:
        check_examples(description, str(path))
    except UsageError as error:
        subject = f"The description of {description.name}"
        raise UsageError(str(error).replace(subject, str(path), 1), code=error.code) from None
    if match["size"] is not None:
        return _of_size(description, match["size"])
    if len(description.sizes) > 1:
        labels = ", ".join(f"file:{path}:{label}" for label, _ in description.sizes)
        raise UsageError(
            f"{path} has cells of several sizes; name one: {labels}", code="own-grid-size-missing"
        )
    return PatternGrid(description, description.sizes[0][0])
