"""What commands that write a page of a release have in common: options, places, the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.help import add_options, option
from geodp.cli.output import write_file
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.table.withdrawal import Notice

page_options = add_options(
    option(
        "--output",
        group="Output",
        everyday=True,
        required=True,
        type=click.Path(path_type=Path),
        help="HTML file to write.",
    ),
    option(
        "--language",
        group="Output",
        type=click.Choice(["en", "ja"]),
        default="en",
        show_default=True,
        help="Language of the page.",
    ),
)
"""Options of every page: its file and its language."""

place_name_option = option(
    "--place-name",
    group="Domain",
    help="Field or column of --places that names the places; default: name.",
)


def require_list(places: Path | None, name: str | None) -> None:
    """Raise UsageError for a field of names without a list of places."""
    if name is not None and places is None:
        raise UsageError("--place-name needs --places.", code="place-name-needs-places")


def read_list(places: Path | None, grid: Grid, name: str | None) -> Mapping[str, Any] | None:
    """Read a public list of places; None where none is given."""
    from geodp.io.read.public.polygons import read_places

    return None if places is None else read_places(places, grid, name=name)


def read_notice(release: Path) -> Notice | None:
    """Read the notice of a withdrawal that lies beside a release; None without one."""
    from geodp.io.verify.card import find_notice, public_folder

    return find_notice(public_folder(release))


def write_html(output: Path, make: Callable[[], str]) -> None:
    """Make a page, write its file, and print its path."""
    with report_progress():
        progress.begin("Writing the page", public=True)
        text = make()
    # The file is all that this run makes: once it is in place, a signal has nothing left to stop.
    complete_with_commit()
    write_file(output, text.encode(), True, True)
    click.echo(str(output))
