"""What the options of ``geodp publish`` say about the inputs and their grid."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.tally import Outside
    from geodp.privacy.key import NoiseKey
    from geodp.table.counts import CountTable

_TEXT = ("encoding", "delimiter")
_PERSON = ("cells", "per_cell", "truncation")
KINDS: dict[str, tuple[str, ...]] = {
    "points": (
        *("points", "x", "y", "points_crs", "allow_ballpark", "person", *_PERSON),
        *("columns", "where", "outside", *_TEXT),
    ),
    "a raster": ("band", "raster_unit", "missing", "outside"),
    "a table": (
        *("value", "code", "x", "y", "anchor", "columns", "where", "missing"),
        *("duplicates", "outside", *_TEXT),
    ),
    "official mesh files": ("value", "attribute", "duplicates", "suppressed", "outside"),
}
"""Options that each kind of input takes, of those that not every kind does."""

GRIDS: dict[str, tuple[str, ...]] = {
    "jis": ("bounds", "primary", "crs"),
    "inspire": ("bounds",),
    "regular": ("crs", "origin", "cell"),
    "like": ("domain_is_public",),
}
"""The same for each kind of grid."""

NEEDS = {
    "anchor": "x",
    "mask_source": "mask",
    "regions_source": "regions",
    "regions_columns": "regions",
    **dict.fromkeys(_PERSON, "person"),
}
"""Options that say something about another, which must be there."""


def kind_of_input(options: Mapping[str, Any]) -> str:
    """A key of ``KINDS``, by the options and not by a look at the data."""
    if options["points"]:
        return "points"
    if any(path.suffix.lower() in (".tif", ".tiff") for path in options["inputs"]):
        return "a raster"
    if any(options[name] for name in ("code", "x", "y", "columns")):
        return "a table"
    return "official mesh files" if options["spec"].startswith("jis:") else "a table"


def require_known(context: click.Context) -> None:
    """Raise UsageError for options that would change nothing in this call."""
    options = context.params
    names = {option.name: option.opts[-1] for option in context.command.params}
    given = [
        name
        for name in options
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    grid = str(options["spec"]).partition(":")[0]
    for table, kind, noun in (
        (KINDS, kind_of_input(options), ""),
        (GRIDS, grid, " grids"),
    ):
        some = {name for allowed in table.values() for name in allowed}
        extra = [name for name in given if name in some and name not in table.get(kind, some)]
        if extra:
            listed = ", ".join(str(names[name]) for name in extra)
            raise UsageError(
                f"Not for {kind}{':' * bool(noun)}{noun}: {listed}. "
                f"These take {', '.join(str(names[name]) for name in table[kind])}."
            )
    for name in given:
        if name in NEEDS and options[NEEDS[name]] is None:
            raise UsageError(f"{names[name]} goes with {names[NEEDS[name]]} only.")


def read(options: Mapping[str, Any], grid: Grid, key: NoiseKey | None) -> CountTable:
    """The confidential table of the inputs on a public grid."""
    inputs: tuple[Path, ...] = options["inputs"]
    values: list[str] = list(options["value"])
    kind = kind_of_input(options)
    columns = named(options["columns"], "--column") or None
    where = named(options["where"], "--where") or None
    limits = {"memory": options["memory"], "scratch": options["scratch"]}
    if kind == "points":
        from geodp.io.read.points import read_points

        return read_points(
            inputs,
            grid=grid,
            x=_needed(options, "x"),
            y=_needed(options, "y"),
            crs=options["points_crs"],
            person=options["person"],
            cells=options["cells"],
            per_cell=options["per_cell"],
            truncation=options["truncation"],
            secret=key,
            columns=columns,
            where=where,
            outside=_outside(options),
            allow_ballpark=options["allow_ballpark"],
            delimiter=options["delimiter"],
            encoding=options["encoding"],
            **limits,
        )
    if kind == "a raster":
        from geodp.io.read.raster import read_raster

        if len(inputs) > 1:
            raise UsageError("Give one raster at a time.")
        return read_raster(
            inputs[0],
            grid=grid,
            unit=options["raster_unit"],
            band=options["band"],
            missing=_numbers(options["missing"]),
            outside=_outside(options),
            **limits,
        )
    if kind == "a table":
        from geodp.io.read.table import read_table

        if len(values) != 1:
            raise UsageError("A table needs exactly one --value column.")
        return read_table(
            inputs,
            grid=grid,
            value=values[0],
            code=options["code"],
            x=options["x"],
            y=options["y"],
            anchor=options["anchor"],
            columns=columns,
            missing=options["missing"],
            where=where,
            duplicates=options["duplicates"],
            outside=_outside(options),
            delimiter=options["delimiter"],
            encoding=options["encoding"],
            **limits,
        )
    from geodp.io.read.mesh import read_mesh

    return read_mesh(
        inputs,
        grid=grid,
        value=values or None,
        attribute=options["attribute"],
        duplicates=options["duplicates"],
        suppressed=options["suppressed"],
        outside=_outside(options),
        **limits,
    )


def grid_of(options: Mapping[str, Any]) -> Grid:
    """The public grid that the options name."""
    from geodp.grid.grid import Grid

    kind, _, rest = str(options["spec"]).partition(":")
    if kind == "regular":
        grid = _regular(rest, options)
    elif kind == "like":
        grid = _like(Path(rest), options)
    else:
        from geodp.grid.mask import grid_of_primaries

        system = _system(options)
        if not options["primary"]:
            grid = Grid.mesh(system, bounds=options["bounds"])
        elif options["bounds"]:
            raise UsageError("Give --bounds or --primary, not both.")
        else:
            grid = grid_of_primaries(system, options["primary"])
    if options["pairs"]:
        grid = grid.pairs()
    for name, labels in named(options["axis"], "--axis").items():
        grid = grid.with_attribute(name, [label.strip() for label in labels.split(",")])
    if options.get("attribute") and options["value"] and not grid.attributes:
        grid = grid.with_attribute(options["attribute"], options["value"])
    if options["mask"] is not None:
        from geodp.io.read.mask import read_mask

        source = _needed(options, "mask_source")
        if _is_input(options["mask"], options["inputs"]):
            raise UsageError("The mask is one of the inputs; a mask must be public.")
        grid = read_mask(options["mask"], grid, source=source)
    return _ordered(grid, options)


def _ordered(grid: Grid, options: Mapping[str, Any]) -> Grid:
    """The grid with its cells in the order that the options name."""
    attributes = options["attributes"]
    if attributes is not None and not grid.attributes:
        raise UsageError("--attributes goes with --axis or --attribute only.")
    if options["regions"] is not None:
        from geodp.io.read.hierarchy import read_regions

        if options["order"] != "morton":
            raise UsageError("Give --order or --regions, not both.")
        source = _needed(options, "regions_source")
        if _is_input(options["regions"], options["inputs"]):
            raise UsageError("The regions are one of the inputs; a table of regions is public.")
        names = [name.strip() for name in (options["regions_columns"] or "").split(",")]
        columns = names if options["regions_columns"] else ()
        found = read_regions(options["regions"], grid, source=source, columns=columns)
        return grid.with_regions(found, attributes or "below")
    if options["order"] == "official":
        return grid.with_official_order(attributes or "below")
    return grid if attributes is None else grid.with_attribute_order(attributes)


def _system(options: Mapping[str, Any]) -> Any:
    """The code system, on the datum that --crs names."""
    from geodp.grid.codes import JISMesh, code_system

    system = code_system(options["spec"])
    if options["crs"] is None or not isinstance(system, JISMesh):
        return system
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        geographic = CRS.from_user_input(options["crs"]).is_geographic
    except CRSError:
        geographic = False
    if not geographic:
        raise UsageError("--crs of a jis: grid is its datum, such as EPSG:6668 or EPSG:4612.")
    return JISMesh(system.level, options["crs"])


def _like(path: Path, options: Mapping[str, Any]) -> Grid:
    from geodp.io.read.raster import grid_like

    if _is_input(path, options["inputs"]) and not options["domain_is_public"]:
        raise UsageError(
            "The grid is like one of the inputs, whose extent may tell where people are; give "
            "like:TEMPLATE.tif of a public raster, or vouch for it with --domain-is-public."
        )
    return grid_like(path)


def _regular(size: str, options: Mapping[str, Any]) -> Grid:
    from geodp.grid.grid import Grid

    try:
        shape = [int(part) for part in size.lower().split("x")]
    except ValueError:
        raise UsageError("Write a regular grid as regular:ROWSxCOLS.") from None
    if options["origin"] is None and options["cell"] is None and options["crs"] is None:
        return Grid.regular(shape)
    x, y = _needed(options, "origin")
    step = _needed(options, "cell")
    return Grid.regular(shape, crs=_needed(options, "crs"), transform=(step, 0, x, 0, step, y))


def _outside(options: Mapping[str, Any]) -> Outside:
    """Cropping is what bounds are for; elsewhere a cell outside the domain is a mistake."""
    chosen: Outside | None = options["outside"]
    return chosen or ("drop" if options["primary"] else "crop" if options["bounds"] else "error")


def _needed(options: Mapping[str, Any], name: str) -> Any:
    if options[name] is None:
        raise UsageError(f"--{name.replace('_', '-')} is needed here.")
    return options[name]


def named(given: Sequence[str], option: str) -> dict[str, str]:
    """NAME=VALUE options as a mapping; UsageError for a name that is there twice."""
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option} is written NAME=VALUE.")
        if name in pairs:
            raise UsageError(f"{option} takes every name once, and {name} is there twice.")
        pairs[name] = value
    return pairs


def _numbers(given: Sequence[str]) -> list[float]:
    try:
        return [float(text) for text in given]
    except ValueError:
        raise UsageError("--missing of a raster is a number.") from None


def _is_input(path: Path, inputs: Sequence[Path]) -> bool:
    """Whether a file is one of the inputs or a copy of one; readers refuse those not there."""
    present = [other for other in inputs if other.is_file()]
    return path.is_file() and any(sha256(path) == sha256(other) for other in present)


def sha256(path: Path) -> str:
    """Digest of a file, hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
