"""Evaluation of flows: figures of small tables by hand, and what is printed for whom."""

import json
import stat

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.flows.evaluation import SIDES, PairSums, measure_flows
from geodp.kinds.flows.zones import Zones
from geodp.privacy.key import NoiseKey
from geodp.tools.evaluate.result import NOTICE
from tests.command import geodp as run
from tests.kinds.flows.test_publish import GRID, trips_on
from tests.kinds.flows.units import make_units, unit_table
from tests.refusals import refuses

SQUARE = geodp.Grid.regular((4, 4))
KEY = NoiseKey(bytes(range(32)))


def table(*rows, grid=SQUARE):
    """Trips by pair: rows of both ends and a count."""
    index = np.array([row[:4] for row in rows], np.int64).reshape(-1, 4).T
    return geodp.CountTable.from_index(grid.pairs(), index, [row[4] for row in rows])


def figures(true, released, grid=SQUARE):
    zones = Zones.of(grid)
    return measure_flows(zones, PairSums.of(zones, true), PairSums.of(zones, released))


def test_figures_by_hand():
    true = table((0, 0, 0, 1, 6), (0, 0, 3, 3, 2))
    made = table((0, 0, 0, 0, 3), (0, 0, 3, 3, 5), (0, 0, 0, 1, 2))
    found = figures(true, made)
    # Of 10 released trips, 2 + 2 are in the right pair of zones; 6 + 2 true ones.
    assert found["right 1"] == 40
    assert found["common 1"] == pytest.approx(200 * 4 / 18)
    assert found["error 1"] == (4 + 3) / 2
    # Both of the first pairs lie within one square of two zones.
    assert found["right 2"] == 70
    assert found["error 2"] == (1 + 3) / 2
    assert found["right 4"] == 80
    assert found["empty"] == pytest.approx(100 / 3)
    assert found["missing"] == 0
    diagonal = 3 * 2**0.5
    assert found["length"] == pytest.approx(
        100 * ((5 * diagonal + 2) / 10) / ((6 + 2 * diagonal) / 8)
    )


def test_labels_are_added_up():
    pairs = SQUARE.pairs().with_attribute("mode", ["walk", "car"])
    index = np.array([[0, 0, 0, 1, 0], [0, 0, 0, 1, 1], [0, 0, 3, 3, 0]]).T
    labelled = geodp.CountTable.from_index(pairs, index, [4, 2, 2])
    assert figures(labelled, table((0, 0, 0, 1, 6), (0, 0, 3, 3, 2)))["right 1"] == 100


def test_a_release_of_everything_is_not_right():
    true = table((0, 0, 0, 1, 6))
    index = np.indices((4, 4, 4, 4)).reshape(4, -1)
    every = geodp.CountTable.from_index(SQUARE.pairs(), index, np.full(256, 9))
    assert figures(true, every)["right 1"] == pytest.approx(100 * 6 / (256 * 9))


def test_of_units_blocks_and_kilometres_are_compared():
    grid, _ = make_units()
    trips = unit_table(grid)
    zones = Zones.of(grid)
    true = PairSums.of(zones, trips)
    found = measure_flows(zones, true, true)
    assert all(found[f"{name} {side}"] == 100 for name in ("right", "common") for side in SIDES)
    none = PairSums(*[np.empty(0, np.int64)] * 3)
    found = measure_flows(zones, true, none)
    assert (found["right 8"], found["missing"], found["length"]) == (0, 100, 0)


def test_an_evaluation_is_what_releases_are(tmp_path):
    trips = trips_on()
    found = geodp.flows.evaluate(trips, contribution=4, epsilon=1, trials=3, key=KEY)
    again = geodp.flows.evaluate(trips, contribution=4, epsilon=1, trials=3, key=KEY)
    assert found.figures == again.figures
    assert found.notice == NOTICE
    assert found.to_dict()["notice"] == NOTICE
    assert found.to_dict()["confidential"] is True
    better = geodp.flows.evaluate(trips, contribution=4, epsilon=50, trials=2, public=True)
    assert better.figures["right 1"] > found.figures["right 1"]
    assert better.figures["error 1"] < found.figures["error 1"]
    assert better.notice is None
    # No noise of it is that of a release with this key.
    release = geodp.flows.publish(trips, contribution=4, epsilon=1, key=KEY)
    zones = Zones.of(GRID)
    own = measure_flows(zones, PairSums.of(zones, trips), PairSums.of(zones, release.flows.table))
    alone = geodp.flows.evaluate(trips, contribution=4, epsilon=1, trials=1, key=KEY)
    assert alone.figures != own
    assert alone.standard_errors["right 1"] is None
    spread = abs(own["right 1"] - found.figures["right 1"])
    assert spread < 10 * max(found.standard_errors["right 1"], 0.3)


@pytest.mark.parametrize(
    ("trips", "more", "code"),
    [
        (pa.table({"o": [1]}), {}, "flows-evaluate-table"),
        (table((0, 0, 0, 1, 6)), {"trials": 0}, "flows-trials-few"),
        (table(), {}, "flows-evaluate-empty"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(trips, more, code):
    with refuses(UsageError, code):
        geodp.flows.evaluate(trips, contribution=1, epsilon=1, **more)


def test_the_command_prints_for_the_operator_alone(tmp_path):
    draw = np.random.default_rng(3)
    y, x = draw.integers(0, 8, (2, 600))
    rows = {"id": draw.integers(0, 90, 600), "oy": y, "ox": x, "dy": (y + 1) % 8, "dx": x}
    pa.table(rows).to_pandas().to_csv(tmp_path / "trips.csv", index=False)
    words = [
        *("flows", "evaluate", tmp_path / "trips.csv", "--grid", "regular:8x8", "--from", "oy,ox"),
        *("--to", "dy,dx", "--person", "id", "--trips", "4", "--epsilon", "2", "--trials", "2"),
    ]
    said = run(*words)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("CONFIDENTIAL")
    assert "placed right, %" in said.stdout
    path = tmp_path / "made.json"
    said = run(*words, "--output", path, "--json")
    assert json.loads(path.read_text()) == json.loads(said.stdout)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(said.stdout)["contribution"] == 4
    assert "CONFIDENTIAL" not in run(*words, "--public-input").stdout
    assert run(*words, "--output", path).returncode == 2
    assert run(*[one for one in words if one not in ("--trips", "4")]).returncode == 2
