"""Options that a file's layout determines: by a publisher's preset, or by unambiguous columns.

Only the layout is inferred. Where people may be, and how often one is counted, is declared by a
preset or requested, and never taken from rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from shlex import quote
from typing import Any

from geodp.errors import GeodpError, Rule, UsageError
from geodp.grid.axes import JOINT
from geodp.grid.cells import SYSTEMS, is_cells
from geodp.grid.codes import code_system
from geodp.grid.codes.recognise import NAMES_OF_S2
from geodp.io.read.layout.inspect import PLANE, KnownRoles, inspect
from geodp.io.read.layout.official_tables import KEY
from geodp.io.read.layout.presets import (
    OF_COLUMNS,
    Preset,
    RefusedLayoutError,
    WideColumns,
    choose_fitting,
    find_layout,
)
from geodp.io.read.layout.recognise import find_named, fold_columns
from geodp.io.read.reader import UNITS
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.forms.geometry import plain_columns
from geodp.io.read.rows.forms.locations import Fetched
from geodp.io.read.rows.input_files import ArrowStream, FilePath
from geodp.io.read.rows.names import find_attribute, fold, list_names, match
from geodp.io.read.rows.span import MATRIX, OPENING, opening_options, suggest_header

DOMAIN = ("bounds", "primary", "mask", "regions", "domain_is_public")
"""Options that declare where people may be; giving one replaces those of a preset."""

FIXED_EXTENT = ("regular", "like", "units", *SYSTEMS)
"""Kinds of grids that are public areas themselves, so that a preset's area does not apply."""

OF_PLACES = ("code", "x", "y", "column")
"""Options that name columns of places."""

IDENTIFIED = ("contribution", "person", "household_id")
"""Options that say how often a person, or a household, is counted."""

PLACES = frozenset((*OF_PLACES, "points"))
"""Options that locate rows; with one of them, a preset's columns of places are not needed."""

OF_CODES = ("area_code", "any_code", "code")
"""Roles of columns of codes of units."""

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
    "state how often a person is counted at most (--contribution 1 where everybody is counted once)"
)

REQUEST_HOUSEHOLDS = (
    "name the column of households (--household), or state how often one occurs at most "
    "(--contribution)"
)

OF_AMOUNTS = (
    "amounts such as {} are no counts, and geodp amounts publish releases their sums and means"
)

REQUEST_CRS = (
    "name the CRS of the coordinates in metres (--points-crs), such as EPSG:25832, or EPSG:6677 in "
    "Japan, whose plane rectangular systems have X to the north: there exchange x and y"
)

NO_HEADER = "the first row looks like data; the file needs a header with names"
AS_MATRIX = MATRIX.format(first="origin")
AS_PERIODS = (
    "if it has a column for each period, geodp publish-series reads these by a pattern of their "
    "names with a * for the period: --period-columns '*' --periods 2015..2020"
)
HEADERLESS = (NO_HEADER, AS_MATRIX, AS_PERIODS)
"""What is wrong with a file whose first row looks like data, and what it may be."""
NO_NAMES = "its columns are called by numbers or not at all; give each of them a name"

REQUEST_LEVELS = (
    "state which columns of the table of units are levels, its column of codes first and behind it "
    "those of the areas that hold the units, if there are any (--units-columns {level}, "
    "columns=[{name}])"
)


@dataclass(frozen=True)
class Proposal:
    """Options that a layout determines, and the questions that remain.

    Attributes
    ----------
    options : mapping
        Values by names of options, with underscores; those of the call are not among them.
    questions : tuple of str
        What the call must still specify, a sentence each.
    preset : str
        Name of the preset that was used, or empty.
    attributes : mapping
        Attributes (``--by``) of columns side by side, according to the preset: labels by name.
    levels : tuple of str
        The questions about the levels of a table of units.
    by : tuple of str
        Attributes after which columns are named, each of which may distinguish rows of a cell;
        empty for a preset's layout.
    """

    options: dict[str, Any] = field(default_factory=dict)
    questions: tuple[str, ...] = ()
    preset: str = ""
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    by: tuple[str, ...] = ()


def propose(
    path: FilePath | ArrowStream,
    supplied: Mapping[str, Any],
    preset: Preset | None = None,
    *,
    named: Collection[str] = (),
    description: Mapping[str, Any] | None = None,
    reaches: Callable[[str], bool] | None = None,
) -> Proposal:
    """Propose the options that a file's layout determines.

    Parameters
    ----------
    path : path, or a table in memory
        The first of the inputs.
    supplied : mapping
        Options of the call by name; "grid" is that of ``--grid``.
    preset : Preset, optional
        Default: the packaged one that fits, if exactly one does.
    named : collection of str
        Columns that the call names for anything but codes and counts, such as labels or `where`.
    description : mapping, optional
        Result of :func:`inspect` for the file with these options. Default: it is inspected.
    reaches : function of str, optional
        Whether a code system, by its name, has cells in the area that the call states.

    Raises
    ------
    UsageError
        Several presets fit, or the preset refuses its files or has columns that the file lacks.
    InputError
        The file cannot be read.
    """
    texts = {name: supplied.get(name) for name in OPENING}
    supplied = {name: value for name, value in supplied.items() if value is not None}
    roles = KnownRoles(_system_of(supplied.get("grid")), named=tuple(named), reaches=reaches)
    described = inspect(path, **texts, known=roles) if description is None else description
    table = _only_table(described.get("tables", [{}]))
    names = [str(one["name"]) for one in table.get("columns") or ()]
    labels = [str(one.get("label") or one["name"]).strip() for one in table.get("columns") or ()]
    chosen = preset or choose_fitting(_name_of(path), names)
    # Presets may refer to columns by the labels of a second header row.
    parts = {} if chosen is None else chosen.find_attributes([*names, *labels])
    options: dict[str, Any] = {}
    questions: list[str] = []
    level_requests: list[str] = []
    if chosen is not None:
        options, questions = _of_preset(chosen, [*names, *labels], supplied)
    if "raster" in described:
        more = _of_raster(path, {**options, **supplied})
    elif not names:
        more = {}, [NO_NAMES] if described["format"] == "memory" else [*HEADERLESS]
    else:
        settings = {"attributes": [*parts], **options, **supplied}
        same, value = {**supplied}, supplied.get("value")
        if value is not None and _is_column(names, labels, value, options.get("value")):
            # The call names the column by its name, the preset by its label.
            same["value"] = options["value"]
        # The reader will look up the layout by the header alone: a preset chosen in another way
        # cannot bound the contribution there.
        by_header = chosen == find_layout(names)
        settings["stated"] = (
            chosen is not None and by_header and _states_contribution(chosen, options, same)
        )
        if chosen is not None and chosen.contribution is not None:
            settings["stated_of"] = _request_contribution(
                chosen, [*names, *labels], same.get("value"), by_header=by_header
            )
        unit, levels = _code_of_units(supplied, names)
        if unit is not None and PLACES.isdisjoint(settings) and not _ends(table, settings):
            settings["code"] = options["code"] = unit
        if settings.get("code") not in (None, table["key"]):
            key = str(settings["code"])
            table = _only_table(inspect(path, **texts, known=replace(roles, key=key))["tables"])
        more = _of_table(table, names, labels, settings, chosen)
        code = settings.get("code") or table["key"]
        if level := next((one for one in levels if fold(one) == fold(code or "")), None):
            level_requests.append(REQUEST_LEVELS.format(level=quote(level), name=repr(level)))
    # The rows were guessed; the operator must confirm them, as a wrong guess drops records.
    if "header_row" in table and "header_row" not in supplied:
        row = suggest_header(table["header_row"], table["first_row"]).rstrip(".")
        more = more[0], [*more[1], row]
    options |= {name: value for name, value in more[0].items() if name not in options}
    determined = {name: value for name, value in options.items() if name not in supplied}
    attributes = {name: _written(one) for name, one in parts.items()}
    # A preset's question on the contribution is more specific than the general one.
    if any("--contribution" in one for one in questions):  # in the preset's words
        more = more[0], [one for one in more[1] if not one.startswith(REQUEST_CONTRIBUTION)]
    name = "" if chosen is None else chosen.name
    remaining = (*questions, *more[1], *level_requests)
    by = () if chosen is not None else _attributes_of(table, named)
    return Proposal(determined, remaining, name, attributes, (*level_requests,), by)


def lacks_layout(reader: str, options: Mapping[str, Any]) -> bool:
    """Test whether a call leaves out the columns of places or of counts.

    Parameters
    ----------
    reader : str
        Name of the reader that the call is for.
    options : mapping
        Its options by name; ``column`` only for places.
    """
    if reader not in ("table", "points"):
        return False
    # One coordinate locates nothing, so the layout is still needed.
    half = (options.get("x") is None) != (options.get("y") is None)
    has_places = any(options.get(name) for name in OF_PLACES) and not half
    return not has_places or (reader == "table" and not options.get("value"))


def _name_of(path: FilePath | ArrowStream) -> Path:
    """Return a file's path; an empty one for a table in memory, which has no name."""
    return Path() if isinstance(path, ArrowStream) else Path(path)


def _attributes_of(table: Mapping[str, Any], named: Collection[str]) -> tuple[str, ...]:
    """Return the attributes after which columns without another role are named."""
    places = ("key", "origin", "destination", "x", "y", "count")
    taken = {*(table.get(place) for place in places), *named}
    columns = [str(one["name"]) for one in table.get("columns") or ()]
    attributes = [find_attribute(name) for name in columns if name not in taken]
    return tuple(dict.fromkeys(name for name in attributes if name is not None))


def _request_contribution(
    preset: Preset, titles: Sequence[str], values: Sequence[str] | None, *, by_header: bool
) -> str:
    """Request the contribution, and say for which table or column a preset states it.

    ``values``: columns of counts that are named. ``by_header``: whether the header determines the
    preset.
    """
    if not by_header:
        return f"{REQUEST_CONTRIBUTION}; the preset {preset.name} states it only for its own header"
    # Titles repeat the name of a column that has no label.
    counted = [*dict.fromkeys(match(str(preset.options.get("value")), titles))]
    if counted and [*(values or counted)] != counted[:1]:
        column = counted[0].strip()
        return f"{REQUEST_CONTRIBUTION}; the preset {preset.name} states it of {column} alone"
    return REQUEST_CONTRIBUTION


def _only_table(tables: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the one member of an archive that has several columns; else the first."""
    wide = [table for table in tables if len(table.get("columns") or ()) > 1]
    return wide[0] if len(wide) == 1 else tables[0]


def _code_of_units(
    supplied: Mapping[str, Any], names: Sequence[str]
) -> tuple[str | None, list[str]]:
    """Return the column named as the finest level of the table of ``--grid units:``.

    None if there is none, and then the other columns of that table that exist here by name.
    A table that cannot be read raises its error later, when it is read.
    """
    kind, _, path = str(supplied.get("grid", "")).partition(":")
    if f"{kind}:" != UNITS:
        return None, []
    levels = supplied.get("units_columns")
    columns = str(levels).split(",")[:1] if levels else []
    columns = columns or _columns_of_units(path)
    matches = [name for name in names if columns and fold(name) == fold(columns[0])]
    if len(matches) == 1:
        return matches[0], []
    plain = {*map(fold, names)}
    return None, [column for column in columns[1:] if fold(column) in plain]


def find_unit_names(path: FilePath, columns: Sequence[str] = ()) -> str | None:
    """Find the column of names beside a column of codes in a table of units, by the header.

    ``columns``: those of the levels, if they are named, which are no names. None where no column
    is named for names, or none for codes; also for a table that cannot be read, which raises its
    error later.
    """
    plain = _columns_of_units(path)
    folded = fold_columns(plain)
    coded = columns or [plain[at] for role in OF_CODES for at in find_named(role, folded)]
    named = [plain[at] for at in find_named("unit_name", folded) if plain[at] not in coded]
    return named[0] if named and coded else None


def _columns_of_units(path: FilePath) -> list[str]:
    """Return the columns of a table of units; none for one that cannot be read."""
    opening = opening_options(path)
    with suppress(GeodpError, OSError), closing(open_tables(path, **opening)) as tables:
        return [*plain_columns(next(tables)).values()]
    return []


def _system_of(grid: Any) -> str | None:
    """Return the name of the code system of ``--grid``; "" if it has none, None if not given."""
    if is_cells(grid):
        return str(grid)
    try:
        return None if grid is None else code_system(str(grid)).name
    except UsageError:
        return ""


def _written(one: WideColumns) -> tuple[str, ...]:
    """Return the labels of an attribute; for a joint table every combination: "men 0-4"."""
    return tuple(" ".join(labels) for labels in product(*one.labels))


def option_by(name: str) -> str:
    """Return the option that selects an attribute of a layout: --by 'sex,age' for "sex*age"."""
    return f"--by {quote(name.replace(JOINT, ','))}"


def _of_preset(
    preset: Preset, names: Sequence[str], supplied: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return a preset's options, with column names for its patterns, and its questions."""
    if preset.refused:
        raise RefusedLayoutError(preset.refused, code="layout-refused")
    options = {name.replace("-", "_"): value for name, value in preset.options.items()}
    for name in OF_COLUMNS:
        if name in options:
            pattern = str(options.pop(name))
            matches = match(pattern, names)
            if name != "value" and not matches and PLACES.isdisjoint(supplied):
                raise UsageError(
                    f"The preset {preset.name} has its {name} in a column {pattern!r}, which the "
                    f"file does not have; name the column (--{name}), or choose another preset.",
                    code="preset-column-missing",
                )
            if len({*matches}) == 1:
                options[name] = [matches[0]] if name == "value" else matches[0]
    if preset.parts and not match(preset.parts, names):
        # Without the column of parts, nothing distinguishes rows of one cell from copies.
        options.pop("duplicates", None)
    kind = str(supplied.get("grid", "")).partition(":")[0]
    # Parts of two statements about the domain could contradict each other.
    dropped = {*DOMAIN} if kind in FIXED_EXTENT or not {*DOMAIN}.isdisjoint(supplied) else set()
    if not PLACES.isdisjoint(supplied):
        # A preset's column of places would compete with the one that the call names.
        dropped |= PLACES
    options = {name: value for name, value in options.items() if name not in dropped}
    questions = [text for text in preset.asks if not _is_answered(text, supplied)]
    return options, [f"state {text}" for text in questions]


def _is_answered(question: str, supplied: Mapping[str, Any]) -> bool:
    """Test whether a question's option is given; if counts are added up, all its terms.

    Otherwise a term that is left out is noticed, as cells then occur twice and are refused.
    """
    terms = {*re.findall(r"--where ([^\s=]+)=", question)}
    if terms and supplied.get("duplicates") == "sum":
        return terms <= {str(term).partition("=")[0] for term in supplied.get("where", ())}
    return not {*_flags(question)}.isdisjoint(supplied)


def _flags(text: str) -> list[str]:
    """Return the names of the options in a sentence."""
    return [flag.replace("-", "_") for flag in re.findall(r"--([a-z][a-z-]*)", text)]


def _of_raster(
    path: FilePath | ArrowStream, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the grid of a raster's own cells, if none is named."""
    if "grid" in settings:
        return {}, []
    # The downloaded copy has a temporary name, which no later command could use.
    if isinstance(path, Fetched):
        return {}, ["name a public grid (--grid), such as like:TEMPLATE.tif of a file here"]
    questions = []
    if not settings.get("domain_is_public"):
        questions = [
            "name a public grid (--grid), or vouch that the raster's extent was not chosen by "
            "looking at where people are (--domain-is-public)"
        ]
    if "contribution" not in settings:
        questions.append(REQUEST_CONTRIBUTION)
    return {"grid": f"like:{path}"}, questions


def _of_table(
    table: Mapping[str, Any],
    names: Sequence[str],
    labels: Sequence[str],
    settings: Mapping[str, Any],
    preset: Preset | None,
) -> tuple[dict[str, Any], list[str]]:
    """Return the grid, and the columns of places and of counts, of a table."""
    questions: list[str] = []
    key = settings.get("code") or table["key"]
    ends = _ends(table, settings)
    options = {**ends}
    if "grid" not in settings:
        grid = _find_grid(preset, str(key), table)
        if grid is None and not table["grids"]:
            _require_no_cells((*names, key or ""))
        if grid is None:
            questions.append(request_grid(table))
        else:
            options["grid"] = grid
    named = str(options.get("grid", settings.get("grid")))
    if is_cells(named) and {"bounds", "mask"}.isdisjoint(settings):
        questions.append(REQUEST_AREA.format(SYSTEMS[named.partition(":")[0]].title))
    pairs = ends or (settings.get("pairs") and settings.get("column"))
    shapes = table["geometry"] is not None and not table["points"]
    units = str(settings.get("grid")).startswith(UNITS)
    # Rows without a column of counts may be persons in the cells of their codes, and are with one
    # of persons.
    records = table["persons"] or (preset is None and not table["amounts"] and not shapes)
    persons = records and not table["counts"] and not settings.get("value") and not pairs
    # Points lie in units that have outlines.
    nowhere = key is None and not shapes and not pairs
    nowhere &= not units or table["points"] or table["x"] is not None
    if settings.get("points") or persons or nowhere:
        return _of_points(table, settings, options, questions)
    if units and key is None and not pairs:
        questions.append(
            "name the column of the units' codes (--code; of journeys --pairs with --column "
            f"origin=NAME and --column destination=NAME): {list_names(names)}"
        )
    located = pairs or not {"code", "x", "y", "column"}.isdisjoint(settings)
    mesh = named.startswith("jis:") and "delimiter" in table
    if key is not None and not located and not (mesh and fold(key) == fold(KEY)):
        options["code"] = key
    if not settings.get("value"):
        titles = dict(zip(names, labels, strict=True))
        if not table["counts"] and key is None and not pairs:  # geometries and no counts
            return _of_points(table, settings, options, questions)
        if table["count"] is not None:
            options["value"] = [titles[table["count"]]]
        else:
            values = [titles[name] for name in table["counts"]]
            shown = list_names(values) or "none"
            named = ", ".join(map(option_by, settings.get("attributes", ())))
            parts = f"the columns of {named}, or " if named else ""
            shown += "" if values else _mention_amounts(table)
            questions.append(
                f"choose {parts}the column of counts (--value), or several with --by: {shown}"
            )
    # Nothing in a file can tell how often one person is counted in it.
    if "contribution" not in settings and not settings["stated"]:
        questions.append(settings.get("stated_of", REQUEST_CONTRIBUTION))
    return options, questions


def _require_no_cells(names: Sequence[str]) -> None:
    """Raise UsageError if a column is named for cells of H3 or S2."""
    for family, pattern in NAMES_OF_CELLS.items():
        if any(pattern.fullmatch(name.strip().upper()) for name in names):
            one = SYSTEMS[family]
            raise UsageError(NO_CELLS.format(one.title, one.word, one.pattern, one.codes, one.word))


def _ends(table: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of both ends of journeys, if their names identify them."""
    located = not {"code", "x", "y", "column", "points"}.isdisjoint(settings)
    if located or table["origin"] is None or table["destination"] is None:
        return {}
    ends = [f"{end}={table[end]}" for end in ("origin", "destination")]
    return {"pairs": True, "column": ends}


def _is_column(
    names: Sequence[str],
    labels: Sequence[str],
    values: Sequence[str],
    of_preset: Sequence[str] | None,
) -> bool:
    """Test whether the one column of counts given is the preset's, by its name or label."""
    if of_preset is None or len(of_preset) != 1 or len(values) != 1:
        return False
    wanted = {fold(values[0]), fold(of_preset[0])}
    pairs = zip(names, labels, strict=True)
    return any(wanted <= {fold(name), fold(label)} for name, label in pairs)


def _states_contribution(
    preset: Preset, options: Mapping[str, Any], supplied: Mapping[str, Any]
) -> bool:
    """Test whether the preset states the contribution of one table read with these options.

    It does so for its own column of counts. Several tables are checked when they are read.
    """
    others = {"labels", "by", "pairs", "points", "round", "column"}
    plain = others.isdisjoint(supplied)
    is_its_column = (
        "value" in options and [*supplied.get("value", options["value"])] == options["value"]
    )
    summed = {**options, **supplied}.get("duplicates") == "sum"
    return preset.contribution is not None and plain and is_its_column and not summed


def _of_points(
    table: Mapping[str, Any],
    settings: Mapping[str, Any],
    options: dict[str, Any],
    questions: list[str],
) -> tuple[dict[str, Any], list[str]]:
    """Return columns of longitude and latitude, or of codes, if every row may be a person."""
    coordinates = {name: table[name] for name in ("x", "y")}
    if {"x", "y"} <= settings.keys() or "code" in settings or table["geometry"] is not None:
        pass
    elif None not in coordinates.values():
        if all(settings.get(name, column) == column for name, column in coordinates.items()):
            options |= {
                name: column for name, column in coordinates.items() if name not in settings
            }
    elif table["key"] is not None and {"x", "y"}.isdisjoint(settings):
        options["code"] = table["key"]
    elif {"x", "y"}.isdisjoint(settings):
        questions.append(
            "name the columns of codes (--code; of journeys --pairs with --column origin=NAME and "
            f"--column destination=NAME) or of coordinates (--x, --y){_among(table['keys'])}"
        )
    if not table["persons"] and table["count"] is not None and not settings.get("points"):
        options.setdefault("value", [table["count"]])
    settings = {**options, **settings}
    if not settings.get("points") and not settings.get("value"):
        counts = _among(table["counts"]) or _mention_amounts(table)
        questions.append(
            f"state that every row is one person (--points), or name the counts (--value){counts}"
        )
    counted = settings.get("value") and not settings.get("points")
    if options.get("x") and table["crs"] == PLANE and "points_crs" not in settings and not counted:
        questions.append(REQUEST_CRS)
    if not settings.get("value") and {*IDENTIFIED}.isdisjoint(settings):
        questions.append(
            REQUEST_HOUSEHOLDS
            if "size_column" in settings
            else f"name the column of persons (--person){_among(table['persons'])}, or state how "
            "often one occurs at most (--contribution)"
        )
    if settings.get("value") and "contribution" not in settings and not settings["stated"]:
        questions.append(REQUEST_CONTRIBUTION)
    return options, questions


def _mention_amounts(table: Mapping[str, Any]) -> str:
    """Say which columns are amounts, and how these are released; empty without any."""
    if not table["amounts"]:
        return ""
    shown, first = list_names(table["amounts"]), quote(table["amounts"][0])
    return f"; {OF_AMOUNTS.format(shown)} (--amount {first})"


def _among(names: Sequence[str]) -> str:
    """Format the candidates as the end of a question; empty without any."""
    return f": {list_names(names)}" if names else ""


def _find_grid(preset: Preset | None, key: str, table: Mapping[str, Any]) -> str | None:
    """Find the grid by the name of the column of codes, by the codes, or by their length."""
    grids = preset.grids if preset else {}
    named = [grid for pattern, grid in grids.items() if match(pattern, [key])]
    grid: str | None = named[0] if named else table["grid"]
    return grid or grids.get(str(table["digits"]))


def request_grid(table: Mapping[str, Any]) -> str:
    """Ask for the grid of a table that :func:`inspect` has described."""
    if table["digits"] == 10:
        ten = "codes of 10 digits are jis:quarter (250 m) or another standard's cells of 100 m"
        return f"choose the grid (--grid): {ten}"
    if table["grids"]:
        return f"choose the grid (--grid), if all codes are of one: {list_names(table['grids'])}"
    if table["quadkeys"] or str(table["key"]).upper().startswith("QUADKEY"):
        return (
            "name the grid (--grid quadkey:ZOOM): codes may be quadkeys, which are texts of ZOOM "
            "digits; numbers have lost the zeros in front: export these codes as text"
        )
    if table["cells_of_ends"]:
        return "state how many rows and columns the grid has (--grid regular:ROWSxCOLS)"
    # Points and trips are located by outlines, codes by a list.
    if any(table[one] for one in ("x", "ends", "origin", "points")):
        return (
            "name the grid (--grid): the file does not determine it. For areas such as "
            "municipalities use --grid units:OUTLINES, a public layer of all of them"
        )
    return (
        "name the grid (--grid): the file does not determine it. For areas such as municipalities "
        "use --grid units:TABLE, a public list of all of them; for codes of an office's own grid, "
        "--grid file:GRID.toml, of which geodp inspect FILE --code COLUMN writes a "
        "draft"
    )
