"""QGIS style of a released raster: the classes of all maps, cells of exactly 0 transparent."""

from __future__ import annotations

import math

from geodp.grid.lattice import Lattice
from geodp.io.write.scale import DARK_IS_MANY, Class, area_of, fit_classes

BELOW = "#a6bddb"
"""Of the class of negative values: pale, as they are noise where few or none are."""

ALMOST_0 = -1e-9
"""Where the class of negative values ends, so that 0 itself has one of its own."""


def qml(place: Lattice, band: int = 1, *, whole: bool = True, nonnegative: bool = True) -> str:
    """Return a QML document that colours a band of counts by class.

    The classes are those of the picture (`geodp.io.write.scale`), in counts of a cell in the middle
    of the map. Classes of whole numbers end half-way between them, so that the averages of
    overviews fall into the class that they round to; averages below 1 still show in the first. Real
    numbers have classes that begin where the one before ends.

    Parameters
    ----------
    place : Lattice
        Whose cells are coloured.
    band : int
        From 1.
    whole, nonnegative : bool
        What the method can release; negative values, if it can, have a class of their own.
    """
    area = area_of(place)
    classes = list(fit_classes(area, whole=whole))
    known = area is not None
    last = float(classes[-1].first)
    items = "\n".join(
        f'          <item value="{_end(each, whole)}" label="{_label(each, whole, known)}" '
        f'color="{DARK_IS_MANY[each.number]}" alpha="255"/>'
        for each in classes
    )
    least, below = 0.0, ""
    if not nonnegative:
        least = -last
        below = (
            f'          <item value="{ALMOST_0:g}" label="below 0" color="{BELOW}" alpha="255"/>\n'
        )
    return f"""<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="{band}" opacity="1" alphaBand="-1"
        classificationMin="{least:.12g}" classificationMax="{last:.12g}">
      <rasterTransparency>
        <singleValuePixelList>
          <pixelListEntry min="0" max="0" percentTransparent="100"/>
        </singleValuePixelList>
      </rasterTransparency>
      <rastershader>
        <colorrampshader colorRampType="DISCRETE" classificationMode="1" clip="0"
            minimumValue="{least:.12g}" maximumValue="{last:.12g}">
{below}          <item value="0" label="0" color="#000000" alpha="0"/>
{items}
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
</qgis>
"""


def _end(each: Class, whole: bool) -> str:
    """Return the largest value of a class."""
    if each.end is None:
        return "inf"
    return f"{float(each.end) - whole / 2:.12g}"


def _label(each: Class, whole: bool, known: bool) -> str:
    """Return the counts of a class, and the density where cells have an area."""
    first, end = each.first, each.end
    if end is None:
        counts = f"{math.ceil(first) if whole else float(first):,.6g} or more"
    elif whole:
        counts = f"{int(first):,}" + (f" \N{EN DASH} {int(end) - 1:,}" if end - first > 1 else "")
    else:
        counts = f"{float(first):,.4g} \N{EN DASH} {float(end):,.4g}"
    return f"{counts} ({each.density} per km²)" if known else counts
