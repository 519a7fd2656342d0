"""A page of one file: a map of means, and counts, sums, means and medians of regions."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from geodp.features.amounts.estimates import Interval
from geodp.features.amounts.numbers import AmountNumbers
from geodp.features.amounts.scale import show_amount
from geodp.features.amounts.series.card import find_period
from geodp.features.explain.page import Writer
from geodp.release.report.html.notice import write_notice
from geodp.release.report.html.parts import office_section
from geodp.release.report.html.texts import texts_of
from geodp.table.display import is_below, show_count, show_interval
from geodp.table.withdrawal import Notice
from geodp.typing import FloatArray

Language = Literal["en", "ja"]

BLOCKS = 64
"""Most blocks of cells along a side of the map."""

SURE = 5
"""Records of a block whose mean is coloured, in standard errors of the records."""

COLOURS = ("#ffffcc", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#0c2c84")
UNKNOWN = "#d9d9d9"
"""Colour of blocks with records, too few of them for a mean."""

WIDTH = 640
"""Longer side of the map, in pixels."""

TEXTS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "title": "Mean {name} by area",
        "unit": "{name} in {unit}; amounts below {lower} and above {upper} count as these.",
        "map": "Mean of squares of {side} × {side} cells",
        "few": "too few records",
        "region": "Region",
        "count": "Count",
        "sum": "Sum",
        "mean": "Mean",
        "median": "Median",
        "interval": "95 % interval",
        "noise": "Random noise was added to protect every {one}: {words}.",
        "untold": "not told by the noise",
        "period": "{time}, one of {number} periods from {first} to {last}. All of them together: "
        "{spends}.",
    },
    "ja": {
        "title": "地域別の{name}の平均",
        "unit": "{name}の単位: {unit}。{lower} 未満と {upper} を超える値は端の値として数えます。",
        "map": "{side} × {side} セルごとの平均",
        "few": "記録が少ない",
        "region": "地域",
        "count": "件数",
        "sum": "合計",
        "mean": "平均",
        "median": "中央値",
        "interval": "95 % 区間",
        "noise": "{one}ごとに保護するため、乱数のノイズを加えています: {words}。",
        "untold": "ノイズのため不明",
        "period": "{first} から {last} までの {number} 期間のうちの {time} です。"
        "全期間を合わせた予算: {spends}。",
    },
}
"""Texts of the page by language."""

STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;"
    "color:#1d1c1a}table{border-collapse:collapse;margin:1em 0}td,th{padding:.3em .8em;"
    "text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
    ".alarm{color:#fff;background:#a40e26;font-weight:bold;padding:.6em .9em}"
    "small{color:#5a5855}figure{margin:1em 0}"
)


def write_page(
    release: AmountNumbers,
    regions: Mapping[str, Any],
    language: Language = "en",
    notice: Notice | None = None,
) -> str:
    """Write the page of a release as HTML without any script.

    Parameters
    ----------
    release : AmountNumbers
    regions : mapping of str to region
        By the names under which they are shown.
    language : {"en", "ja"}
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.
    """
    amount, texts = release.index.amount, TEXTS[language]
    facts = {
        "name": amount.name,
        "unit": amount.unit,
        "lower": amount.lower,
        "upper": amount.upper,
    }
    promise = release.index.guarantee
    # A period is looked at alone, and has a part of the budget.
    period = find_period(promise.not_protected)
    named = texts["title"].format(**facts)
    title = escape(named if period is None else f"{named}, {period.time}")
    of_series = [] if period is None else [texts["period"].format(**period._asdict())]
    words = promise.spends if release.index.private else promise.in_words
    noise = texts["noise"].format(one=Writer(language).unit(promise.unit), words=words)
    parts = [
        *write_notice(notice, language),
        f"<h1>{title}</h1>",
        *(f"<p>{escape(one)}</p>" for one in of_series),
        f"<p>{escape(texts['unit'].format(**facts))}</p>",
        _draw_map(release, texts),
        _list_regions(release, regions, texts),
        *_describe_office(release, language),
        f"<p><small>{escape(noise)}</small></p>",
    ]
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _describe_office(release: AmountNumbers, language: Language) -> list[str]:
    """Write the publisher's metadata, such as which release this one replaces."""
    card = release.count.card()
    page = texts_of(language).page
    if card.metadata is None:
        return []
    return [f"<h2>{escape(page['heading_office'])}</h2>", office_section(page, card, language)]


def _list_regions(
    release: AmountNumbers, regions: Mapping[str, Any], texts: Mapping[str, str]
) -> str:
    """Write a table of the estimates of regions."""
    columns = ["count"] + (["sum", "mean"] if release.sum is not None else [])
    columns += ["median"] if release.classes else []
    heads = "".join(
        f"<th>{texts[one]}<br><small>{texts['interval']}</small></th>" for one in columns
    )
    lines = [f"<tr><th>{texts['region']}</th>{heads}</tr>"]
    limit = release.count.card().display_below
    for name, one in zip(regions, release.estimate_all(regions.values()), strict=True):
        count = one.count
        hidden = limit is not None and is_below(count.count, limit)
        row = {"sum": one.sum, "mean": one.mean, "median": one.median}
        number = show_count(count.count, limit)
        ends = show_interval(count.count, count.low, count.high, limit)
        shown = {"count": f"{escape(number)}<br><small>{escape(ends)}</small>"} | {
            column: "\N{EN DASH}" if hidden else _show(row[column], texts) for column in row
        }
        cells = "".join(f"<td>{shown[column]}</td>" for column in columns)
        lines.append(f"<tr><td>{escape(name)}</td>{cells}</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _show(one: Interval | None, texts: Mapping[str, str]) -> str:
    """Write an amount and its interval."""
    if one is None:
        return f"<small>{texts['untold']}</small>"
    low, value, high = map(show_amount, (one.low, one.value, one.high))
    return f"{value}<br><small>{low} – {high}</small>"


def _draw_map(release: AmountNumbers, texts: Mapping[str, str]) -> str:
    """Draw the means of square blocks; nothing without means, or without one map."""
    grid = release.count.grid
    if release.sum is None or grid.maps.one is None:
        return ""
    rows, columns = grid.shape[:2]
    side = -(-max(rows, columns) // BLOCKS)
    index = grid.decode(release.count.table.key)[:2] // side
    shape = (-(-rows // side), -(-columns // side))
    number, total = np.zeros((2, *shape))
    np.add.at(number, tuple(index), release.count.table.count)
    steps = release.sum.table.counts_at(release.count.table.key)
    np.add.at(total, tuple(index), steps * float(release.scale.step))
    limit = release.count.card().display_below
    sure = (number >= SURE * _error(release, side * side)) & (number >= (limit or 0))
    up = grid.places[0].northwards
    mean = np.divide(total, number, out=np.zeros(shape), where=number > 0)
    edges = _choose_edges(mean[sure])
    size = WIDTH / max(shape)
    squares = []
    for row, column in np.argwhere(number > 0).tolist():
        colour = UNKNOWN
        if sure[row, column]:
            colour = COLOURS[int(np.searchsorted(edges, mean[row, column], "right"))]
        # Lines of a picture are counted from the top, and rows of some grids from the south.
        line = shape[0] - 1 - row if up else row
        x, y = column * size, line * size
        squares.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}" '
            f'fill="{colour}"/>'
        )
    caption = texts["map"].format(side=side)
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{shape[1] * size:.0f}" '
        f'height="{shape[0] * size:.0f}" role="img" aria-label="{escape(caption)}">'
        f"{''.join(squares)}</svg>"
    )
    return (
        f"<figure>{picture}<figcaption>{escape(caption)}: {_legend(edges, release, texts)}"
        "</figcaption></figure>"
    )


def _error(release: AmountNumbers, cells: int) -> float:
    """Return the standard error of the records of the smallest block of at least so many cells."""
    errors = release.count.block_errors
    assert errors is not None  # as streams of a pyramid have closed forms
    large = [one for one in errors if one.cells >= cells]
    return min(large or [errors[0]], key=lambda one: one.cells).standard_error


def _choose_edges(mean: FloatArray) -> FloatArray:
    """Return the edges between the colours: round numbers from low to high means."""
    if not mean.size:
        return np.arange(1.0, len(COLOURS))
    low, high = np.quantile(mean, [0.02, 0.98])
    step = max((high - low) / (len(COLOURS) - 2), 1e-9)
    unit = 10.0 ** np.floor(np.log10(step))
    step = unit * min((k for k in (1, 2, 2.5, 5, 10) if k * unit >= step), default=10)
    return np.asarray(np.floor(low / step) * step + step * np.arange(1, len(COLOURS)), np.float64)


def _legend(edges: FloatArray, release: AmountNumbers, texts: Mapping[str, str]) -> str:
    """Write the colours with their means."""
    ends = [f"{edge:,.6g}" for edge in edges]
    names = [f"< {ends[0]}", *(f"{a}–{b}" for a, b in pairwise(ends))]
    names.append(f"≥ {ends[-1]}")
    entries = [*zip(COLOURS, names, strict=True), (UNKNOWN, texts["few"])]
    return (
        " ".join(
            f'<span style="white-space:nowrap"><svg width="12" height="12"><rect width="12" '
            f'height="12" fill="{colour}"/></svg> {escape(name)}</span>'
            for colour, name in entries
        )
        + f" ({escape(release.index.amount.unit)})"
    )
