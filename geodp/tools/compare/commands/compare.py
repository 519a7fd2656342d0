"""``geodp compare``: test whether sums of regions differ by more than their noise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from geodp.cli.figures import DASH, Row, ShownRows, align, mark_below, show_answers
from geodp.cli.help import with_options
from geodp.cli.output import PICTURES, require_drawn, require_free, write_picture
from geodp.cli.using import (
    AS_JSON,
    Side,
    UsingCommand,
    compare_quantities,
    find_answer,
    limit_of,
    list_pair,
    open_used,
    pair_regions,
    say_smoothed,
)
from geodp.errors import UsageError
from geodp.options.option import Option, grouped
from geodp.options.shared import AGAINST, AREAS, LABEL, TIME

ALTERNATIVES = ("two-sided", "greater", "less")
CORRECTIONS = ("holm", "benjamini-hochberg")

TESTED = ("ratio", "polygons", "polygon_name", "area", "cells", "conservative", "correction")
"""Options of what releases are asked, which neither a plan nor a test of bits takes."""

OF_COUNTS = grouped(
    "Counts",
    Option(
        "--cells",
        "Compare every cell of two releases instead of regions.",
        type=bool,
        excludes=("polygons", "area", "conservative", "ratio"),
    ),
    Option(
        "--conservative",
        "Use the regions' 95 % intervals where clamping at 0 may have moved people.",
        type=bool,
    ),
    Option(
        "--ratio",
        "Estimate ratios, first to second, with intervals, instead of testing differences.",
        type=bool,
        excludes=("alternative", "correction"),
    ),
    Option(
        "--correction",
        "Correction for many tests: bound the probability of any false finding, or their "
        "expected share.",
        choices=CORRECTIONS,
        default=CORRECTIONS[0],
    ),
    Option(
        "--alternative",
        "Alternative hypothesis: the second differs, is greater, or is less.",
        choices=ALTERNATIVES,
        default=ALTERNATIVES[0],
    ),
    Option(
        "--alpha",
        "Significance level: the probability of a false finding.",
        default=0.05,
        type=float,
    ),
    everyday=True,
)
"""Options of tests of counts; the last two are also those of bits."""

DEVICES = grouped(
    "Options",
    Option(
        "--plan",
        "Without a release: compute how many devices are needed to show a difference.",
        type=bool,
        needs=("difference",),
        excludes=TESTED,
    ),
    Option(
        "--bits",
        "Without a release: ONES:DEVICES of a group's bits, once for each of two groups; with "
        "--maximum, --epsilon.",
        many=True,
        metavar="ONES:ALL",
        needs=("maximum",),
        excludes=(*TESTED, "plan"),
    ),
    Option(
        "--maximum",
        "With --plan: largest value of a device; the smallest is 0.",
        type=float,
        needs=("plan", "bits"),
    ),
    Option(
        "--difference",
        "With --plan: difference between the means of the two groups.",
        type=float,
        needs=("maximum",),
        excludes=("bits",),
    ),
    Option(
        "--epsilon",
        "With --plan: epsilon of a device's bit. Default: no noise.",
        needs=("plan", "bits"),
    ),
    Option(
        "--share",
        "With --plan: mean of the first group, divided by --maximum. Default: the worst case.",
        type=float,
        needs=("plan",),
    ),
    Option(
        "--power",
        "With --plan: power of the test.",
        type=float,
        default=0.8,
        needs=("plan",),
        excludes=("devices",),
    ),
    Option(
        "--devices",
        "With --plan: compute the power with this many devices in each group.",
        type=int,
        needs=("plan",),
    ),
    Option(
        "--plot",
        "With --plan: PNG, PDF or SVG file of the power by devices, for several epsilons.",
        type=Path,
        needs=("plan",),
    ),
    Option("--overwrite", "Replace this file.", type=bool, needs=("plot",)),
)
"""Options of groups of devices, of which no release is known."""


PLANNED = ("maximum", "difference", "epsilon", "share", "power", "devices")
COMMON = ("0.5", "1", "2", "4", None)
"""Epsilons whose sample sizes and powers are shown along with those of the requested one."""


@click.command(cls=UsingCommand, door="compare", counts=OF_COUNTS, no_args_is_help=True)
@click.argument("releases", nargs=-1, type=click.Path(path_type=Path))
@with_options(TIME, AREAS, LABEL, AGAINST, DEVICES, AS_JSON)
def compare(**options: Any) -> None:
    """Compare regions, groups or RELEASES of any kind, beside their noise; costs no budget.

    \b
    geodp compare release-2020 release-2025 --polygons cities.geojson --conservative
    geodp compare release-2025 --area 5339 --area 5340 --conservative
    geodp compare series --time 2015 --time 2020 --area 5339
    geodp compare incomes --area 5339 --label sex=m --against sex=f
    geodp compare trips-2019 trips-2023 --from 533945 --to 533946
    geodp compare --plan --maximum 15000 --difference 600 --epsilon 1 --share 0.2 --plot power.svg
    geodp compare --bits 4250:9000 --bits 4500:9000 --maximum 15000 --epsilon 1

    One release: every region with every other. Two releases, or two periods of a series: every
    region with itself. Differences are the second less the first, with 95 % intervals; a star marks
    those that noise does not explain. Counts are tested: exactly for single cells with Laplace
    noise, by normal errors otherwise, and corrected for their number.
    """
    if options["plan"] or options["bits"]:
        _compare_devices(options)
        return
    opened = [open_used(path, "compare") for path in options["releases"]]
    releases = list_pair(opened, options["times"])
    answer = find_answer(releases, "compare", _compare)
    if options["cells"]:
        _compare_cells(releases, options)
        return
    what = "ratio" if options["ratio"] else "difference"
    show_answers({what: answer(releases, options)}, options)


def _compare_devices(options: Mapping[str, Any]) -> None:
    """Print a plan of groups of devices, or the test of their bits."""
    if options["releases"]:
        raise UsageError(
            "--plan and --bits read no release; leave out releases.", code="plan-has-no-release"
        )
    if options["plan"]:
        require_free(options["plot"], "--plot", PICTURES, overwrite=options["overwrite"])
        require_drawn(options["plot"])
        document = _plan(options)
        text = _plan_text(document)
        if options["plot"] is not None:
            _draw_power(options)
    else:
        document = _bits(options)
        text = _bits_text(document)
    click.echo(json.dumps(document, ensure_ascii=False, indent=1) if options["as_json"] else text)


def _compare(releases: Sequence[Any], options: Mapping[str, Any]) -> ShownRows:
    """Compare quantities that every kind has, and test counts."""
    from geodp.release.release import Release

    if not isinstance(releases[0], Release):
        return compare_quantities(releases, options)
    pairs = pair_regions(releases, options, "{0} / {1}" if options["ratio"] else "{1} - {0}")
    hidden = _find_hidden(releases, pairs)
    return (_estimate_ratios if options["ratio"] else _test)(pairs, hidden, options)


def _plan(options: Mapping[str, Any]) -> dict[str, Any]:
    from geodp.literature.api import power, sample_size

    sides = 2 if options["alternative"] == "two-sided" else 1
    names = ("difference", "maximum", "epsilon", "share", "alpha")
    arguments = {"sides": sides, **{name: options[name] for name in names}}
    document = {"sides": sides, **{name: options[name] for name in ("alpha", *PLANNED)}}
    if options["devices"] is None:
        document["devices"] = sample_size(power=options["power"], **arguments)
    else:
        document["power"] = power(options["devices"], **arguments)
    common = {name: one for name, one in arguments.items() if name not in ("epsilon", "share")}
    document["sizes"] = [
        {
            "epsilon": epsilon,
            "worst_case": sample_size(power=document["power"], epsilon=epsilon, **common),
            "of_share": None
            if arguments["share"] is None
            else sample_size(
                power=document["power"], epsilon=epsilon, share=arguments["share"], **common
            ),
        }
        for epsilon in _list_epsilons(options["epsilon"])
    ]
    return document


def _list_epsilons(requested: str | None) -> list[str | None]:
    """List the common epsilons and the requested one in order; None, without noise, is the last."""
    from geodp.privacy.loss import rational

    if requested is None:
        return [*COMMON]
    if any(one is not None and rational(one) == rational(requested) for one in COMMON):
        return [*COMMON]
    return [*sorted([requested, *COMMON[:-1]], key=rational), None]


def _draw_power(options: Mapping[str, Any]) -> None:
    from geodp.literature.bit_means import plot_power

    arguments = (options["difference"], options["maximum"], _list_epsilons(options["epsilon"]))
    sides = 2 if options["alternative"] == "two-sided" else 1
    more = {"share": options["share"], "alpha": options["alpha"], "sides": sides}
    draw = partial(plot_power, *arguments, **more)
    write_picture(options["plot"], draw, True, options["overwrite"])


def _plan_text(document: dict[str, Any]) -> str:
    bits = "bits without noise"
    if document["epsilon"] is not None:
        bits = f"one bit of epsilon {document['epsilon']} from each"
    means = "whatever the means are"
    if document["share"] is not None:
        means = f"where the first mean is {document['share']:g} of the maximum"
    return (
        f"Two groups of {document['devices']:,} devices, {bits}, show a difference of "
        f"{document['difference']:,g} of {document['maximum']:,g} with probability "
        f"{document['power']:.3f}, {means}; {'two' if document['sides'] == 2 else 'one'}-sided at "
        f"{document['alpha']:g}.\n\n{_sizes_text(document)}"
    )


def _sizes_text(document: dict[str, Any]) -> str:
    """Format the devices of each group for that power, a line for each epsilon."""
    lines = ["Devices of each group for that power:", "epsilon     worst case"]
    if document["share"] is not None:
        lines[-1] += f"  mean of {document['share']:g}".rjust(17)
    for row in document["sizes"]:
        name = "none" if row["epsilon"] is None else row["epsilon"]
        line = f"{name:<8}  {row['worst_case']:>12,}"
        if row["of_share"] is not None:
            line += f"  {row['of_share']:>15,}"
        lines.append(line)
    return "\n".join(lines)


def _bits(options: Mapping[str, Any]) -> dict[str, Any]:
    from geodp.literature.api import means

    if len(options["bits"]) != 2:
        raise UsageError("--bits is given for each of two groups.", code="bits-of-two-groups")
    groups = [one.split(":") for one in options["bits"]]
    if any(len(group) != 2 or not all(part.isdecimal() for part in group) for group in groups):
        raise UsageError(
            "--bits takes ONES:ALL: how many bits are 1, and how many there are.", code="bits-form"
        )
    first, second = ((int(ones), int(every)) for ones, every in groups)
    arguments = {name: options[name] for name in ("alternative", "alpha")}
    design = {name: options[name] for name in ("maximum", "epsilon", "alpha")}
    test = means(first, second, design["maximum"], design["epsilon"], **arguments)
    return {**design, **test.to_dict(), "found": test.p_value <= options["alpha"]}


def _bits_text(document: dict[str, Any]) -> str:
    difference, low, high = (f"{document[name]:,.4g}" for name in ("value", "low", "high"))
    noise = "without noise"
    if document["epsilon"] is not None:
        noise = f"of epsilon {document['epsilon']}"
    return (
        f"The second mean less the first is {difference} ({low} to {high} at "
        f"{100 * (1 - document['alpha']):g} %, by bits {noise}): p-value "
        f"{document['p_value']:.2g}, {document['alternative']}, "
        f"{'found' if document['found'] else 'not found'} at {document['alpha']:g}."
    )


Pairs = Mapping[str, tuple[Side, Side]]
"""Pairs of regions by their names."""


Hidden = Mapping[str, Mapping[str, Any]]
"""Values of the rows of pairs: the limit of display, and whether it hides a count."""


def _find_hidden(releases: Sequence[Any], pairs: Pairs) -> Hidden:
    """Find the pairs of which a limit of display hides a count, estimating each region once."""
    from geodp.table.display import is_below

    limits = [limit_of(one) for one in releases]
    if all(one is None for one in limits):
        return {name: {} for name in pairs}
    few: set[tuple[int, int]] = set()
    for release, limit in zip(releases, limits, strict=True):
        of = {id(one): one for pair in pairs.values() for side, one in pair if side is release}
        found = zip(of, release.estimate_all(of.values()), strict=True)
        few |= {(id(release), one) for one, each in found if is_below(each.count, limit)}
    limit = next(one for one in limits if one is not None)
    return {
        name: {"limit": limit, "below": any((id(one), id(region)) in few for one, region in pair)}
        for name, pair in pairs.items()
    }


def _test(pairs: Pairs, hidden: Hidden, options: Mapping[str, Any]) -> ShownRows:
    """Test differences of counts."""
    from geodp.grid.region import find_named
    from geodp.tools.compare.api import adjust, compare_regions

    names = ("alternative", "alpha", "conservative")
    asked = {name: options[name] for name in names}
    tests = find_named(pairs, lambda pair: compare_regions(*pair, **asked))
    # One correction for all rows, as anybody who reads the table picks the smallest p-value.
    chances = [one.p_value for one in tests.values()]
    adjusted = adjust(chances, options["correction"]).tolist()
    rows = []
    for (name, test), chance in zip(tests.items(), adjusted, strict=True):
        below, found = hidden[name].get("below"), chance <= options["alpha"]
        shown = ("", "") if below else (f"{test.p_value:.2g}", f"{chance:.2g}")
        more: dict[str, Any] = {"adjusted": chance, "found": found}
        of_row = {**hidden[name], "more": more, "columns": shown, "starred": found}
        rows.append(Row({"name": name}, "count", test, **of_row))
    shown_rows = [one for one in rows if not one.below]
    significant = sum(bool(one.starred) for one in shown_rows)
    kinds = ", ".join(sorted({one.basis for one in tests.values()}))
    releases = [release for pair in pairs.values() for release, _ in pair]
    note = (
        f"\n{significant} of {len(shown_rows)} found (*) at {options['alpha']:g}, "
        f"{options['alternative']}, corrected by {options['correction']}; errors: {kinds}."
    )
    return ShownRows(
        rows,
        about={**asked, "correction": options["correction"]},
        columns=("p-value", "adjusted"),
        confidence=100 * (1 - options["alpha"]),
        notes=(note, *say_smoothed(releases)),
    )


def _estimate_ratios(pairs: Pairs, hidden: Hidden, options: Mapping[str, Any]) -> ShownRows:
    """Estimate ratios of counts, the first to the second."""
    from geodp.grid.region import find_named
    from geodp.tools.compare.api import estimate_ratio

    asked = {name: options[name] for name in ("alpha", "conservative")}
    found = find_named(pairs, lambda pair: estimate_ratio(*pair, **asked))
    rows = [Row({"name": name}, "ratio", one, **hidden[name]) for name, one in found.items()]
    kinds = {one.basis for one in found.values()}
    note = f"\nOne interval each, not corrected for many; errors: {', '.join(sorted(kinds))}."
    confidence = 100 * (1 - options["alpha"])
    return ShownRows(rows, about=asked, confidence=confidence, notes=(note,))


def _compare_cells(releases: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Print the test of every cell of two releases."""
    if len(releases) != 2:
        raise UsageError("--cells compares two releases.", code="cells-of-two-releases")
    document = _cells(releases[0], releases[1], options)
    text = json.dumps(document, ensure_ascii=False, indent=1)
    click.echo(text if options["as_json"] else _cells_text(document))


def _cells(first: Any, second: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    from geodp.table.display import is_below
    from geodp.tools.compare.api import compare_cells
    from geodp.tools.compare.changes import counts_at

    names = ("alternative", "correction")
    arguments = {name: options[name] for name in names}
    tests = compare_cells(first, second, **arguments)
    chosen = tests.adjusted <= options["alpha"]
    key = tests.key[chosen]
    codes = [[int(part) for part in index] for index in first.grid.decode(key).T]
    values, adjusted = tests.value[chosen].tolist(), tests.adjusted[chosen].tolist()
    limits = [one.card().display_below for one in (first, second)]
    below = (
        is_below(counts_at(one, tests.key)[chosen], limit)
        for one, limit in zip((first, second), limits, strict=True)
    )
    hidden = next(below) | next(below)
    rows = [
        {"cell": cell, "value": value, "adjusted": chance, **mark_below(few, limits)}
        for cell, value, chance, few in zip(codes, values, adjusted, hidden.tolist(), strict=True)
    ]
    counts = {"alpha": options["alpha"], "tested": first.grid.size, "basis": tests.basis}
    return {**arguments, **counts, "found": rows}


def _cells_text(document: dict[str, Any]) -> str:
    lines = [
        (
            " ".join(map(str, row["cell"])),
            *(
                (DASH,) * 2
                if row.get("below")
                else (f"{row['value']:+,.1f}", f"{row['adjusted']:.2g}")
            ),
        )
        for row in document["found"]
    ]
    table = align([("cell", "difference", "adjusted p-value"), *lines]) + "\n\n" if lines else ""
    return (
        f"{table}{len(lines)} of {document['tested']:,} cells found at "
        f"{document['alpha']:g}, {document['alternative']}, corrected by "
        f"{document['correction']}; errors: {document['basis']}."
    )
