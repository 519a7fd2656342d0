"""``geodp amounts plan`` and ``choose-clip``: upper ends of the clip, before and by the records."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import with_options
from geodp.cli.inputs import grid_of
from geodp.cli.options import GridCommand, inputs
from geodp.cli.running import carry_out
from geodp.cli.translation import translate
from geodp.kinds.amounts.options import CHOICE, PLANNED
from geodp.kinds.amounts.running.options import (
    BEYOND,
    RecordsCommand,
    check_reading,
    make_records_reader,
    split_amounts,
)
from geodp.kinds.selection.running import FIELDS, SelectionPublishing
from geodp.options.shared import CHECK, FOLDER, GIVEN_DOMAIN, GUESSED_PEOPLE, JSON, REQUEST

if TYPE_CHECKING:
    from geodp.kinds.selection.selected import Selected, SelectionDesign
    from geodp.release.transaction import Prepared


GUESSED_WITH = ("epsilon", "rho", "delta", "neighbours", "people")
"""Fields of a request that a plan of the clip accepts."""


COUNTED = "The number of records of such an area has a standard error of {error}."

UNITS = (
    "If areas such as municipalities or zip codes are the question, publish them as units "
    "(--grid units:TABLE): cells that their borders cut make sums of cells far less accurate."
)

CELLS = (
    "If single cells are the question, --method {method} puts nearly all of the budget on them: "
    "on a map as dense as this their error is {percent} % of the default's, and larger areas have "
    "larger errors."
)


@click.command(cls=GridCommand, no_args_is_help=True)
@with_options(GIVEN_DOMAIN, PLANNED, GUESSED_PEOPLE, REQUEST.of(*GUESSED_WITH), JSON)
def plan(**options: Any) -> None:
    """Compare upper ends of the clip by what they cost a mean, before any data are read.

    \b
    geodp amounts plan --grid jis:half --bounds 139 35 140 36 --median 250 --upper-tenth 600
        --people 1e7 --epsilon 1

    A low end cuts high amounts, which lowers the mean (bias); a high one adds noise. Amounts are
    taken as lognormal, by two public guesses; nobody looks at the data.
    """
    from geodp.kinds.amounts.clip import find_dense_method
    from geodp.kinds.amounts.clip import plan as make_plan

    names = ("median", "upper_tenth", "lower", "records", "share", "contribution")
    series = {"snapshots": options["snapshots"], "person": options["person_in"]}
    told = {name: options[name] for name in (*names, "method", *GUESSED_WITH)}
    grid = grid_of({**options, "inputs": ()})
    rows = make_plan(grid, clips=options["clips"], **series, **told)
    if options["as_json"]:
        click.echo(json.dumps([asdict(one) for one in rows], indent=1))
        return
    click.echo(f"{'upper end':>12}{'records above':>15}{'bias':>10}{'noise':>10}{'both':>10}")
    for one in rows:
        parts = "".join(f"{100 * x:>8.2f} %" for x in (one.bias, one.noise, one.error))
        mark = "  *" if one.best else ""
        click.echo(f"{one.upper:>12,.6g}{100 * one.beyond:>13.2f} %{parts}{mark}")
    click.echo(translate(COUNTED).format(error=f"{rows[0].count_error:,.3g}"))
    if grid.hierarchy is None:
        click.echo(translate(UNITS))
    known = {name: told[name] for name in (*GUESSED_WITH, "share", "contribution")}
    dense = None if told["method"] is not None else find_dense_method(grid, **known)
    if dense is not None:
        click.echo(translate(CELLS).format(method=dense[0], percent=f"{100 * dense[1]:.0f}"))


@click.command(
    "choose-clip",
    cls=RecordsCommand,
    rare=("mask", "points", "by", "where", "value"),
    no_args_is_help=True,
)
@inputs
@with_options(GIVEN_DOMAIN, CHOICE, REQUEST.of(*FIELDS), FOLDER, CHECK)
def choose_clip(**options: Any) -> None:
    """Choose the upper end of the clip by the records in INPUTS, with a charge of its own.

    \b
    geodp amounts choose-clip FILE --grid jis:half --code mesh --amount income --lowest 100
        --highest 10000 --unit-of-amount "10,000 yen" --contribution 1 --epsilon 0.02 --output clip

    One of public candidates is drawn, so that about a share of the records lies above it. Writes
    OUTPUT/public and OUTPUT/restricted, and prints the option of geodp amounts publish, which
    spends a budget of its own.
    """
    carry_out(options, lambda *run: ClipPublishing(*run).run())


class ClipPublishing(SelectionPublishing):
    """A run of ``geodp amounts choose-clip``, checked before anything is read."""

    beyond = BEYOND

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        from geodp.kinds.amounts.clip import ask, list_candidates, require_quantile

        check_reading(click.get_current_context(), options)
        self.q = require_quantile(options["share"])
        candidates = split_amounts(options["candidates"])
        self.uppers = list_candidates(candidates, options["lowest"], options["highest"])
        self.question, self.grid = ask(self.q, self.uppers)
        # Records are counted between candidates, of which the last one ends the clip.
        clip, edges = (options["lower"], self.uppers[-1]), ",".join(self.uppers[:-1])
        places = grid_of(options)
        self.request = self.read_request(places)
        counted = {**options, "clip": clip, "classes": edges}
        self.reader = make_records_reader(counted, places, self.request)

    def prepare(self) -> Prepared[SelectionDesign, Selected]:
        """Read the records, and prepare the choice."""
        from geodp.kinds.amounts.clip import prepare_choice

        table = self.reader.read(self.options["inputs"])
        number = int(table.records.count.sum())
        records = {"counted_records": number, "records_beyond_clip": dict(table.beyond)}
        prepared = prepare_choice(table, self.uppers, self.q, self.request)
        return replace(prepared, counted=records)

    def answer(self, release: Selected) -> list[str]:
        """Say which option of a release was chosen."""
        lower, upper = self._find_clip(release)
        return [f"Use --clip {lower} {upper} with geodp amounts publish."]

    def fields(self, release: Selected) -> dict[str, Any]:
        """Return the chosen clip."""
        return {**super().fields(release), "clip": self._find_clip(release)}

    def _find_clip(self, release: Selected) -> tuple[str, str]:
        from geodp.kinds.amounts.clip import find_upper
        from geodp.kinds.amounts.scale import exact, show_number

        return show_number(exact(self.options["lower"], "lower")), find_upper(release.chosen)
