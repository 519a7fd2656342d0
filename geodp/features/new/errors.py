"""Tables of errors for several budgets, which follow from grid and terms, and not from data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from geodp.cli.translation import translate, translate_message

if TYPE_CHECKING:
    from geodp.features.plan.areas import Planned
    from geodp.features.plan.plan import Plan
    from geodp.grid.grid import Grid
    from geodp.privacy.terms import Terms

EPSILONS = ("0.1", "0.5", "1", "2")
"""Epsilons whose errors are shown before one is chosen."""

SIZES = (16, 256, 4096)
"""Cells of the blocks that are shown where a grid has no published areas."""

TITLE = "95 % margin of error of a sum, in people, by epsilon, before any data is read"


def show_errors(grid: Grid, terms: Terms, epsilons: Sequence[str]) -> Plan:
    """Print the errors of the same areas under each budget; return the plan of the first."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from geodp.features.plan.plan import Planner
    from geodp.privacy.budget import budget

    all_terms = [replace(terms, loss=budget(epsilon, None, None)) for epsilon in epsilons]
    plans = [Planner(grid, candidate).plan(None) for candidate in all_terms]
    first = plans[0]
    table = Table(box=None, pad_edge=False)
    table.add_column(translate("area"), overflow="fold")
    for epsilon in epsilons:
        table.add_column(escape(epsilon), justify="right")
    if first.people is not None:
        table.add_column(translate("people there, on average"), justify="right")
    for number, area in enumerate(_areas(first)):
        margins = [_areas(plan)[number].margin_95 for plan in plans]
        shown = ("" if margin is None else f"{margin:,.1f}" for margin in margins)
        row = [escape(_title(area)), *shown]
        if first.people is not None:
            row.append(f"{first.people * area.cells / first.grid.size:,.1f}")
        table.add_row(*row)
    click.echo(f"\n{translate(TITLE)}")
    console = Console(highlight=False)
    # A narrow terminal would fold the columns of numbers.
    console.width = max(console.width, 100)
    console.print(table)
    return first


def _areas(plan: Plan) -> list[Planned]:
    """List a cell and the larger published areas, or else blocks of some sizes."""
    blocks = [one for one in plan.blocks if one.standard_error is not None]
    larger = [one for one in plan.areas if one.standard_error is not None and one.cells > 1]
    if not larger:
        larger = [one for one in blocks if one.cells in SIZES]
    return [*blocks[:1], *sorted(larger, key=lambda one: one.cells)]


def _title(area: Planned) -> str:
    if area.name:
        return f"{area.name} ({translate_message(_cells(area.cells))})"
    return translate_message(_cells(area.cells))


def _cells(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells:,} cells"
