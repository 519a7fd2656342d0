"""What a map's caption says is the error of what a pixel shows."""

from dataclasses import fields

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval import Z
from geodp.io.write import frame
from geodp.io.write.map.look import LANGUAGES, Captions, describe_margin
from geodp.io.write.map.panel import Panel
from tests.grids import half, masked

SIDES = (24, 20)
PLANE = geodp.Grid.regular(SIDES)
AGES = ("age", [str(age) for age in range(11)])


def said_of(release):
    """The sentences under the map of a release."""
    card = release.card()
    places = range(len(release.table.grid.places))
    panels = [Panel.of(release.view(), number) for number in places]
    return describe_margin(card, panels, LANGUAGES["en"])


GRIDS = {
    "pairs": (PLANE.pairs(), "pyramid"),
    "pairs in halves": (PLANE.pairs(), "topdown"),
    "ages": (PLANE.with_attribute(*AGES), "pyramid"),
    "ages above": (
        geodp.Grid.regular((16, 32)).with_attribute(*AGES).with_attribute_order("above"),
        "pyramid",
    ),
    "ages and sexes": (PLANE.with_attribute(*AGES).with_attribute("sex", ["f", "m"]), "topdown"),
    "masked": (masked(PLANE.with_attribute("sex", ["f", "m"]), half(SIDES, 3)), "pyramid"),
    "cells": (PLANE, "pyramid"),
    "not clamped": (PLANE.with_attribute(*AGES), "laplace"),
}


@pytest.mark.law
@pytest.mark.parametrize("name", GRIDS)
def test_a_pixels_stated_error_is_the_measured_one(name):
    """Where nothing is clamped; of a mask the middle pixel's, as others have other neighbours."""
    grid, method = GRIDS[name]
    key = np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))
    count = np.random.default_rng(3).poisson(3000, key.size)
    table = geodp.CountTable.from_keys(grid, key, count)
    square = np.zeros(len(grid.places))
    trials = 12
    for trial in range(trials):
        noise = geodp.NoiseKey(bytes([trial + 1]) * 32)
        release = geodp.publish(table, method=method, epsilon=1, contribution=1, key=noise)
        error = release.table.to_dense() - table.to_dense()
        for place in range(len(grid.places)):
            others = tuple(a for a in range(error.ndim) if a not in (2 * place, 2 * place + 1))
            square[place] += (error.sum(axis=others) ** 2).sum()
    stated = release.card().expected_error.map
    drawn = [np.prod(SIDES)] * len(grid.places)
    if grid.mask is not None:
        drawn = [half(SIDES, 3).sum()]
    elif name == "ages above":
        drawn = [16 * 32]
    for one, total, pixels in zip(stated, square, drawn, strict=True):
        assert one.cells * pixels == grid.size
        measured = np.sqrt(total / trials / pixels)
        assert measured == pytest.approx(one.standard_error, rel=0.05 + 0.15 * (name == "masked"))


def test_the_caption_says_what_a_pixel_sums():
    table = geodp.CountTable.from_dense(
        np.full((4, 8, 4, 8), 9), geodp.Grid.regular((4, 8)).pairs()
    )
    release = geodp.publish(table, method="topdown", epsilon=1, contribution=1, unit="trip")
    card = release.card()
    one, two = (Z * pixel.standard_error for pixel in card.expected_error.map)
    assert one != two
    line = said_of(release)[0]
    assert line.startswith("95 % margin of a pixel, which sums 32 counts: ")
    assert f"±{one:,.0f} and ±{two:,.0f} where" in line


def test_what_has_no_closed_form_says_so():
    grid = geodp.Grid.regular((8, 8)).with_attribute("sex", ["f", "m"])
    table = geodp.CountTable.from_dense(np.full((8, 8, 2), 9), grid)
    release = geodp.publish(table, method="privelet-2d", epsilon=1, contribution=1)
    assert "no closed form" in said_of(release)[0]


def test_a_map_by_label_has_the_margins_of_its_sums():
    """Cells that noise explains are not drawn, though parts of cells have no closed form."""
    grid = geodp.Grid.regular((64, 64))
    people = np.zeros((64, 64, 2), np.int64)
    people[20:24, 20:24] = 500
    table = geodp.CountTable.from_dense(people, grid.with_attribute("sex", ["f", "m"]))
    release = geodp.publish(table, epsilon=0.5, contribution=1, key=geodp.NoiseKey(bytes(32)))
    assert release.method.name == "parts"
    assert release.card().expected_error.blocks is None
    panel = Panel.of(release.view(), 0)
    assert panel.margin == pytest.approx(Z * release.parts.map.standard_error(1), rel=1e-5)
    drawn = panel.believed & (panel.value > 0)
    assert drawn[20:24, 20:24].all()
    assert drawn.sum() < 20
    released = release.table.to_dense().sum(axis=2) > 0
    assert released.sum() > 30  # many of which were drawn before
    assert f"±{panel.margin:,.0f} where" in said_of(release)[0]


@pytest.mark.parametrize("labels", [(), ("f", "m")])
def test_blocks_of_many_cells_have_the_error_of_the_block(labels):
    """On large maps a pixel is a node of the tree, and its cells are not looked at one by one."""
    grid = geodp.Grid.regular((1 << 20, 1 << 20))
    if labels:
        grid = grid.with_attribute("sex", labels)
    table = geodp.CountTable.from_keys(grid, np.array([5], np.uint64), np.array([1000]))
    release = geodp.publish(table, method="pyramid", epsilon=1, contribution=1)
    (pixel,) = release.card().expected_error.map
    assert pixel.cells == 1024**2 * max(len(labels), 1)
    block = release.standard_error(pixel.cells)
    assert pixel.standard_error == pytest.approx(block, rel=1e-5)


def test_under_a_mask_the_pixel_is_a_whole_one(monkeypatch):
    monkeypatch.setattr(frame, "MAX_BLOCKS", 100)
    grid = geodp.Grid.regular((170, 170))
    inside = np.zeros(grid.shape, bool)
    inside[:70, :70] = inside[-70:, -70:] = inside[85, 85] = True
    (pixel,) = frame.pixel_errors(masked(grid, inside), lambda pixel: 1.0)
    assert pixel["cells"] == 4  # drawn in blocks of 2 x 2 cells


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"en"}))
def test_every_caption_is_translated(language):
    words = LANGUAGES[language]
    english = {one.name for one in fields(Captions) if getattr(words, one.name) == one.default}
    assert english == {"zero", "credit"}  # have no words
