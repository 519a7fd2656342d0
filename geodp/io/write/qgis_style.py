"""QGIS style of a released raster: fixed classes, cells of exactly 0 transparent."""

from __future__ import annotations

from itertools import pairwise

CLASSES = (1, 10, 30, 100, 300, 1_000, 3_000, 10_000)
"""Smallest count of every class, in persons a cell: public constants, never taken from data."""

COLOURS = (
    "#fecf92",
    "#fe9f6d",
    "#f7705c",
    "#de4968",
    "#b73779",
    "#8c2981",
    "#641a80",
    "#3b0f70",
)
"""One for every class, from matplotlib's magma: safe for the colour-blind, dark is many."""


BELOW = "#a6bddb"
"""Of the class of negative values: pale, as they are noise where few or none are."""

ALMOST_0 = -1e-9
"""Where the class of negative values ends, so that 0 itself has one of its own."""


def qml(band: int = 1, *, whole: bool = True, nonnegative: bool = True) -> str:
    """Return a QML document that colours a band of counts by class.

    Classes of whole numbers end half-way between them, so that the averages of overviews fall into
    the class that they round to; averages below 1 still show in the first. Real numbers have
    classes that begin where the one before ends.

    Parameters
    ----------
    band : int
        From 1.
    whole, nonnegative : bool
        What the method can release; negative values, if it can, have a class of their own.
    """
    if whole:
        ends = [f"{first - 0.5:g}" for first in CLASSES[1:]] + ["inf"]
        labels = [f"{first:,} \N{EN DASH} {after - 1:,}" for first, after in pairwise(CLASSES)]
    else:
        ends = [f"{first:g}" for first in CLASSES[1:]] + ["inf"]
        labels = [f"{a:,} \N{EN DASH} {b:,}" for a, b in pairwise((0, *CLASSES[1:]))]
    least, below = 0, ""
    if not nonnegative:
        least = -CLASSES[-1]
        below = (
            f'          <item value="{ALMOST_0:g}" label="below 0" color="{BELOW}" alpha="255"/>\n'
        )
    labels.append(f"{CLASSES[-1]:,} or more")
    items = "\n".join(
        f'          <item value="{end}" label="{label}" color="{colour}" alpha="255"/>'
        for end, label, colour in zip(ends, labels, COLOURS, strict=True)
    )
    return f"""<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="{band}" opacity="1" alphaBand="-1"
        classificationMin="{least}" classificationMax="{CLASSES[-1]}">
      <rasterTransparency>
        <singleValuePixelList>
          <pixelListEntry min="0" max="0" percentTransparent="100"/>
        </singleValuePixelList>
      </rasterTransparency>
      <rastershader>
        <colorrampshader colorRampType="DISCRETE" classificationMode="1" clip="0"
            minimumValue="{least}" maximumValue="{CLASSES[-1]}">
{below}          <item value="0" label="0" color="#000000" alpha="0"/>
{items}
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
</qgis>
"""
