"""``geodp amounts``: records, sums, means and medians of amounts, read, released and written."""

from __future__ import annotations

import click

from geodp.cli.help import Room
from geodp.kinds.amounts.running.clip import choose_clip, plan
from geodp.kinds.amounts.running.publish import publish, publish_series
from geodp.kinds.amounts.running.sql import sql


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


COMMAND = amounts
