"""Draw the map of a written release of any kind."""

from __future__ import annotations

from pathlib import Path

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

    A table of pairs is drawn as the release that it is a table of, which knows their errors.

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
    kind, view = find_kind(folder), None
    if kind is None:
        view = find_view(folder)
        if view.table.grid.maps.missing:
            whole = folder.resolve().parent
            kind, folder = (find_kind(whole), whole)
    draw = None if kind is None else kind.find("draw")
    if kind is None or draw is None:
        return draw_map(view or find_view(folder), look, form=form, dpi=dpi)
    with explain_damage(folder):
        sheet = draw(kind.open(folder), look, find_day(folder))
    return render_sheet(sheet, form, dpi=dpi)


def find_view(folder: Path, *, alone: bool = False) -> View:
    """Read what a map shows of a release, or of its first table that has a map.

    With the day of a withdrawal, if it was withdrawn. ``alone``: it must be one map, not one of
    origins and one of destinations.
    """
    for name in list_tables(folder):
        view = find_view(folder / name)
        grid = view.table.grid
        if why_no_picture(grid) is None and not (alone and grid.maps.missing):
            return view
    return View(*read_release_table(folder), withdrawn=find_day(folder))
