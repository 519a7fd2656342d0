"""A released map as a picture to print: counts per square kilometre on a fixed scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, ClassVar
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.interval import Z
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.write.fonts import OWN, families, without_notes
from geodp.io.write.format import Entry, Format, Released
from geodp.io.write.frame import Frame
from geodp.io.write.tables import chunks, name_of_counts, require_released
from geodp.table.card import Card
from geodp.table.released import ReleasedTable

DENSITY_LIMITS = (1.0, 20_000.0)
"""Ends of the colours, in counts per square kilometre: public, never taken from the data."""

CELL_LIMITS = (1.0, 10_000.0)
"""The same, in counts per cell, for grids whose cells have no known area."""

LEAST_WIDTH = 640
"""Pixels that the words need."""

EDGE, HEAD, GAP, FOOT = 36, 96, 28, 142
"""Pixels around and between the maps."""

DPI = 100
WIDEST = 40
"""Latin letters of a name that are drawn."""

BELOW = "#0e4a4c"
"""Of negative values, in pictures of methods that release them: dark, and of none of the hues."""

PAPER, INK, SOFT, OUTSIDE, ALARM = "#000000", "#e8e6e3", "#9a9894", "#232327", "#ff4d4d"


def why_no_picture(grid: Grid) -> str | None:
    """Why a grid's release has no picture; None where it has one."""
    return None if grid.places else "only a grid with places can be drawn"


class Picture(Format):
    """The map as a picture to print."""

    name: ClassVar[str] = "picture"
    endings: ClassVar[tuple[str, ...]] = ("png",)
    rank: ClassVar[int] = 50

    def check(self, grid: Grid, name: str) -> None:
        """Warn where no font has all letters of the name."""
        if why_no_picture(grid) is None:
            families(name)

    def try_out(self, nobody: ReleasedTable, card: Card) -> None:
        """Work out frame, scales and fonts."""
        if why_no_picture(nobody.grid) is None:
            families(name_of_counts(card.name, nobody.event.unit))
            require_drawable(nobody, card)

    def unsupported(self, released: Released) -> str | None:
        """Return why there is no picture."""
        return why_no_picture(released.table.grid)

    def write(self, released: Released, folder: Path) -> Iterator[Entry]:
        """Draw the map."""
        table, card = released.table, released.card
        name = card.name
        progress.begin("Drawing the map")
        write_png(table, folder / f"{name}.png", name=name, card=card)
        what = "the map as a picture, colours on a fixed scale"
        if not all(map(families, (name, name_of_counts(name, table.event.unit)))):
            what += "; without words for which no font was there with all letters"
        yield Entry(f"{name}.png", "image/png", what)


@dataclass(frozen=True)
class Panel:
    """One map: its frame, and counts summed over the frame's blocks of cells.

    Attributes
    ----------
    frame : Frame
    value : float64[rows, cols]
        Counts per square kilometre or per cell, in index order; NaN outside the domain.
    """

    frame: Frame
    value: NDArray[np.float64]

    @classmethod
    def of(cls, table: ReleasedTable, number: int) -> Panel:
        """Return the panel of a grid's place, summed over everything else."""
        frame = Frame.of(table.grid, number)
        place, block = frame.place, frame.block
        rows, cols = frame.blocks
        total = np.zeros(rows * cols)
        for _, index, count in chunks(table):
            row, col = index[2 * number : 2 * number + 2] // block
            total += np.bincount(row * cols + col, count, rows * cols)
        value = total.reshape(rows, cols) / frame.areas()
        if not table.grid.domain.is_box:
            at = np.indices(value.shape).reshape(2, -1) * block + block // 2
            index = np.zeros((len(table.grid.shape), at.shape[1]), np.int64)
            index[:2] = np.minimum(at, [[place.rows - 1], [place.cols - 1]])
            outside = ~table.grid.contains(index).reshape(value.shape)
            value[outside & (value == 0)] = np.nan
        return cls(frame, value)


def require_drawable(nobody: ReleasedTable, card: Card) -> None:
    """Work out the frame of a map, its scales and its font, which are public: whatever may fail.

    ``nobody``: a table without a cell, on the grid of the release.
    """
    import matplotlib.backends.backend_agg  # noqa: F401

    panels = [Panel.of(nobody, number) for number in range(len(nobody.grid.places))]
    width = _size(panels)[0]
    families("ε")
    _colours(panels[0])
    _scale_bar(panels[0], width - 2 * EDGE, signed=not card.mechanism.nonnegative)
    _margin(card)


def write_png(table: ReleasedTable, path: Path | IO[bytes], *, name: str, card: Card) -> None:
    """Draw a released map, or origins and destinations side by side, as PNG.

    Colours are logarithmic between fixed limits, so that pictures of different releases can be
    compared and nothing of the data sets the scale. Attributes are summed. The same table and
    card give the same bytes.

    Parameters
    ----------
    table : ReleasedTable
        On a grid with places.
    path : Path or binary file
    name : str
        Of the count, for the title. Letters that Matplotlib's font lacks are drawn by an installed
        one; where none has them, the name is left out, with a LettersWarning.
    card : Card
        The release card.

    Raises
    ------
    UsageError
        The table is no ReleasedTable, or the grid has no picture; `why_no_picture` says why.
    """
    require_released(table)
    reason = why_no_picture(table.grid)
    if reason is not None:
        raise UsageError(f"There is no map of this release: {reason}.")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [Panel.of(table, number) for number in range(len(table.grid.places))]
    signed = not card.mechanism.nonnegative
    width, height = _size(panels)
    # rcdefaults() would read all of Matplotlib's style sheets first.
    defaults = {k: v for k, v in mpl.rcParamsDefault.items() if not k.startswith("backend")}
    texts = name, name_of_counts(name, table.event.unit)
    fonts = [families(text) for text in texts]
    shown, what = (text if found else None for text, found in zip(texts, fonts, strict=True))
    every = dict.fromkeys([OWN, *(family for found in fonts for family in found or ())])
    style = {**defaults, "font.family": [*every], "text.color": INK}
    with without_notes(), mpl.rc_context(style):
        figure = Figure((_inches(width), _inches(height)), dpi=DPI, facecolor=PAPER)
        FigureCanvasAgg(figure)
        sheet = _Sheet(figure, width, height)
        left = (width - _width(panels)) / 2
        for panel in panels:
            sheet.draw(panel, left, FOOT, signed=signed)
            left += panel.frame.size[0] + GAP
        sheet.words(table, card, panels, shown, EDGE)
        sheet.legend(panels[0], what, EDGE, signed=signed)
        software = f"{card.software.name} {card.software.version}"
        figure.savefig(
            path,
            format="png",
            dpi=DPI,
            facecolor=PAPER,
            metadata={"Software": software, "Title": name, "Description": table.event.words},
        )


@dataclass(frozen=True)
class _Sheet:
    """A matplotlib figure laid out in pixels from the lower left."""

    figure: Any
    width: float
    height: float

    def axes(self, x: float, y: float, width: float, height: float) -> Any:
        box = (x / self.width, y / self.height, width / self.width, height / self.height)
        return self.figure.add_axes(box)

    def text(self, x: float, y: float, text: str, **style: Any) -> None:
        # Names and units are words, not mathematics.
        self.figure.text(x / self.width, y / self.height, text, parse_math=False, **style)

    def draw(self, panel: Panel, x: float, y: float, *, signed: bool) -> None:
        """Draw the map of a panel."""
        frame = panel.frame
        axes = self.axes(x, y, *frame.size)
        colours, norm = _colours(panel)
        image = colours(norm(np.ma.masked_less_equal(panel.value, 0)), bytes=True)
        if signed:
            image[panel.value < 0] = (*bytes.fromhex(BELOW[1:]), 255)
        image[np.isnan(panel.value)] = (*bytes.fromhex(OUTSIDE[1:]), 255)
        rows, cols = panel.value.shape
        up = frame.place.northwards
        extent = (0, cols, 0, rows) if up else (0, cols, rows, 0)
        axes.imshow(
            image,
            origin="lower" if up else "upper",
            extent=extent,
            aspect="auto",
            interpolation="nearest",
        )
        last = frame.place.rows / frame.block
        axes.set_xlim(0, frame.place.cols / frame.block)
        axes.set_ylim(*((0, last) if up else (last, 0)))
        axes.set(xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set_color("#3a3a3f")

    def words(
        self,
        table: ReleasedTable,
        card: Card,
        panels: list[Panel],
        name: str | None,
        edge: float,
    ) -> None:
        """Title, subtitle and footer."""
        event = table.event
        symbols = {"ε": event.epsilon, "ρ": event.rho, "δ": event.delta}
        budget = ", ".join(f"{s} = {_short(n)}" for s, n in symbols.items() if n is not None)
        title = [budget, event.mechanism]
        if name is not None:
            title.insert(0, _shorten(name))
        self.text(edge, self.height - 46, " · ".join(title), fontsize=17, weight="bold")
        place, block = panels[0].frame.place, panels[0].frame.block
        grid = [f"{place.rows:,} × {place.cols:,} cells"]
        if place.system is not None:
            grid.insert(0, place.system.name)
        if block > 1:
            grid.append(f"drawn in blocks of {block} × {block} cells")
        if len(panels) == 2:
            grid.append("origins left, destinations right")
        self.text(edge, self.height - 72, " · ".join(grid), fontsize=10.5, color=SOFT)
        if card.private:
            lines = [f"Differentially private release: {card.guarantee.variant}."]
        else:
            lines = ["Not a private release: the noise was made with a fixed key."]
            self.text(
                self.width - edge,
                self.height - 46,
                "NOT PRIVATE",
                fontsize=17,
                weight="bold",
                color=ALARM,
                ha="right",
            )
        lines += _margin(card)
        for number, line in enumerate(lines):
            self.text(edge, 48 - 17 * number, line, fontsize=9, color=SOFT)

    def legend(self, panel: Panel, what: str | None, edge: float, *, signed: bool) -> None:
        """Colour bar on the left, scale bar on the right; ``what`` is counted."""
        from matplotlib.colorbar import ColorbarBase
        from matplotlib.ticker import StrMethodFormatter

        colours, norm = _colours(panel)
        known = panel.frame.kilometres is not None
        bar = ColorbarBase(
            self.axes(edge, 94, 360, 11),
            cmap=colours,
            norm=norm,
            orientation="horizontal",
            extend="both",
            ticks=[10.0**power for power in range(5) if 10**power <= norm.vmax],
            format=StrMethodFormatter("{x:,.0f}"),
        )
        bar.ax.minorticks_off()
        bar.ax.tick_params(colors=SOFT, labelsize=9, length=3)
        bar.outline.set_visible(False)
        what = "counts" if what is None else _shorten(what)
        unit = f"{what} per {'km²' if known else 'cell'}"
        outside = ", grey: outside the domain" if np.isnan(panel.value).any() else ""
        self.text(edge, 114, f"{unit}   (black: 0{outside})", fontsize=9.5)
        if signed:
            swatch = self.axes(edge + 384, 94, 22, 11)
            swatch.set(facecolor=BELOW, xticks=[], yticks=[])
            swatch.spines[:].set_color(SOFT)
            self.text(edge + 412, 95, "below 0", fontsize=9, color=SOFT)
        right, at = self.width - edge, 99
        scale = _scale_bar(panel, right - edge, signed=signed)
        if scale is None:
            return
        length, pixels = (float(part) for part in scale)
        axes = self.axes(right - pixels, at - 4, pixels, 8)
        axes.set_axis_off()
        axes.plot([0, 0, 1, 1], [1, 0, 0, 1], color=INK, linewidth=1.5, clip_on=False)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        self.text(right, 114, f"{length:g} km", fontsize=9.5, ha="right")


def _width(panels: list[Panel]) -> int:
    """Pixels of maps side by side."""
    return sum(panel.frame.size[0] for panel in panels) + GAP * (len(panels) - 1)


def _size(panels: list[Panel]) -> tuple[int, int]:
    """Width and height of the sheet in pixels."""
    height = max(panel.frame.size[1] for panel in panels)
    return max(LEAST_WIDTH, _width(panels)) + 2 * EDGE, height + HEAD + FOOT


def _scale_bar(panel: Panel, room: float, *, signed: bool) -> tuple[Fraction, Fraction] | None:
    """Kilometres and pixels of the scale bar, beside the swatch if there is one."""
    return panel.frame.scale_bar(min(220, int(room - 480)) if signed else 220)


def _margin(card: Card) -> list[str]:
    """Return the margin of what a pixel sums and where it holds, in one or two lines."""
    error, floor = card.expected_error, card.expected_error.floor
    signed = not card.mechanism.nonnegative
    cells, own = error.map[0].cells, [one.standard_error for one in error.map]
    what = "a cell" if cells == 1 else f"a pixel, which sums {cells:,} counts"
    if error.blocks is None:
        lines = ["The margin of a cell depends on the data: there is no closed form."]
    elif None in own:
        lines = [f"The margin of {what}, has no closed form here."]
    else:
        where = "" if signed else " where counts are well above the noise"
        margins = dict.fromkeys(f"±{Z * each:,.0f}" for each in own if each is not None)
        lines = [f"95 % margin of {what}: {' and '.join(margins)}{where}."]
    if signed:
        lines.append("Values below 0 are noise, and belong in the sums over areas.")
    elif error.isolated_cell is not None:
        lines.append("Isolated cells are pulled down.")
    if floor is not None and (size := floor.cells) != 1:
        what = "Even the total tells" if size is None else f"Blocks below {size:,} cells tell"
        lines[1:] = [" ".join([*lines[1:], f"{what} no more than zeros would, on average."])]
    return lines


def _colours(panel: Panel) -> tuple[Any, Any]:
    """Colour map (magma without its blackest part) and norm of a panel."""
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap, LogNorm

    shades = mpl.colormaps["magma"](np.linspace(0.16, 1.0, 256))
    colours = ListedColormap(shades).with_extremes(
        bad=PAPER, under=tuple(shades[0]), over=tuple(shades[-1])
    )
    low, high = CELL_LIMITS if panel.frame.kilometres is None else DENSITY_LIMITS
    return colours, LogNorm(low, high)


def _shorten(name: str) -> str:
    """Return a name that is not wider than `WIDEST` Latin letters; Chinese ones are two wide."""
    room = WIDEST
    for place, letter in enumerate(name):
        room -= 2 if east_asian_width(letter) in "WF" else 1
        if room < (place + 1 < len(name)):
            return f"{name[:place]}…"
    return name


def _short(amount: Fraction) -> str:
    """Return a budget as the decimal that is exact or, of a long ratio, near."""
    decimal = f"{float(amount):.6g}"
    return decimal if Fraction(decimal) == amount or len(str(amount)) > 12 else str(amount)


def _inches(pixels: int) -> float:
    """Return the least length that Matplotlib, which cuts, makes so many pixels of."""
    found = pixels / DPI
    return found if int(found * DPI) == pixels else math.nextafter(found, math.inf)


FORMATS = (Picture(),)
