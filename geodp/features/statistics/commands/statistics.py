"""``geodp statistics``: what people compute of a released map, with its bias."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.features.statistics.api import Statistic


DASH = "\N{EN DASH}"


@click.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--statistic", "names", multiple=True, help="One of them; repeatable. Default: all.")
@click.option(
    "--prior",
    type=click.Path(path_type=Path),
    help="Folder of a public release with cells of about this size: of another date, or of another "
    "place. [default: a map made up of towns]",
)
@click.option(
    "--classes",
    default="1,20,100,500,2000",
    show_default=True,
    help="Least people of a cell of each size class, with commas between.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def statistics(**options: Any) -> None:
    """Compute statistics of a RELEASE and estimate their biases; costs no budget.

    \b
    geodp statistics release-2025 --prior release-2020
    geodp statistics release-2025 --statistic inhabited --statistic cells:1-19

    Inhabited cells, size classes, median, Gini, Moran's I, the 100 most populous cells, urban
    centres and clusters. Biases are found from the release and public maps alone, in several ways;
    where these do not agree, a bias is not estimable. A release with --measurements-complete-to
    cell tells most at larger budgets.
    """
    from geodp.features.statistics.api import estimate_statistics
    from geodp.io.verify.readback import read_release_table
    from geodp.release.opening import open_release

    classes = _classes(options["classes"])
    release = open_release(options["release"])
    prior = None if options["prior"] is None else read_release_table(options["prior"])[0]
    with report_progress():
        found = estimate_statistics(release, options["names"] or None, prior=prior, classes=classes)
    limit = release.card().display_below
    if options["as_json"]:
        rows = {"statistics": [_row(one, limit) for one in found]}
        click.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    click.echo("\n".join(_lines(found, limit)))


COMMAND = statistics


def _classes(text: str) -> tuple[int, ...]:
    """Read least people of size classes."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UsageError(
            "--classes is written as whole numbers with commas between: 1,20,100.",
            code="classes-form",
        )
    return tuple(int(part) for part in parts)


def _row(one: Statistic, limit: int | None) -> dict[str, Any]:
    """Return a statistic for programs: its numbers and, with a limit of display, how it shows."""
    row = one.to_dict()
    return row if limit is None else {**row, "below": _is_few(one, limit)}


def _is_few(one: Statistic, limit: int | None) -> bool:
    """Whether a statistic is people, and so few that a count of them is shown as below a limit."""
    from geodp.features.statistics.figures import counts_people
    from geodp.table.display import is_below

    return counts_people(one.name) and bool(is_below(one.value, limit))


def _lines(found: list[Statistic], limit: int | None = None) -> list[str]:
    """Return rows as text; ``limit``: of display, for those that are people."""
    from geodp.table.display import show_limit

    width = max(len("statistic"), *(len(one.name) for one in found))
    lines = [
        f"{'statistic':<{width}}  {'released':>14}  {'bias':>12}  {'corrected':>14}  "
        f"{'95 % interval':>29}  found by"
    ]
    for one in found:
        figures = (one.value, one.bias, one.corrected, one.low, one.high)
        value, bias, corrected, low, high = (_text(figure) for figure in figures)
        interval = "" if one.low is None else f"{low} to {high}"
        if limit is not None and _is_few(one, limit):
            value, bias, corrected, interval = show_limit(limit), DASH, DASH, DASH
        lines.append(
            f"{one.name:<{width}}  {value:>14}  {bias:>12}  {corrected:>14}  {interval:>29}  "
            f"{one.basis}"
        )
    return lines


def _text(value: float | None) -> str:
    """Return four digits of a number below 100, and whole numbers above."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
