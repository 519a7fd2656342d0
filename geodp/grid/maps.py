"""The maps that a grid's cells lie on: none, one, or those of both ends of a pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from geodp.errors import UsageError
from geodp.grid.codes import CodeSystem
from geodp.grid.hierarchy import HierarchyOrder
from geodp.grid.lattice import Lattice
from geodp.grid.pairs import ENDS, PairOrder


@dataclass(frozen=True)
class Maps(ABC):
    """Properties that depend on the number of maps of a grid.

    Attributes
    ----------
    places : tuple of Lattice
    codes : tuple of str
        Names of the columns that hold the codes of cells, one for each map.
    ends : tuple of str
        Names of the two ends of a pair; empty if cells are not pairs.
    prefixes : tuple of str
        Prefixes of the names of other columns of each map.
    axes : tuple of str
        Names of the rows and columns of all maps, which are a grid's first axes.
    region_order : type
        Order of cells, or of their pairs, by the regions of a table.
    geometry : str
        OGC's name of the geometry that draws a cell; empty if there is none.
    missing : str
        Reason why there is not exactly one map: "", "no_map" or "no_pairs".
    """

    places: tuple[Lattice, ...]

    codes: ClassVar[tuple[str, ...]]
    ends: ClassVar[tuple[str, ...]] = ()
    prefixes: ClassVar[tuple[str, ...]]
    axes: ClassVar[tuple[str, ...]]
    region_order: ClassVar[type[HierarchyOrder] | type[PairOrder]] = HierarchyOrder
    geometry: ClassVar[str]
    missing: ClassVar[str]

    @property
    @abstractmethod
    def one(self) -> Lattice | None:
        """The only map; None if there are more or none."""

    @property
    def system(self) -> CodeSystem | None:
        """Code system of the only map, if it has one."""
        return None

    @property
    @abstractmethod
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Names of the published areas of the only map and their sides in cells, if it has any."""

    @abstractmethod
    def require_one(self, refusal: str) -> Lattice:
        """Return the only map; raise UsageError with a message if there is not exactly one."""

    def name_columns(self, *names: str) -> tuple[str, ...]:
        """Return the names of columns that each map has."""
        return tuple(prefix + name for prefix in self.prefixes for name in names)

    def share(self, length: int) -> Fraction:
        """Divide a length that all maps share equally among them."""
        return Fraction(length, len(self.places))


@dataclass(frozen=True)
class OneMap(Maps):
    """One map, such as one of where people live.

    Examples
    --------
    >>> OneMap((Lattice(2, 3),)).axes
    ('row', 'col')
    """

    codes: ClassVar[tuple[str, ...]] = ("code",)
    prefixes: ClassVar[tuple[str, ...]] = ("",)
    axes: ClassVar[tuple[str, ...]] = ("row", "col")
    geometry: ClassVar[str] = "Polygon"
    missing: ClassVar[str] = ""

    @property
    def one(self) -> Lattice:
        """The map."""
        return self.places[0]

    @property
    def system(self) -> CodeSystem | None:
        """Code system of the map, if it has one."""
        return self.places[0].system

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Areas of the map's code system; empty without one."""
        return () if self.system is None else tuple(self.system.areas)

    def require_one(self, refusal: str) -> Lattice:
        """Return the map."""
        return self.places[0]


@dataclass(frozen=True)
class _NotOne(Maps):
    """Base of no map, and of several."""

    @property
    def one(self) -> None:
        """None, as there is not exactly one map."""
        return

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """No areas, as these belong to one map."""
        return ()

    def require_one(self, refusal: str) -> Lattice:
        """Raise UsageError with the message."""
        raise UsageError(refusal)


@dataclass(frozen=True)
class NoMap(_NotOne):
    """Plain axes only, without a location."""

    codes: ClassVar[tuple[str, ...]] = ()
    prefixes: ClassVar[tuple[str, ...]] = ()
    axes: ClassVar[tuple[str, ...]] = ()
    geometry: ClassVar[str] = ""
    missing: ClassVar[str] = "no_map"


@dataclass(frozen=True)
class MapPair(_NotOne):
    """Maps of origin and destination, such as where people live and work.

    Examples
    --------
    >>> pair = MapPair((Lattice(2, 3), Lattice(2, 3)))
    >>> pair.axes
    ('origin_row', 'origin_col', 'destination_row', 'destination_col')
    """

    codes: ClassVar[tuple[str, ...]] = ENDS
    ends: ClassVar[tuple[str, ...]] = ENDS
    prefixes: ClassVar[tuple[str, ...]] = tuple(f"{end}_" for end in ENDS)
    axes: ClassVar[tuple[str, ...]] = tuple(f"{end}_{one}" for end in ENDS for one in OneMap.axes)
    region_order: ClassVar[type[HierarchyOrder] | type[PairOrder]] = PairOrder
    geometry: ClassVar[str] = "LineString"
    missing: ClassVar[str] = "no_pairs"


# The number of a grid's places selects the class, so the order matters.
KINDS = (NoMap, OneMap, MapPair)
"""Classes by the number of maps."""
