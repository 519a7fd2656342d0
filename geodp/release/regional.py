"""Quantities of regions and their differences, of every release that has numbers of regions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from geodp.accuracy.interval import USUAL, WORST_CASE, Interval
from geodp.accuracy.interval_arithmetic import Figures, factor_together, subtract_all, widen
from geodp.errors import Rule, UsageError
from geodp.grid.region import Labels, Region
from geodp.release.cutting import NumbersOf, cut_figures, read_within

OTHER_KIND = Rule(
    "compare-other-kind",
    "A release is compared with one of the same kind, and of the same quantities.",
)

OTHER_GRID = Rule("compare-grids", "The two releases have different grids.")

SAME = Rule("compare-same", "Both are one and the same release: nothing changed between them.")


class Compared(NamedTuple):
    """Numbers of two regions by quantity, and the second less the first."""

    first: Figures
    second: Figures
    difference: dict[str, Interval | None]


class Regional(ABC):
    """A release of which a region has one quantity or several."""

    @property
    @abstractmethod
    def tables(self) -> dict[str, Any]:
        """All tables by name, each a :class:`geodp.Release`."""

    @property
    def counts(self) -> Any:
        """The first table, whose card has the limit of display of all."""
        return next(iter(self.tables.values()))

    @property
    @abstractmethod
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities, in the order in which they are shown."""

    @property
    def sums_of_cells(self) -> dict[str, NumbersOf]:
        """Released numbers of cells, by the quantities that are sums of cells."""
        tables = self.tables
        return {name: tables[name].table.counts_at for name in self.quantities if name in tables}

    @property
    def ratios(self) -> dict[str, tuple[str, str]]:
        """Quantities that are one sum for each of another, with the names of both sums."""
        return {}

    @abstractmethod
    def estimate_all(self, regions: Iterable[Any], *, interval: str = USUAL) -> list[Any]:
        """Estimate many regions, in their order.

        ``interval``: see :meth:`geodp.Release.estimate`.
        """

    def list_figures(self, regions: Iterable[Any], **options: Any) -> list[Figures]:
        """Return the quantities of many regions by their names.

        An :class:`~geodp.Estimate` is a count, which a limit of display may hide. ``options``: see
        `estimate_all`.
        """
        return [
            {name: getattr(one, name) for name in self.quantities}
            for one in self.estimate_all(regions, **options)
        ]

    @property
    def independent(self) -> int:
        """Number of quantities with errors of their own, which the others follow from."""
        return len(self.quantities)

    def hold_together(self, figures: Iterable[Figures], regions: Iterable[Region]) -> list[Figures]:
        """Widen intervals so that those of all quantities of a region hold together in 95 %.

        By the rule of Bonferroni, for as many numbers as have errors of their own. Noise of pure
        differential privacy has heavier tails, which even out in sums of several cells.

        ``figures``: those of `list_figures`, of each of the regions.
        """
        pure = getattr(self.counts.event, "rho", None) is None
        held: list[Figures] = []
        for one, region in zip(figures, regions, strict=True):
            more = len(one) - len(self.quantities)
            factor = factor_together(self.independent + more, heavy=pure and region.cells == 1)
            held.append(
                {
                    name: None if number is None else widen(number, factor)
                    for name, number in one.items()
                }
            )
        return held

    def estimate_polygons(
        self,
        polygons: Sequence[Any],
        labels: Labels | None = None,
        *,
        within: Any = None,
        **options: Any,
    ) -> list[Figures]:
        """Estimate the quantities of polygons, with the error of cutting where they cut cells.

        Parameters
        ----------
        polygons : sequence of shapely Polygon or MultiPolygon
            In the CRS of the grid.
        labels : Labels, optional
            As for :meth:`geodp.Release.estimate`.
        within : path, optional
            Finer public map of land or people, see
            :func:`geodp.io.read.public.finer.read_finer`: cells that are cut count by the part of
            it that lies inside, and the intervals include the error of cutting.
        options
            Of `estimate_all`.

        Returns
        -------
        list of dict
            By quantity; those that are sums or means of cells have a ``cutting_error``.

        Raises
        ------
        UsageError, InputError
            For other shapes, a polygon without a cell, or a map that is not finer than the cells.
        """
        grid = self.counts.grid
        regions = [Region.of(grid, one, labels) for one in polygons]
        figures = self.list_figures(regions, **options)
        finer = read_within(within, grid, polygons, options.get("interval", USUAL))
        return cut_figures(self, figures, polygons, labels, finer)

    def require_other(self, release: Any, *, same_grid: bool = False) -> None:
        """Raise UsageError unless ``release`` is of the same kind, and is another one than this.

        ``same_grid``: places are looked up once for both, which must have one grid.
        """
        if {*self.quantities}.isdisjoint(getattr(release, "quantities", ())):
            raise UsageError(OTHER_KIND)
        if same_grid and self.counts.grid != release.counts.grid:
            raise UsageError(OTHER_GRID)
        # Two releases of one kind may have different tables, such as sizes or persons alone.
        pairs = zip(self.tables.values(), release.tables.values(), strict=False)
        # Two small releases may have equal numbers; of those that were written, ids tell.
        if len(self.tables) == len(release.tables) and all(
            is_same(one, other)
            and one.public_facts == other.public_facts
            and one.card().release_id == other.card().release_id
            for one, other in pairs
        ):
            raise UsageError(SAME)

    def compare(
        self,
        one: Any,
        other: Any = None,
        labels: tuple[Labels | None, Labels | None] = (None, None),
        *,
        release: Self | None = None,
        interval: str = USUAL,
    ) -> dict[str, Interval | None]:
        """Estimate by how much a second region differs from a first, or a later release from this.

        Parameters
        ----------
        one : region
            As for :meth:`estimate`.
        other : region, optional
            The second region, without common cells; default: ``one``.
        labels : (labels, labels)
            Of either region, such as those of two groups of one region.
        release : release of this kind, optional
            That of the second region, with independent noise; default: this one.
        interval : str
            Of the regions, see :meth:`geodp.Release.estimate`: differences of worst-case ones are
            bounds.

        Returns
        -------
        dict of str
            The second less the first, by the names of the quantities, with 95 % intervals; None
            where one of the two is not estimable. Within one release they are bounds, as errors of
            regions may be opposite. Where ``is_certain`` is False, noise does not tell the two
            apart.

        Raises
        ------
        UsageError
            Regions of this release that overlap; the same release twice, or one of another kind.
        """
        second: Regional = self if release is None else release
        places = (self.counts.grid, one), (second.counts.grid, one if other is None else other)
        sides = [Region.of(*at, each) for at, each in zip(places, labels, strict=True)]
        return self.compare_all([(sides[0], sides[1])], release, interval=interval)[0].difference

    def compare_all(
        self,
        pairs: Sequence[tuple[Region, Region]],
        release: Self | None = None,
        *,
        interval: str = USUAL,
    ) -> list[Compared]:
        """Compare many pairs of regions, in their order; each is as for :meth:`compare`."""
        if release is None:
            for pair in pairs:
                require_apart(*pair)
        else:
            self.require_other(release)
            if release.quantities != self.quantities:
                raise UsageError(OTHER_KIND)
        # Noise of two releases is independent, and what a clamp took of both regions is not.
        opposite = 1.0 if release is None or interval == WORST_CASE else 0.0

        def estimate(one: Regional, regions: list[Region]) -> list[Figures]:
            return one.list_figures(regions, interval=interval)

        sides = estimate_sides(self, release, pairs, estimate)
        return [Compared(*both, subtract_all(*both, opposite)) for both in zip(*sides, strict=True)]


def is_same(first: Any, second: Any) -> bool:
    """Return whether two releases of counts are the same, perhaps read twice: they share noise."""
    one, other = first.table, second.table
    return one is other or (
        one.event == other.event
        and one.grid == other.grid
        and np.array_equal(one.key, other.key)
        and np.array_equal(one.count, other.count)
    )


Estimated = TypeVar("Estimated")
"""An estimate of a region."""


def estimate_sides(
    one: Any,
    other: Any,
    pairs: Sequence[tuple[Region, Region]],
    estimate: Callable[[Any, list[Region]], Sequence[Estimated]],
) -> tuple[list[Estimated], list[Estimated]]:
    """Estimate all first and all second regions, those of a release together and each once.

    Parameters
    ----------
    one, other : Regional
        Releases of the first regions, and of the second ones; None: the same release.
    pairs : sequence of (Region, Region)
    estimate : callable
        Estimates regions of a release, in their order.
    """
    firsts, seconds = ([pair[at] for pair in pairs] for at in (0, 1))
    if other is not None:
        return [*estimate(one, firsts)], [*estimate(other, seconds)]
    # In one release a region may be in many pairs.
    distinct = {id(region): region for region in (*firsts, *seconds)}
    found = dict(zip(distinct, estimate(one, [*distinct.values()]), strict=True))
    return [found[id(region)] for region in firsts], [found[id(region)] for region in seconds]


def require_apart(one: Region, other: Region) -> None:
    """Raise UsageError where two regions of one release have common cells."""
    if np.intersect1d(one.key, other.key).size:
        raise UsageError(
            "The regions have common cells; compare regions apart from each other.",
            code="compare-regions-overlap",
        )
