"""``geodp statistics``: compute statistics of a released map, and estimate their biases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.figures import DASH, align
from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.cli.using import list_periods, open_used
from geodp.errors import UsageError
from geodp.options.option import Option, joined
from geodp.options.shared import JSON, PART

if TYPE_CHECKING:
    from geodp.release.release import Release
    from geodp.tools.statistics.api import Statistic


STATISTICS = joined(
    PART,
    Option(
        "--statistic", "Statistic to compute; repeatable. Default: all.", name="names", many=True
    ),
    Option(
        "--classes",
        "Smallest number of people in a cell of each size class, separated by commas.",
        default="500,2000",
    ),
    JSON,
)
"""Options of statistics."""


@click.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@with_options(STATISTICS)
def statistics(**options: Any) -> None:
    """Compute statistics of a RELEASE and estimate their biases; costs no budget.

    \b
    geodp statistics release-2025
    geodp statistics release-2025 --statistic urban-centres --statistic cells:2000+

    Size classes of cells with many people, the 100 most populous cells, urban centres and
    clusters. Biases are estimated from the release alone, in two ways; if these disagree, a bias
    is not estimable. Of cells with few people, which noise hides, a release has no statistics.
    """
    from geodp.tools.statistics.api import estimate_statistics

    names, classes = options["names"] or None, _classes(options["classes"])
    tables = _find_tables(options["release"], options["time"], options["table"])
    with report_progress():
        found = [
            (labels, estimate_statistics(one, names, classes=classes), one.card().display_below)
            for labels, one in tables
        ]
    if options["as_json"]:
        rows = [labels | _row(one, limit) for labels, each, limit in found for one in each]
        click.echo(json.dumps({"statistics": rows}, ensure_ascii=False, indent=1))
        return
    for labels, each, limit in found:
        if labels:
            click.echo(f"{' '.join(labels.values())}:")
        click.echo(_table(each, limit))


def _find_tables(
    path: Path, time: str | None, table: str | None
) -> list[tuple[dict[str, str], Release]]:
    """Find the tables of a release, or those asked for, with the time and the name of each.

    Of a release of several tables those with labels are left out, unless asked for by name.
    """
    from geodp.release.opening import find_part

    folder = find_part(path, time=time, table=table).folder
    found: list[tuple[dict[str, str], Release]] = []
    for period, part in list_periods(open_used(folder, "statistics", "tables"), ()).items():
        several = len(part.tables) > 1
        for name, one in part.tables.items():
            if not (several and one.grid.attributes):
                told = {"time": period} if period is not None else {}
                found.append(({**told, **({"table": name} if several else {})}, one))
    return found


def _classes(text: str) -> tuple[int, ...]:
    """Read the smallest counts of size classes."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UsageError(
            "--classes takes whole numbers separated by commas, such as 500,2000.",
            code="classes-form",
        )
    return tuple(int(part) for part in parts)


def _row(one: Statistic, limit: int | None) -> dict[str, Any]:
    """Return the row of a statistic in JSON; with a limit of display, whether it is below that."""
    row = one.to_dict()
    return row if limit is None else {**row, "below": _is_few(one, limit)}


def _is_few(one: Statistic, limit: int | None) -> bool:
    """Return whether a statistic counts people, and is shown as below a limit."""
    from geodp.table.display import is_below
    from geodp.tools.statistics.estimate import counts_people

    return counts_people(one.name) and bool(is_below(one.value, limit))


def _table(results: list[Statistic], limit: int | None = None) -> str:
    """Format statistics as a table; ``limit``: limit of display of those that count people."""
    from geodp.table.display import show_limit

    lines = [("statistic", "released", "bias", "corrected", "95 % interval", "found by")]
    for one in results:
        value, bias, corrected, interval = _text(one.value), _text(one.bias), "", ""
        if one.corrected is not None:
            corrected, low, high = map(_text, one.corrected.to_dict().values())
            interval = f"{low} to {high}"
        if limit is not None and _is_few(one, limit):
            # A bias or an interval would reveal the number that the limit of display hides.
            value, bias, corrected, interval = show_limit(limit), DASH, DASH, DASH
        lines.append((one.name, value, bias, corrected, interval, one.basis))
    return align(lines)


def _text(value: float | None) -> str:
    """Format a number with four digits below 100, and as an integer above."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
