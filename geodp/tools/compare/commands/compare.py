"""``geodp compare``: test whether sums of regions differ by more than their noise."""

from __future__ import annotations

import json
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.figures import DASH, align, mark_below
from geodp.cli.options import StrictCommand
from geodp.cli.output import PICTURES, require_drawn, require_free, write_picture
from geodp.cli.regions import AREA, POLYGON_NAME, POLYGONS, read_regions, require_named
from geodp.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from geodp.release.release import Release


ALTERNATIVES = ("two-sided", "greater", "less")
CORRECTIONS = ("holm", "benjamini-hochberg")
PLANNED = ("maximum", "difference", "epsilon", "share", "power", "devices")
COMMON = ("0.5", "1", "2", "4", None)
"""Epsilons whose sample sizes and powers are shown along with those of the requested one."""
RATED = ("alternative", "correction")
TESTED = ("ratio", "polygons", "polygon_name", "area", "cells", "correction", "conservative")
MAX_PAIRS = 10_000


@click.command(
    cls=StrictCommand,
    rare=("plan", "maximum", "difference", "epsilon", "share", "power", "devices", "bits", "plot"),
    no_args_is_help=True,
)
@click.argument("releases", nargs=-1, type=click.Path(path_type=Path))
@POLYGONS
@POLYGON_NAME
@AREA
@click.option(
    "--cells", is_flag=True, help="Compare every cell of two releases instead of regions."
)
@click.option(
    "--alternative",
    type=click.Choice(ALTERNATIVES),
    default=ALTERNATIVES[0],
    show_default=True,
    help="Alternative hypothesis: the first differs, is greater, or is less.",
)
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    help="Significance level: the probability of a false finding.",
)
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default=CORRECTIONS[0],
    show_default=True,
    help="Correction for many tests: bound the probability of any false finding, or their "
    "expected share.",
)
@click.option(
    "--conservative",
    is_flag=True,
    help="Use the regions' 95 % intervals where clamping at 0 may have moved people.",
)
@click.option(
    "--ratio",
    is_flag=True,
    help="Estimate ratios, first to second, with intervals, instead of testing differences.",
)
@click.option(
    "--plan",
    is_flag=True,
    help="Without a release: compute how many devices are needed to show a difference.",
)
@click.option(
    "--maximum", type=float, help="With --plan: largest value of a device; the smallest is 0."
)
@click.option(
    "--difference", type=float, help="With --plan: difference between the means of the two groups."
)
@click.option("--epsilon", help="With --plan: epsilon of a device's bit. Default: no noise.")
@click.option(
    "--share",
    type=float,
    help="With --plan: mean of the first group, divided by --maximum. Default: the worst case.",
)
@click.option(
    "--power", type=float, default=0.8, show_default=True, help="With --plan: power of the test."
)
@click.option(
    "--devices",
    type=int,
    help="With --plan: compute the power with this many devices in each group.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="With --plan: PNG, PDF or SVG file of the power by devices, for several epsilons.",
)
@click.option("--overwrite", is_flag=True, help="Replace this file.")
@click.option(
    "--bits",
    multiple=True,
    metavar="ONES:ALL",
    help="Without a release: ONES:DEVICES of a group's bits, once for each of two groups; with "
    "--maximum, --epsilon.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
def compare(**options: Any) -> None:
    """Test whether regions or RELEASES differ by more than their noise; costs no budget.

    \b
    geodp compare release-2020 release-2025 --polygons cities.geojson --conservative
    geodp compare release-2025 --area 5339 --area 5340 --conservative
    geodp compare --plan --maximum 15000 --difference 600 --epsilon 1 --share 0.2 --plot power.svg
    geodp compare --bits 4500:9000 --bits 4250:9000 --maximum 15000 --epsilon 1

    One release: every region against every other. Two releases: every region in the first against
    itself in the second. Tests are exact for single cells with Laplace noise, use normal errors
    otherwise, and are corrected for their number.
    """
    _require_fitting(click.get_current_context())
    if options["plan"]:
        require_free(options["plot"], "--plot", PICTURES, overwrite=options["overwrite"])
        require_drawn(options["plot"])
        document = _plan(options)
        text = _plan_text(document)
        if options["plot"] is not None:
            _draw_power(options)
    elif options["ratio"]:
        document = _ratios(options)
        text = _ratios_text(document)
    elif options["bits"]:
        document = _bits(options)
        text = _bits_text(document)
    elif options["cells"]:
        document = _cells(options)
        text = _cells_text(document)
    else:
        document = _regions(options)
        text = _regions_text(document)
    if options["as_json"]:
        text = json.dumps(document, ensure_ascii=False, indent=1)
    click.echo(text)


COMMAND = compare


def _require_fitting(context: click.Context) -> None:
    """Require options that go together, or raise UsageError."""
    options = context.params
    names = {option.name: option.opts[-1] for option in context.command.params}
    # Options left at their defaults are not in the way; only those that were given are.
    explicit_names = {
        n for n in names if context.get_parameter_source(str(n)) is ParameterSource.COMMANDLINE
    }
    if options["bits"]:
        if options["releases"] or explicit_names & {*TESTED, *PLANNED, "plan", "plot"} - {
            "maximum",
            "epsilon",
        }:
            raise UsageError(
                "--bits goes with --maximum, --epsilon, --alternative and --alpha.",
                code="option-needs-bits",
            )
        if len(options["bits"]) != 2 or options["maximum"] is None:
            raise UsageError(
                "--bits is given for each of two groups, with --maximum.",
                code="bits-of-two-groups",
            )
        return
    if options["plan"]:
        if options["releases"] or explicit_names & {*TESTED}:
            raise UsageError(
                "--plan reads no release; leave out releases and regions.",
                code="plan-has-no-release",
            )
        if options["maximum"] is None or options["difference"] is None:
            raise UsageError("--plan needs --maximum and --difference.", code="plan-incomplete")
        if options["devices"] is not None and "power" in explicit_names:
            raise UsageError("Give --power or --devices, not both.", code="power-or-devices")
        return
    for name in (*PLANNED, "plot", "overwrite"):
        if name in explicit_names:
            raise UsageError(
                f"{names[name]} goes with --plan or --bits only.", code="option-needs-plan-or-bits"
            )
    count = len(options["releases"])
    if count not in (1, 2):
        raise UsageError("Give one release or two, or --plan.", code="releases-one-or-two")
    has_regions = options["polygons"] is not None or bool(options["area"])
    # An interval of a ratio tests nothing: options of tests would be ignored.
    if options["ratio"] and (options["cells"] or explicit_names & {*RATED}):
        raise UsageError(
            "--ratio estimates ratios of regions: leave out --cells and options of tests.",
            code="ratio-of-regions",
        )
    if options["cells"] == has_regions:
        raise UsageError(
            "Name what to compare: --area CODE, repeatable, or --polygons FILE, with "
            "--conservative where the releases have no negative counts; or --cells of two releases "
            "that have them. geodp diff OLD NEW estimates changes of cells of any two.",
            code="compare-what",
        )
    if options["cells"] and (count != 2 or options["conservative"]):
        raise UsageError(
            "--cells compares two releases, and --conservative is for regions.",
            code="cells-of-two-releases",
        )
    require_named(options)


def _plan(options: dict[str, Any]) -> dict[str, Any]:
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


def _draw_power(options: dict[str, Any]) -> None:
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


def _bits(options: dict[str, Any]) -> dict[str, Any]:
    from geodp.literature.api import means

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
        f"The first mean less the second is {difference} ({low} to {high} at "
        f"{100 * (1 - document['alpha']):g} %, by bits {noise}): p-value "
        f"{document['p_value']:.2g}, {document['alternative']}, "
        f"{'found' if document['found'] else 'not found'} at {document['alpha']:g}."
    )


def _pairs(options: dict[str, Any], between: str = "-") -> Iterator[tuple[str, Any, Any]]:
    """Yield names and pairs of regions: all pairs of one release, or each region of two."""
    from geodp.release.opening import open_release

    releases = [open_release(path) for path in options["releases"]]
    regions = [read_regions(options, release) for release in releases]
    if len(releases) == 2:
        for name, region in regions[0].items():
            yield name, (releases[0], region), (releases[1], regions[1][name])
        return
    count = len(regions[0])
    if count < 2:
        raise UsageError("Give at least two regions of one release.", code="regions-fewer-than-two")
    # Each pair is a test with sums of its own, and a row of the output.
    if count * (count - 1) // 2 > MAX_PAIRS:
        raise UsageError(
            f"{count} regions have more than {MAX_PAIRS} pairs; give fewer.", code="pairs-too-many"
        )
    for (one, region), (two, other) in combinations(regions[0].items(), 2):
        yield f"{one} {between} {two}", (releases[0], region), (releases[0], other)


def _mark(*places: tuple[Release, Any]) -> dict[str, bool]:
    """Return the field that marks a row in which a limit of display hides a count of a region."""
    from geodp.table.display import is_below

    limits = [release.card().display_below for release, _ in places]
    if all(limit is None for limit in limits):
        return {}
    counts = (release.estimate(region).count for release, region in places)
    hidden = any(is_below(*pair) for pair in zip(counts, limits, strict=True))
    return mark_below(hidden, limits)


def _hide(row: dict[str, Any], *figures: str) -> tuple[str, ...]:
    """Return the figures of a row, or dashes where they would reveal a count that is hidden."""
    return (DASH,) * len(figures) if row.get("below") else figures


def _ends(row: dict[str, Any], form: str) -> tuple[str, str, str]:
    """Format the value of a row, its standard error and its interval."""
    value, error, low, high = (
        format(row[name], form) for name in ("value", "standard_error", "low", "high")
    )
    return value, error, f"{low} to {high}"


def _regions(options: dict[str, Any]) -> dict[str, Any]:
    from geodp.tools.compare.api import adjust, compare_regions

    names = ("alternative", "alpha", "conservative")
    arguments = {name: options[name] for name in names}
    rows: list[dict[str, Any]] = []
    for name, first, second in _pairs(options):
        try:
            test = compare_regions(first, second, **arguments)
        except UsageError as error:
            raise UsageError(f"{name}: {error}", code=error.code) from None
        rows.append({"name": name, "quantity": "count", **test.to_dict(), **_mark(first, second)})
    # One correction for all rows, as anybody who reads the table picks the smallest p-value.
    adjusted = adjust([row["p_value"] for row in rows], options["correction"]).tolist()
    for row, p_value in zip(rows, adjusted, strict=True):
        row |= {"adjusted": p_value, "found": p_value <= options["alpha"]}
    return {**arguments, "correction": options["correction"], "differences": rows}


def _regions_text(document: dict[str, Any]) -> str:
    rows = document["differences"]
    confidence = f"{100 * (1 - document['alpha']):g} % interval"
    lines = [
        ("region", "difference", "standard error", confidence, "p-value", "adjusted", ""),
    ]
    for row in rows:
        value, error, ends = _ends(row, ",.1f")
        chances = (f"{row[name]:.2g}" for name in ("p_value", "adjusted"))
        star = "*" if row["found"] else ""
        lines.append((row["name"], *_hide(row, value, error, ends, *chances, star)))
    shown = [row for row in rows if not row.get("below")]
    significant = sum(row["found"] for row in shown)
    kinds = ", ".join(sorted({row["basis"] for row in rows}))
    return (
        f"{align(lines)}\n\n{significant} of {len(shown)} found (*) at {document['alpha']:g}, "
        f"{document['alternative']}, corrected by {document['correction']}; errors: {kinds}."
    )


def _ratios(options: dict[str, Any]) -> dict[str, Any]:
    from geodp.tools.compare.api import estimate_ratio

    arguments = {name: options[name] for name in ("alpha", "conservative")}
    rows: list[dict[str, Any]] = []
    for name, first, second in _pairs(options, "/"):
        try:
            ratio = estimate_ratio(first, second, **arguments)
        except UsageError as error:
            raise UsageError(f"{name}: {error}", code=error.code) from None
        rows.append({"name": name, "quantity": "ratio", **ratio.to_dict(), **_mark(first, second)})
    return {**arguments, "ratios": rows}


def _ratios_text(document: dict[str, Any]) -> str:
    rows = document["ratios"]
    confidence = f"{100 * (1 - document['alpha']):g} % interval"
    # The error of a ratio depends on both of its numbers.
    lines = [(row["name"], *_hide(row, *_ends(row, ".4f"))) for row in rows]
    kinds = ", ".join(sorted({row["basis"] for row in rows}))
    table = align([("region", "ratio", "standard error", confidence), *lines])
    return f"{table}\n\nOne interval each, not corrected for many; errors: {kinds}."


def _cells(options: dict[str, Any]) -> dict[str, Any]:
    from geodp.release.opening import open_release
    from geodp.table.display import is_below
    from geodp.tools.compare.api import compare_cells
    from geodp.tools.compare.changes import counts_at

    first, second = (open_release(path) for path in options["releases"])
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
            *_hide(row, f"{row['value']:,.1f}", f"{row['adjusted']:.2g}"),
        )
        for row in document["found"]
    ]
    table = align([("cell", "difference", "adjusted p-value"), *lines]) + "\n\n" if lines else ""
    return (
        f"{table}{len(lines)} of {document['tested']:,} cells found at "
        f"{document['alpha']:g}, {document['alternative']}, corrected by "
        f"{document['correction']}; errors: {document['basis']}."
    )
