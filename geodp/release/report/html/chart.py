"""Chart of the expected error by area: two lines on logarithmic axes, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from geodp.release.report.html.markup import Html, element, join
from geodp.table.stated.error import StatedBlock

WIDTH, HEIGHT = 400, 300
LEFT, RIGHT, TOP, BOTTOM = 66, 34, 60, 46
"""Margins around the lines; the legend is above them, so that it fits the width of a phone."""

MAX_TICKS = 6
"""Labelled powers of ten on an axis."""


def draw_errors(blocks: Sequence[StatedBlock], texts: Mapping[str, str]) -> Html:
    """Draw standard errors and 95 % margins of blocks by their number of cells, as SVG.

    ``blocks``: two or more, of different sizes, single cells first.
    """
    sizes = [block.cells for block in blocks]
    errors = [(block.standard_error, block.margin_95) for block in blocks]
    above = [value for pair in errors for value in pair if value > 0]
    # A logarithmic axis needs positive values, and a line two points.
    if len(sizes) < 2 or not above:
        return Html("")
    across = _Axis(min(sizes), max(sizes), LEFT, WIDTH - RIGHT)
    up = _Axis(min(above), max(above), HEIGHT - BOTTOM, TOP)
    text = texts["error_chart_text"].format(
        first=_short(sizes[0]),
        first_error=_short(errors[0][0]),
        last=_short(sizes[-1]),
        last_error=_short(errors[-1][0]),
    )
    parts = [
        element("title", texts["error_chart"], id="chart-title"),
        element("desc", text, id="chart-text"),
        *_axes(across, up, texts),
    ]
    # Colour alone may not tell the lines apart: the margin is dashed.
    for which, (name, dash) in enumerate((("column_error", None), ("column_margin", "7 4"))):
        points = [(across.at(s), up.at(e[which])) for s, e in zip(sizes, errors, strict=True)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            element(
                "polyline", points=line, fill="none", stroke="#732081", stroke_width="2",
                stroke_dasharray=dash,
            )
        )  # fmt: skip
        start, y = LEFT + which * (WIDTH - LEFT) / 2, 14.0
        parts.append(
            element(
                "line", x1=f"{start:.1f}", y1=f"{y - 4}", x2=f"{start + 24:.1f}", y2=f"{y - 4}",
                stroke="#732081", stroke_width="2", stroke_dasharray=dash,
            )
        )  # fmt: skip
        parts.append(_draw_text(start + 30, y, texts[name], "start"))
    return element(
        "svg", join(parts), viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img",
        aria_labelledby="chart-title chart-text", class_="chart",
    )  # fmt: skip


class _Axis:
    """Logarithmic axis: maps values to pixels between two ends."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.first, self.last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        # An axis of no length would divide by 0 below.
        self.last = max(self.last, self.first + 1)
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        # Zero has no logarithm: errors of 0 lie on the axis itself.
        part = (math.log10(max(value, 10.0**self.first)) - self.first) / (self.last - self.first)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[int]:
        """List the exponents of the labelled powers of ten."""
        step = -(-(self.last - self.first + 1) // MAX_TICKS)
        return list(range(self.first, self.last + 1, step))


def _axes(across: _Axis, up: _Axis, texts: Mapping[str, str]) -> list[Html]:
    parts = []
    for power in across.ticks():
        x = f"{across.at(10.0**power):.1f}"
        parts.append(_line(x, f"{TOP}", x, f"{HEIGHT - BOTTOM}"))
        parts.append(_draw_text(float(x), HEIGHT - BOTTOM + 18, _short(10.0**power), "middle"))
    for power in up.ticks():
        y = f"{up.at(10.0**power):.1f}"
        parts.append(_line(f"{LEFT}", y, f"{WIDTH - RIGHT}", y))
        parts.append(_draw_text(LEFT - 8, float(y) + 4, _short(10.0**power), "end"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_draw_text(middle, HEIGHT - 8, texts["axis_cells"], "middle"))
    parts.append(_draw_text(LEFT - 8, TOP - 16, texts["axis_error"], "end"))
    return parts


def _line(x1: str, y1: str, x2: str, y2: str) -> Html:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="#c9c9ce")


def _draw_text(x: float, y: float, text: str, anchor: str) -> Html:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _short(value: float) -> str:
    """Format a number in the chart; large ones as powers of ten.

    Examples
    --------
    >>> [_short(value) for value in (0.01, 31.1, 262144, 10**9)]
    ['0.01', '31.1', '262,144', '10^9']
    """
    if value >= 1e7:
        power = math.log10(value)
        return f"10^{power:.0f}" if power == int(power) else f"10^{power:.1f}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
