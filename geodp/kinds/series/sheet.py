"""A series as small multiples: a small map of every snapshot, with the same scale for all."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from geodp.io.write.drawing.fonts import wrap
from geodp.io.write.drawing.render import draw_png
from geodp.io.write.drawing.sheet import Sheet, TextLine
from geodp.io.write.map.look import Look
from geodp.io.write.map.page import (
    EDGE,
    GAP,
    LARGE,
    MEDIUM,
    MIN_WIDTH,
    SMALL,
    Page,
    draw_legend,
    draw_panel,
    write_foot,
)
from geodp.io.write.map.panel import Panel
from geodp.io.write.view import View
from geodp.kinds.series.kind import SeriesCard
from geodp.release.periods import Periods
from geodp.table.display import shorten_amount

ENDING = "png"
MEDIA_TYPE = "image/png"
WHAT = "small maps of the snapshots, colours on a fixed scale"

MAX_MAPS = 60
"""Maximal maps on a page; of a longer series every second, third ... snapshot is drawn."""

WIDE = 1200
"""Width of a row of small maps, in pixels."""

MAX_WIDTH = 2400
"""Maximal width of a row, in pixels: a map has at least one pixel for every block."""

BLOCKS = 256
"""Maximal blocks of cells along a side of a small map."""

COLUMNS = {"month": 12, "hour": 12, "day": 7, "year": 5}
"""Maximal maps in a row: a year of months, half a day of hours, a week of days."""


def why_not(snapshots: Sequence[View]) -> str | None:
    """Return why a series has no picture; None if it has one."""
    places = snapshots[0].table.grid.places
    return None if len(places) == 1 else "only a grid of one map is drawn small"


def write(path: Path, periods: Periods, snapshots: Sequence[View], card: SeriesCard) -> None:
    """Draw the page and write the file."""
    path.write_bytes(draw_png(compose_series(periods, snapshots, card), 100))


def compose_series(periods: Periods, snapshots: Sequence[View], card: SeriesCard) -> Sheet:
    """Lay out a small map of every snapshot, with its time above."""
    step = -(-len(snapshots) // MAX_MAPS)
    drawn = list(zip(periods.names, snapshots, strict=True))[::step]
    columns = min(len(drawn), COLUMNS[periods.step])
    side = WIDE // columns - GAP
    panels = [Panel.of(one, 0, None, side, BLOCKS) for _, one in drawn]
    width, height = panels[0].frame.size
    # A map of wide cells may be wider than planned: fewer of them fit into a row.
    columns = min(columns, max(1, MAX_WIDTH // (width + GAP)))
    page = Page(Look(), max(MIN_WIDTH, columns * (width + GAP) - GAP) + 2 * EDGE)
    _write_title(page, periods, card, step)
    top, ink = page.y + 14, page.look.theme.ink
    for number, ((time, _), panel) in enumerate(zip(drawn, panels, strict=True)):
        row, column = divmod(number, columns)
        left = EDGE + column * (width + GAP)
        page.y = top + row * (height + GAP + 6) + 16
        page.items.append(TextLine(left, page.y - 5, time, SMALL, ink))
        draw_panel(page, panel, left)
    page.y += height + 8
    first = drawn[0][1]
    draw_legend(page, first, panels[:1])
    write_foot(page, first, panels[:1])
    where = "one snapshot" if card.person == "one" else "every snapshot"
    page.write_lines(f"One {card.guarantee.unit} may be in {where}.", SMALL, 18)
    return page.finish(card.name, card.guarantee.in_words, card.software)


def _write_title(page: Page, periods: Periods, card: SeriesCard, step: int) -> None:
    """Write the title and the privacy budget of all snapshots."""
    title = f"{card.name} · {periods.names[0]} to {periods.names[-1]}"
    theme, promise = page.look.theme, card.guarantee
    page.y = 16
    for line in wrap(title, page.inner_width, LARGE, bold=True)[:2]:
        page.y += 30
        page.items.append(TextLine(EDGE, page.y, line, LARGE, theme.ink, bold=True))
    drawn = "" if step == 1 else f", of which one in {step} is drawn"
    symbols = {"ε": promise.epsilon, "ρ": promise.rho, "δ": promise.delta}
    amounts = [f"{s} = {shorten_amount(Fraction(n))}" for s, n in symbols.items() if n is not None]
    line = f"{len(periods.names)} snapshots{drawn} · together {', '.join(amounts)}"
    page.write_lines(f"{line} · {promise.mechanism}", MEDIUM, 21)
    if not card.private:
        right, flag = page.width - EDGE, page.look.captions.flag
        page.items.append(TextLine(right, 46, flag, LARGE, theme.alarm, True, at_end=True))
