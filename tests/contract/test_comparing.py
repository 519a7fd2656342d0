"""What ``compare`` and ``diff`` say of two regions and of two releases of every kind."""

import json

from tests.contract.desk import require
from tests.contract.using import WRONG_CALL, list_figures, require_refused, times, value_of

BROAD = "533924"
"""Code of the area with all cells."""


def test_compare_answers_the_folder_that_was_published(kind, released):
    """Of a series two periods are compared, otherwise two regions."""
    words = (*times(kind.periods), *kind.region) if kind.periods else (*kind.region, *kind.other)
    done = released.run("compare", "out", *words)
    assert done.returncode == 0, done.stderr
    assert kind.region[1] in done.stdout


def test_two_releases_of_a_kind_are_compared(kind, released, later):
    figures = compare(released, later.folder / later.asked(), *kind.region)
    assert figures
    for one in figures:
        assert one["low"] <= value_of(one) <= one["high"]


def test_differences_are_named_alike(kind, released):
    """Every number of ``--json`` is a value with its ends, by these names."""
    for one in compare(released, *kind.region, *kind.other):
        assert {"value", "low", "high"} <= {*one}


def test_a_difference_is_the_second_less_the_first(kind, released):
    first, second = (estimate(released, *words) for words in (kind.region, kind.other))
    assert value_of(compare(released, *kind.region, *kind.other)[0]) == second - first


def test_overlapping_regions_are_not_compared(kind, released):
    broad = (*kind.region[:-1], BROAD)
    done = released.run("compare", released.asked(), *kind.region, *broad)
    assert "common" in require_refused(done, WRONG_CALL)


def test_what_cannot_be_compared_is_refused(kind, released, elsewhere):
    """One region, no region, one release twice, releases of other grids: one sentence each."""
    asked = released.asked()
    for words in (
        (asked, *kind.region),
        (asked,),
        (asked, *kind.region, *kind.region),
        (asked, asked, *kind.region),
        (asked, elsewhere.folder / elsewhere.asked(), *kind.region),
    ):
        require_refused(released.run("compare", *words), WRONG_CALL)


def test_diff_shows_what_changed(kind, released, later):
    done = released.run("diff", "out", later.folder / "out", *kind.region)
    assert done.returncode == 0, done.stderr
    assert "95 % interval" in done.stdout


def test_diff_shows_the_cells_that_changed_most(released, later):
    done = require(released.run("diff", "out", later.folder / "out"))
    assert "95 % interval" in done.stdout
    assert 1 < len(done.stdout.splitlines()) <= 44


def test_diff_refuses_one_release_twice_and_another_grid(released, elsewhere):
    same = require_refused(released.run("diff", "out", "out"), WRONG_CALL)
    assert "nothing changed" in same
    other = require_refused(released.run("diff", "out", elsewhere.folder / "out"), WRONG_CALL)
    assert "grids" in other


def compare(desk, *words):
    """Return the numbers of ``compare --json`` that have intervals."""
    done = require(desk.run("compare", desk.asked(), *words, "--json"))
    return list_figures(json.loads(done.stdout))


def estimate(desk, *words):
    """Return the first number of ``estimate --json`` that has an interval."""
    done = require(desk.run("estimate", desk.asked(), *words, "--json"))
    return value_of(list_figures(json.loads(done.stdout))[0])
