"""``geodp flows``: trips bounded by person, released with both maps of their ends."""

from __future__ import annotations

import click

from geodp.cli.help import CommandFiles, Room

RUNNING = "geodp.kinds.flows.running"

COMMANDS = {
    "publish": f"{RUNNING}.publish:publish",
    "publish-series": f"{RUNNING}.publish:publish_series",
    "choose-trips": f"{RUNNING}.trips:choose_trips",
    "evaluate": f"{RUNNING}.evaluate:evaluate",
    "plan": f"{RUNNING}.trips:plan",
    "sql": f"{RUNNING}.sql:sql",
}


@click.group(cls=Room, commands=CommandFiles(COMMANDS))
def flows() -> None:
    """Release trips between zones, protected by person, with both maps of their ends.

    \b
    geodp flows publish trips.csv --grid jis:basic --bounds tokyo --from o --to d
        --person id --trips 10 --epsilon 1 --output out
    geodp flows publish-series 2019=trips-2019.csv 2020=trips-2020.csv ... --person-in all
    geodp flows plan --grid jis:basic --bounds tokyo --trips 10 --epsilon 1
    geodp flows choose-trips trips.csv ... --person id --largest 100 --epsilon 0.01 --output trips
    geodp estimate out --from 533945 --to 533946
    geodp compare out-2019 out-2023 --from 533945 --to 533946
    """
