"""Statistics of a released map with their biases, found twice: published where both agree.

Nothing is computed from a confidential table: all stand-ins are made of the release and of a public
map, and are released under public keys.

- How many cells have how many people: by inversion (:mod:`.unmixing`). Of a named public map, what
  a release of it tells of cells released like this must agree with what is fitted to the release
  from there. Without one, what is fitted from a map that was made up must agree with what is fitted
  from the release itself: then the release has told.
- Cells of so many people that the noise is little beside them: by releases of the release.
- What depends on which cell lies beside which: by the relative bias in releases of the public map,
  where releases of the release itself have the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.interval import Z
from geodp.analysis.statistics.figures import CLASSES, INHABITED, Figure, list_figures
from geodp.analysis.statistics.unmixing import AGAIN, FIRST, ROUNDS, Board, Whole, invert
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.write.frame import cell_size
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.release.release import Release
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from geodp.table.released import ReleasedTable

INVERSION, PRIOR, RELEASE = "inversion", "prior map", "release"
SMALL, NOT_ESTIMABLE = "below 1 %", "not estimable"
"""How a bias was found."""

MOST_CELLS = 1 << 22
"""Most cells of a map whose releases are simulated."""

AGREE = 0.3
"""Two biases agree if they differ by less than this part of them, or than the noise."""

LITTLE = 0.01
"""Of the value: a smaller bias, found in two ways, counts as none."""

RELEASES = 12
"""Of a stand-in, whose mean and spread are told."""

LATER = 10_000
"""Number of the first of these: none that an inversion has seen."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Statistic:
    """A statistic of a released map.

    Attributes
    ----------
    name : str
    value : float
        Of the released counts.
    bias : float or None
        By how much it is too large in the mean; None where that is not estimable. 0 where it is
        below 1 %.
    corrected : float or None
        The value without it.
    standard_error : float
        Of the value over releases, simulated.
    low, high : float or None
        An interval of about 95 %, from the noise and from how well both ways agree.
    basis : str
        ``"inversion"``, ``"prior map"``, ``"release"``, ``"below 1 %"`` or ``"not estimable"``.
    """

    name: str
    value: float
    bias: float | None
    corrected: float | None
    standard_error: float
    low: float | None
    high: float | None
    basis: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def estimate_statistics(
    release: Release,
    names: Iterable[str] | None = None,
    *,
    prior: CountTable | ReleasedTable | None = None,
    classes: Sequence[int] = CLASSES,
) -> list[Statistic]:
    """Estimate statistics of a map and their biases from a release and public maps alone.

    Parameters
    ----------
    release : Release
    names : iterable of str, optional
        ``inhabited`` (cells with somebody), ``cells:1-19`` and other size classes, ``median`` and
        ``gini`` (of inhabited cells), ``moran`` (Moran's I of ``log(1 + people)``), ``top-100``
        (people of the 100 most populous cells), ``urban-centres``, ``urban-clusters`` and the
        people in them. Default: all.
    prior : CountTable or ReleasedTable, optional
        A public map with cells of about this size: of another date, or of another place, which is
        laid over the domain from its first row and column on, as often as it takes. Default: a map
        made up of towns, which starts the inversion and confirms nothing.
    classes : sequence of int
        Least people of each size class.

    Returns
    -------
    list of Statistic

    Raises
    ------
    UsageError
        A name that is no statistic's; a release with attributes, of more than 2**22 cells, or of a
        method without closed form of its error.
    """
    grid = release.grid
    board = board_of(release, classes)
    km2 = square_kilometres(grid)
    every = list_figures(board.inside, km2, classes)
    wanted = list(every) if names is None else list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in every]:
        raise UsageError(f"{unknown[0]} is no statistic of this map: {', '.join(every)}.")
    progress.begin("Simulating releases", 2 * (FIRST + (ROUNDS - 1) * AGAIN) + 3 * RELEASES)
    evidence = _Evidence.of(board, list(every.values()), prior)
    return [evidence.judge(list(every).index(name)) for name in wanted]


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What the statistics are on stand-ins, and by releases of them.

    Attributes
    ----------
    figures : sequence of Figure
    certain : int
        People from which on a cell has those that were released, to the inversion.
    shown : float64[n]
        Statistics of the release.
    simple, fitted, alone : float64[n]
        Of the tables found by inversion: from the public map alone, fitted to the release from
        there, and from the release itself.
    by_prior, by_release : float64[n]
        The release's, less the relative bias in releases of the public map and of the release.
    error : float64[n]
        Standard error over releases.
    has_prior : bool
    """

    figures: Sequence[Figure]
    certain: int
    shown: Floats
    simple: Floats
    fitted: Floats
    alone: Floats
    by_prior: Floats
    by_release: Floats
    error: Floats
    has_prior: bool

    @classmethod
    def of(
        cls,
        board: Board,
        figures: Sequence[Figure],
        prior: CountTable | ReleasedTable | None,
    ) -> _Evidence:
        """Simulate."""

        def compute(count: NDArray[Any]) -> Floats:
            dense = np.asarray(board.spread(count), np.float64)
            return np.array([figure.of(dense) for figure in figures])

        def spread(count: Whole) -> tuple[Floats, Floats]:
            released = (board.release(count, LATER + i) for i in range(RELEASES))
            found = np.array([compute(one) for one in released])
            return found.mean(axis=0), found.std(axis=0, ddof=1)

        counts = board.take(board.table)
        shown, own = compute(counts), np.rint(counts).astype(np.int64)
        first = lay_prior(board, prior)
        simple, tables = invert(board, first)
        fitted, alone = (
            np.mean([compute(one) for one in some], axis=0)
            for some in (tables, invert(board, own)[1])
        )
        ratios = []
        for count in (first, own):
            mean, error = spread(count)
            ratios.append(np.where(mean > 0, compute(count) / np.maximum(mean, 1e-300), np.nan))
        spatial = np.array([figure.spatial for figure in figures])
        error = np.where(spatial, error, spread(tables[-1])[1])
        inverted = compute(simple), fitted, alone
        ratio = shown * ratios[0], shown * ratios[1]
        certain = int(board.edges[-1])
        return cls(figures, certain, shown, *inverted, *ratio, error, prior is not None)

    def judge(self, number: int) -> Statistic:
        """Return a statistic, with its bias if two ways to find it agree."""
        figure, value = self.figures[number], float(self.shown[number])
        error = float(self.error[number])
        unknown = Statistic(figure.name, value, None, None, error, None, None, NOT_ESTIMABLE)
        if figure.of_inhabited:
            names = [one.name for one in self.figures]
            if self.judge(names.index(INHABITED)).basis == NOT_ESTIMABLE:
                return unknown
        for first, second, basis in self._ways(number):
            apart = abs(first - second)
            middle = (first + second) / 2 if basis == PRIOR else first
            if max(abs(value - first), abs(value - second)) <= LITTLE * value:
                middle, apart, basis = value, LITTLE * value, SMALL
            elif basis == SMALL or not apart <= max(AGREE * abs(value - middle), error):
                continue
            reach = Z * hypot(error, apart)
            ends = max(middle - reach, 0.0), middle + reach
            return Statistic(figure.name, value, value - middle, middle, error, *ends, basis)
        return unknown

    def _ways(self, number: int) -> list[tuple[float, float, str]]:
        """Return pairs of values without bias, each found in two ways, and what they rest on."""
        rows = (self.fitted, self.simple, self.alone, self.by_prior, self.by_release)
        fitted, simple, alone, by_prior, by_release = (float(row[number]) for row in rows)
        if self.figures[number].least >= self.certain:
            return [(by_release, by_release, RELEASE)]
        if self.figures[number].spatial:
            return [*[(by_prior, by_release, PRIOR)] * self.has_prior, (by_release, fitted, SMALL)]
        return [*[(fitted, simple, PRIOR)] * self.has_prior, (fitted, alone, INVERSION)]


def board_of(release: Release, classes: Sequence[int]) -> Board:
    """Return the map's cells; UsageError for what cannot be simulated."""
    method, event, grid = release.method, release.event, release.grid
    if not isinstance(method, Mechanism) or not isinstance(event, Measurement):
        raise UsageError("Reports of devices are not simulated, so their map has no statistics.")
    if len(grid.places) != 1 or len(grid.shape) != 2:
        raise UsageError("Statistics are those of one map without attributes.")
    if grid.size > MOST_CELLS or int(np.prod(grid.shape)) > 4 * MOST_CELLS:
        raise UsageError("Statistics are found on maps of at most 2**22 cells.")
    if release.totals is not None:
        raise UsageError("Releases with public totals are not simulated.")
    return Board.of(release.table, method, event, float(release.standard_error(1)), classes)


def square_kilometres(grid: Grid) -> float | None:
    """Return the area of a cell in the middle of the map, if it lies on the Earth."""
    place = grid.places[0]
    if place.crs is None or place.transform is None:
        return None
    wide, high = cell_size(place)
    return float(wide * high)


def lay_prior(board: Board, prior: CountTable | ReleasedTable | None) -> Whole:
    """Return the public map on the cells of the domain: int64[n]."""
    grid = board.table.grid
    if prior is None:
        people = max(1.0, float(board.take(board.table).sum()))
        return np.asarray(Proxy.make_up(grid, people).table.to_dense()[board.inside], np.int64)
    if len(prior.grid.shape) != 2:
        raise UsageError("The prior map is one without attributes.")
    dense = np.maximum(np.rint(np.asarray(prior.to_dense(), np.float64)), 0).astype(np.int64)
    if not dense.any():
        raise UsageError("The prior map has no people.")
    often = [-(-n // m) for n, m in zip(grid.shape, dense.shape, strict=True)]
    rows, cols = grid.shape
    return np.asarray(np.tile(dense, often)[:rows, :cols][board.inside], np.int64)
