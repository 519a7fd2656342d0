"""Recognition of the code systems of a column from the form of its codes.

Where there is none, a description of the unknown codes is suggested, as far as their form allows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError
from geodp.grid.cells import SYSTEMS, is_cells
from geodp.grid.cells.s2_cells import S2
from geodp.grid.codes import code_system
from geodp.grid.codes.description import described_names, find_description
from geodp.grid.codes.geohash import DEEPEST as LONGEST_HASH
from geodp.grid.codes.geohash import Geohashes
from geodp.grid.codes.jis import LEVELS
from geodp.grid.codes.pattern import Square
from geodp.grid.codes.pattern_grid import PatternGrid
from geodp.grid.codes.quadkey import DEEPEST
from geodp.grid.codes.system import CodeSystem, as_array, within

NAMED = {
    "jis": ("KEY_CODE", "MESH"),
    "quadkey": ("QUADKEY",),
    "geohash": ("GEOHASH",),
}
"""Prefixes of publishers' names for columns of codes, of systems without a description."""

QUADKEY = re.compile("[0-3]{6,24}")
"""Form of quadkeys of all zoom levels, with the zeros in front or without them."""

SHORT = 6
"""Minimal characters of codes with letters of squares that are looked for in every column."""

NAMES_OF_S2 = re.compile(r"S2(_[0-9]{1,2}|[ _-]?(CELL|TOKEN|ID|INDEX|CODE).*)?")
"""Names of columns of S2's cells, in uppercase."""


def systems_of(codes: ArrayLike, name: str = "") -> tuple[str, ...]:
    """Return the names of all code systems that every code of a sample belongs to.

    The rule depends on the form of codes alone: a system is returned if and only if its ``parse``
    reads every code and every cell lies in the system's public extent. A single invalid or blank
    code excludes a system, and never adds another. Geohashes are returned only if more than half
    of the codes contain a letter, as numbers of one length would be geohashes too. The choice
    between several systems (``60302000`` is a hectare of Switzerland and a mesh of Japan) is left
    to the caller.

    Parameters
    ----------
    codes : array_like of str, bytes or int
        Integers are read as their digits: leading zeros may be missing, so that systems whose codes
        may begin with 0 are excluded, as in ``parse``.
    name : str
        Name of the column. It neither adds nor excludes systems: those whose publishers use this
        prefix come first.

    Returns
    -------
    tuple of str
        Names for `code_system`, in a fixed order: those that match `name`; then JIS, INSPIRE, the
        other descriptions by name, quadkeys and geohashes, each from the coarsest to the finest.
        Empty if there are no codes, or no system has all of them.

    Examples
    --------
    >>> systems_of(["1kmN2599E4695", "CRS3035RES1000mN2599000E4695000"])
    ('inspire:1km',)
    >>> systems_of(["E85500N436000"]), systems_of(["E85500N436000", "x"])
    (('cbs:500m', 'cbs:100m'), ())
    """
    try:
        array = as_array(codes).reshape(-1)
    except CodeError:
        return ()
    if not array.size:
        return ()
    lettered = _has_letters(array)
    systems = [
        system
        for system in _systems()
        if (lettered or not isinstance(system, Geohashes)) and not _count_invalid(system, array, 0)
    ]
    column = name.strip().upper()
    return tuple(one.name for one in sorted(systems, key=lambda one: not _is_named(one, column)))


def is_named_for(system: str, column: str) -> bool:
    """Test whether a column's name is one that publishers of a system's codes use.

    >>> is_named_for("jis:basic", "KEY_CODE"), is_named_for("statpop:100m", "KEY_CODE")
    (True, False)
    """
    return not is_cells(system) and _is_named(code_system(system), column.strip().upper())


def count_others(
    codes: Sequence[str], max_others: int, name: str = "", system: str | None = None
) -> dict[str, int]:
    """Count the texts that are not codes of a system, for systems with at most `max_others` such.

    Cells of H3 and S2 are included, although they are not code systems of squares: ``h3:7``.
    Quadkeys are excluded, as numbers may have lost leading zeros without their length showing it.
    Geohashes, short codes with letters (``SU41``, ``G0305``) and S2 need a column of that name, as
    many words are geohashes, many labels and identifiers are a letter or two with digits, and many
    numbers and hexadecimal digits are tokens of S2.

    Parameters
    ----------
    codes : sequence of str
    max_others : int
    name : str
        Name of the column.
    system : str, optional
        Name of the only system to consider. Default: all.

    Examples
    --------
    >>> count_others(["53394611", "53394526", "x"], 1)
    {'jis:basic': 1}
    """
    plain = [code.strip() for code in codes]
    column = name.strip().upper()
    others: dict[str, int]
    if is_cells(system):
        others = count_other_cells(str(system).partition(":")[0], plain, max_others)
        return {name: invalid for name, invalid in others.items() if name == system}
    others = {}
    for family in SYSTEMS if system is None else ():
        if family != S2.name or NAMES_OF_S2.fullmatch(column):
            others |= count_other_cells(family, plain, max_others)
    for each in _systems() if system is None else (code_system(system),):
        common = isinstance(each, PatternGrid) and _is_common(each)
        if system is None and (each.zeros or common):
            by_name_only = common or isinstance(each, Geohashes)
            if not (by_name_only and _is_named(each, column)):
                continue
        form = _form(each.name)
        # A regular expression first: most columns fail for nearly all systems, and `parse` would
        # have to raise once for every text.
        likely = [code for code in plain if form.fullmatch(code)]
        invalid = len(plain) - len(likely)
        if invalid <= max_others:
            invalid += _count_invalid(each, np.array(likely, np.str_), max_others - invalid)
        if invalid <= max_others and invalid < len(plain):
            others[each.name] = invalid
    return others


def count_other_cells(family: str, codes: Sequence[str], max_others: int) -> dict[str, int]:
    """Count the texts that are not cells of a level, for levels with at most `max_others` such.

    ``family``: one system, ``"h3"`` or ``"s2"``; the name of the column does not matter.
    """
    cells = SYSTEMS[family]
    levels = cells.levels_of_codes(codes)
    present, valid = np.unique(levels[levels >= 0], return_counts=True)
    invalid = zip(present.tolist(), (len(codes) - valid).tolist(), strict=True)
    return {cells.spec(level): count for level, count in invalid if count <= max_others}


def count_no_tokens(codes: Sequence[str], max_others: int) -> dict[str, int]:
    """Count the texts that are not cells of a level of S2; see :func:`count_other_cells`.

    Indices of H3 and quadkeys, of which numbers have lost the zeros in front, have the form of
    tokens too; they are counted as invalid.
    """
    hexagons = (SYSTEMS["h3"].levels_of_codes(codes) >= 0).tolist()
    plain = [
        "" if one or QUADKEY.fullmatch(code) else code
        for one, code in zip(hexagons, codes, strict=True)
    ]
    return count_other_cells("s2", plain, max_others)


def _count_invalid(system: CodeSystem, codes: NDArray[Any], max_others: int) -> int:
    """Count the codes outside the public extent, or invalid; stop once above `max_others`."""
    invalid = 0
    # `parse` stops at the first invalid code. Dropping one at a time is cheap, as the caller gives
    # up after a few.
    while codes.size and invalid <= max_others:
        try:
            row, col = system.parse(codes)
        except CodeError as error:
            codes, invalid = np.delete(codes, error.position), invalid + 1
            continue
        row0, col0, rows, cols = system.extent
        return invalid + int((~(within(row - row0, rows) & within(col - col0, cols))).sum())
    return invalid


@cache
def _form(name: str) -> re.Pattern[str]:
    """Return a pattern that matches all codes of a system, and few other texts."""
    system = code_system(name)
    if isinstance(system, PatternGrid):
        return re.compile("|".join(spelling.form() for spelling in system.spellings))
    row, col, *_ = system.extent
    length = len(str(system.format([row], [col])[0]))
    return re.compile(
        rf"[0-9a-z]{{{length}}}" if isinstance(system, Geohashes) else rf"\d{{{length}}}"
    )


def _is_named(system: CodeSystem, column: str) -> bool:
    """Whether a column's name, in uppercase, is one that publishers of a system use."""
    if isinstance(system, PatternGrid):
        return column.startswith(system.description.columns)
    return column.startswith(NAMED[system.name.partition(":")[0]])


def _is_common(system: PatternGrid) -> bool:
    """Whether many labels look like codes of a system: one letter with digits, or short."""
    squares = [part for part in system.spellings[0].parts if isinstance(part, Square)]
    return len(squares) == 1 or (bool(squares) and system.spellings[0].length < SHORT)


def _has_letters(codes: NDArray[Any]) -> bool:
    """Whether most codes contain a letter."""
    return 2 * sum(not text.isdecimal() for text in map(str, codes.tolist())) > codes.size


@cache
def _systems() -> tuple[CodeSystem, ...]:
    """Return all code systems, in the order in which they are suggested."""
    systems = [code_system(f"jis:{level}") for level in LEVELS]
    for name in sorted(described_names(), key=lambda name: (name != "inspire", name)):
        description = find_description(name)
        assert description is not None
        systems += [PatternGrid(description, label) for label, _ in reversed(description.sizes)]
    systems += [code_system(f"quadkey:{zoom}") for zoom in range(1, DEEPEST + 1)]
    return (*systems, *(code_system(f"geohash:{n}") for n in range(1, LONGEST_HASH + 1)))


AXES = {
    **dict.fromkeys(("N", "Y", "R", "ROW", "S"), "north"),
    **dict.fromkeys(("E", "X", "C", "COL", "W"), "east"),
}
"""Letters before a number that identify its axis."""

SHORTEST = 8
"""Minimal digits of a number that may be two coordinates written one after the other."""

_PARTS = re.compile(r"[0-9]+|[^0-9]+")
_TEXT = """\
name = "mine"
title = ""    # what the publisher calls the grid
source = ""   # where the publisher says how its codes are made
crs = "EPSG:"
sizes = {{ 1km = 1000 }}   # sides of cells in units of the CRS, by their labels
extent = []   # west, south, east, north of all cells, in units of the CRS
codes = "{codes}"   # {advice}
examples = {{}}   # a code = [x, y] of its lower left corner
"""


def suggest_description(codes: Sequence[str]) -> str:
    """Return a TOML file for codes of an unknown grid; empty if their form gives no clue.

    A form is recognised if all codes have the same letters and two numbers that vary, or are one
    number with the same number of digits. No number of a code appears in the text.

    Examples
    --------
    >>> [line for line in suggest_description(["X120Y455", "X121Y460"]).splitlines()][6]
    'codes = "X{east}Y{north}"   # {east/1000}: in kilometres; {east:7}: seven digits'
    >>> suggest_description(["Oslo", "Bergen"])
    ''
    """
    parted = [_PARTS.findall(code.strip()) for code in codes]
    # One code is no evidence of what varies between codes.
    if len(parted) < 2 or len({tuple(map(_letters, parts)) for parts in parted}) > 1:
        return ""
    columns = [*zip(*parted, strict=True)]
    # Numbers that are the same in all codes, such as a size or an EPSG code, are literals.
    differ = [at for at, column in enumerate(columns) if len({*column}) > 1]
    if len(columns) == 1 and differ:
        return _of_one_number(columns[0])
    if len(differ) != 2:
        return ""
    axes = [_axis(columns[at - 1][0]) if at else "" for at in differ]
    advice = "{east/1000}: in kilometres; {east:7}: seven digits"
    if {*axes} != {"east", "north"}:
        axes = ["east", "north"]
        advice = "or north first; {east/1000}: in kilometres"
    fields = dict(zip(differ, axes, strict=True))
    pieces = [
        f"{{{fields[at]}}}" if at in fields else _escape(column[0])
        for at, column in enumerate(columns)
    ]
    return _TEXT.format(codes="".join(pieces), advice=advice)


def _letters(part: str) -> str:
    return "0" if part.isdecimal() else part


def _axis(before: str) -> str:
    match = re.search(r"[A-Za-z]+$", before.rstrip("_-: "))
    return AXES.get(match[0].upper()[-3:], AXES.get(match[0].upper()[-1:], "")) if match else ""


def _of_one_number(codes: Sequence[str]) -> str:
    lengths = {len(code) for code in codes}
    length = lengths.pop()
    if lengths or length < SHORTEST:
        return ""
    # Northings in metres often have a digit more than eastings: the odd digit goes to them.
    half = length // 2
    spelling = f"{{east:{half}}}{{north:{length - half}}}"
    return _TEXT.format(codes=spelling, advice="or north first; {east/100:4}: in hectometres")


def _escape(text: str) -> str:
    """Escape the braces and quotes of a literal for a spelling."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    return doubled.replace("\\", "\\\\").replace('"', '\\"')
