"""``geodp amounts plan`` and ``choose-clip``: upper ends of the clip, before and by the records."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check, check_options
from geodp.cli.help import json_option, option
from geodp.cli.inputs import grid_of
from geodp.cli.options import GridCommand, folder_options, grid_options, inputs, weight_options
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import carry_out
from geodp.kinds.amounts.running.options import (
    BEYOND,
    RecordsCommand,
    amount_option,
    check_reading,
    contribution_option,
    make_records_reader,
    method_option,
    split_amounts,
    step_option,
    unit_of_amount_option,
)
from geodp.kinds.selection.running import FIELDS, SelectionPublishing

if TYPE_CHECKING:
    from geodp.kinds.selection.selected import Selected, SelectionDesign
    from geodp.release.transaction import Prepared


PLANNED = ("epsilon", "rho", "delta", "neighbours", "people")
"""Fields of a request that a plan of the clip accepts."""


@click.command(cls=GridCommand, no_args_is_help=True)
@grid_options
@option(
    "--median",
    group="Options",
    type=float,
    required=True,
    help="A public guess of the amount that one record in two exceeds.",
)
@option(
    "--upper-tenth",
    group="Options",
    type=float,
    required=True,
    help="A public guess of the amount that one record in ten exceeds.",
)
@option(
    "--clip",
    "clips",
    group="Options",
    multiple=True,
    metavar="UPPER",
    help="Upper end of the clip to compare; repeatable.  [default: those that 20 % to 0.1 % of "
    "records would exceed]",
)
@option("--lower", group="Options", default="0", show_default=True, help="Lower end of the clip.")
@option(
    "--area-records",
    "records",
    group="Options",
    type=float,
    default=1000.0,
    show_default=True,
    help="Records of the area whose mean is to be right.",
)
@option(
    "--share",
    group="Privacy",
    default="1",
    show_default=True,
    help="Part of the budget for sums, if classes are released, too.",
)
@option(
    "--contribution",
    group="Privacy",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Most records of one person.",
)
@method_option
@request_options(*PLANNED)
@json_option
def plan(**options: Any) -> None:
    """Compare upper ends of the clip by what they cost a mean, before any data are read.

    \b
    geodp amounts plan --grid jis:half --bounds 139 35 140 36 --median 250 --upper-tenth 600
        --people 1e7 --epsilon 1

    A low end cuts high amounts, which lowers the mean (bias); a high one adds noise. Amounts are
    taken as lognormal, by two public guesses; nobody looks at the data.
    """
    from geodp.kinds.amounts.clip import plan as make_plan

    names = ("median", "upper_tenth", "lower", "records", "share", "contribution")
    told = {name: options[name] for name in (*names, "method", *PLANNED)}
    grid = grid_of({**options, "inputs": ()})
    rows = make_plan(grid, clips=options["clips"], **told)
    if options["as_json"]:
        click.echo(json.dumps([asdict(one) for one in rows], indent=1))
        return
    click.echo(f"{'upper end':>12}{'records above':>15}{'bias':>10}{'noise':>10}{'both':>10}")
    for one in rows:
        parts = "".join(f"{100 * x:>8.2f} %" for x in (one.bias, one.noise, one.error))
        mark = "  *" if one.best else ""
        click.echo(f"{one.upper:>12,.6g}{100 * one.beyond:>13.2f} %{parts}{mark}")


@click.command("choose-clip", cls=RecordsCommand, no_args_is_help=True)
@inputs
@partial(grid_options, required=True)
@amount_option
@unit_of_amount_option
@option(
    "--candidates",
    group="Privacy",
    everyday=True,
    metavar="UPPER,UPPER...",
    help="Public upper ends among which one is chosen, in increasing order.",
)
@option(
    "--lowest",
    group="Privacy",
    everyday=True,
    metavar="UPPER",
    help="In place of --candidates, with --highest: the lowest upper end of a logarithmic scale of "
    "round ones.",
)
@option(
    "--highest",
    group="Privacy",
    everyday=True,
    metavar="UPPER",
    help="With --lowest: the highest upper end that may be chosen.",
)
@option("--lower", group="Privacy", default="0", show_default=True, help="Lower end of the clip.")
@option(
    "--share",
    group="Privacy",
    everyday=True,
    default="0.01",
    show_default=True,
    help="Share of the records that may lie above the chosen end.",
)
@step_option
@weight_options
@contribution_option
@request_options(*FIELDS, without=("contribution",))
@folder_options
@check_options
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
        self.request = read_request(begin_check(options), places)
        counted = {**options, "clip": clip, "classes": edges}
        self.reader = make_records_reader(counted, places, self.request)

    def prepare(self) -> Prepared[SelectionDesign, Selected]:
        """Read the records, and prepare the choice."""
        from geodp.kinds.amounts.clip import prepare_choice

        table = self.reader.read(self.options["inputs"])
        number = int(table.records.count.sum())
        records = {"records": number, "records_beyond_clip": dict(table.beyond)}
        prepared = prepare_choice(table, self.uppers, self.q, self.request)
        return replace(prepared, counted=records, record=records)

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
