"""Draw the map of a written release of any kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from geodp.errors import UsageError
from geodp.io.folder.kinds import find_kind
from geodp.io.verify.card import find_day
from geodp.io.verify.readback import explain_damage, read_release_table
from geodp.io.write.drawing.render import DPI
from geodp.io.write.map.look import Look
from geodp.io.write.picture import Form, draw_map, render_sheet, why_no_picture
from geodp.io.write.view import View
from geodp.release.opening import list_tables


def draw_folder(folder: Path, look: Look, *, form: Form = "png", dpi: int = DPI) -> bytes:
    """Draw the release in a public folder: as its kind does, or its first table that has a map.

    Parameters
    ----------
    folder : Path
        Public folder of a release that is no series.
    look : Look
    form : {"png", "svg"}
    dpi : int
        Resolution of a PNG in pixels per inch, from 50 to 600.

    Raises
    ------
    UsageError
        The release has no map, or the look is not for maps of its kind.
    VerificationError
        The release was changed.
    """
    kind = find_kind(folder)
    draw = None if kind is None else kind.find("draw")
    if kind is None or draw is None:
        return draw_map(find_view(folder), look, form=form, dpi=dpi)
    if not (look.fade and look.flows):
        raise UsageError(
            f"--no-fade and --no-flows are for maps of counts, and this is {kind.title}.",
            code="map-of-counts-option",
        )
    with explain_damage(folder):
        sheet = draw(kind.open(folder), look, find_day(folder))
    return render_sheet(sheet, form, dpi=dpi)


def find_view(folder: Path, *, alone: bool = False) -> View:
    """Read what a map shows of a release, or of its first table that has a map.

    With the day of a withdrawal, if it was withdrawn. ``alone``: it must be one map, not one of
    origins and one of destinations.
    """
    kind = find_kind(folder)
    show = None if kind is None else kind.find("view")
    if kind is not None and show is not None and not alone:
        with explain_damage(folder):
            shown: View = show(kind.open(folder))
        return replace(shown, withdrawn=find_day(folder))
    for name in list_tables(folder):
        view = find_view(folder / name)
        grid = view.table.grid
        if why_no_picture(grid) is None and not (alone and grid.maps.missing):
            return view
    return View(*read_release_table(folder), withdrawn=find_day(folder))
