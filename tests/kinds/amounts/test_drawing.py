"""Pictures of means and medians: classes, units and colours as told."""

import re

import numpy as np
import pytest

from geodp.io.write.drawing.render import draw_svg
from geodp.io.write.drawing.sheet import CellRaster
from geodp.io.write.map.look import LIGHT, Look
from geodp.kinds.amounts.drawing import (
    Blocks,
    Coloured,
    draw_amounts,
    draw_quantity,
    list_colours,
)
from tests.command import geodp as command
from tests.kinds.amounts.made import EDGES, KEY, publish


@pytest.fixture(scope="module")
def both():
    return publish(classes=EDGES, key=KEY)


def words(sheet):
    return " ".join(re.findall(r">([^<>]+)</text>", draw_svg(sheet).decode()))


def test_a_map_names_its_quantity_unit_and_classes(both):
    sheet = draw_amounts(both, Look(ground=False))
    text = words(sheet)
    assert sheet.title == "Mean income (10,000 yen)"
    assert "Mean (10,000 yen)" in text
    coloured = Coloured.of(Blocks.of(both, 1100), "mean")
    assert all(f"{edge:g}" in text for edge in coloured.edges)
    assert "NOT PRIVATE" in text


def test_medians_are_drawn_where_there_are_no_means():
    sheet = draw_amounts(publish(classes=EDGES, means=False, key=KEY), Look(ground=False))
    assert sheet.title == "Median income (10,000 yen)"


def test_cells_have_the_colour_of_their_class_north_up(both):
    blocks = Blocks.of(both, 500)
    sheet = draw_quantity(both, blocks, "mean", Look(ground=False, size=500))
    (raster,) = [one for one in sheet.items if isinstance(one, CellRaster)]
    coloured = Coloured.of(blocks, "mean")
    # Rows of this grid are counted from the south.
    drawn = np.array(raster.colours)[raster.number[::-1]]
    classes = np.array(list_colours(LIGHT, len(coloured.edges) + 1))
    known = coloured.level == 0
    assert known.any()
    assert (drawn[known] == classes[coloured.classes[known]]).all()
    unknown = np.isnan(coloured.value)
    assert not (drawn[unknown][:, None] == classes).all(axis=2).any()


def test_what_is_not_known_is_grey():
    release = publish(epsilon="1/1000", key=KEY)
    text = words(draw_amounts(release, Look(ground=False)))
    assert "not known well enough for a colour" in text
    assert "the noise is larger" in text


def test_options_of_counts_are_refused(both, shared, tmp_path):
    for option in ("--no-fade", "--no-flows"):
        done = command("map", shared.write(both), "--output", tmp_path / "map.png", option)
        assert done.returncode != 0
        assert "for maps of counts" in done.stderr
    assert not (tmp_path / "map.png").exists()
