"""The figures of documents, made by geodp: ``python docs/site/figures.py``.

Counts in them are made up, and so is what noise there is, so the same files come out each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

from geodp import Grid, plan
from geodp.kernels.tree import BOTH, forward_dense, inverse_dense, refine_dense
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.loss import PureDP, compose, within
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.terms import Terms
from geodp.release.preview import SIDE, Forms

FOLDER = Path(__file__).parents[1] / "figures"
INK, LINE, BLUE, PALE, ORANGE = "#1a1a1a", "#767676", "#2a5d9c", "#b9cde5", "#b34a00"
COUNTS = (0, 0, 3, 41, 12, 5, 0, 0)
QUARTERS = ("#eef3f9", "#fdf1e7", "#eef6ee", "#f6eef6")
EPSILON = Fraction(1, 10)
NOISE = (3, 4, -5, 3, -2, 4, 5, -2)
"""Made up, of the total and of the seven differences."""

ASKED = tuple(Fraction(n, 10) for n in (3, 2, 4, 2, 1))
"""Epsilons of releases about the same people, one after the other."""

FARTHEST = 45
"""Of the noise that the bars show, in people."""


def write_text(x: float, y: float, text: object, size: int = 13, **more: str) -> str:
    """Return a text whose middle is at x, unless ``anchor`` says otherwise."""
    anchor, colour = more.get("anchor", "middle"), more.get("colour", INK)
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="{colour}">{text}</text>'
    )


def sign(number: int) -> str:
    """Return a number with its sign, if it has one."""
    return f"{number:+d}" if number else "0"


def draw_rectangle(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'
    )


def draw_line(points: Iterable[tuple[float, float]], colour: str, width: float = 2) -> str:
    """Return a line through points."""
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def frame(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return the whole file: white behind it, so that it is read on dark pages, too."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" role="img">',
            f"<title>{title}</title>",
            draw_rectangle(0, 0, width, height, "#ffffff"),
            *parts,
            "</svg>\n",
        ]
    )


def draw_morton() -> str:
    """Return the order of 8 x 8 cells, the first of them at the south-west."""
    side, edge = 46, 20
    keys = np.arange(64, dtype=np.uint64)
    rows, columns = Grid.regular((8, 8)).decode(keys).tolist()
    parts, middles = [], []
    for key, row, column in zip(keys.tolist(), rows, columns, strict=True):
        x, y = edge + side * column, edge + side * (7 - row)
        parts.append(draw_rectangle(x, y, side - 1, side - 1, QUARTERS[key // 16]))
        middles.append((x + side / 2, y + side / 2))
    parts.append(draw_line(middles, PALE, 3))
    for key, (x, y) in enumerate(middles):
        parts.append(write_text(x, y + 5, key))
    size = 2 * edge + 8 * side
    return frame(size, size, "The order of 64 cells: quarters of quarters", parts)


def draw_haar() -> str:
    """Return the tree of sums and differences over eight made-up counts."""
    cells = len(COUNTS)
    sums, detail = np.zeros(2 * cells, np.int64), np.zeros(cells, np.int64)
    sums[cells:] = COUNTS
    forward_dense(sums, detail)
    width, height, top = 680, 330, 40
    places: dict[int, tuple[float, float]] = {}
    for node in range(1, 2 * cells):
        level = node.bit_length() - 1
        step = width / 2**level
        places[node] = (step * (node - 2**level + 0.5), top + 80 * level)
    parts = [draw_line([places[node // 2], places[node]], LINE, 1) for node in range(2, 2 * cells)]
    for node, (x, y) in places.items():
        inner = node < cells
        parts.append(
            draw_rectangle(x - 30, y - 18, 60, 38 if inner else 26, PALE if inner else QUARTERS[1])
        )
        parts.append(write_text(x, y, sums[node], 15))
        if inner:
            parts.append(write_text(x, y + 16, sign(detail[node]), 12, colour=ORANGE))
    return frame(width, height, "Sums, and differences of left and right, of eight counts", parts)


def probabilities(law: DiscreteLaplace, farthest: int) -> list[float]:
    """Of noise of 0, 1, ... ``farthest``, on either side."""
    beyond = [1.0] + [law.tail(g, 64)[0] / 2.0**64 for g in range(1, farthest + 2)]
    steps = [above - below for above, below in pairwise(beyond)]
    return [steps[0], *(step / 2 for step in steps[1:])]


def draw_margin() -> str:
    """Return the noise of one count, with those values within its 95 % margin darker."""
    law = DiscreteLaplace(1 / EPSILON)
    chances = probabilities(law, FARTHEST)
    margin = 1.96 * math.sqrt(law.variance)
    width, height, base, bar = 680, 320, 250, 7
    parts = []
    for noise in range(-FARTHEST, FARTHEST + 1):
        tall = 4000 * chances[abs(noise)]
        fill = BLUE if abs(noise) <= margin else PALE
        parts.append(draw_rectangle(width / 2 + bar * noise - 3, base - tall, 6, tall, fill))
    for noise in range(-40, 41, 10):
        parts.append(write_text(width / 2 + bar * noise, base + 20, sign(noise)))
    reach = bar * margin
    for side in (-1, 1):
        x = width / 2 + side * reach
        parts.append(draw_line([(x, base), (x, 130)], ORANGE))
    within = chances[0] + 2 * sum(chances[1 : math.floor(margin) + 1])
    text = f"{within:.0%} of the noise is at most {margin:.1f}, the margin"
    parts.append(write_text(width - 12, 118, text, anchor="end", colour=ORANGE))
    parts.append(
        write_text(width / 2, base + 48, "people added to a count or taken from it (epsilon 1/10)")
    )
    return frame(width, height, "How often noise is how large", parts)


def draw_errors() -> str:
    """Return standard errors of sums of blocks, by the size of the block, of two methods."""
    grid, left, base = Grid.regular((512, 512)), 70, 280
    width, height, step = 680, 340, 30.0
    parts = []
    for power in range(0, 5):
        y = base - 60 * power
        parts.append(draw_line([(left, y), (left + 18 * step, y)], "#dddddd", 1))
        parts.append(write_text(left - 8, y + 4, f"{10**power:,}", anchor="end"))
    for method, colour in (("laplace", ORANGE), ("topdown", BLUE)):
        blocks = plan(grid, epsilon=EPSILON, method=method).blocks
        points = [
            (left + step * math.log2(b.cells), base - 60 * math.log10(b.standard_error))
            for b in blocks
        ]
        parts.append(draw_line(points, colour, 3))
        x, y = points[-1]
        parts.append(write_text(x - 4, y - 10, method, 14, anchor="end", colour=colour))
    for power in range(0, 19, 3):
        parts.append(write_text(left + step * power, base + 20, f"{2**power:,}"))
    parts.append(
        write_text(left + 9 * step, base + 46, "cells in the sum (epsilon 1/10, 512 x 512 cells)")
    )
    parts.append(write_text(left - 8, 22, "standard error, people", anchor="start"))
    return frame(width, height, "Errors of sums by the number of cells in them", parts)


def draw_refinement() -> str:
    """Return how noisy details split a released total, with noise that is made up."""
    cells = len(COUNTS)
    sums, detail = np.zeros(2 * cells, np.int64), np.zeros(cells, np.int64)
    sums[cells:] = COUNTS
    forward_dense(sums, detail)
    total, noisy = int(sums[1]) + NOISE[0], detail + np.array(NOISE)
    refined, noise = detail.copy(), np.array(NOISE)
    nothing = np.zeros(cells, np.int64)
    refine_dense(total, refined, noise, nothing, np.full(cells, BOTH))
    released = np.zeros(2 * cells, np.int64)
    released[1] = total
    inverse_dense(refined, released)
    width, top = 680, 40
    places = {
        node: (
            (width / 2 ** (lvl := node.bit_length() - 1)) * (node - 2**lvl + 0.5),
            top + 80 * lvl,
        )
        for node in range(1, 2 * cells)
    }
    parts = []
    for node in range(2, 2 * cells):
        looked = released[node // 2] > 0
        parts.append(draw_line([places[node // 2], places[node]], LINE if looked else "#dddddd", 1))
    for node, (x, y) in places.items():
        inner, empty = node < cells, released[node] == 0
        fill = "#eeeeee" if empty else PALE if inner else QUARTERS[1]
        parts.append(draw_rectangle(x - 32, y - 18, 64, 38 if inner else 26, fill))
        parts.append(write_text(x, y, released[node], 15))
        if inner and not empty:
            text = f"{sign(noisy[node])} → {sign(refined[node])}"
            parts.append(write_text(x, y + 16, text, 11, colour=ORANGE))
    truth = ", ".join(map(str, COUNTS))
    parts.append(write_text(width / 2, 326, f"counts before: {truth}", 12, colour=LINE))
    return frame(width, 340, "A released total, split by noisy differences", parts)


def draw_pyramid() -> str:
    """Return the levels of the pyramid, their blocks, and their shares of the budget."""
    side, left = 512, 250
    grid = Grid.regular((side, side))
    chain = Pyramid().levels(grid)
    parts = [
        write_text(16, 24, "a count of each block of", anchor="start"),
        write_text(left, 24, "share of the budget", anchor="start"),
    ]
    for level, (stride, share) in enumerate(zip(chain.strides, chain.shares, strict=True)):
        y = 40 + 44 * level
        high, across = (grid.decode(np.arange(stride, dtype=np.uint64)).max(axis=1) + 1).tolist()
        shape = f"{high:,} × {across:,} cells" if stride > 1 else "1 cell"
        number = side**2 // stride
        text = f"{shape} ({number:,})"
        wide = 660 * float(share)
        parts.append(write_text(16, y + 21, text, anchor="start"))
        parts.append(draw_rectangle(left, y, wide, 30, BLUE))
        parts.append(write_text(left + wide + 8, y + 20, f"{float(share):.1%}", anchor="start"))
    height = 52 + 44 * len(chain.shares)
    return frame(720, height, "Levels of the pyramid, and what each gets of the budget", parts)


def draw_budget() -> str:
    """Return releases that are charged to a cap until one does not fit."""
    cap, spent, left, scale = PureDP(1), PureDP(0), 40, 560
    parts, number = [], 0
    for number, epsilon in enumerate(ASKED):
        loss = PureDP(epsilon)
        after = compose([spent, loss])
        fits = within(after, cap)
        x, wide = left + scale * float(spent.epsilon), scale * float(epsilon)
        y = 40 + 40 * number
        parts.append(draw_rectangle(x, y, wide - 2, 28, BLUE if fits else ORANGE))
        if fits:
            parts.append(write_text(x + wide / 2, y + 19, epsilon, colour="#ffffff"))
        else:
            text = f"{epsilon}: refused"
            parts.append(write_text(x + wide + 6, y + 19, text, anchor="start", colour=ORANGE))
        if fits:
            spent = after
    base = 52 + 40 * (number + 1)
    limit = left + scale
    parts.append(draw_line([(limit, 24), (limit, base - 8)], INK))
    parts.append(write_text(limit, 18, f"cap: epsilon {cap.epsilon}"))
    parts.append(draw_line([(left, base - 8), (left + 1.2 * scale, base - 8)], LINE, 1))
    said = f"spent: {spent.epsilon} of {cap.epsilon}"
    parts.append(write_text(left, base + 14, said, anchor="start"))
    return frame(760, base + 30, "Releases about the same people add up to the cap", parts)


def draw_zcdp() -> str:
    """Return errors by the number of releases that share a budget, with either noise."""
    grid, left, base, most = Grid.regular((512, 512)), 70, 330, 64
    width, height, step, tall = 740, 400, 80.0, 90.0
    forms = Forms.of(grid, Pyramid(), Terms.of(epsilon=1, delta="1e-6"))
    assert forms is not None
    numbers = [2**power for power in range(most.bit_length())]
    parts = []
    for power in range(0, 4):
        y = base - tall * power
        parts.append(draw_line([(left, y), (left + 6 * step, y)], "#dddddd", 1))
        parts.append(write_text(left - 8, y + 4, f"{10**power:,}", anchor="end"))
    errors = [forms.errors(number) or [] for number in numbers]
    for area, name in enumerate(("cell", f"{SIDE} × {SIDE} cells")):
        for noise, (kind, colour) in enumerate((("pure", ORANGE), ("Gaussian", BLUE))):
            points = [
                (left + step * math.log2(number), base - tall * math.log10(each[area][noise]))
                for number, each in zip(numbers, errors, strict=True)
            ]
            parts.append(draw_line(points, colour, 3))
            x, y = points[-1]
            parts.append(write_text(x + 8, y + 5, f"{kind}, {name}", anchor="start", colour=colour))
    for number in numbers:
        parts.append(write_text(left + step * math.log2(number), base + 20, number))
    told = "releases about the same people (together epsilon 1, delta 1/1,000,000)"
    parts.append(write_text(left + 3 * step, base + 46, told))
    parts.append(write_text(left - 8, 22, "standard error of each, people", anchor="start"))
    return frame(width, height, "Pure and Gaussian noise by the number of releases", parts)


FIGURES = {
    "morton": draw_morton,
    "haar": draw_haar,
    "margin": draw_margin,
    "errors": draw_errors,
    "refinement": draw_refinement,
    "pyramid": draw_pyramid,
    "budget": draw_budget,
    "zcdp": draw_zcdp,
}


def write_figures(folder: Path) -> None:
    """Write the figures into a folder that is there or can be made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    write_figures(FOLDER)
