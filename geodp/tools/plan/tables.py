"""Output of ``geodp plan`` for people: aligned tables, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from geodp.cli.translation import translate_message

if TYPE_CHECKING:
    from geodp.tools.plan.api import Comparison
    from geodp.tools.plan.plan import Plan, Planned


def show(comparison: Comparison, smallest: tuple[float, float] | None) -> None:
    """Print aligned tables for people."""
    main = comparison.plans[0]
    click.echo(f"{main.name}, {main.event.spends}, {main.event.neighbours}")
    for title, rows in (
        ("Blocks", main.blocks),
        ("Published areas", main.areas),
        ("Regions", main.regions),
    ):
        columns = ["area"] * (title != "Blocks") + ["cells", "standard error", "95 % margin"]
        _table(title, columns, [_cells(row, named="area" in columns) for row in rows])
    _show_parts(main)
    if len(comparison.plans) > 1:
        names = [one.name for one in comparison.plans]
        side = [
            [_size(n), *(_text(row.get(name)) for name in names)]
            for n, row in comparison.table().items()
        ]
        _table("Standard errors of blocks", ["cells", *names], side)
    click.echo()
    for one in comparison.plans:
        for sentence in _describe(one, smallest):
            click.echo(f"{one.name}: {translate_message(sentence)}")
    for name, why in comparison.refused.items():
        click.echo(translate_message(f"not planned: {name}: {why}"))
    click.echo("\n".join(map(translate_message, [*main.reasons, *main.notes])))


def _show_parts(main: Plan) -> None:
    """Print the parts that carry a signal, by area."""
    rows = [
        [
            f"{row['parts']:,}" + (f" {row['marginal']}" if row["marginal"] else ""),
            _size(row["cells"]),
            _text(row["noise"]),
            _text(row["least"]),
            _text(row["expected"]),
            {None: "", True: "yes", False: "no"}[row["signal"]],
        ]
        for row in main.parts
    ]
    columns = ["parts", "cells", "noise", "a signal from", "people of a part", "signal"]
    _table("Parts by area", columns, rows)


def _cells(row: Planned, *, named: bool) -> list[str]:
    figures = [_size(row.cells), _text(row.standard_error), _text(row.margin_95)]
    return [row.name, *figures] if named else figures


def _size(cells: int) -> str:
    # Long numbers of cells are powers of two, which are easier to compare as exponents.
    large = cells >= 10**7 and cells.bit_count() == 1
    return f"2^{cells.bit_length() - 1}" if large else f"{cells:,}"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    if not rows:
        return
    heading = f"\n{translate_message(title)}"
    table = Table(title=heading, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in columns:
        title, left = translate_message(name), name == "area"
        table.add_column(title, justify="left" if left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    # A narrow or redirected terminal would cut numbers off.
    console.width = max(console.width, 100)
    console.print(table)


def _describe(one: Plan, smallest: tuple[float, float] | None) -> list[str]:
    sentences = []
    if one.output_cells is not None and one.seconds is not None:
        few, many = one.output_cells
        size = (
            f"at most {many:,} cells of output, if people are spread evenly; at least roughly "
            f"{few:,}, if they live on a fifth of the cells; fewer if on less."
        )
        seconds = dict.fromkeys(f"{float(f'{n:.1g}'):,g}" for n in one.seconds)
        time = "\N{EN DASH}".join(seconds)
        sentences.append(f"{many:,} cells of output." if few == many else size)
        sentences.append(f"{time} s without reading and writing.")
    if one.floor is not None:
        several = f"resolution floor {one.floor:,} cells."
        sentences.append("resolution floor 1 cell." if one.floor == 1 else several)
    if smallest is not None:
        area = one.smallest(*smallest)
        what = "none" if area is None else area.title
        sentences.append(
            f"smallest area with a margin of {smallest[1]:g} % of {smallest[0]:,g}: {what}."
        )
    return sentences


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"
