"""What cells are called: by a map's codes, or by the units of a public table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.cells.choose import cells_of
from geodp.grid.cells.system import CellSystem
from geodp.grid.codes.arrays import LOST_ZEROS, as_array, require
from geodp.grid.hierarchy import CELL, Hierarchy
from geodp.grid.lattice import Lattice, parse_codes
from geodp.typing import IntArray


class CellNames(ABC):
    """What the cells of a grid are called, and what follows for those who read and write them.

    Attributes
    ----------
    on_map : bool
        Whether cells lie on a map, so that they have coordinates, axes and neighbours; units are
        known by their codes alone.
    """

    on_map: ClassVar[bool]

    @property
    @abstractmethod
    def level(self) -> str:
        """Name of the level of the cells."""

    @property
    @abstractmethod
    def texts(self) -> str:
        """All names that a table gives, one after the other; codes of a map are ASCII."""

    @property
    @abstractmethod
    def cells(self) -> tuple[Hierarchy, CellSystem, int] | None:
        """The table, system and level of cells of H3 or S2; None where the cells are others."""

    @abstractmethod
    def format(self, number: int, index: IntArray) -> NDArray[np.str_]:
        """Return the codes that a release gives to cells.

        Parameters
        ----------
        number : int
            Of the place: 0, or 1 for the destination of a pair.
        index : int64[d, n]
            Of cells of the domain.
        """

    @abstractmethod
    def parse(self, number: int, codes: Sequence[str] | NDArray[Any]) -> IntArray:
        """Inverse of :meth:`format`: row and column of written codes, int64[2, n].

        Raises CodeError for what is no such code.
        """

    @abstractmethod
    def find(
        self,
        codes: Sequence[str] | NDArray[Any],
        *,
        drops: bool = False,
        other: str | None = None,
    ) -> IntArray:
        """Return row and column of finest units: int64[2, n].

        Parameters
        ----------
        codes : sequence of str, or of whole numbers if no unit's code begins with 0
            Of cells of H3 and S2 in any spelling of theirs, such as ids of 64 bits.
        drops : bool
            Whether a code that is no unit has row and column -1, outside of every domain.
        other : str, optional
            The unit that takes every code that is no unit, such as "abroad"; a blank stays an
            error.

        Raises CodeError at the first code that is no unit, and always for a cell of H3 or S2 of
        another level than the grid's; UsageError where cells are no units, or without the unit
        `other`.
        """

    @abstractmethod
    def require_map(self, refusal: str) -> None:
        """Raise UsageError with a sentence where cells lie on no map."""

    @abstractmethod
    def require_table(self, refusal: str) -> Hierarchy:
        """Return the table of units; raise UsageError with a sentence where there is none."""

    @abstractmethod
    def explain_outside(
        self, inside: NDArray[np.bool_], beyond: NDArray[np.bool_], cut: str
    ) -> dict[str, NDArray[np.bool_]]:
        """Return why cells that are not inside lie outside the domain: bool[n] each.

        Parameters
        ----------
        inside, beyond : bool[n]
            Whether cells are in the domain, and whether they are beyond its bounds.
        cut : str
            What cuts the domain down within its bounds.
        """


@dataclass(frozen=True)
class MapNames(CellNames):
    """Codes of cells of maps, by their code system, or rows and columns.

    Attributes
    ----------
    places : tuple of Lattice
    """

    places: tuple[Lattice, ...]

    on_map: ClassVar[bool] = True

    @property
    def level(self) -> str:
        """Cells are called cells."""
        return CELL

    @property
    def texts(self) -> str:
        """None that a table gives."""
        return ""

    @property
    def cells(self) -> None:
        """Cells of a lattice are none of H3 and S2."""
        return

    def format(self, number: int, index: IntArray) -> NDArray[np.str_]:
        """Return codes as the map gives them."""
        row, col = index[2 * number : 2 * number + 2]
        return self.places[number].format(row, col)

    def parse(self, number: int, codes: Sequence[str] | NDArray[Any]) -> IntArray:
        """Read codes as the map gives them."""
        return np.stack(parse_codes(self.places[number], codes))

    def find(
        self,
        codes: Sequence[str] | NDArray[Any],
        *,
        drops: bool = False,
        other: str | None = None,
    ) -> IntArray:
        """Raise UsageError: cells of a map are no units."""
        raise UsageError(NO_UNITS)

    def require_map(self, refusal: str) -> None:
        """Do nothing: cells lie on a map."""

    def require_table(self, refusal: str) -> Hierarchy:
        """Raise UsageError with the sentence."""
        raise UsageError(refusal)

    def explain_outside(
        self, inside: NDArray[np.bool_], beyond: NDArray[np.bool_], cut: str
    ) -> dict[str, NDArray[np.bool_]]:
        """Name the bounds, and what cuts the domain down within them."""
        return {"bounds": beyond, cut: ~inside & ~beyond}


@dataclass(frozen=True)
class UnitNames(CellNames):
    """Codes of the finest units of a table, which are the cells of a grid of one row.

    Attributes
    ----------
    table : Hierarchy
    cols : int
        Of the grid.
    """

    table: Hierarchy
    cols: int

    on_map: ClassVar[bool] = False

    @property
    def level(self) -> str:
        """The table's finest level."""
        return self.table.levels[-1]

    @property
    def texts(self) -> str:
        """Codes of all units."""
        return "".join(self.table.codes[-1])

    @property
    def cells(self) -> tuple[Hierarchy, CellSystem, int] | None:
        """What the table's levels and codes say."""
        found = cells_of(self.table)
        return None if found is None else (self.table, *found)

    def format(self, number: int, index: IntArray) -> NDArray[np.str_]:
        """Return the units' own codes."""
        codes = self.table.codes[-1]
        names = np.empty(self.cols, np.array(codes).dtype)
        names[self.table.cell[1]] = codes
        return np.asarray(names[index[2 * number + 1]])

    def parse(self, number: int, codes: Sequence[str] | NDArray[Any]) -> IntArray:
        """Look the codes up."""
        return self.find(codes)

    def find(
        self,
        codes: Sequence[str] | NDArray[Any],
        *,
        drops: bool = False,
        other: str | None = None,
    ) -> IntArray:
        """Return row and column of units; see :meth:`CellNames.find`."""
        table = self.table
        given, cells = as_array(codes).reshape(-1), cells_of(table)
        if cells is None and given.dtype.kind in "iu" and given.size and _begin_with_zero(table):
            raise CodeError(0, LOST_ZEROS.format("these units"))
        asked = np.array([str(code).strip() for code in given.tolist()], np.str_)
        at, wrong = _find(table, asked)
        if cells is not None:  # numbers are ids, and no tokens of digits alone
            wrong |= [isinstance(code, int) for code in given.tolist()]
            rest = np.flatnonzero(wrong)
            with _positions(rest):
                at[rest], wrong[rest] = _find_cells(table, *cells, given[rest], other is not None)
        if other is not None:
            home = np.flatnonzero(np.array(table.codes[-1], np.str_) == other)
            if not home.size:
                raise UsageError(NO_OTHER)
            at = np.where(wrong & (asked != ""), home[0], at)
            wrong &= asked == ""
        if wrong.any() and not drops:
            raise CodeError(int(wrong.argmax()), UNKNOWN if cells is None else OUTSIDE)
        return np.where(wrong, -1, table.cell[:, at])

    def require_map(self, refusal: str) -> None:
        """Raise UsageError with the sentence."""
        raise UsageError(refusal)

    def require_table(self, refusal: str) -> Hierarchy:
        """Return the table."""
        return self.table

    def explain_outside(
        self, inside: NDArray[np.bool_], beyond: NDArray[np.bool_], cut: str
    ) -> dict[str, NDArray[np.bool_]]:
        """Name the units: no table has them."""
        return {"units": ~inside}


def names_of(places: tuple[Lattice, ...], table: Hierarchy | None) -> CellNames:
    """Return what the cells of a grid are called.

    They are units where they lie in one row, off the Earth, and are the finest regions of the
    table that orders them.
    """
    if table is not None and table.names_cells:
        place = places[0]
        if place.rows == 1 and place.system is None and place.crs is None:
            return UnitNames(table, place.cols)
    return MapNames(places)


@lru_cache(maxsize=4)
def _sorted_units(table: Hierarchy) -> tuple[NDArray[np.str_], IntArray]:
    """Return the codes of finest units in the order of texts, and their positions."""
    known = np.array(table.codes[-1], np.str_)
    order = np.argsort(known)
    return known[order], order


def _begin_with_zero(table: Hierarchy) -> bool:
    return bool(np.strings.startswith(_sorted_units(table)[0], "0").any())


def _find(table: Hierarchy, asked: NDArray[np.str_]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return positions of texts among the codes of finest units, and which are none of them."""
    known, order = _sorted_units(table)
    near = np.minimum(np.searchsorted(known, asked), known.size - 1)
    return order[near], np.asarray(known[near] != asked, np.bool_)


def _find_cells(
    table: Hierarchy, system: CellSystem, level: int, codes: NDArray[Any], others: bool
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return positions of cells in other spellings, as :func:`_find` does.

    ``others``: whether a code that is none is one of those that are counted elsewhere. CodeError
    for one otherwise, and for a cell of another level.
    """
    cells, good = system.read(codes)
    levels = system.levels_of(cells)
    rules = (
        (~good & (not others), NO_CELL.format(system.title, system.codes)),
        (good & (levels > level), FINER.format(system.spec(level), system.pattern)),
        (good & (levels < level), COARSER.format(system.spec(level), system.pattern)),
    )
    bad = np.stack([wrong for wrong, _ in rules])
    fit = np.asarray(~bad.any(axis=0), np.bool_)
    require(fit, lambda position: rules[int(bad[:, position].argmax())][1])
    at, wrong = _find(table, system.format(cells))
    return at, wrong | ~good


@contextmanager
def _positions(of: IntArray) -> Iterator[None]:
    """Let a CodeError of some codes name the position of its code among all, int64[n]."""
    try:
        yield
    except CodeError as error:
        raise CodeError(int(of[error.position]), error.rule) from None


NO_UNITS = Rule("grid-without-units", "The grid has no units; make it of a table of units.")

NO_OTHER = Rule(
    "other-no-unit",
    "The unit that other codes are counted in (--other, other=) is no unit of the grid; read the "
    "table of units with it (read_units, other=).",
)

UNKNOWN = Rule(
    "unit-unknown",
    "the code is no unit of the table of units; check leading zeros, a prefix such as 1400000US "
    "and the table's year, give a table that lists every unit, leave such rows out (--outside "
    "drop), or count them in a unit of their own (--other NAME).",
)

OUTSIDE = Rule(
    "cell-outside-area",
    "the cell lies outside of the grid's public area; give wider bounds or another mask (--bounds, "
    "--mask; bounds=, mask=), leave such rows out (--outside drop, outside=), or count them in a "
    "unit of their own (--other NAME).",
)

NO_CELL = Rule(
    "code-no-cell",
    "the code is no cell of {}; codes are {}. A number with an exponent or a fraction has lost "
    "digits: export the column as text or as whole numbers.",
)

FINER = Rule(
    "code-finer-than-grid",
    "the code is a cell that is finer than those of the grid, {}; name a finer grid (--grid {}), "
    "or write each cell's parent in its place before, so that counts of one cell add up "
    "(--duplicates sum, duplicates=).",
)

COARSER = Rule(
    "code-coarser-than-grid",
    "the code is a cell that is coarser than those of the grid, {}, and nothing tells in which of "
    "its parts people are; name a coarser grid (--grid {}), or leave such rows out (--where, "
    "where=).",
)
