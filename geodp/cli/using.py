"""Commands that use releases of every kind: options, opening, periods, and pairs of regions.

A command answers for all kinds by what they have in common
(:class:`geodp.release.regional.Regional`). What one kind alone can say is a function of its
``doors``, and options of the table ``OWN`` in its file ``options``; what it cannot is a sentence of
its ``lacks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.figures import Row, ShownRows, list_differences, list_estimates
from geodp.cli.help import make_option
from geodp.cli.options import StrictCommand, is_stated
from geodp.cli.readers import reader_options
from geodp.cli.regions import (
    find_filled,
    find_regions,
    keep_shapes,
    read_labels,
    read_shapes,
    show_labels,
)
from geodp.errors import UsageError
from geodp.options.option import KindOptions, Option, OptionTable
from geodp.options.shared import JSON
from geodp.registry import find_modules

if TYPE_CHECKING:
    from geodp.accuracy.interval import Interval
    from geodp.grid.region import Region
    from geodp.io.folder.kinds import Kind

AS_JSON = replace(JSON, everyday=True)

COUNTS = "counts"
"""Name of the kind of release that the core knows, in options."""

MAX_PAIRS = 10_000

UNDERSTATED = (
    "Releases are smoothed over time: changes that are smaller than the noise are underestimated."
)

ENDS = (
    "An interval is not always two standard errors to both sides: it leaves out the noise of what "
    "was released as 0, allows for people hidden there, and ends at 0."
)

LEAST, MOST = 1.8, 2.2
"""Standard errors from a number to an end of its interval, if nothing was released as 0."""

TOGETHER = "All numbers of a region lie in their intervals together in 95 % of cases."

BESIDE = (
    "Polygons cut cells: one counts where its centre lies inside. No interval includes the error "
    "of cutting; with a finer public map of land or people (--within) it does."
)

INCLUDED = (
    "Cells that polygons cut count by the part of the map of --within that lies inside. Intervals "
    "include the error of cutting."
)

NONE = OptionTable()

Parts = Mapping[str | None, Any]
"""Releases of a series by their times; of any other release, this one by None."""


class UsingCommand(StrictCommand):
    """A command that uses releases, with the options that only some kinds have.

    Parameters
    ----------
    door : str
        What it does, by which kinds state their own options.
    counts : OptionTable
        Own options of releases of counts.
    """

    def __init__(self, *args: Any, door: str, counts: OptionTable = NONE, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.door, self.counts = door, counts

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, with those of kinds after them."""
        found: dict[str, Option] = {}
        for own in self._list_own():
            read = (one.stated for one in reader_options() if one.name in own.reading)
            again = [replace(one, everyday=False, needs=("prior",)) for one in read if one]
            for one in (*own.options, *again):
                known = found.get(one.name, one)
                found[one.name] = replace(known, kinds=(*known.kinds, own.kind))
        params, number = super().list_params(ctx), len(self.params)
        # Before the option of help.
        return [*params[:number], *map(make_option, found.values()), *params[number:]]

    def _list_own(self) -> list[KindOptions]:
        tables = (getattr(one, "OWN", {}) for one in find_modules("options"))
        own = [one[self.door] for one in tables if self.door in one]
        return [KindOptions(COUNTS, self.counts), *own]


def open_used(path: Path, door: str, reads: str = "quantities") -> Any:
    """Open a release of any kind; UsageError for one that lacks what a command does.

    ``reads``: what the command reads of releases without a door of their own for it, such as
    ``"tables"``.
    """
    from geodp.io.folder.kinds import find_kind
    from geodp.io.verify.card import public_folder
    from geodp.release.opening import open_written

    folder = public_folder(path)
    kind = find_kind(folder)
    if kind is not None and door in kind.lacks:
        raise UsageError(kind.lacks[door], code="kind-lacks")
    opened = open_written(folder)
    known = any(hasattr(opened, name) for name in (reads, "times"))
    if kind is not None and door not in kind.doors and not known:
        raise UsageError(
            f"This is {kind.title}, which geodp {door} does not know.", code="kind-not-used"
        )
    return opened


def list_periods(opened: Any, times: Sequence[str]) -> dict[str | None, Any]:
    """Return the periods of a series by time, all or those asked for; another release by None.

    Raises UsageError for times of what is no series, and for a time that is no period.
    """
    if hasattr(opened, "times"):
        return {time: opened[time] for time in dict.fromkeys(times or opened.times)}
    if times:
        raise UsageError(
            "This release is no series and has no periods: leave out --time.", code="time-unused"
        )
    return {None: opened}


def list_pair(opened: Sequence[Any], times: Sequence[str]) -> list[Any]:
    """Return the releases that are compared: one, two, or two periods of one series.

    Raises UsageError for other numbers of releases and of times.
    """
    if not 1 <= len(opened) <= 2:
        raise UsageError("Give one release or two.", code="releases-one-or-two")
    series = [one for one in opened if hasattr(one, "times")]
    if not series and not times:
        return [*opened]
    if series != [*opened] or len(opened) != 1 or len({*times}) != 2 or len(times) != 2:
        raise UsageError(
            "Two periods of one series are compared: give its folder, and --time twice; or the "
            "folders of two periods, inside its public folder.",
            code="compare-two-times",
        )
    return [series[0][time] for time in times]


def find_answer(
    releases: Sequence[Any], door: str, otherwise: Callable[..., ShownRows]
) -> Callable[..., ShownRows]:
    """Return the function that answers for releases of one kind: its own, or the common one.

    Raises UsageError for releases of several kinds, and for given options of another kind.
    """
    from geodp.release.regional import OTHER_KIND

    kinds = [kind_of_release(one) for one in releases]
    if len({*kinds}) != 1:
        raise UsageError(OTHER_KIND)
    name = COUNTS if kinds[0] is None else kinds[0].name
    _refuse_others(click.get_current_context(), name)
    return (None if kinds[0] is None else kinds[0].find(door)) or otherwise


def kind_of_release(release: Any) -> Kind | None:
    """Return the kind of an opened release that is no series; None: that of a table."""
    from geodp.io.folder.kinds import kind_of
    from geodp.release.release import Release

    return None if isinstance(release, Release) else kind_of(release.card())


def _refuse_others(context: click.Context, kind: str) -> None:
    """Raise UsageError for given options that are for other kinds of release."""
    for one in context.command.get_params(context):
        kinds = getattr(getattr(one, "stated", None), "kinds", ())
        if kinds and kind not in kinds and is_stated(context, one.name):
            raise UsageError(
                f"{one.opts[-1]} is for releases of {_list_kinds(kinds)}, and this is one of "
                f"{kind}.",
                code="option-of-other-kind",
            )


def _list_kinds(kinds: Sequence[str]) -> str:
    """Return the names of kinds as a sentence lists them."""
    *others, last = kinds
    return f"{', '.join(others)} and {last}" if others else last


def read_kind_options(kind: Kind | None) -> dict[str, Any]:
    """Return the values of options that not all kinds have, by name; None: the kind of a table.

    Raises UsageError for given options of another kind.
    """
    context, name = click.get_current_context(), COUNTS if kind is None else kind.name
    _refuse_others(context, name)
    stated = (getattr(one, "stated", None) for one in context.command.get_params(context))
    own = [one.name for one in stated if one is not None and name in one.kinds]
    return {one: context.params[one] for one in own}


def name_place(time: str | None, **names: str) -> dict[str, str]:
    """Return the columns that say where and when a number is."""
    return names if time is None else {**names, "time": time}


def limit_of(release: Any) -> int | None:
    """Return the limit of display of a release of one period."""
    limit: int | None = release.counts.card().display_below
    return limit


def estimate_quantities(parts: Parts, options: Mapping[str, Any], **how: Any) -> ShownRows:
    """Estimate the quantities of the requested areas; ``how``: options of ``list_figures``."""
    from geodp.accuracy.interval import USUAL
    from geodp.grid.cuts import find_outline
    from geodp.release.cutting import cut_figures, read_within

    grid = next(iter(parts.values())).counts.grid
    labels = read_labels(options["labels_of"], "--label")
    shapes = read_shapes(options, grid)
    regions, empty = find_filled(shapes, grid, labels)
    outlines = [find_outline(shapes[name]) for name in regions]
    how["interval"] = interval = options["interval"]
    finer = read_within(options["within"], grid, outlines, interval)
    found = {
        time: cut_figures(one, one.list_figures(regions.values(), **how), outlines, labels, finer)
        for time, one in parts.items()
    }
    together = bool(options.get("simultaneous"))
    if together:
        found = {
            time: parts[time].hold_together(each, regions.values()) for time, each in found.items()
        }
    rows = [
        row
        for at, name in enumerate(regions)
        for time, one in parts.items()
        for row in list_estimates(name_place(time, name=name), found[time][at], limit_of(one))
    ]
    quantities = dict.fromkeys(row.quantity for row in rows)
    # Without cells there is no estimate, and 0 would be one.
    rows += [
        Row(name_place(time, name=name), quantity, None)
        for name in empty
        for time in parts
        for quantity in quantities
    ]
    answer = _describe_errors(rows, interval == USUAL and not together, finer is not None)
    if together:
        answer = replace(answer, notes=(*answer.notes, TOGETHER))
    return replace(answer, about={"interval": interval, "simultaneous": together})


def _describe_errors(rows: list[Row], is_usual: bool, is_within: bool) -> ShownRows:
    """Say the errors of cutting of numbers, and why usual intervals differ from standard errors.

    ``is_within``: whether the intervals include the errors of cutting.
    """
    numbers = [one.number for one in rows if one.number is not None]
    notes = (ENDS,) if is_usual and any(map(_differs, numbers)) else ()
    if not any(one.cutting_error for one in numbers):
        return ShownRows(rows, notes=notes)
    rows = [replace(one, columns=(one.show_cutting(),)) for one in rows]
    return ShownRows(
        rows, columns=("error of cutting",), notes=(*notes, INCLUDED if is_within else BESIDE)
    )


def _differs(number: Interval) -> bool:
    """Test whether an end of an interval is not about two standard errors away."""
    error = getattr(number, "standard_error", None)
    margins = number.value - number.low, number.high - number.value
    return error is not None and not all(LEAST * error <= one <= MOST * error for one in margins)


Side = tuple[Any, "Region"]
"""A release, and a region in its grid."""


def pair_regions(
    releases: Sequence[Any], options: Mapping[str, Any], form: str = "{1} - {0}"
) -> dict[str, tuple[Side, Side]]:
    """Pair what is compared, by its name.

    All regions of one release with each other, two groups of each region, or the same regions in
    two releases.

    Parameters
    ----------
    releases : sequence of Regional
        One or two.
    options : mapping
        Of the command.
    form : str
        How the names of a first and of a second one make that of a pair.

    Raises
    ------
    UsageError
        Other numbers of releases or regions, releases of different grids, or the same one twice.
    """
    first, last = releases[0], releases[-1]
    if len(releases) == 2:
        first.require_other(last, same_grid=True)
    grid = first.counts.grid
    shapes, labels = read_shapes(options, grid), read_labels(options["labels_of"], "--label")
    regions = find_regions(shapes, grid, labels)
    if options["against"]:
        other = {**labels, **read_labels(options["against"], "--against")}
        named = form.format(show_labels(labels) or "all", show_labels(other))
        seconds = find_regions(shapes, grid, other)
        return {
            f"{name}: {named}": ((first, one), (last, seconds[name]))
            for name, one in regions.items()
        }
    if last is not first:
        return {name: ((first, one), (last, one)) for name, one in regions.items()}
    number = len(regions)
    if number < 2:
        raise UsageError(
            "Compare regions of one release (several --area, or --polygons), two groups of one "
            "(--against), or the same regions in two releases.",
            code="regions-fewer-than-two",
        )
    if number * (number - 1) // 2 > MAX_PAIRS:
        raise UsageError(
            f"{number} regions have more than {MAX_PAIRS} pairs; give fewer.", code="pairs-too-many"
        )
    return {
        form.format(name, later): ((first, one), (first, other))
        for (name, one), (later, other) in combinations(regions.items(), 2)
    }


def compare_quantities(releases: Sequence[Any], options: Mapping[str, Any]) -> ShownRows:
    """Estimate differences of quantities of regions: of one release, or of two."""
    pairs = pair_regions(releases, options)
    limits = limit_of(releases[0]), limit_of(releases[-1])
    regions = [(first, second) for (_, first), (_, second) in pairs.values()]
    found = releases[0].compare_all(regions, *releases[1:])
    return ShownRows(
        [
            row
            for name, compared in zip(pairs, found, strict=True)
            for row in list_differences({"name": name}, compared, limits)
        ]
    )


def say_smoothed(releases: Iterable[Any]) -> tuple[str, ...]:
    """Say that changes are underestimated where any release is smoothed over time."""
    from geodp.release.release import SMOOTHED

    tables = [table for one in releases for table in one.tables.values()]
    smoothed = any(text.startswith(SMOOTHED) for one in tables for text in one.postprocessing)
    return (UNDERSTATED,) if smoothed else ()


Changed = Mapping[str | None, tuple[Any, Any]]
"""The old and the new release of each period, or by None."""


def diff_quantities(pairs: Changed, options: Mapping[str, Any]) -> ShownRows:
    """Estimate changes of quantities: of the requested areas, or of all cells that are listed."""
    from geodp.accuracy.interval import USUAL

    rows, interval = list[Row](), options.get("interval", USUAL)
    labels = read_labels(options["labels_of"], "--label")
    if asks_regions(options):
        options = keep_shapes(options, next(iter(pairs.values()))[1].counts.grid)
    for time, (old, new) in pairs.items():
        old.require_other(new, same_grid=True)
        grid = new.counts.grid
        if asks_regions(options):
            regions = find_regions(read_shapes(options, grid), grid, labels)
        else:
            regions = _list_cells(old, new)
        both = [(one, one) for one in regions.values()]
        found = old.compare_all(both, new, interval=interval)
        limits = limit_of(old), limit_of(new)
        for name, compared in zip(regions, found, strict=True):
            rows += list_differences(name_place(time, name=name), compared, limits, sides=True)
    return ShownRows(rows)


def names_areas(options: Mapping[str, Any]) -> bool:
    """Test whether areas are named by code or by their corners."""
    return bool(options["area"] or options["box"])


def asks_regions(options: Mapping[str, Any]) -> bool:
    """Test whether areas, flows or lines are named."""
    return any(options.get(name) for name in ("polygons", "area", "box", "origins", "across"))


def _list_cells(old: Any, new: Any) -> dict[str, Region]:
    """Return the cells that either of two releases lists, by their names."""
    import numpy as np

    from geodp.grid.region import Region
    from geodp.grid.units import name_cells

    grid = new.counts.grid
    tables = (table for one in (old, new) for table in one.tables.values())
    keys = [one.table.key for one in tables if one.grid == grid]
    key = np.unique(np.concatenate(keys))
    names = name_cells(grid, key)
    return {name: Region(grid, one) for name, one in zip(names, key.reshape(-1, 1), strict=True)}
