"""``geodp diff``: estimate what changed between two releases of one grid, with errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.figures import DASH, align
from geodp.cli.options import StrictCommand
from geodp.cli.output import require_free, write_file
from geodp.cli.regions import AREA, POLYGON_NAME, POLYGONS, read_shapes, require_named
from geodp.cli.translation import translate_message
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.release.release import Release

MAX_ROWS = 40
"""Cells that are shown on the screen at most."""

FIGURES = ("old", "new", "value", "standard_error", "low", "high")


@click.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@POLYGONS
@POLYGON_NAME
@AREA
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.option(
    "--output", type=click.Path(path_type=Path), help="CSV file to write instead of printing."
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --output.")
def diff(**options: Any) -> None:
    """Estimate what changed from release OLD to NEW, with 95 % intervals; costs no budget.

    \b
    geodp diff release-2025 release-2025-corrected
    geodp diff release-2025 release-2025-corrected --area 5339
    geodp diff release-2020 release-2025 --output changes.csv

    Rows are the cells that either release lists, on the screen those that changed most; or the
    regions of --area and --polygons. Changes are new minus old. Each interval holds for its own
    row;
    geodp compare tests many rows together.
    """
    has_regions = options["polygons"] is not None or bool(options["area"])
    if options["as_json"] and options["output"] is not None:
        raise UsageError("Give --json or --output, not both.", code="json-or-output")
    require_named(options)
    require_free(options["output"], "--output", (".csv",), overwrite=options["overwrite"])
    from geodp.release.opening import open_release
    from geodp.tools.compare.changes import require_two

    old, new = (open_release(options[name]) for name in ("old", "new"))
    # Releases of different grids are refused before places are looked up in either.
    require_two(old, new)
    rows = _regions(old, new, options) if has_regions else _cells(old, new)
    if options["as_json"]:
        click.echo(json.dumps({"changes": rows}, ensure_ascii=False, indent=1))
    elif options["output"] is not None:
        text = _csv(rows).encode()
        write_file(options["output"], text, public=True, overwrite=options["overwrite"])
        click.echo(str(options["output"]))
    else:
        shown = rows if has_regions else _select_largest(rows)
        click.echo(_text(shown, old.card().display_below, new.card().display_below))
        if len(shown) < len(rows):
            message = (
                f"Of {len(rows):,} cells, the {len(shown)} that changed most; all: --output "
                "FILE.csv"
            )
            click.echo(translate_message(message))


COMMAND = diff


def _regions(old: Release, new: Release, options: dict[str, Any]) -> list[dict[str, Any]]:
    from geodp.tools.compare.api import compare_regions

    rows: list[dict[str, Any]] = []
    for name, shape in read_shapes(options, new).items():
        try:
            change = compare_regions((new, shape), (old, shape), conservative=True)
        except UsageError as error:
            raise UsageError(f"{name}: {error}", code=error.code) from None
        counts = (one.estimate(shape).count for one in (old, new))
        figures = (*counts, change.value, change.standard_error, change.low, change.high)
        row = dict(zip(FIGURES, figures, strict=True))
        rows.append({"name": name, **row, "basis": change.basis})
    return rows


def _cells(old: Release, new: Release) -> list[dict[str, Any]]:
    from geodp.grid.units import name_cells
    from geodp.tools.compare.api import estimate_cell_changes

    changes = estimate_cell_changes(old, new)
    names = name_cells(new.grid, changes.key)
    columns = (getattr(changes, name).tolist() for name in FIGURES)
    return [
        {"name": name, **dict(zip(FIGURES, figures, strict=True)), "basis": changes.basis}
        for name, *figures in zip(names, *columns, strict=True)
    ]


def _select_largest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Select the rows of the largest changes, in the order of all rows."""
    if len(rows) <= MAX_ROWS:
        return rows
    # Rows stay in key order, so that neighbours on the map stay close on the screen.
    limit = sorted((abs(row["value"]) for row in rows), reverse=True)[MAX_ROWS - 1]
    return [row for row in rows if abs(row["value"]) >= limit][:MAX_ROWS]


def _csv(rows: list[dict[str, Any]]) -> str:
    """Format rows as CSV, with all digits of the numbers."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ("name", *FIGURES, "basis"), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _text(rows: list[dict[str, Any]], *limits: int | None) -> str:
    """Format rows as a table; ``limits``: limits of display of the old and the new release."""
    from geodp.table.display import is_below, show_count

    lines = [("region", "old", "new", "change", "standard error", "95 % interval")]
    for row in rows:
        change, error, low, high = (f"{row[name]:,.1f}" for name in FIGURES[2:])
        ends, pairs = f"{low} to {high}", [*zip((row["old"], row["new"]), limits, strict=True)]
        old, new = (show_count(count, limit, ",.1f") for count, limit in pairs)
        # A change, or its error, would reveal the count that the limit of display hides.
        if any(is_below(*pair) for pair in pairs):
            change = error = ends = DASH
        lines.append((row["name"], old, new, change, error, ends))
    kinds = ", ".join(sorted({row["basis"] for row in rows})) or "none"
    return f"{align(lines)}\n\nOne interval each, not corrected for many; errors: {kinds}."
