"""``geodp amounts``: records, sums, means and medians of amounts, read, released and written."""

from __future__ import annotations

import click

from geodp.cli.help import CommandFiles, Room

RUNNING = "geodp.kinds.amounts.running"

COMMANDS = {
    "publish": f"{RUNNING}.publish:publish",
    "publish-series": f"{RUNNING}.publish:publish_series",
    "choose-clip": f"{RUNNING}.clip:choose_clip",
    "plan": f"{RUNNING}.clip:plan",
    "sql": f"{RUNNING}.sql:sql",
}


@click.group(cls=Room, commands=CommandFiles(COMMANDS))
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
