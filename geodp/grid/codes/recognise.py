"""Recognise the code systems of a column by the form of its codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError
from geodp.grid.cells.choose import SYSTEMS, is_cells
from geodp.grid.cells.s2_cells import S2
from geodp.grid.codes import code_system
from geodp.grid.codes.arrays import as_array, within
from geodp.grid.codes.description import described_names, find_description
from geodp.grid.codes.geohash import DEEPEST as LONGEST_HASH
from geodp.grid.codes.geohash import Geohashes
from geodp.grid.codes.jis import LEVELS
from geodp.grid.codes.pattern import Square
from geodp.grid.codes.pattern_grid import PatternGrid
from geodp.grid.codes.quadkey import DEEPEST
from geodp.grid.codes.system import CodeSystem

NAMED = {
    "jis": ("KEY_CODE", "MESH"),
    "quadkey": ("QUADKEY",),
    "geohash": ("GEOHASH",),
}
"""Beginnings of the names that publishers give columns of codes, where no description has them."""

SHORT = 6
"""Characters of codes of squares with letters that are looked for wherever they are."""

NAMES_OF_S2 = re.compile(r"S2(_[0-9]{1,2}|[ _-]?(CELL|TOKEN|ID|INDEX|CODE).*)?")
"""Names of columns of S2's cells, in capitals."""


def systems_of(codes: ArrayLike, name: str = "") -> tuple[str, ...]:
    """Return the names of all code systems in which every code of a sample is a code.

    The rule is fixed and is one of form: a system is returned exactly if its ``parse`` reads each
    of the codes and each cell lies in the system's public extent. One code that is none, a blank
    one among them, leaves a system out; it never brings another in. Geohashes are returned where
    more than half of the codes have a letter, as numbers of one length would be geohashes too.
    Which of several is meant (``60302000`` is a hectare of Switzerland and a mesh of Japan) is not
    decided here.

    Parameters
    ----------
    codes : array_like of str, bytes or whole numbers
        Numbers are read as the digits that they have: zeros in front may be missing from them, so
        that systems whose codes begin with 0 are left out as ``parse`` leaves them.
    name : str
        Of the column. It brings no system in and leaves none out: systems whose publishers begin
        the names of their columns so come first.

    Returns
    -------
    tuple of str
        Names that `code_system` knows, in a fixed order: those that `name` tells; then JIS,
        INSPIRE, the other descriptions by name, quadkeys and geohashes, each from the coarsest to
        the finest. Empty for no
        codes, and for codes that no system has.

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
    found = [
        system
        for system in _systems()
        if (lettered or not isinstance(system, Geohashes)) and not _count_odd(system, array, 0)
    ]
    column = name.strip().upper()
    return tuple(one.name for one in sorted(found, key=lambda one: not _is_named(one, column)))


def count_others(
    codes: Sequence[str], most: int, name: str = "", system: str | None = None
) -> dict[str, int]:
    """Return how many texts are no codes of a system, for each of which these are at most `most`.

    Cells of H3 and S2 are looked for too, which are no code systems of squares: ``h3:7``.
    Quadkeys are not looked for, as numbers may have lost zeros in front of them and their length
    tells nothing; geohashes, squares of short codes with letters (``SU41``, ``G0305``) and S2 only
    in a column of that name, as many words are geohashes, many labels and identifiers are a letter
    or two with digits, and many numbers and hexadecimal digits are tokens of S2.

    Parameters
    ----------
    codes : sequence of str
    most : int
    name : str
        Of the column.
    system : str, optional
        Name of the only one that is asked about. Default: all others.

    Examples
    --------
    >>> count_others(["53394611", "53394526", "x"], 1)
    {'jis:basic': 1}
    """
    plain = [code.strip() for code in codes]
    column = name.strip().upper()
    found: dict[str, int]
    if is_cells(system):
        found = count_other_cells(str(system).partition(":")[0], plain, most)
        return {name: odd for name, odd in found.items() if name == system}
    found = {}
    for family in SYSTEMS if system is None else ():
        if family != S2.name or NAMES_OF_S2.fullmatch(column):
            found |= count_other_cells(family, plain, most)
    for each in _systems() if system is None else (code_system(system),):
        common = isinstance(each, PatternGrid) and _is_common(each)
        if system is None and (each.zeros or common):
            asked = common or isinstance(each, Geohashes)
            if not (asked and _is_named(each, column)):
                continue
        form = _form(each.name)
        likely = [code for code in plain if form.fullmatch(code)]
        odd = len(plain) - len(likely)
        if odd <= most:
            odd += _count_odd(each, np.array(likely, np.str_), most - odd)
        if odd <= most and odd < len(plain):
            found[each.name] = odd
    return found


def count_other_cells(family: str, codes: Sequence[str], most: int) -> dict[str, int]:
    """Return how many texts are no cells of a level, for each of which these are at most `most`.

    Of one system, ``"h3"`` or ``"s2"``, whatever the name of the column is.
    """
    cells = SYSTEMS[family]
    found = cells.levels_of_codes(codes)
    levels, count = np.unique(found[found >= 0], return_counts=True)
    odd = zip(levels.tolist(), (len(codes) - count).tolist(), strict=True)
    return {cells.spec(level): others for level, others in odd if others <= most}


def count_no_tokens(codes: Sequence[str], most: int) -> dict[str, int]:
    """Return how many texts are no cells of a level of S2, as :func:`count_other_cells` does.

    Indices of H3 are tokens too, and are counted as none.
    """
    hexagons = SYSTEMS["h3"].levels_of_codes(codes) >= 0
    plain = ["" if one else code for one, code in zip(hexagons.tolist(), codes, strict=True)]
    return count_other_cells("s2", plain, most)


def _count_odd(system: CodeSystem, codes: NDArray[Any], most: int) -> int:
    """Return how many are no codes in the public extent; any number above `most` if more are."""
    odd = 0
    while codes.size and odd <= most:
        try:
            row, col = system.parse(codes)
        except CodeError as error:
            codes, odd = np.delete(codes, error.position), odd + 1
            continue
        row0, col0, rows, cols = system.extent
        return odd + int((~(within(row - row0, rows) & within(col - col0, cols))).sum())
    return odd


@cache
def _form(name: str) -> re.Pattern[str]:
    """Return a pattern that all codes of a system match, and few other texts."""
    system = code_system(name)
    if isinstance(system, PatternGrid):
        return re.compile("|".join(spelling.form() for spelling in system.spellings))
    row, col, *_ = system.extent
    length = len(str(system.format([row], [col])[0]))
    return re.compile(
        rf"[0-9a-z]{{{length}}}" if isinstance(system, Geohashes) else rf"\d{{{length}}}"
    )


def _is_named(system: CodeSystem, column: str) -> bool:
    """Whether a column's name, in capitals, is one that publishers of a system use."""
    if isinstance(system, PatternGrid):
        return column.startswith(system.description.columns)
    return column.startswith(NAMED[system.name.partition(":")[0]])


def _is_common(system: PatternGrid) -> bool:
    """Whether many labels and identifiers look like codes: one letter with digits, or short."""
    squares = [part for part in system.spellings[0].parts if isinstance(part, Square)]
    return len(squares) == 1 or (bool(squares) and system.spellings[0].length < SHORT)


def _has_letters(codes: NDArray[Any]) -> bool:
    """Whether most codes have a letter."""
    return 2 * sum(not text.isdecimal() for text in map(str, codes.tolist())) > codes.size


@cache
def _systems() -> tuple[CodeSystem, ...]:
    """Return all code systems, in the order in which they are proposed."""
    found = [code_system(f"jis:{level}") for level in LEVELS]
    for name in sorted(described_names(), key=lambda name: (name != "inspire", name)):
        description = find_description(name)
        assert description is not None
        found += [PatternGrid(description, label) for label, _ in reversed(description.sizes)]
    found += [code_system(f"quadkey:{zoom}") for zoom in range(1, DEEPEST + 1)]
    return (*found, *(code_system(f"geohash:{n}") for n in range(1, LONGEST_HASH + 1)))
