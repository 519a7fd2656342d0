"""A released map as a picture to print: counts per square kilometre on a fixed scale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, get_args

from geodp import progress
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.write.drawing.fonts import families
from geodp.io.write.drawing.render import DPI, draw_png, draw_svg
from geodp.io.write.drawing.sheet import Sheet
from geodp.io.write.format import Entry, Format
from geodp.io.write.map.change import compose_change
from geodp.io.write.map.flows import compose_flows, find_flows
from geodp.io.write.map.look import Look
from geodp.io.write.map.page import compose
from geodp.io.write.view import View

Form = Literal["png", "svg"]

MEDIA_TYPE = "image/png"

WITHOUT_MARGINS = (
    "errors of pairs have no closed form here, so that a picture would show what is noise alone"
)
"""Why pairs of a map have no picture by themselves; that of a release of flows estimates them."""

MIN_DPI, MAX_DPI = 50, 600
"""Smallest and largest resolution of a PNG, in pixels per inch."""


def why_no_picture(grid: Grid) -> str | None:
    """Return why a grid's release has no picture; None if it has one."""
    if not grid.places:
        return "only a grid with places can be drawn"
    if len(grid.places) > 1 and not grid.names.on_map:
        return "pairs of areal units lie on no map"
    return None


def require_picture(grid: Grid) -> None:
    """Raise UsageError for a grid whose release has no picture."""
    if (reason := why_no_picture(grid)) is not None:
        raise UsageError(f"There is no map of this release: {reason}.", code="map-unavailable")


class Picture(Format):
    """The map as a picture to print."""

    name: ClassVar[str] = "picture"
    endings: ClassVar[tuple[str, ...]] = ("png",)
    rank: ClassVar[int] = 50

    def check(self, grid: Grid, name: str) -> None:
        """Warn if no font has all letters of the name."""
        if why_no_picture(grid) is None:
            families(name)

    def try_out(self, empty: View) -> None:
        """Lay out the page, with all of its texts."""
        if self.unsupported(empty) is None:
            # Missing fonts must show before the charge, while installing one is still possible.
            families(empty.counted)
            _compose(empty, Look())

    def unsupported(self, view: View) -> str | None:
        """Return why there is no picture."""
        grid = view.table.grid
        untold = grid.maps.missing and view.card.expected_error.blocks is None
        return (
            view.why_in_joint_table or why_no_picture(grid) or (WITHOUT_MARGINS if untold else None)
        )

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Draw the map."""
        name = view.name
        progress.begin("Drawing the map", public=True)
        (folder / f"{name}.png").write_bytes(draw_map(view))
        what = "the map as a picture, colours on a fixed scale"
        # The card reports missing texts, as the picture itself cannot.
        if not all(map(families, (name, view.counted))):
            what += "; without words for which no font was there with all letters"
        yield Entry(f"{name}.png", MEDIA_TYPE, what)


def draw_map(
    view: View,
    look: Look | None = None,
    *,
    form: Form = "png",
    dpi: int = DPI,
) -> bytes:
    """Draw a released map, or the largest flows between origins and destinations.

    Classes of counts per square kilometre are fixed (`geodp.io.write.scale`), so that pictures of
    different releases can be compared and the scale does not depend on the data. Attributes are
    summed. The same view, look and fonts give the same bytes.

    Parameters
    ----------
    view : View
        View on a grid with places. Letters of the count's name that the bundled font lacks are
        drawn by an installed one; if none has them, the name is left out, with a LettersWarning.
    look : Look, optional
    form : {"png", "svg"}
    dpi : int
        Resolution of a PNG in pixels per inch, from 50 to 600.

    Raises
    ------
    UsageError
        The grid has no picture (see `why_no_picture`); the bounds hold no cell; no font has all
        letters of the look's texts; the form is another one.
    """
    require_picture((view.ends or (view,))[0].table.grid)
    return render_sheet(_compose(view, look or Look()), form, dpi)


def _compose(view: View, look: Look) -> Sheet:
    """Lay out the page of a map, or of flows if origins and destinations have some."""
    # Without believable flows, two maps of origins and destinations still say where people are.
    flows = find_flows(view, look.bounds) if look.flows else None
    return compose(view, look) if flows is None else compose_flows(view, look, flows)


def draw_change(
    earlier: View,
    later: View,
    look: Look | None = None,
    *,
    times: tuple[str, ...] = (),
    form: Form = "png",
    dpi: int = DPI,
) -> bytes:
    """Draw two releases of one grid side by side, and the change between them.

    Both maps have the same scale; a change is pale within its 95 % margin, which combines the
    noise of both, and hatched beyond. ``times`` name both periods of a series; other parameters and
    errors are those of :func:`draw_map`. Releases on different grids, and those of origins and
    destinations, are refused.
    """
    return render_sheet(compose_change(earlier, later, look or Look(), times), form, dpi)


def render_sheet(sheet: Sheet, form: Form, dpi: int = DPI) -> bytes:
    """Render a page as a file; UsageError for another form, or a resolution out of range."""
    if form not in get_args(Form):
        listed = " or ".join(get_args(Form))
        raise UsageError(f"form must be {listed}, and not {form}.", code="picture-form")
    if not MIN_DPI <= dpi <= MAX_DPI:
        raise UsageError(
            f"A picture has {MIN_DPI} to {MAX_DPI} pixels to an inch.", code="picture-resolution"
        )
    return draw_png(sheet, dpi) if form == "png" else draw_svg(sheet)


FORMATS = (Picture(),)
