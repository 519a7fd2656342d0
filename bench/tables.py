"""Figures as text: aligned columns for the screen, Markdown for documents."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Format rows of equal keys as aligned columns."""
    if not rows:
        return "(nothing was measured)"
    cells = [list(rows[0])] + [[text(v) for v in row.values()] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    left = [isinstance(value, str) for value in rows[0].values()]
    return "\n".join(
        "  ".join(
            entry.ljust(width) if west else entry.rjust(width)
            for entry, width, west in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in cells
    )


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Format rows of equal keys as a Markdown table; numbers to the right."""
    header = list(rows[0])
    rule = ["---" if isinstance(value, str) else "---:" for value in rows[0].values()]
    lines = [header, rule, *([text(v) for v in row.values()] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def excerpt(
    rows: Iterable[dict[str, Any]],
    only: Mapping[str, Sequence[Any]] | None = None,
    without: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Leave the rows whose columns have one of the values of ``only``, without some columns.

    Documents show excerpts; the screen and the saved figures have all rows.
    """
    conditions = (only or {}).items()
    return [
        {name: value for name, value in row.items() if name not in without}
        for row in rows
        if all(row[name] in values for name, values in conditions)
    ]


def least(
    rows: Iterable[dict[str, Any]], by: Sequence[str], of: Sequence[str]
) -> list[dict[str, Any]]:
    """Build a row for each combination of the columns ``by``: the smallest of the columns ``of``.

    None, which is no figure, counts only where a group has nothing else.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        dict(zip(by, values, strict=True))
        | {
            name: min((row[name] for row in group if row[name] is not None), default=None)
            for name in of
        }
        for values, group in groups.items()
    ]


def text(value: Any) -> str:
    """Format a number: three significant digits, thousands separated, None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    # Rounded first: 9.996 must be shown as 10.0 and not as 10.00.
    value = float(f"{value:.3g}")
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}" if abs(value) >= 0.01 else f"{value:.2g}"


def area(cells: int) -> str:
    """Name the error of blocks of this many cells, a power of two."""
    return f"MAE {cells:,}" if cells < 4096 else f"MAE 2^{cells.bit_length() - 1}"


def paragraph(prose: str) -> str:
    """Wrap prose to lines of at most 100 characters, at blanks only."""
    return textwrap.fill(prose, 100, break_long_words=False, break_on_hyphens=False)


def fill(path: Path, marks: tuple[str, str], text: str) -> None:
    """Replace the text between two markers of a document."""
    start, end = marks
    document = path.read_text(encoding="utf-8")
    if document.count(start) != 1 or document.count(end) != 1:
        raise ValueError(f"{path} must have {start} and {end} once each.")
    # A function as replacement, so that backslashes of the text are taken literally.
    filled = re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{text}\n{end}", document, flags=re.S)
    path.write_text(filled, encoding="utf-8")


def fill_saved(
    saved: Path, path: Path, marks: tuple[str, str], write: Callable[[dict[str, Any]], str]
) -> dict[str, Any]:
    """Replace the text between two markers by one made from saved figures, and return those."""
    result: dict[str, Any] = json.loads(saved.read_text(encoding="utf-8"))
    fill(path, marks, write(result))
    return result


def dump_figures(figures: dict[str, Any]) -> str:
    """Format figures as JSON to save: seven significant digits, a row on a line."""
    lines = []
    for name, value in figures.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join("  " + json.dumps(_rounded(row)) for row in value)
            lines.append(f' "{name}": [\n{rows}\n ]')
        else:
            lines.append(f' "{name}": {json.dumps(_rounded(value))}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    return value
