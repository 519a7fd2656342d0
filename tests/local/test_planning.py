"""The plan of a round looks at devices, epsilon and grid alone."""

import json
from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.mask import mask_of_blocks
from geodp.local.planning import DENSER, plan, read_local_plan
from tests.refusals import refuses

MAP = Grid.regular((512, 512))
KANTO = Grid.mesh("jis:half", bounds=(138, 35, 141.2, 37.1333333333))


@pytest.mark.parametrize(
    ("devices", "epsilon", "depth"),
    [(1e5, 1, 8), (1e6, "1/2", 8), (1e6, 1, 8), (1e6, 3, 10), (1e7, 1, 10)],
)
def test_the_depths_that_were_measured_to_be_best(devices, epsilon, depth):
    found = plan(MAP, devices=devices, epsilon=epsilon)
    assert found.depth == depth
    assert found.protocol.spec == f"counts:chain={depth - 4}-4,weights=1-2"


def test_the_finest_level_is_resolved_and_the_next_is_not():
    found = plan(MAP, devices=10**6, epsilon=1)
    assert found.errors[-1].standard_error <= DENSER * 10**6 / found.released.size
    finer = plan(MAP, devices=10**6, epsilon=1, depth=found.depth + 2)
    assert finer.errors[-1].standard_error > DENSER * 10**6 / finer.released.size


def test_more_devices_and_more_epsilon_never_make_it_coarser():
    depths = [plan(MAP, devices=10**i, epsilon=1).depth for i in range(3, 10)]
    assert depths == sorted(depths)
    depths = [plan(MAP, devices=10**6, epsilon=e).depth for e in ("1/10", "1/2", 1, 2, 4, 8)]
    assert depths == sorted(depths)


def test_no_level_is_finer_than_the_grid():
    assert plan(Grid.regular((4, 4)), devices=10**9, epsilon=8).depth == 4


@pytest.mark.parametrize("epsilon", [1, 3])
def test_official_areas_are_levels(epsilon):
    found = plan(KANTO.with_official_order(), devices=10**7, epsilon=epsilon)
    steps = [step for _, step in KANTO.with_official_order().areas.steps]
    depths = [sum(steps[: i + 1]) for i in range(len(steps))]
    assert found.depth in depths
    assert found.released.places[0].system is not None
    assert found.released.areas.nested
    names = [area["level"] for area in found.to_dict()["areas"]]
    assert names[0] == "jis:primary"


def test_what_is_given_is_not_chosen():
    found = plan(MAP, devices=10**6, epsilon=1, protocol="haar", depth=12)
    assert (found.protocol.spec, found.depth) == ("haar", 12)
    assert plan(MAP, devices=10**6, epsilon=1, protocol="haar").protocol.spec == "haar"
    assert found.released.shape == (64, 64)
    assert plan(MAP, devices=10**6, epsilon=1, depth=10).depth == 10


def test_a_plan_comes_back_from_its_file(tmp_path):
    path = tmp_path / "p.toml"
    for grid in (MAP, KANTO, KANTO.with_official_order()):
        found = plan(grid, devices=1e6, epsilon="2/3", unit="phone", period="week")
        path.write_text(found.toml(), encoding="utf-8")
        assert read_local_plan(path) == found
    document = json.loads(json.dumps(found.to_dict()))
    assert document["epsilon"] == "2/3"
    assert document["devices"] == 10**6
    assert document["report_bytes"] == found.report_bytes > 0


@pytest.mark.parametrize(
    "text",
    ["", "format = 1", "x =", "format = 2\ndomain = '{}'", "format = 1\ndomain = '[]'"],
)
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError):
        read_local_plan(path)
    with refuses(InputError, "plan-of-round-unreadable: cannot be read"):
        read_local_plan(tmp_path / "nothing.toml")


@pytest.mark.parametrize("change", ["depth = true", "devices = 'x'", "epsilon = 1", "more = 1"])
def test_a_setting_of_a_wrong_kind_is_refused(tmp_path, change):
    path, name = tmp_path / "p.toml", change.partition(" ")[0]
    lines = plan(MAP, devices=1e6, epsilon=1).toml().splitlines()
    lines = [line for line in lines if not line.startswith(f"{name} ")]
    path.write_text("\n".join([*lines, change]))
    with pytest.raises(InputError):
        read_local_plan(path)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"devices": 999}, "devices-out-of-range: 1,000"),
        ({"devices": float("nan")}, "devices-out-of-range: 1,000"),
        ({"devices": True}, "devices-out-of-range: 1,000"),
        ({"devices": 1000.7}, "devices-out-of-range"),
        ({"devices": Fraction(10**7, 3)}, "devices-out-of-range"),
        ({"devices": "1000"}, "devices-out-of-range"),
        ({"epsilon": 0}, "budget-number-not-positive"),
        ({"epsilon": -1}, "budget-number-not-positive"),
        ({"epsilon": float("nan")}, "budget-number-form"),
        ({"epsilon": 17}, "epsilon-weak"),
        ({"epsilon": 65}, r"report-epsilon-range: \b64\b"),
        ({"epsilon": 65, "allow_weak": True}, r"report-epsilon-range: \b64\b"),
        ({"epsilon": "1/10000000"}, r"report-epsilon-range: \b64\b"),
        ({"depth": 9}, "blocks-not-square"),
        ({"depth": 20}, r"key-digits-differ: \b18\b"),
        ({"protocol": "none"}, "protocol-unknown"),
        ({"protocol": "counts:chain=4-4", "depth": 10}, "counts-chain"),
        ({"unit": ""}, "unit-missing"),
        ({"period": " "}, "period-in-words"),
    ],
)
def test_bad_input_gets_a_sentence(given, sentence):
    with refuses(UsageError, sentence):
        plan(MAP, **{"devices": 10**6, "epsilon": 1, **given})


@pytest.mark.parametrize(
    "grid",
    [
        Grid.regular((16,)),
        Grid.regular((16, 16)).pairs(),
        Grid.regular((16, 16)).with_attribute("sex", ("m", "f")),
        Grid.regular((16, 16)).with_mask(
            mask_of_blocks(Grid.regular((16, 16)), np.array([[3], [5], [1], [1]]), "land")
        ),
    ],
)
def test_grids_that_no_round_takes(grid):
    for depth in (None, 2):
        with refuses(UsageError, "round-needs-plain-map"):
            plan(grid, devices=10**6, epsilon=1, depth=depth)


def test_a_grid_of_one_cell_asks_nothing():
    with pytest.raises(UsageError):
        plan(Grid.regular((1, 1)), devices=10**6, epsilon=1)


@pytest.mark.parametrize(
    ("spec", "depth"), [("counts:chain=4-4", 8), ("haar:weights=1-1-1-1-1-1", 6)]
)
def test_a_chain_or_weights_say_the_depth(spec, depth):
    found = plan(MAP, devices=10**6, epsilon=1, protocol=spec)
    assert (found.depth, found.protocol.spec) == (depth, spec)
    with refuses(UsageError, "counts-chain|weights-form"):
        plan(MAP, devices=10**6, epsilon=1, protocol=spec + "-9")
    with refuses(UsageError, "counts-chain|weights-form"):
        plan(MAP, devices=10**6, epsilon=1, protocol=spec, depth=10)


def test_the_epsilon_is_exact():
    assert plan(MAP, devices=10**6, epsilon=0.1).epsilon == Fraction(1, 10)
