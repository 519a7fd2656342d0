"""Statistics of a released map with their biases, found in several ways: told where all agree.

Nothing is computed from a confidential table: all stand-ins are made of the release and of a public
map, and are released under public keys.

- How many cells have how many people: by inversion (:mod:`.unmixing`). Of a named public map, what
  a release of it tells of cells released like this must agree with what is fitted to the release
  from there. Without one, what is fitted from a map that was made up must agree with what is fitted
  from the release itself: then the release has told. Either way releases of the fitted table must
  look like the release: what they show beyond it is the bias once more.
- The same of a release with measurements of all cells: by deconvolution (:mod:`.deconvolution`),
  which needs no map and does not simulate the method.
- Cells of so many people that a release shows most of them: by releases of the release, and of a
  sharper map, to which is added what releases of the release show too little of.
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
from geodp.errors import Rule, UsageError
from geodp.features.statistics.deconvolution import Deconvolved, deconvolve
from geodp.features.statistics.figures import CLASSES, INHABITED, Figure, list_figures
from geodp.features.statistics.unmixing import AGAIN, FIRST, ROUNDS, Board, invert
from geodp.grid.grid import Grid
from geodp.io.write.frame import cell_size
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.release.release import Release
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray

INVERSION, PRIOR, RELEASE, MEASURED = "inversion", "prior map", "release", "measurements"
SMALL, NOT_ESTIMABLE = "below 1 %", "not estimable"
"""How a bias was found."""

MOST_CELLS = 1 << 22
"""Most cells of a map whose releases are simulated."""

AGREE = 0.3
"""Two biases agree if they differ by less than this part of what is told, or than the noise."""

PRECISE = 0.15
"""Of a bias: a larger standard error of what is deconvolved leaves the bias unknown, as half of its
interval would be more than 30 %."""

LITTLE = 0.01
"""Of the value: a smaller bias counts as none. Every way must find half of it at most, as a release
shows about half of what the clamp did to it."""

SEEN = 6.0
"""Scales of the noise: of cells with more people, releases of a sharper map tell the bias."""

RELEASES = 12
"""Of a stand-in, whose mean and spread are told."""

LATER = 10_000
"""Number of the first of these: none that an inversion has seen."""


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
        The value without it. By measurements it is known where the bias is not: then this and the
        interval are as sure as they say, and the bias is small against them.
    standard_error : float
        Of the value over releases, simulated; by measurements of ``corrected``.
    low, high : float or None
        An interval of about 95 %, from the noise and from how well both ways agree.
    basis : str
        ``"measurements"``, ``"inversion"``, ``"prior map"``, ``"release"``, ``"below 1 %"`` or
        ``"not estimable"``.
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
        Its measurements of all cells, if it has them, are used.
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

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 100), geodp.Grid.regular((64, 64)))
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> [one.name for one in geodp.statistics.estimate_statistics(release, ["inhabited"])]
    ['inhabited']
    """
    grid = release.grid
    board = board_of(release, classes)
    km2 = square_kilometres(grid)
    every = list_figures(board.inside if grid.names.on_map else None, km2, classes)
    wanted = list(every) if names is None else list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in every]:
        raise UsageError(
            f"{unknown[0]} is no statistic of this map: {', '.join(every)}.",
            code="statistic-unknown",
        )
    trials = 2 * (FIRST + (ROUNDS - 1) * AGAIN) + 4 * RELEASES
    progress.begin("Simulating releases", trials, public=True)
    taken = release.measurements
    found = None if taken is None else deconvolve(grid, taken, classes)
    evidence = _Evidence.of(board, list(every.values()), prior, found)
    return [evidence.judge(list(every).index(name)) for name in wanted]


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What the statistics are on stand-ins, and by releases of them.

    Attributes
    ----------
    figures : sequence of Figure
    seen, certain : int
        People from which on a release shows most cells, and from which on a cell has those that
        were released, to the inversion.
    shown : float64[n]
        Statistics of the release.
    simple, fitted, alone : float64[n]
        Of the tables found by inversion: from the public map alone, fitted to the release from
        there, and from the release itself.
    again : float64[n]
        The release's, less what releases of the fitted table show beyond it.
    by_prior, by_release, by_sharper : float64[n]
        The release's, less the relative bias in releases of the public map, of the release, and of
        a sharper map than the release.
    error : float64[n]
        Standard error over releases.
    measured, measured_error : float64[n]
        By deconvolution, and its standard error; not a number where nothing tells.
    has_prior : bool
    """

    figures: Sequence[Figure]
    seen: int
    certain: int
    shown: FloatArray
    simple: FloatArray
    fitted: FloatArray
    alone: FloatArray
    again: FloatArray
    by_prior: FloatArray
    by_release: FloatArray
    by_sharper: FloatArray
    error: FloatArray
    measured: FloatArray
    measured_error: FloatArray
    has_prior: bool

    @classmethod
    def of(
        cls,
        board: Board,
        figures: Sequence[Figure],
        prior: CountTable | ReleasedTable | None,
        deconvolved: Deconvolved | None,
    ) -> _Evidence:
        """Simulate."""

        def compute(count: NDArray[Any]) -> FloatArray:
            dense = np.asarray(board.spread(count), np.float64)
            return np.array([figure.of(dense) for figure in figures])

        def spread(count: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            """Means and spreads of statistics over releases of a table, and means of its counts."""
            released = [board.release(count, LATER + i) for i in range(RELEASES)]
            found = np.array([compute(one) for one in released])
            return found.mean(axis=0), found.std(axis=0, ddof=1), np.mean(released, axis=0)

        def relate(count: IntArray, mean: FloatArray) -> FloatArray:
            """Return the release's, less the relative bias in releases of a table."""
            ratio = compute(count) / np.where(mean > 0, mean, np.nan)
            return np.asarray(shown * ratio, np.float64)

        counts = board.take(board.table)
        shown, own = compute(counts), np.rint(counts).astype(np.int64)
        first = lay_prior(board, prior)
        simple, tables = invert(board, first)
        fitted, alone = (
            np.mean([compute(one) for one in some], axis=0)
            for some in (tables, invert(board, own)[1])
        )
        by_prior = relate(first, spread(first)[0])
        mean, error, seen = spread(own)
        sharper = np.maximum(np.rint(2 * own - seen), 0).astype(np.int64)
        by_release, by_sharper = relate(own, mean), relate(sharper, spread(sharper)[0])
        beyond, noise, _ = spread(tables[-1])
        spatial = np.array([figure.spatial for figure in figures])
        measured, measured_error = estimate_measured(figures, deconvolved)
        return cls(
            figures=figures,
            seen=int(SEEN * board.scale),
            certain=int(board.edges[-1]),
            shown=shown,
            simple=compute(simple),
            fitted=fitted,
            alone=alone,
            again=shown - (beyond - compute(tables[-1])),
            by_prior=by_prior,
            by_release=by_release,
            by_sharper=by_sharper,
            error=np.where(spatial, error, noise),
            measured=measured,
            measured_error=measured_error,
            has_prior=prior is not None,
        )

    def judge(self, number: int) -> Statistic:
        """Return a statistic, with its bias if all ways to find it agree."""
        figure, value = self.figures[number], float(self.shown[number])
        error = float(self.error[number])
        unknown = Statistic(figure.name, value, None, None, error, None, None, NOT_ESTIMABLE)
        direct = self._deconvolved(number) or unknown
        if direct.bias is not None:
            return direct
        if figure.of_inhabited:
            names = [one.name for one in self.figures]
            if self.judge(names.index(INHABITED)).bias is None:
                return direct
        for middle, pairs, basis in self._ways(number):
            apart = max(abs(first - second) for first, second in pairs)
            furthest = max(abs(value - one) for pair in pairs for one in pair)
            if furthest <= LITTLE / 2 * value:
                middle, apart, basis = value, LITTLE * value, SMALL
            elif basis == SMALL or not apart <= max(AGREE * abs(value - middle), error):
                continue
            elif basis == RELEASE and abs(value - middle) <= max(error, LITTLE * value):
                continue  # a release does not tell its own noise from its bias
            reach = Z * hypot(error, apart)
            if (
                direct.corrected is None
                or abs(direct.corrected - middle) <= Z * direct.standard_error
            ):
                return Statistic(
                    name=figure.name,
                    value=value,
                    bias=value - middle,
                    corrected=middle,
                    standard_error=error,
                    low=max(middle - reach, 0.0),
                    high=middle + reach,
                    basis=basis,
                )
        return direct

    def _deconvolved(self, number: int) -> Statistic | None:
        """Return a statistic by measurements, if these tell of such cells."""
        figure, value = self.figures[number], float(self.shown[number])
        middle, error = float(self.measured[number]), float(self.measured_error[number])
        if not middle >= 0 or figure.below is None or not self._is_told(figure):
            return None
        return Statistic(
            name=figure.name,
            value=value,
            bias=value - middle if error <= PRECISE * abs(value - middle) else None,
            corrected=middle,
            standard_error=error,
            low=max(middle - Z * error, 0.0),
            high=middle + Z * error,
            basis=MEASURED,
        )

    def _is_told(self, figure: Figure) -> bool:
        """Whether a release of such noise tells of the cells that a statistic counts."""
        return figure.below is None or figure.below > self.seen

    def _ways(self, number: int) -> list[tuple[float, list[tuple[float, float]], str]]:
        """Return values without bias, which values must agree for them, and what they rest on."""
        inverted = (self.fitted, self.simple, self.alone, self.again)
        fitted, simple, alone, again = (float(row[number]) for row in inverted)
        ratios = (self.by_prior, self.by_release, self.by_sharper)
        by_prior, by_release, by_sharper = (float(row[number]) for row in ratios)
        figure, value = self.figures[number], float(self.shown[number])
        if figure.least >= self.certain:
            return [(by_release, [(by_release, by_sharper)], RELEASE)]
        if figure.least >= self.seen:
            return [(by_sharper, [(by_sharper, fitted)], RELEASE)]
        if figure.spatial:
            both = (by_prior + by_release) / 2, [(by_prior, by_release)], PRIOR
            none = value, [(by_release, fitted), (by_sharper, fitted)], SMALL
            return [*[both] * self.has_prior, none]
        told = self._is_told(figure)
        if self.has_prior:
            middle = (fitted + simple) / 2
            pairs = [(fitted, simple), (again, middle), *[(alone, middle)] * told]
            return [((2 * middle + again) / 3, pairs, PRIOR)]
        return [((fitted + again) / 2, [(fitted, alone), (again, fitted)], INVERSION)] * told


def estimate_measured(
    figures: Sequence[Figure], found: Deconvolved | None
) -> tuple[FloatArray, FloatArray]:
    """Return numbers of cells by deconvolution with standard errors: float64[n] each.

    Not a number of other statistics, which hang on how counts lie within bins.
    """
    pairs = np.full((len(figures), 2), np.nan)
    for number, figure in enumerate(figures):
        if found is not None and 0 < figure.least < found.edges[-1]:
            pairs[number] = found.estimate(figure.of)
    return pairs[:, 0], pairs[:, 1]


def board_of(release: Release, classes: Sequence[int]) -> Board:
    """Return the map's cells; UsageError for what cannot be simulated."""
    method, event, grid = release.method, release.event, release.grid
    if not isinstance(method, Mechanism) or not isinstance(event, Measurement):
        raise UsageError(
            "Reports of devices are not simulated, so their map has no statistics.",
            code="devices-have-no-statistics",
        )
    grid.require_plain_map(
        Rule("statistics-need-plain-map", "Statistics are those of one map without attributes.")
    )
    if grid.size > MOST_CELLS or int(np.prod(grid.shape)) > 4 * MOST_CELLS:
        raise UsageError(
            "Statistics are found on maps of at most 2**22 cells.", code="statistics-map-too-large"
        )
    if release.totals is not None:
        raise UsageError(
            "Releases with public totals are not simulated.", code="totals-not-simulated"
        )
    return Board.of(release.table, method, event, float(release.standard_error(1)), classes)


def square_kilometres(grid: Grid) -> float | None:
    """Return the area of a cell in the middle of the map, if it lies on the Earth."""
    place = grid.places[0]
    if place.crs is None or place.transform is None:
        return None
    wide, high = cell_size(place)
    return float(wide * high)


def lay_prior(board: Board, prior: CountTable | ReleasedTable | None) -> IntArray:
    """Return the public map on the cells of the domain: int64[n]."""
    grid = board.table.grid
    if prior is None:
        people = max(1.0, float(board.take(board.table).sum()))
        return np.asarray(Proxy.make_up(grid, people).table.to_dense()[board.inside], np.int64)
    if len(prior.grid.shape) != 2:
        raise UsageError(
            "The prior map is one without attributes.", code="prior-map-has-attributes"
        )
    dense = np.maximum(np.rint(np.asarray(prior.to_dense(), np.float64)), 0).astype(np.int64)
    if not dense.any():
        raise UsageError("The prior map has no people.", code="prior-map-empty")
    often = [-(-n // m) for n, m in zip(grid.shape, dense.shape, strict=True)]
    rows, cols = grid.shape
    return np.asarray(np.tile(dense, often)[:rows, :cols][board.inside], np.int64)
