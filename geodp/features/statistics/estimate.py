"""Estimate statistics of a released map and their biases, in several ways that have to agree.

Nothing is computed from a confidential table: all synthetic tables are made from the release and
from a public map, and are released under public keys.

- Numbers of cells by count: by inversion (:mod:`.unmixing`). If a public map is named, the table
  that follows from releases of that map must agree with the table fitted to the release from it.
  Otherwise the table fitted from a synthetic map must agree with the one fitted from the release
  itself, which shows that the result depends on the release alone. In both cases releases of the
  fitted table must look like the release; by how much they differ is one more estimate of the bias.
- Numbers of cells by count, if the release has measurements of all cells: by deconvolution
  (:mod:`.deconvolution`), which needs no map and does not simulate the method.
- Cells with so many people that a release shows most of them: by releases of the release, and of a
  sharper map, which has twice the release less the mean of its releases.
- Statistics of adjoining cells: by the relative bias in releases of the public map, if releases of
  the release itself have the same.

What a public map shows about cells below the noise holds for its date. An interval that relies on
it is widened by the yearly change of such cells between dates of public maps (:mod:`.change`).
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
from geodp.features.statistics.change import LONGEST, change_few, change_of, check_years
from geodp.features.statistics.deconvolution import Deconvolved, deconvolve
from geodp.features.statistics.figures import CLASSES, INHABITED, Figure, list_figures
from geodp.features.statistics.unmixing import AGAIN, FIRST, ROUNDS, MapModel, invert
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
"""Bases of a bias: how it was estimated."""

MAX_CELLS = 1 << 22
"""Cells of a map whose releases are simulated, at most."""

AGREE = 0.3
"""Two biases agree if they differ by less than this part of the bias, or than the noise."""

PRECISE = 0.15
"""Standard error of a deconvolved value relative to its bias, at most: with a larger one the bias
is not estimable, as half of its interval would be more than 30 %."""

LITTLE = 0.01
"""Bias relative to the value that counts as none. Every way must estimate half of it at most, as a
release shows about half of what the clamp did to it."""

SEEN = 6.0
"""Noise scales: for cells with larger counts, the bias is estimated from a sharper map."""

RELEASES = 12
"""Releases of a synthetic table, from which its mean and its spread are estimated."""

LATER = 10_000
"""Number of the first of these releases; those of an inversion have smaller ones."""


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
    corrected : float or None
        ``value`` without its bias. By measurements it may be known although the bias is not: then
        the bias is small against the interval, which holds.
    standard_error : float
        Standard error of ``value`` over releases, simulated; by measurements, of ``corrected``.
    low, high : float or None
        An interval of about 95 %, from the noise, from how well the ways agree and, by a prior map,
        from what may have changed between the dates. None if it would be wider than the value.
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
        """Return plain values for JSON."""
        return asdict(self)


def estimate_statistics(
    release: Release,
    names: Iterable[str] | None = None,
    *,
    prior: CountTable | ReleasedTable | None = None,
    years: float | None = None,
    classes: Sequence[int] = CLASSES,
) -> list[Statistic]:
    """Estimate statistics of a map and their biases from a release and public maps alone.

    Parameters
    ----------
    release : Release
        Its measurements of all cells, if it has them, are used.
    names : iterable of str, optional
        ``inhabited`` (cells with people), ``cells:1-19`` and other size classes, ``median`` and
        ``gini`` (of inhabited cells), ``moran`` (Moran's I of ``log(1 + people)``), ``top-100``
        (people of the 100 most populous cells), ``urban-centres``, ``urban-clusters`` and the
        people in them. Default: all.
    prior : CountTable or ReleasedTable, optional
        A public map with cells of about this size: of another date, or of another place, which is
        repeated from the first row and column on until it covers the domain. Default: a synthetic
        map of towns, which starts the inversion and confirms nothing.
    years : float, optional
        Years between the dates of ``prior`` and of the release, whichever is earlier. Intervals are
        the wider, the more years. Default: 10, as for a map of another place.
    classes : sequence of int
        Smallest count of each size class.

    Returns
    -------
    list of Statistic

    Raises
    ------
    UsageError
        A name is not that of a statistic; ``years`` is negative or comes without ``prior``; the
        release has attributes or more than 2**22 cells, or its method has no closed form of its
        error.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 100), geodp.Grid.regular((64, 64)))
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> [one.name for one in geodp.statistics.estimate_statistics(release, ["inhabited"])]
    ['inhabited']
    """
    check_years(years, prior is not None)
    grid = release.grid
    model = model_of(release, classes)
    km2 = square_kilometres(grid)
    every = list_figures(model.inside if grid.names.on_map else None, km2, classes)
    wanted = list(every) if names is None else list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in every]:
        raise UsageError(
            f"{unknown[0]} is not a statistic of this map; choose from {', '.join(every)}.",
            code="statistic-unknown",
        )
    # Two inversions, and releases of four tables: for the progress that is shown.
    trials = 2 * (FIRST + (ROUNDS - 1) * AGAIN) + 4 * RELEASES
    progress.begin("Simulating releases", trials, public=True)
    measurements = release.measurements
    deconvolved = None if measurements is None else deconvolve(grid, measurements, classes)
    apart = LONGEST if years is None else float(years)
    evidence = _Evidence.of(model, list(every.values()), prior, apart, deconvolved)
    return [evidence.judge(list(every).index(name)) for name in wanted]


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Statistics of synthetic tables and of releases of these.

    Attributes
    ----------
    figures : sequence of Figure
    seen, certain : int
        Counts from which on a release shows most cells, and from which on an inversion takes the
        released count for the true one.
    shown : float64[n]
        Statistics of the release.
    simple, fitted, unaided : float64[n]
        Statistics of the tables of inversions: from releases of the public map alone, fitted to the
        release from that map, and fitted from the release itself.
    refitted : float64[n]
        Statistics of the release without the bias of releases of the fitted table.
    by_prior, by_release, by_sharper : float64[n]
        Statistics of the release without the relative bias in releases of the public map, of the
        release, and of a sharper map than the release.
    error : float64[n]
        Standard error over releases.
    measured, measured_error : float64[n]
        Statistics by deconvolution and their standard errors; NaN where there are none.
    has_prior : bool
        Whether a public map was named.
    years : float
        Years between the dates of that map and of the release.
    fewer, more : float64[n]
        By how much statistics of the fitted table change if as many cells of few people vanish, or
        appear, as may have in these years.
    """

    figures: Sequence[Figure]
    seen: int
    certain: int
    shown: FloatArray
    simple: FloatArray
    fitted: FloatArray
    unaided: FloatArray
    refitted: FloatArray
    by_prior: FloatArray
    by_release: FloatArray
    by_sharper: FloatArray
    error: FloatArray
    measured: FloatArray
    measured_error: FloatArray
    has_prior: bool
    years: float
    fewer: FloatArray
    more: FloatArray

    @classmethod
    def of(
        cls,
        model: MapModel,
        figures: Sequence[Figure],
        prior: CountTable | ReleasedTable | None,
        years: float,
        deconvolved: Deconvolved | None,
    ) -> _Evidence:
        """Simulate releases of all synthetic tables, and compute their statistics."""

        def compute(count: NDArray[Any]) -> FloatArray:
            dense = np.asarray(model.spread(count), np.float64)
            return np.array([figure.of(dense) for figure in figures])

        def spread(count: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            """Return means and spreads of statistics over releases of a table, and mean counts."""
            released = [model.release(count, LATER + i) for i in range(RELEASES)]
            values = np.array([compute(one) for one in released])
            return values.mean(axis=0), values.std(axis=0, ddof=1), np.mean(released, axis=0)

        def relate(count: IntArray, mean: FloatArray) -> FloatArray:
            """Correct the release's statistics by the relative bias in releases of a table."""
            ratio = compute(count) / np.where(mean > 0, mean, np.nan)
            return np.asarray(shown * ratio, np.float64)

        counts = model.take(model.table)
        shown, rounded = compute(counts), np.rint(counts).astype(np.int64)
        # Two inversions start from two maps: this one, and the release itself.
        first = lay_prior(model, prior)
        simple, tables = invert(model, first)
        fitted, unaided = (
            np.mean([compute(one) for one in some], axis=0)
            for some in (tables, invert(model, rounded)[1])
        )
        by_prior = relate(first, spread(first)[0])
        mean, error, seen = spread(rounded)
        # The method blurs the release once more by about as much as it has blurred the table.
        sharper = np.maximum(np.rint(2 * rounded - seen), 0).astype(np.int64)
        by_release, by_sharper = relate(rounded, mean), relate(sharper, spread(sharper)[0])
        last = compute(tables[-1])
        fewer, more = (compute(one) - last for one in change_few(tables[-1], years))
        beyond, noise, _ = spread(tables[-1])
        spatial = np.array([figure.spatial for figure in figures])
        measured, measured_error = estimate_measured(figures, deconvolved)
        return cls(
            figures=figures,
            seen=int(SEEN * model.scale),
            certain=int(model.edges[-1]),
            shown=shown,
            simple=compute(simple),
            fitted=fitted,
            unaided=unaided,
            refitted=shown - (beyond - last),
            by_prior=by_prior,
            by_release=by_release,
            by_sharper=by_sharper,
            error=np.where(spatial, error, noise),
            measured=measured,
            measured_error=measured_error,
            has_prior=prior is not None,
            years=years,
            fewer=fewer,
            more=more,
        )

    def judge(self, number: int) -> Statistic:
        """Return a statistic, with its bias if all ways to estimate it agree."""
        figure, value = self.figures[number], float(self.shown[number])
        error = float(self.error[number])
        unknown = Statistic(figure.name, value, None, None, error, None, None, NOT_ESTIMABLE)
        direct = self._deconvolved(number) or unknown
        if direct.bias is not None:
            return direct
        # A statistic of the inhabited cells is known only if their number is.
        if figure.of_inhabited:
            names = [one.name for one in self.figures]
            if self.judge(names.index(INHABITED)).bias is None:
                return direct
        for middle, pairs, basis in self._ways(number):
            apart = max(abs(first - second) for first, second in pairs)
            furthest = max(abs(value - one) for pair in pairs for one in pair)
            # A bias is given if all ways agree, and given as 0 if all of them find next to none.
            if furthest <= LITTLE / 2 * value:
                middle, apart, basis = value, LITTLE * value, SMALL
            elif basis == SMALL or not apart <= max(AGREE * abs(value - middle), error):
                continue
            elif basis == RELEASE and abs(value - middle) <= max(error, LITTLE * value):
                # A bias within the noise of the release cannot be distinguished from it.
                continue
            # How far the ways differ counts as an error of its own.
            reach = Z * hypot(error, apart)
            down, up = self._changes(number, middle) if basis == PRIOR else (0.0, 0.0)
            low, high = max(middle - reach - down, 0.0), middle + reach + up
            # An interval wider than the value is not informative.
            if high - low <= middle and (
                direct.corrected is None
                or abs(direct.corrected - middle) <= Z * direct.standard_error
            ):
                return Statistic(
                    name=figure.name,
                    value=value,
                    bias=value - middle,
                    corrected=middle,
                    standard_error=error,
                    low=low,
                    high=high,
                    basis=basis,
                )
        return direct

    def _changes(self, number: int, middle: float) -> tuple[float, float]:
        """Return how far a statistic may have fallen and risen since the prior map's date."""
        figure = self.figures[number]
        if figure.name == INHABITED or figure.of_inhabited:
            ends = 0.0, float(self.fewer[number]), float(self.more[number])
            return -min(ends), max(ends)
        change = change_of(figure, self.years) * middle
        return change, change

    def _deconvolved(self, number: int) -> Statistic | None:
        """Return a statistic by deconvolution, if measurements show such cells."""
        figure, value = self.figures[number], float(self.shown[number])
        middle, error = float(self.measured[number]), float(self.measured_error[number])
        if not middle >= 0 or figure.below is None or not self._is_visible(figure):
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

    def _is_visible(self, figure: Figure) -> bool:
        """Return whether cells that decide a statistic may have counts that noise does not hide."""
        return figure.below is None or figure.below > self.seen

    def _ways(self, number: int) -> list[tuple[float, list[tuple[float, float]], str]]:
        """List corrected values, the pairs of values that have to agree for each, and its basis."""
        inverted = (self.fitted, self.simple, self.unaided, self.refitted)
        fitted, simple, unaided, refitted = (float(row[number]) for row in inverted)
        ratios = (self.by_prior, self.by_release, self.by_sharper)
        by_prior, by_release, by_sharper = (float(row[number]) for row in ratios)
        figure, value = self.figures[number], float(self.shown[number])
        if figure.minimum >= self.certain:
            return [(by_release, [(by_release, by_sharper)], RELEASE)]
        if figure.minimum >= self.seen:
            return [(by_sharper, [(by_sharper, fitted)], RELEASE)]
        # Inversions draw each cell by itself, and say nothing about adjoining ones.
        if figure.spatial:
            both = (by_prior + by_release) / 2, [(by_prior, by_release)], PRIOR
            none = value, [(by_release, fitted), (by_sharper, fitted)], SMALL
            return [*[both] * self.has_prior, none]
        visible = self._is_visible(figure)
        if self.has_prior:
            middle = (fitted + simple) / 2
            pairs = [(fitted, simple), (refitted, middle), *[(unaided, middle)] * visible]
            return [((2 * middle + refitted) / 3, pairs, PRIOR)]
        return [
            ((fitted + refitted) / 2, [(fitted, unaided), (refitted, fitted)], INVERSION)
        ] * visible


def estimate_measured(
    figures: Sequence[Figure], deconvolved: Deconvolved | None
) -> tuple[FloatArray, FloatArray]:
    """Estimate numbers of cells by deconvolution, with standard errors: float64[n] each.

    NaN for other statistics, which depend on how counts lie within bins.
    """
    pairs = np.full((len(figures), 2), np.nan)
    for number, figure in enumerate(figures):
        if deconvolved is not None and 0 < figure.minimum < deconvolved.edges[-1]:
            pairs[number] = deconvolved.estimate(figure.of)
    return pairs[:, 0], pairs[:, 1]


def model_of(release: Release, classes: Sequence[int]) -> MapModel:
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
    return MapModel.of(release.table, method, event, float(release.standard_error(1)), classes)


def square_kilometres(grid: Grid) -> float | None:
    """Compute the area of a cell in the middle of the map; None if it has no place on the Earth."""
    place = grid.places[0]
    if place.crs is None or place.transform is None:
        return None
    wide, high = cell_size(place)
    return float(wide * high)


def lay_prior(model: MapModel, prior: CountTable | ReleasedTable | None) -> IntArray:
    """Lay the public map, or a synthetic one, on the cells of the domain: int64[n]."""
    grid = model.table.grid
    if prior is None:
        people = max(1.0, float(model.take(model.table).sum()))
        return np.asarray(Proxy.make_up(grid, people).table.to_dense()[model.inside], np.int64)
    if len(prior.grid.shape) != 2:
        raise UsageError("The prior map must have no attributes.", code="prior-map-has-attributes")
    dense = np.maximum(np.rint(np.asarray(prior.to_dense(), np.float64)), 0).astype(np.int64)
    if not dense.any():
        raise UsageError("The prior map has no people.", code="prior-map-empty")
    # Rounded up, so that the repeated map covers the domain.
    often = [-(-n // m) for n, m in zip(grid.shape, dense.shape, strict=True)]
    rows, cols = grid.shape
    return np.asarray(np.tile(dense, often)[:rows, :cols][model.inside], np.int64)
