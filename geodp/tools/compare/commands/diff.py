"""``geodp diff``: estimate what changed between two releases of one grid, with errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from geodp.cli.figures import SIDES, Row, ShownRows, list_differences, show_answers
from geodp.cli.help import with_options
from geodp.cli.output import require_free
from geodp.cli.regions import find_regions, keep_shapes, read_labels, read_shapes
from geodp.cli.running import report_progress
from geodp.cli.translation import translate_message
from geodp.cli.using import (
    AS_JSON,
    Changed,
    UsingCommand,
    asks_regions,
    diff_quantities,
    find_answer,
    limit_of,
    list_periods,
    name_place,
    open_used,
)
from geodp.errors import UsageError
from geodp.options.shared import AREAS, AS_FILE, LABEL, TIME

if TYPE_CHECKING:
    from geodp.accuracy.interval import Estimate
    from geodp.grid.region import Region
    from geodp.release.release import Release
    from geodp.tools.compare.regions import CountChange

COUNT = "count"
"""Quantity of a release of counts."""

MAX_ROWS = 40
"""Cells that are shown on the screen at most."""

MAX_PLACES = 1 << 12
"""Cells of a map by label that are compared at most, each as a region."""

Change: TypeAlias = "tuple[str, Estimate, Estimate, CountChange]"
"""A region or cell by name, with both counts and their change."""


@click.command(cls=UsingCommand, door="diff", no_args_is_help=True)
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@with_options(TIME, AREAS, LABEL, AS_JSON, *AS_FILE)
def diff(**options: Any) -> None:
    """Estimate what changed from release OLD to NEW, with 95 % intervals; costs no budget.

    \b
    geodp diff release-2025 release-2025-corrected
    geodp diff release-2025 release-2025-corrected --area 5339
    geodp diff release-2020 release-2025 --output changes.csv

    Rows are the cells that either release lists, on the screen those that changed most; or the
    regions of --area and --polygons. Changes are new minus old. Each interval holds for its own
    row; geodp compare tests many rows of counts together. Of two series the periods that both have
    are compared, each with itself; of flows, without --from, the maps of their ends.
    """
    require_free(options["output"], "--output", (".csv",), overwrite=options["overwrite"])
    old, new = (
        list_periods(open_used(options[name], "diff"), options["times"]) for name in ("old", "new")
    )
    pairs = {time: (one, new[time]) for time, one in old.items() if time in new}
    if not pairs:
        raise UsageError(
            "The two have no period in common: give two series of the same times, or two releases.",
            code="diff-no-common-time",
        )
    if alone := [str(time) for time in {**old, **new} if time not in pairs]:
        message = f"Periods that only one of the two has are left out: {', '.join(alone)}."
        click.echo(translate_message(message), err=True)
    answer = find_answer([one for pair in pairs.values() for one in pair], "diff", _diff)
    with report_progress():
        found = answer(pairs, options)
    whole = options["as_json"] or options["output"] is not None or asks_regions(options)
    rows = found.rows if whole else _select_largest(found.rows)
    show_answers({"difference": replace(found, columns=SIDES, rows=rows)}, options)
    if len(rows) < len(found.rows):
        message = f"Of {len(found.rows):,} rows, those that changed most; all: --output FILE.csv"
        click.echo(translate_message(message))


def _diff(pairs: Changed, options: Mapping[str, Any]) -> ShownRows:
    """Estimate changes of quantities that every kind has, and of counts by their own errors."""
    from geodp.release.regional import Compared
    from geodp.release.release import Release

    if not isinstance(next(iter(pairs.values()))[0], Release):
        return diff_quantities(pairs, options)
    for old, new in pairs.values():
        # Releases of different grids are refused before places are looked up in either.
        old.require_other(new, same_grid=True)
    changes = _change_cells
    if asks_regions(options):
        changes, options = _change_areas, keep_shapes(options, new.grid)
    elif (old.parts or new.parts) is not None and new.grid.maps.one is not None:
        changes = _change_places
    rows: list[Row] = []
    kinds = set()
    for time, (old, new) in pairs.items():
        limits = limit_of(old), limit_of(new)
        for name, before, after, change in changes(old, new, options):
            kinds.add(change.basis)
            compared = Compared({COUNT: before}, {COUNT: after}, {COUNT: change})
            rows += list_differences(name_place(time, name=name), compared, limits, sides=True)
    found = ", ".join(sorted(kinds)) or "none"
    return ShownRows(
        rows, notes=(f"\nOne interval each, not corrected for many; errors: {found}.",)
    )


def _change_areas(old: Release, new: Release, options: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the regions that were asked for by name, with both counts and their change."""
    labels = read_labels(options["labels_of"], "--label")
    yield from _change_regions(
        old, new, find_regions(read_shapes(options, new.grid), new.grid, labels)
    )


def _change_places(old: Release, new: Release, options: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the cells of the map that either release lists, all labels together, or those chosen.

    Cells by label share errors.
    """
    import numpy as np

    from geodp.grid.region import Region

    grid, labels = new.grid, read_labels(options["labels_of"], "--label")
    index = grid.decode(np.union1d(old.table.key, new.table.key))
    row, col = np.unique(index[:2], axis=1)
    if row.size > MAX_PLACES:
        raise UsageError(
            f"Cells of a map by label are compared one by one, {MAX_PLACES:,} at most; ask for "
            "regions (--area or --polygons).",
            code="cells-by-label-many",
        )
    index = np.pad(np.stack([row, col]), [(0, len(grid.shape) - 2), (0, 0)])
    names = grid.names.show(0, index)
    places = zip(row[:, None], col[:, None], strict=True)
    yield from _change_regions(
        old,
        new,
        {name: Region.of_map(grid, *one, labels) for name, one in zip(names, places, strict=True)},
    )


def _change_regions(old: Release, new: Release, regions: Mapping[str, Region]) -> Iterator[Change]:
    """Yield regions by name, with both counts and their change."""
    from geodp.grid.region import find_named
    from geodp.tools.compare.regions import CountChange, compare_regions

    counts = zip(*(one.estimate_all(regions.values()) for one in (old, new)), strict=True)
    tests = find_named(
        regions, lambda one: compare_regions((old, one), (new, one), conservative=True)
    )
    for (name, one), (before, after) in zip(tests.items(), counts, strict=True):
        change = CountChange(one.value, one.low, one.high, one.standard_error, one.basis)
        yield name, before, after, change


def _change_cells(old: Release, new: Release, options: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the cells that either release lists by name, with both counts and their change."""
    from geodp.accuracy.interval import Estimate
    from geodp.grid.units import name_cells
    from geodp.tools.compare.changes import estimate_cell_changes
    from geodp.tools.compare.regions import CountChange

    found = estimate_cell_changes(old, new)
    names = ("old", "new", "value", "low", "high", "standard_error")
    columns = (getattr(found, name).tolist() for name in names)
    rows = zip(name_cells(new.grid, found.key), *columns, strict=True)
    for name, old_count, new_count, value, low, high, error in rows:
        # Of both counts nothing but the value is shown.
        before, after = (
            Estimate(one, one, one, 0.0, clamped=False) for one in (old_count, new_count)
        )
        yield name, before, after, CountChange(value, low, high, error, found.basis)


def _select_largest(rows: list[Row]) -> list[Row]:
    """Select the rows of the largest changes of each quantity, in the order of all rows."""
    most = MAX_ROWS // max(len({one.quantity for one in rows}), 1)
    left: Counter[str] = Counter()
    chosen = set()
    for at in sorted(range(len(rows)), key=lambda at: -_size_of(rows[at])):
        left[rows[at].quantity] += 1
        if left[rows[at].quantity] <= most:
            chosen.add(at)
    # Rows stay in key order, so that neighbours on the map stay close on the screen.
    return [one for at, one in enumerate(rows) if at in chosen]


def _size_of(row: Row) -> float:
    """Return the size of a change; below 0 where it is not estimable."""
    return -1.0 if row.number is None else abs(row.number.value)
