"""Records, sums, means, classes and medians of every cell in one table, in units of the amount."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, pairwise
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.folder.publication import list_file, write_rows
from geodp.io.numbers import numbers_of
from geodp.io.write.frame import round_length
from geodp.io.write.geotiff import MEDIA_TYPE, Band, name_bands, why_no_bands, write_columns
from geodp.io.write.scale import Shown
from geodp.io.write.tables import RowErrors, column_names
from geodp.io.write.view import JointView, keep_rows
from geodp.kinds.amounts.english import FILES, describe_file
from geodp.kinds.amounts.estimates import Ends
from geodp.kinds.amounts.kind import COUNT, MEAN, MEDIAN, SUM, AmountsCard, StatedAmount
from geodp.kinds.amounts.numbers import AmountNumbers
from geodp.kinds.amounts.scale import Scale, exact
from geodp.table.card import LeftOut
from geodp.table.index import Joint
from geodp.typing import FloatArray, KeyArray

NAME = "amounts"
"""Name of the files, without their endings."""

DIGITS = 6
"""Digits of means and medians, of the span of the clip."""

MAX_LIMITS = 7
"""Most limits between classes of a style."""

NO_DATA = "NaN, outside the domain, and where a number may be any amount within the clip"


@dataclass(frozen=True, eq=False)
class AmountColumns(RowErrors):
    """The columns after the records: sums, means, classes and medians, with their intervals.

    Attributes
    ----------
    release : AmountNumbers
    """

    release: AmountNumbers | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        assert self.release is not None  # as only `view_of` makes these columns
        return name_columns(self.release.index.amount)

    def columns(self, key: KeyArray, rows: slice) -> list[NDArray[Any]]:
        """Return the columns of cells; see `RowErrors` and `list_columns`."""
        assert self.release is not None
        return [*list_columns(key, self.release).values()]


@dataclass(frozen=True, eq=False)
class AmountsView(JointView):
    """The view of records, sums, means, classes and medians of the cells as one table.

    Attributes
    ----------
    amount : StatedAmount or None
        Never None.
    """

    amount: StatedAmount | None = None

    @cached_property
    def about(self) -> dict[str, Any]:
        """Plain values that identify the release, with the amount and its unit."""
        assert self.amount is not None
        more = {"amount": self.amount.name, "unit_of_amount": self.amount.unit}
        return {**super().about, **more}

    @property
    def sums(self) -> tuple[str, ...]:
        """Names of the columns that areas are sums of: records, the sum, and classes."""
        assert self.amount is not None
        total = (SUM,) if self.amount.notches else ()
        return (self.name, *total, *(name_classes(self.amount) if self.amount.edges else ()))

    @property
    def ratio(self) -> tuple[str, str, str] | None:
        """Names of the mean, of the sum and of records; None without sums."""
        assert self.amount is not None
        return (MEAN, SUM, self.name) if self.amount.notches else None

    @property
    def coloured(self) -> str:
        """Name of the column of means, or of medians where there are no means."""
        assert self.amount is not None
        return MEAN if self.amount.notches else MEDIAN

    @cached_property
    def shown(self) -> Shown:
        """Means, or medians where there are no means, in classes of which most records are known.

        Cells whose interval is longer than two classes have none.
        """
        assert self.amount is not None
        column = self.coloured
        names = (self.name, column, f"{column}_low", f"{column}_high")
        parts = [
            [np.asarray(numbers_of(rows.columns[name]), np.float64) for name in names]
            for rows in chain([self.empty], self.rows("Choosing classes"))
        ]
        count, value, low, high = (np.concatenate(each) for each in zip(*parts, strict=True))
        known = ~np.isnan(value)
        begins, step = divide(value[known], (high - low)[known], count[known])
        lowest, highest = exact(self.amount.lower, "clip"), exact(self.amount.upper, "clip")
        # No mean lies beyond the clip.
        begins = tuple(begin for begin in begins if lowest < begin < highest)
        return Shown(column, self.amount.unit, begins, by_area=False, widest=2 * step)


def divide(
    value: FloatArray, length: FloatArray, records: FloatArray
) -> tuple[tuple[float, ...], float]:
    """Choose limits between classes of equal width, and return it, too: a round number.

    At most seven limits divide the values of nine in ten records, and at least half of the records
    have an interval of at most two classes.

    Parameters
    ----------
    value, length, records : float64[n]
        Numbers of cells, the lengths of their intervals, and how many records they are of.

    Examples
    --------
    >>> divide(np.array([210.0, 290.0, 350.0]), np.array([5.0, 5.0, 5.0]), np.ones(3))
    ((220.0, 240.0, 260.0, 280.0, 300.0, 320.0, 340.0), 20.0)
    """
    if not records.sum() > 0:
        return (), 0.0
    few, many, middle = (
        *(_quantile(value, records, share) for share in (0.05, 0.95)),
        _quantile(length, records, 0.5),
    )
    least = Fraction(max((many - few) / MAX_LIMITS, middle / 2))
    if not least:
        return (), 0.0
    steps = (round_length(least * times) for times in (1, 2, Fraction(5, 2)))
    step = next(one for one in steps if one >= least)
    first, last = ceil(Fraction(few) / step), floor(Fraction(many) / step)
    return tuple(float(number * step) for number in range(first, last + 1)), float(step)


def _quantile(values: FloatArray, weights: FloatArray, share: float) -> float:
    """Return the smallest value up to which values have a share of the weights."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1])])


def view_of(release: AmountNumbers) -> AmountsView:
    """Return the view of the table, whose columns begin with those of records."""
    # Records get their id only when they are written, and the index has it.
    card = replace(release.count.view(COUNT).card, release_id="")
    columns = AmountColumns(0.0, None, release)
    amount = release.index.amount
    return AmountsView(release.count.table, card, columns, amount=amount, stem=NAME)


def write_joint(release: AmountNumbers, folder: Path) -> Joint:
    """Write the table in every format that the grid can have; return the entries of the index."""
    amount, path = release.index.amount, folder / f"{NAME}.tif"
    why = why_no_bands(release.count.table, name_columns(amount))
    with keep_rows(view_of(release), folder) as view:
        what = describe_file(FILES, "table", amount)
        files, left_out = write_rows(view, NAME, folder, what, unit=amount.unit)
        if why is not None:
            return files, (*left_out, LeftOut(path.name, why))
        bands = list_bands(amount)
        write_columns(view, path, bands, report=AmountsCard.file)
        raster = list_file(
            path,
            MEDIA_TYPE,
            describe_file(FILES, "raster", amount),
            bands=tuple(name_bands(view.table.grid, bands)),
            data_type="float64",
            nodata=NO_DATA,
            unit=amount.unit,
        )
    return (*files, raster), left_out


def list_bands(amount: StatedAmount) -> list[Band]:
    """List the bands of the raster: the columns of the table, with their units."""
    # Of a cell without records the table has no row, and its mean is not known.
    counts = {COUNT, *(name_classes(amount) if amount.edges else [])}
    return [
        Band(
            name,
            "records" if name in counts else amount.unit,
            0.0 if name in counts or name == SUM else np.nan,
        )
        for name in (COUNT, *name_columns(amount))
    ]


def name_classes(amount: StatedAmount) -> list[str]:
    """Name the columns of classes by their edges.

    Examples
    --------
    >>> amount = StatedAmount("income", "EUR", "0", "1000", "1", None, ("0", "200", "1000"))
    >>> name_classes(amount)
    ['count_0_to_200', 'count_200_to_1000']
    """
    ends = [re.sub(r"[^0-9.]", "_", edge.replace("-", "minus")) for edge in amount.edges]
    return [f"{COUNT}_{low}_to_{high}" for low, high in pairwise(ends)]


def name_columns(amount: StatedAmount) -> tuple[str, ...]:
    """Name the columns after the records."""
    known = {one: (one, f"{one}_low", f"{one}_high") for one in (SUM, MEAN, MEDIAN)}
    names = (*known[SUM], *known[MEAN]) if amount.notches else ()
    return (*names, *name_classes(amount), *known[MEDIAN]) if amount.edges else names


def require_columns(grid: Grid, amount: StatedAmount) -> None:
    """Raise UsageError where a column of places or an attribute is called as one of amounts."""
    taken = {one.casefold() for one in column_names(grid, COUNT, ())}
    if both := sorted(taken.intersection(name_columns(amount))):
        raise UsageError(
            f"The table of amounts has a column called {both[0]!r}: choose another name for the "
            "attribute or the axis.",
            code="amounts-column-taken",
        )


def count_places(scale: Scale) -> int:
    """Return the decimals of means and medians: six digits of the span of the clip."""
    return max(ceil(DIGITS - log10(scale.value(scale.span))), 0)


def list_columns(key: KeyArray, release: AmountNumbers) -> dict[str, NDArray[Any]]:
    """Compute the columns of cells after their records.

    Returns
    -------
    dict of str to int64[n] or float64[n]
        Means and medians are masked where they may be any amount of the clip.
    """
    scale, amount = release.scale, release.index.amount
    places = count_places(scale)
    ends = release.columns(key)
    found: dict[str, NDArray[Any]] = {}
    if release.sum is not None:
        steps = release.sum.table.counts_at(key)
        # Whole numbers stay whole, so that the table holds exactly what was released.
        top, bottom = scale.step.numerator, scale.step.denominator
        # The quotient of exact numbers is the float64 nearest to the decimal.
        found[SUM] = steps * top if bottom == 1 else steps.astype(np.float64) * top / bottom
        for name, column in zip(("low", "high"), ends[SUM][1:], strict=True):
            found[f"{SUM}_{name}"] = np.round(column, places)
        found |= _known(MEAN, ends[MEAN], release, places)
    if release.classes:
        for name, one in zip(name_classes(amount), release.classes, strict=True):
            found[name] = one.counts_at(key)
        found |= _known(MEDIAN, ends[MEDIAN], release, places)
    return found


def _known(name: str, ends: Ends, release: AmountNumbers, places: int) -> dict[str, NDArray[Any]]:
    """Return a number and its interval, masked where it may be any amount."""
    lower, upper = (float(end) for end in release.scale.clip)
    unknown = (ends[1] <= lower) & (ends[2] >= upper)
    return {
        f"{name}{end}": np.ma.masked_array(np.round(column, places), unknown)
        for end, column in zip(("", "_low", "_high"), ends, strict=True)
    }
