"""Numbers of regions with 95 % intervals: one table and one document for every kind of release."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.accuracy.interval import Interval
    from geodp.accuracy.interval_arithmetic import Figures
    from geodp.grid.region import Region
    from geodp.release.composite import RegionalRelease
    from geodp.release.release import Release

DASH = "\N{EN DASH}"
"""Text in place of a number that is not estimable, or that would reveal a hidden one."""


@dataclass(frozen=True)
class Row:
    """A number of a region, or a difference, as it is shown.

    Attributes
    ----------
    place : mapping of str to str
        Columns that say what it is a number of, such as the name of a region.
    quantity : str
    number : Interval or None
        None: not estimable.
    limit : int or None
        An office's limit of display, below which counts are hidden.
    below : bool
        Whether it hides this number.
    bare : bool
        Whether it hides the ends of the interval alone.
    """

    place: Mapping[str, str]
    quantity: str
    number: Interval | None
    limit: int | None = None
    below: bool = False
    bare: bool = False

    def to_dict(self, decimals: int | None) -> dict[str, Any]:
        """Return plain values for JSON, which has hidden numbers, too, and says so.

        ``decimals``: to which numbers are rounded; None: all digits.
        """
        plain = dict.fromkeys(("value", "low", "high"), None)
        if self.number is not None:
            plain = {
                name: round(one, decimals)
                if decimals is not None and isinstance(one, float) and math.isfinite(one)
                else one
                for name, one in self.number.to_dict().items()
            }
        mark = {} if self.limit is None else {"below": self.below}
        return {**self.place, "quantity": self.quantity, **plain, **mark}

    def cells(self, sign: str) -> tuple[str, str, str, str]:
        """Write the value, its standard error, its interval, and a star of what is certain."""
        from geodp.accuracy.interval import Estimate
        from geodp.table.display import is_below, show_estimate, show_limit

        one, limit = self.number, self.limit
        # Differences and ratios are no counts: a small one is shown.
        counted = limit is not None and isinstance(one, Estimate)

        def show(number: float) -> str:
            if counted and is_below(number, limit):
                return show_limit(limit or 0)
            return show_estimate(number, sign)

        if one is None or (self.below and not (counted and is_below(one.value, limit))):
            return DASH, "", DASH, ""
        if self.below:
            return show(one.value), "", DASH, ""
        error = None if self.bare else getattr(one, "standard_error", None)
        ends = DASH if self.bare else f"{show(one.low)} to {show(one.high)}"
        star = "*" if sign and one.is_certain else ""
        return show(one.value), "" if error is None else show_estimate(error), ends, star


def list_estimates(name: str, figures: Figures, limit: int | None) -> Iterator[Row]:
    """Yield the rows of a region's quantities.

    A count is hidden where it is below the limit of display, and every other quantity where a count
    of the region is, as it would reveal that.
    """
    from geodp.accuracy.interval import Estimate
    from geodp.table.display import is_below

    counts = [one for one in figures.values() if isinstance(one, Estimate)]
    few = any(is_below(one.value, limit) for one in counts)
    # The end of a sum would reveal that of the count.
    bare = any(is_below(one.high, limit) for one in counts)
    for quantity, one in figures.items():
        if isinstance(one, Estimate):
            # Where counts are fitted to each other, the error of one tells the size of another.
            yield Row({"name": name}, quantity, one, limit, bool(is_below(one.value, limit)), few)
        else:
            yield Row({"name": name}, quantity, one, limit, few, bare)


def show_rows(
    rows: Sequence[Row],
    what: str,
    *,
    as_json: bool,
    decimals: int | None = None,
    head: Iterable[str] = (),
    notes: Iterable[str] = (),
    **about: Any,
) -> None:
    """Print the numbers of regions.

    Parameters
    ----------
    rows : sequence of Row
    what : {"estimate", "difference"}
    as_json : bool
        Whether to print the document for programs.
    decimals : int, optional
        Of numbers in it; None: all digits.
    head, notes : iterable of str
        Lines before and after the table.
    **about
        Fields of the document before the rows.
    """
    if as_json:
        document = {**about, f"{what}s": [one.to_dict(decimals) for one in rows]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False))
        return
    sign = "+" if what == "difference" else ""
    places = ["region" if one == "name" else one for one in rows[0].place] if rows else ["region"]
    lines = [(*places, "", what, "standard error", "95 % interval", "")]
    last: Mapping[str, str] | None = None
    for one in rows:
        named = one.place.values() if one.place != last else ("",) * len(places)
        lines.append((*named, one.quantity.replace("_", " "), *one.cells(sign)))
        last = one.place
    click.echo("\n".join([*head, align(lines, left=len(places) + 1), *notes]))


def align(lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Write lines of cells as a table, whose first ``left`` columns begin below each other.

    Those after them end below each other.

    Examples
    --------
    >>> print(align([("region", "count"), ("5339", "12")]))
    region  count
    5339       12
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


Place = tuple[int, int]
"""Positions of a release and of a region."""


def pair_regions(
    regions: Sequence[str], releases: Sequence[Release]
) -> dict[str, tuple[Place, Place]]:
    """Pair two regions of one release, or the same regions in two releases, by their names.

    Parameters
    ----------
    regions : sequence of str
        Their names.
    releases : sequence of Release
        The counts of one release or of two.

    Raises
    ------
    UsageError
        Other numbers of releases or regions, releases of different grids, or the same one twice.
    """
    if len(releases) > 2 or (len(releases) == 1 and len(regions) != 2) or not regions:
        raise UsageError(
            "Compare exactly two regions of one release (two --area, or --polygons with two), or "
            "the same regions in two releases.",
            code="compare-two",
        )
    if len(releases) == 1:
        return {" - ".join(regions[::-1]): ((0, 0), (0, 1))}
    first, second = releases
    if first.grid != second.grid:
        raise UsageError("The two releases have different grids.", code="compare-grids")
    if first.card().release_id == second.card().release_id:
        raise UsageError(
            "Both folders hold the same release, which differs nowhere from itself.",
            code="compare-same",
        )
    return {name: ((0, i), (1, i)) for i, name in enumerate(regions)}


Side = tuple[int, "Region"]
"""Position of a release, and a region in its grid."""


def list_differences(
    releases: Sequence[RegionalRelease[Any]], pairs: Mapping[str, tuple[Side, Side]]
) -> Iterator[Row]:
    """Yield the rows of differences of pairs of regions, of one release or of two, by their names.

    A difference is hidden where one of both regions has a count below a limit of display.
    """
    limits = [one.counts.card().display_below for one in releases]
    limit = next((one for one in limits if one is not None), None)
    second = releases[1] if len(releases) == 2 else None
    for name, ((i, one), (j, other)) in pairs.items():
        found = releases[0].compare(one, other, release=second)
        below = limit is not None and any(
            row.below
            for at, region in ((i, one), (j, other))
            for row in list_estimates(name, releases[at].list_figures([region])[0], limits[at])
        )
        for quantity, number in found.items():
            yield Row({"name": name}, quantity, number, limit, below)


def mark_below(hidden: bool, limits: Sequence[int | None]) -> dict[str, bool]:
    """Return the field that tells programs what people see as below a limit of display.

    ``limits``: those of the releases; without any there is no such field.
    """
    return {} if all(one is None for one in limits) else {"below": hidden}
