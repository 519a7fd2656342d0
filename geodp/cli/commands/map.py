"""``geodp map``: draw a written release, or the change between two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from geodp import progress
from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.cli.output import require_free, require_unsealed, write_file
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit
from geodp.options.option import Option, grouped, joined
from geodp.options.shared import LANGUAGE, MEMORY, PART, TIME

BOUNDS = "West south east north of the map, in the grid's CRS."
SIZE = "Approximate pixels of the map's longer side; cells are enlarged by whole factors."
DPI = "Resolution of a PNG: 200 has twice the pixels of 100."
NO_FADE = "Do not fade counts that lie within their 95 % margin."
GRATICULE = "Draw lines of latitude and longitude, and name the CRS under the map."
NO_GROUND = "Leave out coastlines and place names."
NO_FLOWS = "Draw two maps, of origins and of destinations, instead of the flows between them."

MAP = joined(
    replace(
        TIME,
        help="Period of a series, such as 2020 or 2024-05; twice: draw both, and the change from "
        "the first to the second.",
        group="Input",
        metavar="TIME",
    ),
    PART.without("time"),
    Option(
        "--compare",
        "An earlier release on the same grid: draw it, RELEASE and the change, hatched where the "
        "change exceeds its 95 % margin.",
        group="Input",
        type=Path,
        metavar="EARLIER",
        everyday=True,
    ),
    Option("--bounds", BOUNDS, group="Domain", type=float, values=4, everyday=True),
    grouped(
        "Output",
        Option("--output", "PNG or SVG file, by its extension.", type=Path, required=True),
        Option("--overwrite", "Replace the file.", type=bool, everyday=True),
        Option("--title", "Title, instead of the name of the count.", everyday=True),
        Option("--unit", "What is counted, for the legend.", everyday=True),
        Option(
            "--date",
            "Date of the counts, printed under the map.  [default: the period of a series]",
            everyday=True,
        ),
        Option("--source", "Source of the counts, printed under the map."),
        Option("--credit", "Credit line under the map."),
        replace(LANGUAGE, everyday=True),
        Option("--size", SIZE, low=1, high=8192, everyday=True),
        Option("--dpi", DPI, low=50, high=600),
        Option("--dark", "Use light colours on a black background.", type=bool, everyday=True),
        Option("--graticule", GRATICULE, type=bool, everyday=True),
        Option("--no-fade", NO_FADE, type=bool),
        Option("--no-ground", NO_GROUND, type=bool),
        Option("--no-flows", NO_FLOWS, type=bool),
    ),
    MEMORY,
)
"""Options of a map."""


@click.command("map", cls=StrictCommand)
@click.argument("release", type=click.Path(path_type=Path))
@with_options(MAP)
def map_(
    release: Path,
    output: Path,
    overwrite: bool,
    dpi: int | None,
    no_fade: bool,
    memory: str | None,
    times: tuple[str, ...],
    table: str | None,
    **look: Any,
) -> None:
    """Draw the map of a RELEASE again, or two maps with the change between them.

    \b
    geodp map release --output map.png --graticule
    geodp map --compare release-2020 release-2025 --output change.png
    geodp map series --time 2020 --time 2025 --output change.png

    Of a release of several tables the first one is drawn that has a map, unless --table names one;
    of amounts their means, and of a series the last period. A change is one of counts.
    """
    places = _list_parts(release, look.pop("compare"), times)
    ground, flows = not look.pop("no_ground"), not look.pop("no_flows")
    complete_with_commit()
    require_unsealed(output)
    require_free(output, "--output", (".png", ".svg"), overwrite=overwrite)
    # A vector format has no resolution, and ignoring the option silently would mislead.
    if dpi is not None and output.suffix.lower() != ".png":
        raise UsageError("--dpi is for PNG only: an SVG has no pixels.", code="dpi-needs-png")
    from geodp.io.verify.readback import DRAWING, read_within
    from geodp.io.write.map.look import Look
    from geodp.io.write.picture import draw_change
    from geodp.release.folder_map import draw_folder, find_view
    from geodp.release.opening import find_part

    part, *earlier = (find_part(one, time=time, table=table, last=True) for one, time in places)
    settings = {"date": None if earlier else part.time} | {
        name: value for name, value in look.items() if value is not None
    }
    resolution: dict[str, Any] = {} if dpi is None else {"dpi": dpi}
    form: Any = output.suffix.lower()[1:]
    # The memory of both releases is estimated before either is read.
    folders = [one.folder for one in (part, *earlier)]
    with report_progress(), read_within(folders, memory, DRAWING):
        progress.begin("Reading the release", public=True)
        chosen = Look(**settings, fade=not no_fade, ground=ground, flows=flows)
        if not earlier:
            drawn = draw_folder(part.folder, chosen, form=form, **resolution)
        else:
            later, before = (find_view(one, alone=True) for one in folders)
            named = times if len(times) == 2 else ()
            drawn = draw_change(before, later, chosen, times=named, form=form, **resolution)
    write_file(output, drawn, True, overwrite)
    click.echo(str(output))


def _list_parts(
    release: Path, compare: Path | None, times: tuple[str, ...]
) -> list[tuple[Path, str | None]]:
    """List folders and periods of what is drawn, the later one first.

    Raises UsageError for more periods than are drawn.
    """
    if len({*times}) != len(times) or len(times) > (2 if compare is None else 1):
        raise UsageError(
            "A map shows one period (--time), or the change between two (--time twice); with "
            "--compare, one period of both series.",
            code="map-times",
        )
    folders = [release] if compare is None else [release, compare]
    return [(folder, time) for folder in folders for time in times[::-1] or (None,)]
