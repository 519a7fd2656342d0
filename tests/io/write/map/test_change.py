"""Two releases on one page: what changed, and which of it may be believed."""

import math

import numpy as np
import pytest
from click.testing import CliRunner

import geodp
from geodp.cli import geodp as command_line
from geodp.errors import UsageError
from geodp.io.write.drawing.sheet import CellRaster
from geodp.io.write.map import change as module
from geodp.io.write.map.change import compose_change, list_colours, number_colours, subtract
from geodp.io.write.map.look import DARK, LIGHT, Look
from geodp.io.write.map.panel import Panel
from tests.io.write.map.test_page import words_of
from tests.io.write.sight import SIGHTS, apart
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 20), crs="EPSG:3035", transform=(1e3, 0, 4e6, 0, -1e3, 3e6))
COUNTS = np.full(GRID.shape, 500)
MOVED = COUNTS.copy()
MOVED[4:8, 4:8] += 400
MOVED[10:12, 10:12] = 20


def shown(counts=COUNTS, grid=GRID, **terms):
    release = geodp.publish(
        geodp.CountTable.from_dense(counts, grid), epsilon=1, contribution=1, **terms
    )
    return release.view()


def panels(*both):
    return [Panel.of(each, 0) for each in both]


def test_what_is_believed_is_beyond_the_noise_of_both():
    earlier, later = panels(shown(), shown(MOVED))
    found = subtract(earlier, later)
    assert found.margin == pytest.approx(math.hypot(earlier.margin, later.margin))
    assert np.array_equal(found.value, later.value - earlier.value)
    assert np.array_equal(found.believed, np.abs(found.value) >= found.margin)
    assert found.believed[4:8, 4:8].all()
    assert found.believed[10:12, 10:12].all()
    assert found.believed.mean() < 0.2


def test_believed_changes_are_hatched_and_others_are_pale():
    both = shown(), shown(MOVED)
    change = subtract(*panels(*both))
    drawn = [i for i in compose_change(*both, Look()).items if isinstance(i, CellRaster)][2]
    times = drawn.number.shape[0] // 16
    pale, value = module.FIRST + 8, change.value
    block = drawn.number[4 * times : 8 * times, 4 * times : 8 * times]
    assert {*np.unique(block)} == {module.SAME, module.FIRST + 2}
    assert (block == module.SAME).mean() == pytest.approx(1 / module.HATCH, abs=0.02)
    number = number_colours(change, fade=True)
    assert np.array_equal(number >= pale, (value != 0) & ~change.believed)
    assert number_colours(change, fade=False).max() < pale
    assert (number[10:12, 10:12] == module.FIRST + 4 + 2).all()


def test_cells_that_are_no_squares_are_drawn_as_wide_as_they_are():
    grid = geodp.Grid.regular((16, 20), crs="EPSG:3035", transform=(2e3, 0, 4e6, 0, -1e3, 3e6))
    sheet = compose_change(shown(grid=grid), shown(MOVED, grid), Look())
    drawn = [item for item in sheet.items if isinstance(item, CellRaster)][2]
    high, wide = (
        pixels / cells for pixels, cells in zip(drawn.number.shape, grid.shape, strict=True)
    )
    assert wide == 2 * high
    corner = drawn.number[: int(5 * high), : int(5 * wide)]
    raised = {module.SAME, module.FIRST + 2}
    assert {*np.unique(corner[int(4 * high) :, int(4 * wide) :])} == raised


@pytest.mark.law
@pytest.mark.usefixtures("japanese_font")
def test_the_page_names_both_and_their_margin():
    both = shown(), shown(MOVED)
    words = words_of(compose_change(*both, Look(graticule=True)))
    assert any(text.startswith("Earlier: ") for text in words)
    assert any(text.startswith("Later: ") and text.endswith("ε = 1") for text in words)
    assert "change of persons per km²" in words
    margin = subtract(*panels(*both)).margin
    assert f"hatched: beyond the 95 % margin of ±{margin:,.0f}" in words
    japanese = words_of(compose_change(*both, Look(language="ja", dark=True)))
    assert "変化: 後 − 前" in japanese


def test_large_changes_are_far_from_the_paper():
    for theme in (LIGHT, DARK):
        colours = list_colours(theme)
        for first in (module.FIRST, module.FIRST + 4):
            away = [abs(sum(colour) - sum(theme.paper)) for colour in colours[first : first + 4]]
            assert away == sorted(away)


def test_other_grids_are_refused():
    other = shown(COUNTS[:8], geodp.Grid.regular((8, 20)))
    with refuses(UsageError, "map-grids-differ"):
        compose_change(shown(), other, Look())
    grid = geodp.Grid.regular((3, 4)).pairs()
    pairs = shown(np.full(grid.shape, 9), grid)
    with refuses(UsageError, "compare-needs-one-map"):
        compose_change(pairs, pairs, Look())


def test_the_command_draws_the_first_named_as_the_earlier(tmp_path):
    for name, counts, day in (("a", COUNTS, "2020-10-01"), ("b", MOVED, "2025-10-01")):
        table = geodp.CountTable.from_dense(counts, GRID)
        release = geodp.publish(table, epsilon=1, metadata={"reference_date": day}, contribution=1)
        release.write(tmp_path / name, name="population")
    given = ["map", "--compare", str(tmp_path / "a"), str(tmp_path / "b")]
    for ending in ("svg", "png"):
        out = tmp_path / f"change.{ending}"
        done = CliRunner().invoke(command_line, [*given, "--output", str(out)])
        assert done.exception is None
        assert out.stat().st_size > 2000
    drawn = (tmp_path / "change.svg").read_text(encoding="utf-8")
    assert drawn.index(">Earlier: 2020-10-01") < drawn.index(">Later: 2025-10-01")


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("sight", SIGHTS)
def test_classes_are_told_apart_by_everybody(sight, theme):
    """A difference of 2 is just noticed by trained eyes; neighbours touch on the map."""
    _, paper, *colours = list_colours(theme)
    four = len(module.MORE)
    full, pale = colours[: 2 * four], colours[2 * four :]
    for both, neighbours, signs in ((full, 15, 25), (pale, 5, 7)):
        for side in (both[:four], both[four:]):
            assert np.diagonal(apart(side, sight), 1).min() >= neighbours
        assert apart(both, sight)[:four, four:].min() >= signs
    from_paper = apart([paper, *full], sight)[0, 1:]
    assert from_paper.min() >= 13, "what changed is seen; pale, it may not have changed"


def test_a_change_from_or_to_what_is_not_shown_is_not_drawn():
    few = {"metadata": {"display_below": 100}, "method": "laplace"}
    for both in ((shown(**few), shown(MOVED)), (shown(), shown(MOVED, **few))):
        change = subtract(*panels(*both))
        hidden = number_colours(change, fade=True) == module.FEW
        limited = [
            np.zeros(GRID.shape, bool) if one.few is None else one.few for one in panels(*both)
        ]
        assert np.array_equal(hidden, limited[0] | limited[1])
        sheet = compose_change(*both, Look())
        drawn = [i for i in sheet.items if isinstance(i, CellRaster)][2]
        assert drawn.colours[module.FEW] == LIGHT.few
        assert words_of(sheet).count("count <100") == 1
    assert hidden[10:12, 10:12].all()
    assert hidden.sum() == 4
    plain = compose_change(shown(), shown(MOVED), Look())
    assert not [word for word in words_of(plain) if "<" in word]
