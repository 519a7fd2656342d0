"""Units of a page: their rings, what a point lies in, and sums of whole units."""

import json

import numpy as np
import pytest

from tests import tracts
from tests.release.report.html.pages import NODE, data_of, page_of, read, run


@pytest.fixture(scope="module", params=[3035, 4326])
def shown(request, shared):
    release, card = read(tracts.released(shared, request.param))
    return release, card, page_of(release, card)


def test_a_page_has_one_level_and_the_texts_of_units(shown):
    release, card, page = shown
    surface = data_of(page)["surface"]
    assert [level["side"] for level in surface["levels"]] == [1]
    assert surface["outlines"]["codes"] == tracts.CODES
    assert "numbers of all areas of the map" in page
    assert "地域の公開値" in page_of(release, card, "ja")


@NODE
def test_rings_share_their_borders_and_hold_their_inner_points(shown):
    _, _, page = shown
    rings, inner, around = run(page, """
        const { units } = surface;
        return [units.rings, units.middles.map((p) => units.at(p)), units.at([1, 1])];
    """)  # fmt: skip
    assert inner == [*range(12)]
    assert around == -1
    area = 0
    for unit in rings:
        for ring in unit:
            x, y = np.array(ring).T
            area += abs((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()) / 2
    edges = [
        (tuple(a), tuple(b))
        for unit in rings
        for ring in unit
        for a, b in zip(ring, ring[1:] + ring[:1], strict=True)
    ]
    assert len({*edges}) == len(edges)
    inside = [edge for edge in edges if edge[::-1] in {*edges}]
    assert len(inside) >= 2 * 17  # both units of a border have its very points
    assert area > 0


@NODE
def test_the_page_estimates_what_geodp_does(shown):
    release, _, page = shown
    computed = run(page, """
        const { units } = surface;
        const found = surface.estimate(given.map((i) => [0, i]));
        return [found.count, found.error];
    """, [0, 1, 5])  # fmt: skip
    expected = release.estimate(["000", "001", "011"])
    assert computed == pytest.approx([expected.count, expected.standard_error])


@NODE
def test_a_polygon_on_the_page_means_the_units_whose_inner_point_it_holds(shown):
    release, _, page = shown
    west, south, east, north = release.grid.outlines.bounds
    ring = [[west, south], [east, south], [east, north], [west, north]]
    cells = run(page, "return surface.cellsInside([given]);", ring)
    assert sorted(col for _, col in cells) == [*range(12)]
    assert (
        json.dumps(run(page, "return surface.cellsInside([given]);", [[0, 0], [1, 0], [1, 1]]))
        == "[]"
    )
