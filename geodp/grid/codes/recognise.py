"""Recognise the code systems of a column by the form of its codes."""

from __future__ import annotations

from functools import cache
from typing import Any

from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, InputError
from geodp.grid.codes import code_system
from geodp.grid.codes.arrays import as_array
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


def _has(system: CodeSystem, codes: NDArray[Any]) -> bool:
    """Tell whether every code is one of a system, the first of them first, as most are refused."""
    try:
        system.parse(codes[:1])
        row, col = system.parse(codes)
    except (CodeError, InputError):
        return False
    row0, col0, rows, cols = system.extent
    inside = (row >= row0) & (row < row0 + rows) & (col >= col0) & (col < col0 + cols)
    return bool(inside.all())


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
