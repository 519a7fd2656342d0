"""Options of the public grid and of public files; :mod:`geodp.cli.readers` has the inputs'."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.options import is_stated
from geodp.cli.values import DEGREES, EDGES
from geodp.errors import InputError, Rule, UsageError

if TYPE_CHECKING:
    from geodp.grid.axes import Attribute
    from geodp.grid.grid import Grid
    from geodp.io.read.layout.by import Resolved
    from geodp.io.read.layout.presets import Preset
    from geodp.io.read.rows.span import PublicFile
    from geodp.release.plan_file import Settings
    from geodp.table.public_totals import PublicTotals

GRIDS: dict[str, tuple[str, ...]] = {
    "jis": ("bounds", "primary", "crs"),
    "regular": ("crs", "origin", "cell"),
    "like": ("domain_is_public",),
    "units": ("units_source", "units_columns", "units_name", "other"),
    "h3": ("bounds", "other"),
    "s2": ("bounds", "other"),
}
"""Options of each kind of grid that not every kind accepts.

All other kinds are code systems, which take bounds.
"""

FACTS = "facts"
"""Key among the options for facts about columns; no option has this name."""

CELLS = ("h3", "s2")
"""Kinds of grids with cells of a global system in a public area."""

UNITS = ("units", *CELLS)
"""Kinds of grids whose cells are units."""


def check_grid(context: click.Context) -> None:
    """Raise UsageError for options of a call that the kind of its grid does not accept."""
    spec = context.params["spec"]
    if spec is None:
        return
    kind = str(spec).partition(":")[0]
    flags = {str(one.name): one.opts[-1] for one in context.command.get_params(context)}
    allowed = options_of_grid(kind)
    others = {name for names in GRIDS.values() for name in names}.difference(allowed)
    extra = [flag for name, flag in flags.items() if name in others and is_stated(context, name)]
    if extra:
        takes = ", ".join(flags[name] for name in allowed if name in flags)
        raise UsageError(
            f"Not for {kind}: grids: {', '.join(extra)}. These take {takes}.",
            code="option-not-for-grid",
        )


def grid_of(options: Mapping[str, Any]) -> Grid:
    """Make the public grid from the options."""
    from geodp.grid.grid import Grid

    kind, _, rest = str(options["spec"]).partition(":")
    # Each kind imports its own modules, so that a grid of codes does not load readers of rasters.
    if kind == "regular":
        grid = _regular(rest, options)
    elif kind == "like":
        grid = _like(Path(rest), options)
    elif kind == "units":
        grid = _units(Path(rest), options)
    elif kind in CELLS:
        grid = _cells(options)
    else:
        from geodp.grid.mask import grid_of_primaries

        system = _system(options)
        if options["primary"]:
            grid = grid_of_primaries(system, options["primary"])
        else:
            grid = Grid.mesh(system, bounds=choose_bounds(options["bounds"], system))
    if options["pairs"]:
        grid = _pairs(grid, options) if kind in UNITS else grid.pairs()
    for one in read_attributes(options):
        grid = grid.with_attribute(one.name, one.labels)
    if (resolved := resolve_attributes(options)) is not None:
        grid = resolved.extend(grid)
    elif options.get("by") and not grid.attributes:
        from geodp.io.read.layout.attributes import name_joint
        from geodp.io.read.reader import convert_by
        from geodp.io.read.rows.pairing import with_values

        values = options["value"]
        grid = with_values(grid, name_joint(convert_by(options["by"]), values), values)
    # H3 and S2 apply the mask while they enumerate their cells, in _cells.
    if options["mask"] is None or kind in CELLS:
        return _order(grid, options)
    if _is_land(options):
        from geodp.io.read.public.land import cut_to_land

        grid = cut_to_land(grid, str(options["mask"]))
    else:
        from geodp.io.read.public.mask import read_mask

        grid = read_mask(options["mask"], grid, source=_needed(options, "mask_source"))
    return _order(grid, options)


def _is_land(options: Mapping[str, Any]) -> bool:
    """Return whether the mask is a land mask; UsageError for an invalid one."""
    if str(options["mask"]).startswith("land:"):
        if options["mask_source"] is not None:
            raise UsageError(
                "A mask of land has its own source; leave out --mask-source.",
                code="land-has-source",
            )
        return True
    _needed(options, "mask_source")
    require_public(options["mask"], "--mask", options)
    return False


def list_inline_labels(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of --labels that list labels, NAME=LABEL,LABEL; the others are files."""
    texts = map(str, options.get("labels") or ())
    return tuple(text for text in texts if _lists_labels(text))


def _lists_labels(text: str) -> bool:
    """Return whether a text lists labels separated by commas, and is not a file's name."""
    name, _, labels = text.partition("=")
    # A file name may contain commas, so an existing file wins over a list of labels.
    return bool(name and "," in labels) and not (os.path.exists(text) or os.path.exists(labels))


def read_attributes(options: Mapping[str, Any]) -> list[Attribute]:
    """Return the attributes of --labels; from its files only if the command has no --by."""
    from geodp.grid.axes import Attribute

    inline = read_named(list_inline_labels(options), "--labels").items()
    attributes = [
        Attribute(name, tuple(label.strip() for label in labels.split(",")))
        for name, labels in inline
    ]
    if "by" in options or not (files := open_labels(options)):
        return attributes
    from geodp.io.read.layout.attributes import read_lists

    lists = read_lists(files)
    if "" in lists:
        raise UsageError(
            "Say of which attribute the list of labels is (--labels NAME=FILE).",
            code="labels-of-which-attribute",
        )
    return [*attributes, *(Attribute(name, labels) for name, labels in lists.items())]


def resolve_attributes(options: Mapping[str, Any], preset: Preset | None = None) -> Resolved | None:
    """Resolve --by and the patterns of --value by the first input's header.

    None if neither is used. ``preset``: the selected layout; default: the one that fits.
    """
    if not options.get("inputs"):
        return None
    from geodp.io.read.layout.attributes import Named
    from geodp.io.read.reader import convert_by

    lists = open_labels(options)
    taken = [options.get(name) for name in ("code", "x", "y", "person")]
    named = Named(
        convert_by(options.get("by")),
        lists,
        read_attributes(options),
        read_named(options.get("column") or (), "--column"),
        () if options.get("points") else options.get("value") or None,
        [one for one in taken if one],
        preset,
    )
    if not named.needs_header:
        return None
    from geodp.io.read.layout.by import resolve
    from geodp.io.read.rows.columns import open_tables
    from geodp.io.read.rows.span import OPENING

    for path in lists.values():
        require_public(Path(path), "--labels", options)
    opening = {name: options[name] for name in (*OPENING, "scratch")}
    opened = open_tables(options["inputs"][0], labelled=not options.get("points"), **opening)
    with closing(opened):
        return resolve(next(opened), named)


def read_public_totals(options: Mapping[str, Any], grid: Grid) -> PublicTotals | None:
    """Read the public totals of the options, if any, for areas of the released grid."""
    path = options["public_totals"]
    if path is None:
        return None
    from geodp.io.read.public.tables import read_totals

    source = _needed(options, "public_totals_source")
    require_public(path, "--public-totals", options)
    return read_totals(public_file(options, "public-totals", path), grid, source=source)


PUBLIC_FILES = ("units", "regions", "public-totals", "prior", "labels")
"""Options for public files that are opened as tables."""


def opening_of_public(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the opening options of a public file; UsageError for unknown ones."""
    from geodp.io.read.rows.span import OPENING

    opening: dict[str, Any] = {}
    for key, value in read_named(options["public_file"], "--public-file").items():
        file, _, flag = key.partition(".")
        option = flag.replace("-", "_")
        if file not in PUBLIC_FILES or option not in OPENING:
            flags = ", ".join(one.replace("_", "-") for one in OPENING)
            raise UsageError(
                "--public-file is written FILE.OPTION=VALUE, such as units.header-row=4; FILE is "
                f"one of {', '.join(PUBLIC_FILES)}, and OPTION one of {flags}.",
                code="public-file-form",
            )
        if option.endswith("_row") and not value.isdecimal():
            raise UsageError(
                f"--public-file {key} takes the number of a row, counted from 1.",
                code="public-file-row",
            )
        # All entries are checked, also those of other files, so that a typing error is not ignored.
        if file == name:
            opening[option] = int(value) if option.endswith("_row") else value
    return opening


def public_file(options: Mapping[str, Any], name: str, path: str | Path) -> PublicFile:
    """Return a public file with its opening options."""
    from geodp.io.read.rows.span import PublicFile

    return PublicFile(path, opening_of_public(options, name))


def open_labels(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of labels with their opening options."""
    from geodp.io.read.reader import convert_labels

    inline = list_inline_labels(options)
    lists = convert_labels([one for one in options.get("labels") or () if str(one) not in inline])
    return {name: public_file(options, "labels", one) for name, one in lists.items()}


def _order(grid: Grid, options: Mapping[str, Any]) -> Grid:
    """Return the grid with its cells in the order of the options."""
    attributes = options["attribute_order"]
    if attributes is not None and not grid.attributes:
        raise UsageError(
            "--attribute-order goes with attributes (--by, --labels) only.",
            code="attribute-order-needs-attribute",
        )
    if options["regions"] is not None:
        from geodp.io.read.public.tables import read_hierarchy

        source = _needed(options, "regions_source")
        require_public(options["regions"], "--regions", options)
        names = [name.strip() for name in (options["regions_columns"] or "").split(",")]
        columns = names if options["regions_columns"] else ()
        file = public_file(options, "regions", options["regions"])
        hierarchy = read_hierarchy(file, grid, source=source, columns=columns)
        return grid.with_hierarchy(hierarchy, attributes or "below")
    if options["order"] == "official":
        return grid.with_official_order(attributes or "below")
    return grid if attributes is None else grid.with_attribute_order(attributes)


def require_system(options: Mapping[str, Any]) -> None:
    """Raise UsageError for an unknown code system."""
    kind = str(options["spec"]).partition(":")[0]
    if options["spec"] is None or kind in ("regular", "like", "units"):
        return
    if kind in CELLS:
        from geodp.grid.cells import find_cells

        find_cells(str(options["spec"]))
    else:
        _system(options)


def _system(options: Mapping[str, Any]) -> Any:
    """Return the code system, on the datum that --crs names."""
    from geodp.grid.codes import JISMesh, code_system

    system = code_system(options["spec"])
    # Only JIS meshes are defined on two datums; other systems fix theirs.
    if options["crs"] is None or not isinstance(system, JISMesh):
        return system
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        geographic = CRS.from_user_input(options["crs"]).is_geographic
    except CRSError:
        geographic = False
    if not geographic:
        raise UsageError(
            "--crs of a jis: grid is its datum, such as EPSG:6668 or EPSG:4612.",
            code="crs-of-jis-is-datum",
        )
    return JISMesh(system.level, options["crs"])


def options_of_grid(kind: str) -> tuple[str, ...]:
    """Return the options of a kind of grid that not every kind accepts."""
    return GRIDS.get(kind, ("bounds",))


def choose_bounds(bounds: Any, system: Any) -> Any:
    """Return bounds in units of the grid, from numbers, degrees, or the name of a public area."""
    if not isinstance(bounds, str):
        return bounds
    if bounds.endswith(DEGREES):
        from geodp.grid.bounds import bounds_of_degrees

        return bounds_of_degrees(system, [float(word) for word in bounds.split()[:EDGES]])
    from geodp.io.read.public.areas import find_bounds

    return find_bounds(bounds, system)


def reaches(options: Mapping[str, Any], system: str) -> bool:
    """Test whether a code system has cells in the area that options state, if they state any."""
    from geodp.grid.cells import is_cells
    from geodp.grid.codes import code_system
    from geodp.grid.lattice import Lattice

    if options.get("primary"):
        return system.startswith("jis:")
    try:
        if not is_cells(system):
            codes = code_system(system)
            Lattice.of_system(codes, choose_bounds(options.get("bounds"), codes))
    except UsageError:
        return False
    return True


def _like(path: Path, options: Mapping[str, Any]) -> Grid:
    from geodp.io.read.rows.pixels import grid_like

    # The extent of a confidential raster is often cropped to its data, which would reveal them.
    if is_input(path, options["inputs"]) and not options["domain_is_public"]:
        raise UsageError(
            "The grid is like one of the inputs, whose extent may tell where people are; give "
            "like:TEMPLATE.tif of a public raster, or vouch for it with --domain-is-public.",
            code="template-is-input",
        )
    return grid_like(path)


def _units(path: Path, options: Mapping[str, Any]) -> Grid:
    """Return the units of a public table, which have no map and their own order."""
    from geodp.io.read.public.units import read_units

    _require_no_map("units", options)
    source = _needed(options, "units_source")
    require_public(path, "--grid units:FILE", options)
    columns = options["units_columns"]
    # Without names, the reader takes all columns, or in a file of outlines the unique one.
    names = [name.strip() for name in columns.split(",")] if columns else ()
    file = public_file(options, "units", path)
    name, other = options["units_name"], options.get("other")
    return read_units(file, source=source, columns=names, name=name, other=other)


def find_unit_names(options: Mapping[str, Any]) -> str | None:
    """Return the column of names of the units of ``--grid units:FILE``; None without one."""
    kind, _, path = str(options["spec"]).partition(":")
    if kind != "units" or options["units_name"] is not None:
        return None
    from geodp.io.read.layout import propose

    columns = options["units_columns"]
    file = public_file(options, "units", path)
    return propose.find_unit_names(file, columns.split(",") if columns else ())


def _cells(options: Mapping[str, Any]) -> Grid:
    """Return the cells of H3 or S2 in the bounds and the mask, which are units."""
    from geodp.grid.cells import find_cells
    from geodp.grid.cells.cell_grid import grid_of_cells

    spec, bounds, mask = str(options["spec"]), options["bounds"], None
    find_cells(spec)
    _require_no_map(spec.partition(":")[0], options)
    if isinstance(bounds, str) and bounds.endswith(DEGREES):
        bounds = [float(word) for word in bounds.split()[:EDGES]]
    elif isinstance(bounds, str):
        from geodp.io.read.public.areas import find_box

        bounds = find_box(bounds)
    if options["mask"] is not None:
        from geodp.io.read.public.mask import mask_of_land, read_cell_mask

        if _is_land(options):
            mask = mask_of_land(str(options["mask"]))
        else:
            mask = read_cell_mask(options["mask"], spec, source=options["mask_source"])
    return grid_of_cells(spec, bounds, mask=mask, other=options.get("other"))


def _require_no_map(kind: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for map options, which grids of units do not have."""
    maps = ("regions",) if kind in CELLS else ("mask", "regions")
    wrong = [name for name in maps if options[name] is not None]
    wrong += ["order"] if options["order"] != "morton" else []
    if wrong:
        raise UsageError(
            f"A grid of {kind}: has its own levels and no map; leave out --{wrong[0]}.",
            code="grid-has-own-levels",
        )


PAIRS_OF_LABELS = Rule(
    "pairs-take-no-attributes",
    "Pairs of units take no attributes: leave out --by and --labels. Publish one label "
    "at a time, each with its own budget (--where COLUMN=VALUE), or the files of several hours "
    "as a series (geodp publish-series).",
)


def _pairs(grid: Grid, options: Mapping[str, Any]) -> Grid:
    """Return the pairs of all units."""
    from geodp.grid.units import pairs_of_units

    if options.get("labels") or options.get("by"):
        raise UsageError(PAIRS_OF_LABELS)
    return pairs_of_units(grid)


def _regular(size: str, options: Mapping[str, Any]) -> Grid:
    from geodp.grid.grid import Grid

    try:
        shape = [int(part) for part in size.lower().split("x")]
    except ValueError:
        raise UsageError(
            "Write a regular grid as regular:ROWSxCOLS.", code="regular-grid-form"
        ) from None
    # An abstract grid without a place on the Earth, for experiments.
    if options["origin"] is None and options["cell"] is None and options["crs"] is None:
        return Grid.regular(shape)
    x, y = _needed(options, "origin")
    step = _needed(options, "cell")
    return Grid.regular(shape, crs=_needed(options, "crs"), transform=(step, 0, x, 0, step, y))


SOURCES: dict[str, str] = {
    "units_source": "--units-source 'Census Bureau, TIGER/Line 2020'",
    "regions_source": "--regions-source 'Statistics Bureau, meshes by municipality, 2020'",
    "mask_source": "--mask-source 'Ministry of Land, land use, 2021'",
    "public_totals_source": "--public-totals-source 'Census 2020, table 1'",
    "prior_source": "--prior-source 'Census 2015, table 3'",
}
"""Options for the source of a public file, each with an example."""


def request_sources(options: Mapping[str, Any]) -> list[str]:
    """Return a request for each public file whose source is missing."""
    named = {one: options.get(one.removesuffix("_source")) for one in SOURCES}
    if str(options["spec"]).startswith("units:"):
        named["units_source"] = options["spec"]
    if str(named["mask_source"]).startswith("land:"):
        del named["mask_source"]
    # A folder is an earlier release: if it was charged, its charge describes it; otherwise reading
    # the prior asks for the source.
    if named["prior_source"] is not None and named["prior_source"].is_dir():
        del named["prior_source"]  # a release that was charged says it itself
    asked = [
        _source_of(one)
        for one, file in named.items()
        if file is not None and options.get(one) is None
    ]
    if named.get("prior_source") is not None and not options["prior_is_public"]:
        asked.append(
            "assert that the prior is public already (--prior-is-public), since it is used without "
            "noise"
        )
    return asked


def check_units(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Explain why a table of units is refused, while its source is missing as well."""
    kind, _, path = str(options["spec"]).partition(":")
    if kind != "units" or options["units_source"] is not None or options["units_columns"]:
        return ()
    from geodp.io.read.public.units import read_units

    try:
        read_units(public_file(options, "units", path), source="-", name=options["units_name"])
    except InputError as error:
        return (str(error).rstrip("."),)
    return ()


def _source_of(name: str) -> str:
    what = {"units_source": "table of units", "regions_source": "table of regions"}
    file = what.get(name, name.removesuffix("_source").replace("_", " "))
    return (
        f"name the source of the {file}, such as {SOURCES[name]}; by it you assert that the file "
        "is public and not made from the inputs"
    )


def _needed(options: Mapping[str, Any], name: str) -> Any:
    if options[name] is None and name in SOURCES:
        request = _source_of(name)
        raise UsageError(f"{request[0].upper()}{request[1:]}.", code="question-open")
    if options[name] is None:
        raise UsageError(
            f"Add --{name}: a regular grid on the Earth takes --crs, --origin and --cell together, "
            "such as --crs EPSG:3035 --origin 4000000 3000000 --cell 1000.",
            code="regular-grid-option-missing",
        )
    return options[name]


def read_named(texts: Sequence[str], option: str) -> dict[str, str]:
    """Parse NAME=VALUE options; UsageError for a repeated name."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option} is written NAME=VALUE.", code="option-name-value")
        if name in pairs:
            raise UsageError(
                f"{option} takes every name once, and {name} is there twice.",
                code="option-name-twice",
            )
        pairs[name] = value
    return pairs


def is_input(path: Path, inputs: Sequence[Any]) -> bool:
    """Return whether a file is one of the inputs, or in one: by its path, links and inode.

    Contents are not compared: whether a public file equals a confidential one would be an outcome
    of the data. So a copy of an input is not recognised, for which the operator answers.
    """
    from geodp.io.read.rows.forms.locations import find_files, is_url

    # A URL is fetched to a temporary file, which cannot be one of the public files.
    here = [one for one in inputs if not is_url(one)]
    every = [*here, *(file for one in here for file in find_files(one))]
    return any(
        path == other or (path.exists() and os.path.exists(other) and path.samefile(other))
        for other in every
    )


def require_public(path: Path, name: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError where an option takes a public file, and gets one of the inputs."""
    if is_input(path, options["inputs"]):
        raise UsageError(
            f"The file of {name} is one of the inputs, which are confidential: what it lists would "
            "be published as it is. Give a public file of its own, which is not made from them.",
            code="public-file-is-input",
        )


def sha256(path: Path) -> str:
    """Compute the hexadecimal SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_plan_options(context: click.Context) -> Settings:
    """Read the settings of --plan; UsageError for options that would override them."""
    from geodp.release.plan_file import read_plan

    settings = read_plan(context.params["plan"])
    for name in (*settings.arguments, "marginals"):
        # Defaults do not count: only an explicit option can contradict the plan.
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(
                f"--plan already sets --{name}; give one of them.",
                code="option-settled-by-plan",
            )
    return settings
