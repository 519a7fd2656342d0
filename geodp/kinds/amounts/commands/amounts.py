"""``geodp amounts``: records, sums, means and medians of amounts, read, released and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from geodp.cli.help import Room, with_options
from geodp.cli.options import StrictCommand
from geodp.cli.output import require_unsealed
from geodp.cli.pages import page_options, read_notice, write_html
from geodp.cli.regions import read_shapes
from geodp.kinds.amounts.running.clip import choose_clip, plan
from geodp.kinds.amounts.running.options import open_amounts
from geodp.kinds.amounts.running.publish import publish, publish_series
from geodp.kinds.amounts.running.sql import sql
from geodp.options.shared import AREAS, TIME


@click.group(cls=Room)
def amounts() -> None:
    """Release counts, sums, means and medians of amounts, such as incomes, by area.

    \b
    geodp amounts publish FILE --grid jis:half --code mesh --amount income --clip 0 1000
        --unit-of-amount "10,000 yen" --contribution 1 --epsilon 1 --output out
    geodp amounts publish-series 2015=FILE 2020=FILE ... --person-in all --output out
    geodp amounts plan --grid jis:half ... --median 250 --upper-tenth 600 --people 1e7 --epsilon 1
    geodp amounts choose-clip FILE ... --lowest 100 --highest 10000 --epsilon 0.02 --output clip
    geodp estimate out --area 5339
    geodp compare out --area 5339 --area 5340
    """


for one in (publish, publish_series, choose_clip, plan, sql):
    amounts.add_command(one)


@amounts.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@with_options(replace(TIME, name="time", many=False))
@page_options
@with_options(AREAS)
def report(**options: Any) -> None:
    """Write a page on means and regions of a RELEASE; costs no budget.

    \b
    geodp amounts report out --area 5339 --output out.html

    One HTML file with a map of means, and a table of the regions with 95 % intervals, in the unit
    of the amount. It loads nothing from the network.
    """
    from geodp.kinds.amounts.page import write_page

    output, language = options["output"], options["language"]
    require_unsealed(output)
    release = open_amounts(options["release"], options["time"])
    named = options["polygons"] is not None or options["area"]
    regions = read_shapes(options, release.count.grid) if named else {}
    notice = read_notice(options["release"])
    write_html(output, lambda: write_page(release, regions, language, notice))


COMMAND = amounts
