"""Options that a file's layout settles: by a publisher's preset, or by what is unambiguous in it.

What is inferred is the layout. Where people may be, and how often one is counted, is stated by a
preset or asked for, and never taken from rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from shlex import quote
from typing import Any

from geodp.errors import GeodpError, Rule, UsageError
from geodp.grid.axes import JOINT
from geodp.grid.cells.choose import SYSTEMS, is_cells
from geodp.grid.codes import code_system
from geodp.grid.codes.recognise import NAMES_OF_S2
from geodp.io.read.layout.inspect import Known, inspect
from geodp.io.read.layout.presets import (
    OF_COLUMNS,
    OF_FILE,
    LabelColumns,
    Preset,
    RefusedLayoutError,
    choose_fitting,
    find_layout,
)
from geodp.io.read.reader import UNITS
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.forms.geometry import plain_columns
from geodp.io.read.rows.forms.url import Fetched
from geodp.io.read.rows.headers import suggest_header
from geodp.io.read.rows.input_files import ArrowStream, FilePath
from geodp.io.read.rows.known_attributes import find_attribute
from geodp.io.read.rows.mesh_columns import KEY
from geodp.io.read.rows.names import fold, list_names, match

DOMAIN = ("bounds", "primary", "mask", "regions", "domain_is_public")
"""Options that state where people may be; whoever gives one states it anew."""

OWN_EXTENT = ("regular", "like", "units", *SYSTEMS)
"""Kinds of grids that are public areas themselves, so that a preset's would be another."""

OF_PLACES = ("code", "x", "y", "column")
"""Options that name columns of places."""

PLACES = frozenset((*OF_PLACES, "points"))
"""Options that say where rows lie; whoever gives one needs no column of a preset for it."""

NAMES_OF_CELLS = {"h3": re.compile(r"H3.*|HEX_ID"), "s2": NAMES_OF_S2}
"""Names of columns with cells of H3 and S2, in capitals."""
NO_CELLS = Rule(
    "codes-not-of-one-level",
    "The codes of {} are not all of one {}, which --grid {} reads: codes are {}. Move all of them "
    "to one {}, and export numbers as texts or whole numbers with all their digits.",
)

REQUEST_AREA = (
    "state the public area of the cells of {}, which is not taken from the records: bounds in "
    "degrees (--bounds WEST SOUTH EAST NORTH), an area by name (--bounds japan) or a mask (--mask "
    "FILE, --mask land:japan)"
)

REQUEST_CONTRIBUTION = (
    "say how often a person is counted at most (--contribution 1 where everybody is counted once)"
)

NO_HEADER = "the first row looks like data; the file needs a header with names"
NO_NAMES = "its columns are called by numbers or not at all; give each of them a name"

ASK_LEVELS = (
    "say which columns of the table of units are levels, its column of codes first and behind it "
    "those of the areas that hold the units, if there are any (--units-columns {level}, "
    "columns=[{name}])"
)


@dataclass(frozen=True)
class Proposal:
    """What of a call is settled, and what is not.

    Attributes
    ----------
    options : mapping
        Values by names of options, with underscores; those of the call are not among them.
    asks : tuple of str
        What must still be said, a sentence each.
    preset : str
        Name of the preset that was used, or empty.
    attributes : mapping
        Attributes (``--by``) that columns side by side make, by the preset: labels by names.
    levels : tuple of str
        Of what must still be said, that of the levels of a table of units.
    by : tuple of str
        Attributes that columns are called after, each of which may tell rows of a cell apart; none
        of a preset's layout.
    """

    options: dict[str, Any] = field(default_factory=dict)
    asks: tuple[str, ...] = ()
    preset: str = ""
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    by: tuple[str, ...] = ()


def propose(
    path: FilePath | ArrowStream,
    given: Mapping[str, Any],
    preset: Preset | None = None,
    *,
    named: Collection[str] = (),
    description: Mapping[str, Any] | None = None,
) -> Proposal:
    """Propose the options that a file's layout settles.

    Parameters
    ----------
    path : path, or a table in memory
        The first of the inputs.
    given : mapping
        Options of the call that were given, by names; "grid" is that of ``--grid``,
    preset : Preset, optional
        Default: the one of the package that fits, where exactly one does.
    named : collection of str
        Columns that the call names for anything but codes and counts, such as labels or `where`.
    description : mapping, optional
        What :func:`inspect` says of the file under these options. Default: it is looked at.

    Raises
    ------
    UsageError
        Several presets fit, a preset that refuses its files, or whose columns are not there.
    InputError
        A file that cannot be read.
    """
    texts = {name: given.get(name) for name in OF_FILE}
    given = {name: value for name, value in given.items() if value is not None}
    known_of = Known(_system_of(given.get("grid")), named=tuple(named))
    found = inspect(path, **texts, known=known_of) if description is None else description
    table = _only_table(found.get("tables", [{}]))
    names = [str(one["name"]) for one in table.get("columns") or ()]
    labels = [str(one.get("label") or one["name"]).strip() for one in table.get("columns") or ()]
    chosen = preset or choose_fitting(_name_of(path), names)
    parts = {} if chosen is None else chosen.find_attributes([*names, *labels])
    options: dict[str, Any] = {}
    asks: list[str] = []
    ask_levels: list[str] = []
    if chosen is not None:
        options, asks = _of_preset(chosen, [*names, *labels], given)
    if "raster" in found:
        more = _of_raster(path, {**options, **given})
    elif not names:
        more = {}, [NO_NAMES if found["format"] == "memory" else NO_HEADER]
    else:
        known = {"attributes": [*parts], **options, **given}
        same = {**given}
        if "value" in given and _is_column(names, labels, given["value"], options.get("value")):
            same["value"] = options["value"]  # by its name, where the preset has its label
        # A reader knows the layout by the header alone, where that tells one.
        told = chosen == find_layout(names)
        known["stated"] = (
            chosen is not None and told and _states_contribution(chosen, options, same)
        )
        if chosen is not None and chosen.contribution is not None:
            known["stated_of"] = _whose(chosen, [*names, *labels], same.get("value"), told=told)
        unit, levels = _code_of_units(given, names)
        if unit is not None and PLACES.isdisjoint(known) and not _ends(table, known):
            known["code"] = options["code"] = unit
        if known.get("code") not in (None, table["key"]):
            key = str(known["code"])
            table = _only_table(inspect(path, **texts, known=replace(known_of, key=key))["tables"])
        more = _of_table(table, names, labels, known, chosen)
        code = known.get("code") or table["key"]
        if level := next((one for one in levels if fold(one) == fold(code or "")), None):
            ask_levels.append(ASK_LEVELS.format(level=quote(level), name=repr(level)))
    if "header_row" in table and "header_row" not in given:
        row = suggest_header(table["header_row"], table["first_row"]).rstrip(".")
        more = more[0], [*more[1], row]
    options |= {name: value for name, value in more[0].items() if name not in options}
    settled = {name: value for name, value in options.items() if name not in given}
    found_parts = {name: _written(one) for name, one in parts.items()}
    if any("--contribution" in one for one in asks):  # in the preset's words
        more = more[0], [one for one in more[1] if not one.startswith(REQUEST_CONTRIBUTION)]
    name = "" if chosen is None else chosen.name
    asked = (*asks, *more[1], *ask_levels)
    by = () if chosen is not None else _attributes_of(table, named)
    return Proposal(settled, asked, name, found_parts, (*ask_levels,), by)


def lacks_layout(reader: str, given: Mapping[str, Any]) -> bool:
    """Whether a call leaves out what says where a row is or what it counts.

    Parameters
    ----------
    reader : str
        Name of the one that the call is meant for.
    given : mapping
        Its options by names, ``column`` those of places alone.
    """
    if reader not in ("table", "points"):
        return False
    half = (given.get("x") is None) != (given.get("y") is None)
    named = any(given.get(name) for name in OF_PLACES) and not half
    return not named or (reader == "table" and not given.get("value"))


def _name_of(path: FilePath | ArrowStream) -> Path:
    """Return a file's path; an empty one of a table in memory, which has no name."""
    return Path() if isinstance(path, ArrowStream) else Path(path)


def _attributes_of(table: Mapping[str, Any], named: Collection[str]) -> tuple[str, ...]:
    """Return the attributes that columns are called after which hold nothing else."""
    places = ("key", "origin", "destination", "x", "y", "count")
    taken = {*(table.get(place) for place in places), *named}
    columns = [str(one["name"]) for one in table.get("columns") or ()]
    found = [find_attribute(name) for name in columns if name not in taken]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _whose(
    preset: Preset, titles: Sequence[str], given: Sequence[str] | None, *, told: bool
) -> str:
    """Ask for the contribution, and say of which table or column alone a preset states it.

    ``given``: columns of counts that are named. ``told``: whether the header tells the preset.
    """
    if not told:
        return f"{REQUEST_CONTRIBUTION}; the preset {preset.name} states it of its own header alone"
    # A column without a label has its name for one.
    own = [*dict.fromkeys(match(str(preset.options.get("value")), titles))]
    if own and [*(given or own)] != own[:1]:
        own_column = own[0].strip()
        return f"{REQUEST_CONTRIBUTION}; the preset {preset.name} states it of {own_column} alone"
    return REQUEST_CONTRIBUTION


def _only_table(tables: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the one member of an archive that has several columns; else the first."""
    wide = [table for table in tables if len(table.get("columns") or ()) > 1]
    return wide[0] if len(wide) == 1 else tables[0]


def _code_of_units(given: Mapping[str, Any], names: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the column that is called as the finest level of the table of ``--grid units:``.

    None where there is none, and then which other columns of that table are called as columns here.
    A table that cannot be read is told of when it is read.
    """
    kind, _, path = str(given.get("grid", "")).partition(":")
    if f"{kind}:" != UNITS:
        return None, []
    columns = [str(given["units_columns"]).split(",")[0]] if given.get("units_columns") else []
    if not columns:
        with suppress(GeodpError, OSError), closing(open_tables(path)) as tables:
            columns = [*plain_columns(next(tables)).values()]
    found = [name for name in names if columns and fold(name) == fold(columns[0])]
    plain = {*map(fold, names)}
    return (
        (found[0], []) if len(found) == 1 else (None, [c for c in columns[1:] if fold(c) in plain])
    )


def _system_of(grid: Any) -> str | None:
    """Return the name of the code system of ``--grid``; "" where it has none, None if not given."""
    if is_cells(grid):
        return str(grid)
    try:
        return None if grid is None else code_system(str(grid)).name
    except UsageError:
        return ""


def _written(one: LabelColumns) -> tuple[str, ...]:
    """Labels of an attribute; of a joint table every combination: "men 0-4"."""
    return tuple(" ".join(labels) for labels in product(*one.labels))


def ask_by(name: str) -> str:
    """Return the option that asks for an attribute of a layout: --by 'sex,age' of "sex*age"."""
    return f"--by {quote(name.replace(JOINT, ','))}"


def _of_preset(
    preset: Preset, names: Sequence[str], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return a preset's options, its patterns as the names that they meet, and what it asks."""
    if preset.refused:
        raise RefusedLayoutError(preset.refused, code="layout-refused")
    options = {name.replace("-", "_"): value for name, value in preset.options.items()}
    for name in OF_COLUMNS:
        if name in options:
            pattern = str(options.pop(name))
            met = match(pattern, names)
            if name != "value" and not met and PLACES.isdisjoint(given):
                raise UsageError(
                    f"The preset {preset.name} has its {name} in a column {pattern!r}, which the "
                    f"file does not have; name the column (--{name}), or choose another preset.",
                    code="preset-column-missing",
                )
            if len({*met}) == 1:
                options[name] = [met[0]] if name == "value" else met[0]
    if preset.parts and not match(preset.parts, names):
        options.pop("duplicates", None)  # nothing tells rows of one cell from copies
    kind = str(given.get("grid", "")).partition(":")[0]
    dropped = {*DOMAIN} if kind in OWN_EXTENT or not {*DOMAIN}.isdisjoint(given) else set()
    if not PLACES.isdisjoint(given):
        dropped |= PLACES
    options = {name: value for name, value in options.items() if name not in dropped}
    asks = [words for words in preset.asks if not _is_said(words, given)]
    return options, [f"say {words}" for words in asks]


def _is_said(words: str, given: Mapping[str, Any]) -> bool:
    """Whether an option that a sentence asks for is given; if counts are added up, all its terms.

    Otherwise a term that is left out shows by cells that are there twice, which are refused.
    """
    asked = {*re.findall(r"--where ([^\s=]+)=", words)}
    if asked and given.get("duplicates") == "sum":
        return asked <= {str(term).partition("=")[0] for term in given.get("where", ())}
    return not {*_flags(words)}.isdisjoint(given)


def _flags(words: str) -> list[str]:
    """Return names of the options that a sentence names."""
    return [flag.replace("-", "_") for flag in re.findall(r"--([a-z][a-z-]*)", words)]


def _of_raster(
    path: FilePath | ArrowStream, known: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the grid of a raster's own cells, where none is named."""
    if "grid" in known:
        return {}, []
    if isinstance(path, Fetched):
        return {}, ["name a public grid (--grid), such as like:TEMPLATE.tif of a file here"]
    asks = []
    if not known.get("domain_is_public"):
        asks = [
            "name a public grid (--grid), or vouch that the raster's extent was not chosen by "
            "looking at where people are (--domain-is-public)"
        ]
    if "contribution" not in known:
        asks.append(REQUEST_CONTRIBUTION)
    return {"grid": f"like:{path}"}, asks


def _of_table(
    table: Mapping[str, Any],
    names: Sequence[str],
    labels: Sequence[str],
    known: Mapping[str, Any],
    preset: Preset | None,
) -> tuple[dict[str, Any], list[str]]:
    """Return the grid, and the columns of places and of counts, of a table."""
    options: dict[str, Any] = {}
    asks: list[str] = []
    key = known.get("code") or table["key"]
    ends = _ends(table, known)
    if ends:
        options |= ends
    if "grid" not in known:
        grid = _find_grid(preset, str(key), table)
        if grid is None and not table["grids"]:
            _require_no_cells((*names, key or ""))
        if grid is None:
            asks.append(_ask_grid(table))
        else:
            options["grid"] = grid
    named = str(options.get("grid", known.get("grid")))
    if is_cells(named) and {"bounds", "mask"}.isdisjoint(known):
        asks.append(REQUEST_AREA.format(SYSTEMS[named.partition(":")[0]].title))
    pairs = ends or (known.get("pairs") and known.get("column"))
    shapes = table["geometry"] is not None and not table["points"]
    units = str(known.get("grid")).startswith(UNITS)
    if known.get("points") or (key is None and not shapes and not pairs and not units):
        return _of_points(table, known, options, asks)
    if units and key is None and not pairs:
        asks.append(
            "name the column of the units' codes (--code; of journeys --pairs with --column "
            f"origin=NAME and --column destination=NAME): {list_names(names)}"
        )
    located = pairs or not {"code", "x", "y", "column"}.isdisjoint(known)
    mesh = str(options.get("grid", known.get("grid"))).startswith("jis:") and "delimiter" in table
    if key is not None and not located and not (mesh and fold(key) == fold(KEY)):
        options["code"] = key
    if not known.get("value"):
        titles = dict(zip(names, labels, strict=True))
        if not table["counts"] and key is None and not pairs:  # geometries and no counts
            return _of_points(table, known, options, asks)
        if table["count"] is not None:
            options["value"] = [titles[table["count"]]]
        else:
            values = [titles[name] for name in table["counts"]]
            shown = list_names(values) or "none"
            named = ", ".join(map(ask_by, known.get("attributes", ())))
            parts = f"the columns of {named}, or " if named else ""
            asks.append(
                f"choose {parts}the column of counts (--value), or several with --by: {shown}"
            )
    if "contribution" not in known and not known["stated"]:
        asks.append(known.get("stated_of", REQUEST_CONTRIBUTION))
    return options, asks


def _require_no_cells(names: Sequence[str]) -> None:
    """Raise UsageError where a column is named for cells of H3 or S2."""
    for family, pattern in NAMES_OF_CELLS.items():
        if any(pattern.fullmatch(name.strip().upper()) for name in names):
            one = SYSTEMS[family]
            raise UsageError(NO_CELLS.format(one.title, one.word, one.pattern, one.codes, one.word))


def _ends(table: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of both ends of journeys, where their names tell them."""
    located = not {"code", "x", "y", "column", "points"}.isdisjoint(known)
    if located or table["origin"] is None or table["destination"] is None:
        return {}
    ends = [f"{end}={table[end]}" for end in ("origin", "destination")]
    return {"pairs": True, "column": ends}


def _is_column(
    names: Sequence[str], labels: Sequence[str], given: Sequence[str], own: Sequence[str] | None
) -> bool:
    """Whether one column of counts is given which is the preset's own, by its name or label."""
    if own is None or len(own) != 1 or len(given) != 1:
        return False
    wanted = {fold(given[0]), fold(own[0])}
    pairs = zip(names, labels, strict=True)
    return any(wanted <= {fold(name), fold(label)} for name, label in pairs)


def _states_contribution(
    preset: Preset, options: Mapping[str, Any], given: Mapping[str, Any]
) -> bool:
    """Whether the preset states the contribution of one table that is read with these options.

    It does of its own column of counts. Where several tables come in, reading them tells.
    """
    others = {"labels", "by", "pairs", "points", "round", "column"}
    plain = others.isdisjoint(given)
    own = "value" in options and [*given.get("value", options["value"])] == options["value"]
    summed = {**options, **given}.get("duplicates") == "sum"
    return preset.contribution is not None and plain and own and not summed


def _of_points(
    table: Mapping[str, Any], known: Mapping[str, Any], options: dict[str, Any], asks: list[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return columns of longitude and latitude, where every row may be a person."""
    found = {name: table[name] for name in ("x", "y")}
    if {"x", "y"} <= known.keys() or table["geometry"] is not None:
        pass
    elif None not in found.values():
        if all(known.get(name, column) == column for name, column in found.items()):
            options |= {name: column for name, column in found.items() if name not in known}
    elif {"x", "y"}.isdisjoint(known):
        asks.append(
            "name the columns of codes (--code; of journeys --pairs with --column origin=NAME and "
            f"--column destination=NAME) or of coordinates (--x, --y){_among(table['keys'])}"
        )
    if not table["persons"] and table["count"] is not None and not known.get("points"):
        options.setdefault("value", [table["count"]])
    known = {**options, **known}
    if not known.get("points") and not known.get("value"):
        counts = _among(table["counts"])
        asks.append(
            f"say that every row is one person (--points), or name the counts (--value){counts}"
        )
    if not known.get("value") and {"contribution", "person"}.isdisjoint(known):
        asks.append(
            f"name the column of persons (--person){_among(table['persons'])}, or say how often "
            "one is there at most (--contribution)"
        )
    if known.get("value") and "contribution" not in known and not known["stated"]:
        asks.append(REQUEST_CONTRIBUTION)
    return options, asks


def _among(names: Sequence[str]) -> str:
    """Return the names that something may be, as the end of a question; nothing for none."""
    return f": {list_names(names)}" if names else ""


def _find_grid(preset: Preset | None, key: str, table: Mapping[str, Any]) -> str | None:
    """Return the grid by the name of the column of codes, by the codes, or by their length."""
    grids = preset.grids if preset else {}
    named = [grid for pattern, grid in grids.items() if match(pattern, [key])]
    found: str | None = named[0] if named else table["grid"]
    return found or grids.get(str(table["digits"]))


def _ask_grid(table: Mapping[str, Any]) -> str:
    if table["digits"] == 10:
        ten = "codes of 10 digits are jis:quarter (250 m) or another standard's cells of 100 m"
        return f"choose the grid (--grid): {ten}"
    if table["grids"]:
        return f"choose the grid (--grid), if all codes are of one: {list_names(table['grids'])}"
    if str(table["key"]).upper().startswith("QUADKEY"):
        return (
            "name the grid (--grid quadkey:ZOOM): codes have ZOOM digits, unless a program took "
            "zeros in front from them"
        )
    return (
        "name the grid (--grid): nothing in the file tells it for certain. Areas such as "
        "municipalities are --grid units:TABLE, a public list of all of them; codes of an office's "
        "own grid are --grid file:GRID.toml, of which geodp inspect FILE --code COLUMN writes a "
        "draft"
    )
