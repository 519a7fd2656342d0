"""Squares of cells: their sums, their edges and their classes."""

from dataclasses import replace

import numpy as np
import pytest

import geodp
from geodp.io.write.export.web import NEGATIVE, WebMap, WebSquares, list_colours
from geodp.io.write.frame import Frame
from geodp.io.write.scale import classify
from geodp.table.card import StatedMetadata
from tests.release.test_frames import GRIDS, release


@pytest.mark.parametrize("name", ["mesh", "metres", "attribute"])
@pytest.mark.parametrize("side", [1, 2, 4, 8, 64])
def test_a_square_holds_the_sum_of_its_cells(name, side):
    table = release(GRIDS[name]).table
    squares = WebSquares.of(table)
    while squares.side < side:
        squares = squares.widen(2)
    dense = table.to_dense()
    dense = dense.reshape(*dense.shape[:2], -1).sum(axis=2)
    expected = np.zeros([-(-n // side) for n in dense.shape], dense.dtype)
    for (row, col), count in np.ndenumerate(dense):
        expected[row // side, col // side] += count
    found = np.zeros_like(expected)
    found[squares.row, squares.col] = squares.count
    assert np.array_equal(found, expected)
    assert (squares.count != 0).all()
    assert squares.count.sum() == table.total


def test_squares_that_meet_share_their_edges_and_end_with_the_map():
    grid = geodp.Grid.regular((5, 7), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
    table = geodp.CountTable.from_dense(np.full(grid.shape, 9), grid)
    made = geodp.publish(table, method="laplace", epsilon=1, contribution=1)
    squares = WebSquares.of(made.table).widen(4)
    west, south, east, north = squares.edges()
    place = grid.places[0]
    assert (west.min(), south.min(), east.max(), north.max()) == place.bounds
    assert east[squares.col == 0].tolist() == west[squares.col == 1].tolist()
    assert south[squares.row == 0].tolist() == north[squares.row == 1].tolist()


def below(view, limit):
    """Return a view whose office shows counts below a limit as such."""
    return replace(view, card=replace(view.card, metadata=StatedMetadata(display_below=limit)))


def name_classes(layer):
    """Return the names of the classes of all features."""
    pieces = [columns["class"].to_pylist() for columns, _ in layer.pieces("Testing")]
    return np.array([name for some in pieces for name in some])


def test_classes_are_those_of_all_maps():
    made = release(GRIDS["mesh"], "laplace")
    layer = WebMap.of(made.view()).widen(2)
    squares = layer.squares
    area = Frame(GRIDS["mesh"].places[0], 2, (1, 1), None).areas()
    density = squares.count / area[squares.row, squares.col]
    names = name_classes(layer)
    above = density > 0
    classes = layer.view.shown.classes
    assert names[above].tolist() == [classes[n] for n in classify(density[above])]
    assert {*names[~above]} == {NEGATIVE}
    few = name_classes(replace(layer, view=below(layer.view, 100)))
    assert (few == "<100").tolist() == ((squares.count > 0) & (squares.count < 100)).tolist()


def test_every_class_has_a_colour_of_its_own():
    for method in ("laplace", "pyramid"):
        made = release(GRIDS["mesh"], method)
        view = below(made.view(), 100)
        colours = dict(list_colours(view))
        assert len({*colours.values()}) == len(colours)
        assert {*name_classes(WebMap.of(view))} <= {*colours}


def test_the_card_says_the_error_of_squares_of_its_order():
    made = release(GRIDS["mesh"])
    card, squares = made.card(), WebSquares.of(made.table)
    stated = {one.cells: one.largest for one in card.expected_error.blocks}
    assert squares.widen(2).standard_error(card) == stated[4]
    attribute = release(GRIDS["attribute"])
    assert WebSquares.of(attribute.table).standard_error(attribute.card()) is None
