"""Estimate statistics of a released map and their biases, in two ways that have to agree.

Nothing is computed from a confidential table: all synthetic tables are made from the release, and
are released under public keys. The ways are releases of the release, and of a sharper map, which
has twice the release less the mean of its releases.

A release shows only cells of many people. Of size classes whose cells noise may hide, no way says
anything that could be confirmed, so their biases are not estimable.

Each statistic (size classes, the most populous cells, towns) is a function of the counts of all
cells of a map, which need not be integers; counts below 0 are taken for 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from math import hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.interval import Interval, Z
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.io.write.frame import cell_size
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.release.release import Release
from geodp.table.counts import CountTable, ReleasedTable
from geodp.typing import FloatArray, IntArray

CLASSES = (500, 2000)
"""Smallest count of each size class of cells; the last class has no upper end."""

TOP = 100
"""Cells in the list of the most populous ones."""

URBAN = {"urban-centres": (1500.0, 50_000.0, False), "urban-clusters": (300.0, 5000.0, True)}
"""Rules of towns: the smallest density of a cell (people a square kilometre), the smallest sum of
all its cells, and whether cells connect at corners.

They are those of the degree of urbanisation of the European Commission and others (2021), applied
to the cells of the grid without smoothing borders, filling gaps or counting built-up land.
"""


@dataclass(frozen=True)
class Figure:
    """A statistic, and which counts decide it.

    Attributes
    ----------
    name : str
    of : callable
        Function from float64[rows, cols] to a number.
    minimum : int or None
        Smallest count of the cells that a size class counts; None for other statistics.
    """

    name: str
    of: Callable[[FloatArray], float]
    minimum: int | None = None


def list_figures(
    square_kilometres: float | None, classes: Sequence[int] = CLASSES
) -> dict[str, Figure]:
    """List the statistics of a map by name.

    Parameters
    ----------
    square_kilometres : float or None
        Area of a cell; None for a map without a place on the Earth, which then has no towns.
    classes : sequence of int
        Smallest count of each size class, strictly increasing from 1 or more on; otherwise
        UsageError.
    """
    ends = [*classes]
    if not ends or ends[0] < 1 or any(b <= a for a, b in pairwise(ends)):
        raise UsageError(
            "Size classes are whole numbers of people, increasing from 1 or more on.",
            code="classes-not-increasing",
        )
    figures = []
    for low, high in zip(ends, [*ends[1:], None], strict=True):
        name = f"cells:{low}+" if high is None else f"cells:{low}-{high - 1}"
        figures.append(Figure(name, partial(count_cells, low=low, high=high), low))
    figures.append(Figure(f"top-{TOP}", find_top))
    if square_kilometres is not None:
        for name, (density, people, corners) in URBAN.items():
            for towns, title in ((True, name), (False, f"people-in-{name}")):
                rule = (density * square_kilometres, people, corners)
                figures.append(Figure(title, partial(find_towns, rule=rule, towns=towns)))
    return {one.name: one for one in figures}


def counts_people(name: str) -> bool:
    """Return whether the statistic of a name is a number of people, as a cell's count is.

    Examples
    --------
    >>> [counts_people(name) for name in ("top-100", "cells:2000+", "urban-centres")]
    [True, False, False]
    """
    return name.startswith(("top-", "people-in-"))


def count_cells(people: FloatArray, low: int, high: int | None) -> float:
    """Count the cells with at least ``low`` and fewer than ``high`` people.

    Examples
    --------
    >>> count_cells(np.array([[0.0, 1.0], [19.0, 20.0]]), 1, 20)
    2.0
    """
    return float(((people >= low) & (people < (np.inf if high is None else high))).sum())


def find_top(people: FloatArray) -> float:
    """Sum the people of the most populous cells."""
    flat = people.reshape(-1)
    first = max(0, flat.size - TOP)
    return float(np.maximum(np.partition(flat, first)[first:], 0).sum())


def find_towns(people: FloatArray, rule: tuple[float, float, bool], *, towns: bool) -> float:
    """Count the towns, or the people in them.

    Parameters
    ----------
    people : float64[rows, cols]
    rule : (float, float, bool)
        Smallest count of a cell and of a town, and whether cells connect at corners.
    towns : bool
        Whether towns are counted; otherwise their people.
    """
    from scipy.ndimage import label, sum_labels  # imported late, as it takes long

    cell, town, corners = rule
    number, n = label(people >= cell, np.ones((3, 3)) if corners else None)
    size = sum_labels(people, number, np.arange(1, n + 1)) if n else np.zeros(0)
    large = size[size >= town]
    return float(large.size if towns else large.sum())


RELEASE, SMALL, NOT_ESTIMABLE = "release", "below 1 %", "not estimable"
"""Bases of a bias: how it was estimated."""

MAX_CELLS = 1 << 22
"""Cells of a map whose releases are simulated, at most."""

AGREE = 0.3
"""Two biases agree if they differ by less than this part of the bias, or than the noise."""

LITTLE = 0.01
"""Bias relative to the value that counts as none. Both ways must estimate half of it at most, as a
release shows about half of what the clamp did to it."""

CERTAIN = 12.0
"""Noise scales above which a release shows how many people a cell has."""

RELEASES = 12
"""Releases of a synthetic table, from which its mean and its spread are estimated."""

FIRST = 10_000
"""Number of the first of these releases, from which their public keys are derived."""


@dataclass(frozen=True)
class Statistic:
    """A statistic of a released map.

    Attributes
    ----------
    name : str
    value : float
        Statistic of the released counts.
    bias : float or None
        By how much ``value`` is too large on average; None if that is not estimable, 0 if it is
        below 1 %.
    corrected : Interval or None
        ``value`` without its bias, and an interval of about 95 %, from the noise and from how well
        the ways agree. None if that would be wider than the value.
    standard_error : float
        Standard error of ``value`` over releases, simulated.
    basis : str
        ``"release"``, ``"below 1 %"`` or ``"not estimable"``.
    """

    name: str
    value: float
    bias: float | None
    corrected: Interval | None
    standard_error: float
    basis: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def estimate_statistics(
    release: Release, names: Iterable[str] | None = None, *, classes: Sequence[int] = CLASSES
) -> list[Statistic]:
    """Estimate statistics of a map and their biases from its release alone.

    Parameters
    ----------
    release : Release
    names : iterable of str, optional
        ``cells:500-1999`` and other size classes, ``top-100`` (people of the 100 most populous
        cells), ``urban-centres``, ``urban-clusters`` and the people in them. Default: all.
    classes : sequence of int
        Smallest count of each size class.

    Returns
    -------
    list of Statistic

    Raises
    ------
    UsageError
        A name is not that of a statistic; the release has attributes or more than 2**22 cells, or
        its method has no closed form of its error.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 800), geodp.Grid.regular((64, 64)))
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> [large] = geodp.statistics.estimate_statistics(release, ["cells:500-1999"])
    >>> large.value, large.bias, large.basis
    (4096.0, 0.0, 'below 1 %')
    """
    model = model_of(release)
    every = list_figures(square_kilometres(release.grid), classes)
    wanted = list(every) if names is None else list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in every]:
        raise UsageError(
            f"{unknown[0]} is not a statistic of this map; choose from {', '.join(every)}.",
            code="statistic-unknown",
        )
    progress.begin("Simulating releases", 2 * RELEASES, public=True)
    evidence = _Evidence.of(model, [every[name] for name in wanted])
    return [evidence.judge(number) for number in range(len(wanted))]


@dataclass(frozen=True, eq=False)
class MapModel:
    """The cells of a map's domain as vectors, and the method that released it.

    Attributes
    ----------
    table : ReleasedTable
    method : Mechanism
    event : Measurement
    inside : bool[rows, cols]
    scale : float
        Scale of Laplace noise with a cell's standard error.
    """

    table: ReleasedTable
    method: Mechanism
    event: Measurement
    inside: NDArray[np.bool_] = field(repr=False)
    scale: float

    def take(self, table: CountTable | ReleasedTable) -> FloatArray:
        """Return the counts of all cells, negative ones as 0: float64[n]."""
        return np.maximum(np.asarray(table.to_dense(), np.float64), 0)[self.inside]

    def spread(self, count: NDArray[np.generic]) -> NDArray[np.generic]:
        """Lay counts of all cells on the map, 0 outside the domain: [rows, cols]."""
        dense = np.zeros(self.inside.shape, count.dtype)
        dense[self.inside] = count
        return dense

    def release(self, count: IntArray, trial: int) -> FloatArray:
        """Release a synthetic table under a public key, which differs by trial."""
        digest = hashlib.sha256(f"geodp statistics, public, {trial}".encode()).digest()
        table = CountTable.from_dense(self.spread(count), self.table.grid)
        with progress.silence():
            released = self.take(self.method.release(table, self.event, NoiseKey(digest)))
        progress.advance()
        return released


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Statistics of a release, and of releases of synthetic tables.

    Attributes
    ----------
    figures : sequence of Figure
    certain : int
        Count from which on a release shows how many people a cell has.
    shown : float64[n]
        Statistics of the release.
    by_release, by_sharper : float64[n]
        Statistics of the release without the relative bias in releases of the release, and of a
        sharper map than the release.
    error : float64[n]
        Standard error over releases.
    """

    figures: Sequence[Figure]
    certain: int
    shown: FloatArray
    by_release: FloatArray
    by_sharper: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, model: MapModel, figures: Sequence[Figure]) -> _Evidence:
        """Simulate releases of both synthetic tables, and compute their statistics."""

        def compute(count: NDArray[Any]) -> FloatArray:
            dense = np.asarray(model.spread(count), np.float64)
            return np.array([figure.of(dense) for figure in figures])

        def correct(count: IntArray, values: FloatArray) -> FloatArray:
            """Correct the release's statistics by the relative bias in releases of a table."""
            mean = values.mean(axis=0)
            ratio = compute(count) / np.where(mean > 0, mean, np.nan)
            return np.asarray(shown * ratio, np.float64)

        counts = model.take(model.table)
        shown, rounded = compute(counts), np.rint(counts).astype(np.int64)
        released = [model.release(rounded, FIRST + i) for i in range(RELEASES)]
        values = np.array([compute(one) for one in released])
        # The method blurs the release once more by about as much as it has blurred the table.
        sharper = np.maximum(np.rint(2 * rounded - np.mean(released, axis=0)), 0).astype(np.int64)
        of_sharper = [compute(model.release(sharper, FIRST + i)) for i in range(RELEASES)]
        return cls(
            figures=figures,
            certain=int(CERTAIN * model.scale) + 1,
            shown=shown,
            by_release=correct(rounded, values),
            by_sharper=correct(sharper, np.array(of_sharper)),
            error=values.std(axis=0, ddof=1),
        )

    def judge(self, number: int) -> Statistic:
        """Return a statistic, with its bias if both ways to estimate it agree."""
        figure, value = self.figures[number], float(self.shown[number])
        error = float(self.error[number])
        unknown = Statistic(figure.name, value, None, None, error, NOT_ESTIMABLE)
        if figure.minimum is not None and figure.minimum < self.certain:
            return unknown
        middle, other = float(self.by_release[number]), float(self.by_sharper[number])
        bias, apart, basis = abs(value - middle), abs(middle - other), RELEASE
        # A bias within the noise of the release cannot be distinguished from it. Nothing confirms a
        # larger one of towns and of the most populous cells.
        is_known = figure.minimum is not None and bias > max(error, LITTLE * value)
        # A bias is given as 0 if both ways find next to none.
        if bias <= LITTLE / 2 * value and abs(value - other) <= LITTLE / 2 * value:
            middle, apart, basis = value, LITTLE * value, SMALL
        elif not (is_known and apart <= max(AGREE * bias, error)):
            return unknown
        # How far the ways differ counts as an error of its own.
        reach = Z * hypot(error, apart)
        low, high = max(middle - reach, 0.0), middle + reach
        # An interval wider than the value is not informative.
        if high - low > middle:
            return unknown
        corrected = Interval(middle, low, high)
        return Statistic(figure.name, value, value - middle, corrected, error, basis)


def model_of(release: Release) -> MapModel:
    """Describe the map to be simulated; UsageError if its releases cannot be simulated."""
    method, event, grid = release.method, release.event, release.grid
    # Reports come from devices, each of which randomises its own: no table makes them anew.
    if not isinstance(event, Measurement):
        raise UsageError(
            "Reports of devices are not simulated, so their map has no statistics.",
            code="devices-have-no-statistics",
        )
    if not isinstance(method, Mechanism):
        raise UsageError(
            "This map was released together with others, from measurements that they share, so "
            "that it is not simulated by itself and has no statistics.",
            code="statistics-of-one-of-several",
        )
    grid.require_plain_map(
        Rule("statistics-need-plain-map", "Statistics need one map without attributes.")
    )
    if grid.size > MAX_CELLS or int(np.prod(grid.shape)) > 4 * MAX_CELLS:
        raise UsageError(
            "Statistics are estimated on maps of at most 2**22 cells.",
            code="statistics-map-too-large",
        )
    if release.totals is not None:
        raise UsageError(
            "Releases with public totals are not simulated.", code="totals-not-simulated"
        )
    scale = float(release.standard_error(1)) / sqrt(2)
    return MapModel(release.table, method, event, grid.domain.to_dense(), scale)


def square_kilometres(grid: Grid) -> float | None:
    """Compute the area of a cell in the middle of the map; None if it has no place on the Earth."""
    place = grid.places[0]
    if place.crs is None or place.transform is None:
        return None
    wide, high = cell_size(place)
    return float(wide * high)
