"""Pictures of means and medians: a map with a legend in the unit of the amount.

A number is coloured only where its 95 % interval is narrow against the classes of the legend. A
block that is not known so well takes the number of the smallest block around it that is: of 2 x 2
blocks, 4 x 4 and on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.region import Region
from geodp.io.write.drawing.sheet import Colour, Sheet
from geodp.io.write.frame import Frame, UnitFrame
from geodp.io.write.map.ground import quarters_of_land
from geodp.io.write.map.look import Look, Theme
from geodp.io.write.map.panel import Bounds, crop
from geodp.io.write.map.quantity import BEYOND, UNKNOWN, Classes, compose_quantity
from geodp.io.write.picture import why_no_picture
from geodp.kinds.amounts.english import PAGE
from geodp.kinds.amounts.estimates import AmountEstimate
from geodp.kinds.amounts.joint import view_of
from geodp.kinds.amounts.numbers import AmountNumbers
from geodp.release.report.translation import translate_texts
from geodp.table.display import is_below, show_estimate
from geodp.typing import FloatArray

Quantity = Literal["mean", "median"]

MAX_BLOCKS = 64
"""Most blocks along a side of the map: each is estimated by itself."""

MAX_CELLS = 1 << 22
"""Most cells of a map, each of which is in a region of every size."""

MIN_HELD = 0.25
"""Share of the blocks of a square that have records where it colours them: else noise put them."""

MAX_CLASSES = 7
"""Most classes of a legend."""

MIN_KNOWN = 0.8
"""Share of the records that classes leave in known blocks of a size."""

MIN_CLASSES = 4
"""Classes into which the span of the clip is divided at least."""

DETAILS = (16, 8, 4, 2, 1)
"""Blocks of that size along the longer side of the map, the first that any classes allow."""

ROUND_STEPS = (1.0, 2.0, 5.0)
"""Widths of classes are these, times a power of ten."""

SHIFTS = 5
"""Edges of classes are multiples of the width over this, so that they are round numbers, too."""

MAX_HALF = 0.4
"""Longest half of an interval of a number that is known, in widths of a class.

The number of the whole map is at least as far from each edge, as edges are shifted to have it in
the middle of a class, and half a shift is 0.1.
"""

FINEST_STEP = 1e-6
"""Smallest width of classes, of the span of the clip."""


@dataclass(frozen=True, eq=False)
class Level:
    """Blocks of one size.

    Attributes
    ----------
    value : float64[rows, cols]
        Of blocks in index order; NaN where nothing is known or shown.
    half : float64[rows, cols]
        Longer half of the 95 % interval; infinite where nothing is known or shown.
    """

    value: FloatArray
    half: FloatArray


@dataclass(frozen=True, eq=False)
class Blocks:
    """Estimated blocks of a map, from the smallest size to all of the map.

    Attributes
    ----------
    frame : Frame
    records : float64[rows, cols]
        Released records of the smallest blocks; NaN outside the domain.
    levels : dict of str to tuple of Level
        By quantity. Each level has half the rows and columns of that before, rounded up.
    span : float
        Of the clip, in units of the amount.
    """

    frame: Frame
    records: FloatArray
    levels: dict[Quantity, tuple[Level, ...]]
    span: float

    @classmethod
    def of(cls, release: AmountNumbers, side: int, bounds: Bounds | None = None) -> Blocks:
        """Estimate the blocks of the only map of a release.

        Parameters
        ----------
        release : AmountNumbers
        side : int
            Pixels of the longer side.
        bounds : (float, float, float, float), optional
            West, south, east and north of the map, in the grid's CRS.

        Raises
        ------
        UsageError
            The map has more than 2**22 cells, or the bounds have none.
        """
        grid = release.count.grid
        frame, first = _frame(release, side, bounds)
        if frame.place.rows * frame.place.cols > MAX_CELLS and frame.units is None:
            raise UsageError(
                f"A map of means has at most {MAX_CELLS:,} cells, and this one has "
                f"{frame.place.rows * frame.place.cols:,}: draw a part of it (--bounds).",
                code="amounts-map-too-large",
            )
        extent = (1, frame.units) if frame.units is not None else _extent(frame)
        inside = grid.domain.contains_lattice(
            np.arange(extent[0]) + first[0], np.arange(extent[1]) + first[1]
        )
        records = _count(release, frame, first, extent)
        domain = _any(inside, frame.block)
        records[~domain & (records == 0)] = np.nan
        quantities: list[Quantity] = ["mean"] if release.sum is not None else []
        quantities += ["median"] if release.classes else []
        made: dict[Quantity, list[Level]] = {name: [] for name in quantities}
        for times in _sizes(frame):
            occupied = _any(np.nan_to_num(records) > 0, times)
            at = np.argwhere(occupied)
            regions = [
                _region(release, inside, first, frame.block * times, row, col)
                for row, col in at.tolist()
            ]
            found = release.estimate_all(regions)
            for name, levels in made.items():
                levels.append(_fill(release, occupied.shape, at, found, name))
        complete = {name: tuple(every) for name, every in made.items()}
        return cls(frame, records, complete, release.scale.value(release.scale.span))

    def resolve(self, name: Quantity, most: float) -> tuple[FloatArray, NDArray[np.int64]]:
        """Choose the number of every block: of itself, or of the smallest known block around it.

        Parameters
        ----------
        name : {"mean", "median"}
        most : float
            Longest half of an interval of a number that is known.

        Returns
        -------
        float64[rows, cols]
            NaN where there are no records, or no block around is known.
        int64[rows, cols]
            Number of the level that it is of, 0 if it is the block's own; -1 where there is none.
        """
        shape = self.records.shape
        shown, of_level = np.full(shape, np.nan), np.full(shape, -1)
        some = np.nan_to_num(self.records) > 0
        row, col = (np.arange(size) for size in shape)
        for number, level in enumerate(self.levels[name]):
            at = np.ix_(row >> number, col >> number)
            held, blocks = np.zeros(level.half.shape), np.zeros(level.half.shape)
            np.add.at(held, at, some)
            np.add.at(blocks, at, 1)
            known = (level.half <= most) & (held >= MIN_HELD * blocks)
            new = some & np.isnan(shown) & known[at]
            shown[new], of_level[new] = level.value[at][new], number
        return shown, of_level

    @cached_property
    def overall(self) -> dict[Quantity, float]:
        """Number of all of the map, by quantity; NaN where nothing is known."""
        return {name: float(every[-1].value.flat[0]) for name, every in self.levels.items()}


@dataclass(frozen=True, eq=False)
class Coloured:
    """One quantity of blocks in classes of a legend.

    Attributes
    ----------
    frame : Frame
    value : float64[rows, cols]
        What is shown of each block; NaN where nothing is.
    level : int64[rows, cols]
        0 where it is the block's own number, 1 where it is that of 2 x 2 blocks, and so on; -1
        where nothing is shown.
    records : float64[rows, cols]
        NaN outside the domain.
    edges : float64[k]
        Edges between k + 1 classes.
    """

    frame: Frame
    value: FloatArray
    level: NDArray[np.int64]
    records: FloatArray
    edges: FloatArray

    @classmethod
    def of(cls, blocks: Blocks, name: Quantity) -> Coloured:
        """Choose classes as fine as most records allow, and the number of every block.

        Half an interval is at most as long as the number of the whole map is far from every edge.
        So if the truth is the same everywhere, a block is in another class only where its interval
        misses it.
        """
        records = np.nan_to_num(blocks.records)
        detail = max(records.shape)
        found = None
        for most, step in product(DETAILS, _steps(blocks.span)):
            shown, level = blocks.resolve(name, MAX_HALF * step)
            edges = _edges(shown, step, blocks.overall[name])
            found = cls(blocks.frame, shown, level, blocks.records, edges)
            fine = (level >= 0) & (((detail - 1) >> level.clip(0)) + 1 >= min(most, detail))
            enough = records[fine].sum() >= MIN_KNOWN * records.sum()
            if len(edges) < MAX_CLASSES and enough:
                break
        assert found is not None  # as there is a coarsest step
        return found

    @property
    def classes(self) -> NDArray[np.int64]:
        """Number of the class of every block: int64[rows, cols]; -1 where nothing is known."""
        number = np.searchsorted(self.edges, np.nan_to_num(self.value), "right")
        return np.where(np.isnan(self.value), -1, number)


def _frame(
    release: AmountNumbers, side: int, bounds: Bounds | None
) -> tuple[Frame, tuple[int, int]]:
    """Build the frame of a map, and the index of its first cell."""
    grid = release.count.grid
    if grid.outlines is not None:
        return UnitFrame.of_units(grid.outlines, side, bounds), (0, 0)
    place, first = grid.places[0], (0, 0)
    if bounds is not None:
        place, first = crop(place, bounds)
    return Frame.of_place(place, grid.maps.share(side), MAX_BLOCKS), first


def _extent(frame: Frame) -> tuple[int, int]:
    """Return rows and columns of cells."""
    return frame.place.rows, frame.place.cols


def _sizes(frame: Frame) -> Iterator[int]:
    """Yield sides of blocks, in the smallest ones: 1, 2, 4 until one holds all; 1 for units."""
    times = 1
    yield times
    while frame.units is None and times < max(frame.blocks):
        times *= 2
        yield times


def _any(cells: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """Test whether any cell of each square is true: bool[rows, cols]."""
    rows, cols = cells.shape
    held = np.zeros((-(-rows // side), -(-cols // side)), np.bool_)
    row, col = np.nonzero(cells)
    held[row // side, col // side] = True
    return held


def _count(
    release: AmountNumbers, frame: Frame, first: tuple[int, int], extent: tuple[int, int]
) -> FloatArray:
    """Add up the released records of the smallest blocks: float64[rows, cols]."""
    table, total = release.count.table, np.zeros(frame.blocks)
    at = table.grid.decode(table.key)[:2] - np.array(first)[:, None]
    inside = ((at >= 0) & (at < np.array(extent)[:, None])).all(axis=0)
    np.add.at(total, tuple(at[:, inside] // frame.block), table.count[inside])
    return total


def _region(
    release: AmountNumbers, inside: NDArray[np.bool_], first: tuple[int, int], side: int,
    row: int, col: int,
) -> Region:  # fmt: skip
    """Return the region of a block: all of its cells of the domain, with all labels."""
    part = inside[row * side : (row + 1) * side, col * side : (col + 1) * side]
    at = np.argwhere(part) + np.array([first[0] + row * side, first[1] + col * side])
    return Region.of_map(release.count.grid, *at.T)


def _fill(
    release: AmountNumbers, shape: tuple[int, ...], at: NDArray[np.int64],
    found: Sequence[AmountEstimate], name: Quantity,
) -> Level:  # fmt: skip
    """Put the estimates of one quantity into their places."""
    limit = release.count.card().display_below
    value, half = np.full(shape, np.nan), np.full(shape, np.inf)
    for (row, col), one in zip(at.tolist(), found, strict=True):
        interval = getattr(one, name)
        if interval is None or is_below(one.count.count, limit):
            continue
        value[row, col] = interval.value
        half[row, col] = max(interval.high - interval.value, interval.value - interval.low)
    return Level(value, half)


def _steps(span: float) -> Iterator[float]:
    """Yield round widths of classes, from the finest to the coarsest."""
    powers = range(int(np.floor(np.log10(span * FINEST_STEP))), int(np.ceil(np.log10(span))))
    for power, one in product(powers, ROUND_STEPS):
        step = one * 10.0**power
        if span * FINEST_STEP <= step <= span / MIN_CLASSES:
            yield step


def _edges(shown: FloatArray, step: float, overall: float) -> FloatArray:
    """Return edges of classes of a width, round numbers over nearly all that is shown.

    They are shifted so that the number of the whole map is about in the middle of a class.
    """
    some = shown[~np.isnan(shown)]
    if not some.size:
        return np.empty(0)
    middle = float(np.mean(some)) if np.isnan(overall) else overall
    shift = round((middle / step - 0.5) * SHIFTS) / SHIFTS % 1
    low, high = np.quantile([*some, middle], [0.02, 0.98]) / step - shift
    numbers = np.arange(np.floor(low), np.floor(high) + 2)
    # The lowest and the highest class are open: of a single class both edges are told.
    inner = numbers[1:-1] if numbers.size > 3 else numbers
    return np.asarray(np.round((inner + shift) * step, 12), np.float64)


NO_MEANS = Rule(
    "amounts-nothing-to-draw", "This release has neither means nor medians that could be drawn."
)


def draw_amounts(release: AmountNumbers, look: Look, withdrawn: str | None = None) -> Sheet:
    """Lay out the map of means, or of medians where there are no means.

    ``withdrawn``: the day on which the release was withdrawn, if it was.

    Raises UsageError for a grid without such a map, for bounds without a cell, for requested
    texts that no font can draw, and for a look that is for counts alone.
    """
    if not (look.fade and look.flows):
        raise UsageError(
            "--no-fade and --no-flows are for maps of counts, and this is a release of amounts.",
            code="map-of-counts-option",
        )
    blocks = estimate_blocks(release, look)
    if not blocks.levels:
        raise UsageError(NO_MEANS)
    return draw_quantity(release, blocks, next(iter(blocks.levels)), look, withdrawn)


def estimate_blocks(release: AmountNumbers, look: Look) -> Blocks:
    """Estimate the blocks of a map; UsageError as for :func:`draw_amounts`."""
    reason = why_no_picture(release.count.grid)
    if reason is None and release.count.grid.maps.one is None:
        reason = "origins and destinations have no means on one map"
    if reason is not None:
        raise UsageError(f"There is no map of this release: {reason}.", code="map-unavailable")
    return Blocks.of(release, look.size, look.bounds)


def draw_quantity(
    release: AmountNumbers,
    blocks: Blocks,
    name: Quantity,
    look: Look,
    withdrawn: str | None = None,
) -> Sheet:
    """Lay out the map of means or of medians; see :class:`Blocks` for what is coloured.

    Raises UsageError for requested texts that no font can draw.
    """
    view, amount = replace(view_of(release), withdrawn=withdrawn), release.index.amount
    texts = translate_texts(PAGE, look.language, "amounts")
    coloured, frame = Coloured.of(blocks, name), blocks.frame
    title = look.title or texts[f"map_{name}"].format(name=amount.name, unit=amount.unit)
    land = None if frame.units else quarters_of_land(view.table.grid, frame.place, frame.block)
    number = np.where(np.isnan(coloured.records), BEYOND, coloured.classes)
    if land is not None:
        # Records that noise put into the sea have no number but that of land around them.
        number[(land == 0) & (coloured.level > 0)] = UNKNOWN
    known = bool((number >= 0).any())
    classes = Classes(
        number,
        list_colours(look.theme, len(coloured.edges) + 1) if known else (),
        [show_estimate(edge) for edge in coloured.edges.tolist()] if known else (),
        texts[f"quantity_{name}"].format(unit=look.unit or amount.unit),
        texts["untold"],
        land,
    )
    notes = _list_notes(coloured, texts, amount.unit)
    return compose_quantity(view, replace(look, title=title), frame, classes, notes)


def list_colours(theme: Theme, classes: int) -> tuple[Colour, ...]:
    """List the colours of as many classes, evenly apart."""
    chosen = np.rint(np.linspace(0, len(theme.classes) - 1, classes)).astype(int)
    if classes == 1:
        chosen = np.array([len(theme.classes) // 2])
    return tuple(theme.classes[each] for each in chosen.tolist())


def _list_notes(coloured: Coloured, texts: Mapping[str, str], unit: str) -> list[str]:
    """List the sentences on what is coloured."""
    # Nothing is known of a single block, but something may be of a place in a list.
    if not (coloured.level >= 0).any():
        return [texts["nothing_known"]]
    notes = []
    if len(coloured.edges) > 1:
        half = MAX_HALF * float(coloured.edges[1] - coloured.edges[0])
        notes.append(texts["half"].format(half=show_estimate(half), unit=unit))
    if (coloured.level > 0).any():
        notes.append(texts["merged"])
    return notes
