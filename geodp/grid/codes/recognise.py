"""Recognise the code systems of a column by the form of its codes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, InputError
from geodp.grid.codes import code_system
from geodp.grid.codes.arrays import Indices, as_array
from geodp.grid.codes.inspire import SIZES as INSPIRE_SIZES
from geodp.grid.codes.jis import LEVELS
from geodp.grid.codes.national import EXTENTS, FAMILIES
from geodp.grid.codes.national import SIZES as NATIONAL_SIZES
from geodp.grid.codes.quadkey import DEEPEST
from geodp.grid.codes.system import CodeSystem

NAMED = {
    "inspire": ("GRD_ID", "GITTER_ID", "CELLCODE"),
    "cbs": ("CRS28992RES", "C28992R"),
    "statpop": ("RELI",),
    "jis": ("KEY_CODE", "MESH"),
    "quadkey": ("QUADKEY",),
}
"""Beginnings of the names that publishers give columns of codes, by family."""


LEAST = 4
"""Digits that every code has."""


def systems_of(codes: ArrayLike, name: str = "") -> tuple[str, ...]:
    """Return the names of all code systems in which every code of a sample is a code.

    The rule is fixed and is one of form: a system is returned exactly if its ``parse`` reads each
    of the codes and each cell lies in the system's public extent. One code that is none, a blank
    one among them, leaves a system out; it never brings another in. Which of several is meant
    (``60302000`` is a hectare of Switzerland and a mesh of Japan) is not decided here.

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
        INSPIRE, national grids and tiles, each from the coarsest to the finest. Empty for no
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
    found = [system for system in _systems() if _has(system, array)]
    column = name.strip().upper()
    hinted = [kind for kind, starts in NAMED.items() if column.startswith(starts)]
    named = [system.name for system in found]
    return tuple(sorted(named, key=lambda one: one.partition(":")[0] not in hinted))


def count_others(codes: Sequence[str], most: int, system: str | None = None) -> dict[str, int]:
    """Return how many texts are no codes of a system, for each of which these are at most `most`.

    Codes of which a number may have lost zeros in front are not looked for, as their length tells
    nothing: a system of them must be named.

    Parameters
    ----------
    codes : sequence of str
    most : int
    system : str, optional
        Name of the only one that is asked about. Default: all others.

    Examples
    --------
    >>> count_others(["53394611", "53394526", "x"], 1)
    {'jis:basic': 1}
    """
    plain = [code.strip() for code in codes]
    # No code has fewer digits: texts and small numbers, as most columns hold, end here.
    long = np.array([code for code in plain if sum(map(str.isdigit, code)) >= LEAST], np.str_)
    if len(plain) - long.size > most or not long.size:
        return {}
    texts = np.array([not code.isdecimal() for code in long.tolist()], np.bool_)
    asked = _systems() if system is None else (code_system(system),)
    found = {}
    for each in asked:
        if system is None and each.zeros:
            continue
        # Codes are all in digits, or none of them is: half of the systems need no closer look.
        likely = long[texts] if _has_letters(each.name) else long[~texts]
        odd = len(plain) - likely.size
        if odd <= most:
            odd += _count_odd(each, likely, most - odd)
        if odd <= most and odd < len(plain):
            found[each.name] = odd
    return found


def _count_odd(system: CodeSystem, codes: NDArray[np.str_], most: int) -> int:
    """Return how many are no codes in the public extent; any number above `most` if more are."""
    odd = 0
    while codes.size and odd <= most:
        try:
            row, col = system.parse(codes)
        except CodeError as error:
            # Those in front of the first that is refused are codes; their places are asked later.
            codes, odd = np.delete(codes, error.position), odd + 1
            continue
        return odd + int((~_inside(system, row, col)).sum())
    return odd


@cache
def _has_letters(name: str) -> bool:
    system = code_system(name)
    row, col, *_ = system.extent
    return not str(system.format([row], [col])[0]).isdecimal()


def _has(system: CodeSystem, codes: NDArray[Any]) -> bool:
    """Tell whether every code is one of a system, the first of them first, as most are refused."""
    try:
        system.parse(codes[:1])
        row, col = system.parse(codes)
    except (CodeError, InputError):
        return False
    return bool(_inside(system, row, col).all())


def _inside(system: CodeSystem, row: Indices, col: Indices) -> NDArray[np.bool_]:
    row0, col0, rows, cols = system.extent
    inside: NDArray[np.bool_] = (
        (row >= row0) & (row < row0 + rows) & (col >= col0) & (col < col0 + cols)
    )
    return inside


@cache
def _systems() -> tuple[CodeSystem, ...]:
    """Return all code systems, in the order in which they are proposed."""
    names = [f"jis:{level}" for level in LEVELS]
    names += [f"inspire:{size}" for size in reversed(INSPIRE_SIZES.values())]
    names += [f"{kind}:{NATIONAL_SIZES[m]}" for kind, (_, m_) in FAMILIES.items() for m in m_[::-1]]
    sizes = [*reversed(NATIONAL_SIZES.values())]
    names += [f"national:{epsg}:{size}" for epsg in EXTENTS for size in sizes]
    names += [f"quadkey:{zoom}" for zoom in range(1, DEEPEST + 1)]
    return tuple(map(code_system, names))
