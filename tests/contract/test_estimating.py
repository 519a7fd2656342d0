"""What ``estimate`` answers of every kind, and what it refuses."""

import csv
import json
from functools import partial

import numpy as np
import pytest

from geodp.accuracy.interval import USUAL, WORST_CASE
from geodp.grid.region import Region
from geodp.privacy.key import NoiseKey
from tests.contract.desk import require
from tests.contract.kinds import BOUNDS, CODES
from tests.contract.regions import LEFT_AND_RIGHT, OUTSIDE, write_regions
from tests.contract.using import (
    INCONSISTENT,
    REJECTED,
    WRONG_CALL,
    list_figures,
    require_refused,
    times,
    value_of,
)

SIZES = np.repeat(range(1, len(CODES)), 4)
"""Cells of drawn areas."""


def test_estimate_answers_the_folder_that_was_published(kind, released):
    """A series may be asked for one of its periods, by the words of ``--time``."""
    done = released.run("estimate", "out", *times(kind.periods[:1]), *kind.region)
    assert done.returncode == 0, done.stderr
    assert kind.region[1] in done.stdout


def test_a_series_is_estimated_at_all_its_times(kind, released):
    """Other releases have no column of times."""
    done = require(released.run("estimate", "out", *kind.region, "--json"))
    rows = json.loads(done.stdout)["estimates"]
    assert {row["time"] for row in rows if "time" in row} == {*kind.periods}


def test_changes_of_a_series_are_estimated_beside_its_levels(kind, released, tmp_path):
    """As one document and as one file; what has no periods has no changes."""
    asked = ("estimate", "out", *kind.region, "--changes", "previous")
    if not kind.periods:
        assert "--changes" in require_refused(released.run(*asked), WRONG_CALL)
        return
    found = json.loads(require(released.run(*asked, "--json")).stdout)
    first, last = kind.periods
    assert {(row["since"], row["time"]) for row in found["differences"]} == {(first, last)}
    assert {row["time"] for row in found["estimates"]} == {first, last}
    require(released.run(*asked, "--output", tmp_path / "numbers.csv"))
    with (tmp_path / "numbers.csv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    assert [float(row["value"]) for row in rows] == pytest.approx(
        [row["value"] for what in ("estimates", "differences") for row in found[what]], abs=1e-5
    )


def test_an_interval_holds_its_estimate(kind, released):
    figures = estimate(released, *kind.region)
    assert figures
    for one in figures:
        assert one["low"] <= value_of(one) <= one["high"]


def test_worst_case_intervals_are_about_the_same_numbers(kind, released):
    """Of areas, and of what changed there; flows between areas have none, as the refusal says."""
    changes = ("--changes", "previous") if kind.periods else ()
    asked = "estimate", "out", *kind.region, *changes, "--json"
    done = released.run(*asked, "--interval", "worst-case")
    if "--from" in kind.region:
        assert "leave out --interval" in require_refused(done, WRONG_CALL)
        return
    document, usual = (json.loads(require(one).stdout) for one in (done, released.run(*asked)))
    assert (document["interval"], usual["interval"]) == ("worst-case", "usual")
    for one, bound in zip(*map(list_figures, (usual, document)), strict=True):
        assert value_of(one) == value_of(bound)
        assert bound["low"] <= one["low"] <= one["high"] <= bound["high"]


def test_worst_case_intervals_hold_the_usual_ones(kind):
    """Of any areas, where noise hides most cells, and of what changed there."""
    if kind.in_python is None or kind.name == "selection":
        return
    made = kind.in_python(kind.frames(), epsilon="1/30", key=NoiseKey(bytes(31) + b"1"))
    maps = [getattr(one, "ends", one) for one in getattr(made, "named", {"": made}).values()]
    random = np.random.default_rng(1)
    drawn = [random.choice(CODES, size, replace=False).tolist() for size in SIZES]
    areas = [Region.of(maps[0].counts.grid, codes) for codes in drawn]
    answers = [(one.list_figures, areas) for one in maps]
    if len(maps) > 1:
        pairs = [(area, area) for area in areas]
        answers.append((partial(_list_changes, *maps), pairs))
    for answer, asked in answers:
        usual, bounds = (answer(asked, interval=one) for one in (USUAL, WORST_CASE))
        for one, bound in zip(usual, bounds, strict=True):
            for name, number in bound.items():
                # What may be anything is left out.
                if number is not None:
                    assert number.low <= one[name].low <= one[name].high <= number.high, name


def _list_changes(first, last, pairs, interval):
    return [one.difference for one in first.compare_all(pairs, last, interval=interval)]


def test_estimates_are_named_alike(kind, released):
    """Every number of ``--json`` is a value with its ends, by these names."""
    for one in estimate(released, *kind.region):
        assert {"value", "low", "high"} <= {*one}


def test_regions_may_be_polygons(released, tmp_path):
    path = write_regions(tmp_path, LEFT_AND_RIGHT)
    done = require(released.run("estimate", released.asked(), "--polygons", path))
    assert "left" in done.stdout
    assert "right" in done.stdout


def test_regions_may_be_boxes(released):
    box = [f"{edge:g}" for edge in BOUNDS]
    done = require(released.run("estimate", released.asked(), "--box", *box))
    assert " ".join(box) in done.stdout


def test_a_region_that_is_named_twice_is_answered_once(kind, released):
    assert len(estimate(released, *kind.region, *kind.region)) == len(
        estimate(released, *kind.region)
    )


def test_what_cannot_be_estimated_is_refused(kind, released, tmp_path):
    """With the same exit codes for all kinds, in one sentence that names what was given."""
    asked = released.asked()
    unknown = (*kind.region[:-1], "99999999")
    outside = write_regions(tmp_path, OUTSIDE)
    for code, named, *words in (
        (REJECTED, "'99999999'", asked, *unknown),
        (WRONG_CALL, "--polygons", asked),
        (WRONG_CALL, "far", asked, "--polygons", outside),
        (REJECTED, "none.geojson", asked, "--polygons", "none.geojson"),
        (INCONSISTENT, "nowhere", "nowhere", *kind.region),
    ):
        assert named in require_refused(released.run("estimate", *words), code)


def estimate(desk, *words):
    """Return the numbers of ``estimate --json`` that have intervals."""
    done = require(desk.run("estimate", desk.asked(), *words, "--json"))
    return list_figures(json.loads(done.stdout))
