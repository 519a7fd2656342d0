"""Answers of ``geodp estimate``, ``compare`` and ``diff`` about flows between regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from geodp.accuracy.interval import USUAL
from geodp.cli.figures import DASH, Row, ShownRows, is_layer, list_differences, list_estimates
from geodp.cli.regions import read_labels, show_labels
from geodp.cli.using import (
    Changed,
    Parts,
    asks_regions,
    compare_quantities,
    diff_quantities,
    estimate_quantities,
    limit_of,
    name_place,
    names_areas,
)
from geodp.errors import UsageError
from geodp.grid.region import find_named
from geodp.io.read.public.polygons import read_polygons
from geodp.kinds.flows.comparison import TRIPS, FlowSide
from geodp.kinds.flows.publish import give_prior
from geodp.kinds.flows.regions import divide_zones, find_region, ground_of, read_lines
from geodp.kinds.flows.running.inputs import open_flows

if TYPE_CHECKING:
    from geodp.kinds.flows.flows import Flows
    from geodp.release.regional import Compared

MOST_POLYGONS = 32
"""Most polygons between all of which flows are estimated."""

Groups = list[tuple[str, str, list[tuple[Any, Any]]]]
"""Flows that are asked for: names of both ends, and pairs of regions."""


def estimate(parts: Parts, options: Mapping[str, Any]) -> ShownRows:
    """Estimate trips between areas, or across lines; of areas alone, trips from and to them.

    So are those of the polygons of a layer.
    """
    if names_areas(options) or is_layer(options.get("output")):
        _require_whole(options)
        return estimate_quantities({time: one.ends for time, one in parts.items()}, options)
    if options["within"] is not None:
        raise UsageError(
            "Flows are known between entire zones, which no finer map divides: leave out --within, "
            "or ask for trips from and to polygons (--output FILE.gpkg) or boxes.",
            code="flows-within",
        )
    if options["interval"] != USUAL:
        raise UsageError(
            "Flows between areas have one interval: leave out --interval, or ask for trips from "
            "and to areas (--area, --box, or --output FILE.gpkg).",
            code="flows-interval",
        )
    labels = read_labels(options["labels_of"], "--label")
    asked = _list_groups(next(iter(parts.values())), options)
    prior = None if options["prior"] is None else open_flows(options["prior"])
    rows = []
    for time, release in parts.items():
        if prior is not None:
            release = give_prior(release, prior)
        found = release.estimate_groups([group for _, _, group in asked], labels=labels)
        of_time: list[Row] = []
        for (start, end, _), one in zip(asked, found, strict=True):
            place = {"from": start, "to": end, **name_place(time)}
            of_time += list_estimates(place, {TRIPS: one}, limit_of(release.ends))
        rows += _hide_sums(of_time, options)
    return ShownRows(rows)


def compare(releases: Sequence[Flows], options: Mapping[str, Any]) -> ShownRows:
    """Estimate differences of two flows, of two labels of flows, or of flows in two releases."""
    if len(releases) == 2:
        releases[0].ends.require_other(releases[1].ends, same_grid=True)
        releases[0].require_comparable(releases[1])
    if names_areas(options):
        _require_whole(options)
        return compare_quantities([one.ends for one in releases], options)
    limits = [limit_of(one.ends) for one in (releases[0], releases[-1])]
    rows = [
        row
        for name, one in _compare(releases, options)
        for row in list_differences({"name": name}, one, limits)
    ]
    return ShownRows(_hide_sums(rows, options))


def diff(pairs: Changed, options: Mapping[str, Any]) -> ShownRows:
    """Estimate changes of flows between areas or across lines, or of both maps of ends."""
    for old, new in pairs.values():
        old.ends.require_other(new.ends, same_grid=True)
        old.require_comparable(new)
    if names_areas(options) or not asks_regions(options):
        _require_whole(options)
        ends = {time: (old.ends, new.ends) for time, (old, new) in pairs.items()}
        return diff_quantities(ends, options)
    rows = []
    for time, (old, new) in pairs.items():
        limits, of_time = [limit_of(one.ends) for one in (old, new)], list[Row]()
        for name, one in _compare((old, new), options):
            of_time += list_differences(name_place(time, name=name), one, limits, sides=True)
        rows += _hide_sums(of_time, options)
    return ShownRows(rows)


def _require_whole(options: Mapping[str, Any]) -> None:
    """Raise UsageError for options of flows where trips from and to areas are asked for."""
    if any(map(options.get, ("labels_of", "against", "origins", "across", "prior"))):
        raise UsageError(
            "--area asks for all trips that begin and end in an area: leave out what is for flows "
            "between two areas, such as --from, --across and --label.",
            code="flows-ends-alone",
        )


def _hide_sums(rows: list[Row], options: Mapping[str, Any]) -> list[Row]:
    """Hide the sum of both directions across a line, every third row, where one of them is hidden.

    The direction that is shown would reveal the hidden one.
    """
    if options["across"] is None:
        return rows
    return [
        replace(row, below=True, columns=(DASH,) * len(row.columns))
        if at % 3 == 2 and (rows[at - 2].below or rows[at - 1].below)
        else row
        for at, row in enumerate(rows)
    ]


def _require_what(options: Mapping[str, Any]) -> None:
    """Raise UsageError unless it is said in one way what is estimated."""
    if len(options["origins"]) != len(options["destinations"]):
        raise UsageError(
            "Every --from needs a --to: give as many of both.", code="flows-from-without-to"
        )
    ways = (options["origins"] or None, options["polygons"], options["across"])
    if sum(one is not None for one in ways) != 1:
        raise UsageError(
            "Say in one way what to estimate: --from and --to, --polygons, --across or --area.",
            code="flows-estimate-what",
        )


def _list_groups(release: Flows, options: Mapping[str, Any]) -> Groups:
    """List the flows that are asked for; UsageError unless it is said in one way which."""
    _require_what(options)
    grid = release.origins.grid
    if options["across"] is not None:
        rows = []
        for name, line in read_lines(options["across"], grid).items():
            left, right = divide_zones(grid, line)
            there, back = (left, right), (right, left)
            ends = f"{name}: left", f"{name}: right"
            rows += [(*ends, [there]), (*ends[::-1], [back])]
            rows.append((f"{name}: either side", f"{name}: the other", [there, back]))
        return rows
    names = [*dict.fromkeys(zip(options["origins"], options["destinations"], strict=True))]
    regions: dict[str, Any] = {code: code for pair in names for code in pair}
    if options["polygons"] is not None:
        name = options["polygon_name"]
        shapes = read_polygons(options["polygons"], ground_of(grid), name=name)
        if len(shapes) > MOST_POLYGONS:
            raise UsageError(
                f"Flows are estimated between at most {MOST_POLYGONS} polygons, as all pairs of "
                "them are.",
                code="flows-polygons-many",
            )
        regions = find_named(shapes, partial(find_region, grid))
        names = [(start, end) for start in regions for end in regions]
    return [(start, end, [(regions[start], regions[end])]) for start, end in names]


def _compare(releases: Sequence[Flows], options: Mapping[str, Any]) -> list[tuple[str, Compared]]:
    """Compare what is asked for; UsageError for other numbers of releases or of flows."""
    asked, against = _list_groups(releases[0], options), options.get("against", ())
    if len(releases) == 1 and not against and len(asked) != 2:
        raise UsageError(
            "Compare exactly two flows of one release (--from and --to, twice), flows of one "
            "release with two labels (--label and --against), or the same flows in two releases.",
            code="flows-compare-two",
        )
    labels = read_labels(options["labels_of"], "--label")
    others = {**labels, **read_labels(against, "--against")}
    sides = [(FlowSide(group, labels), FlowSide(group, others)) for _, _, group in asked]
    names = [f"{start} to {end}" for start, end, _ in asked]
    if against:
        shown = f"{show_labels(others)} - {show_labels(labels) or 'all'}"
        names = [f"{name}: {shown}" for name in names]
    if len(releases) == 2:
        first, second = releases
        found = first.compare_all(second, sides)
    elif against:
        groups = [group for _, _, group in asked]
        found = releases[0].compare_labels(groups, (labels, others))
    else:
        one, other = (side for side, _ in sides)
        names, found = [" - ".join(names[::-1])], [releases[0].compare_sides(one, other)]
    return [*zip(names, found, strict=True)]
