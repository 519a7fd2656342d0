"""The bias of small labels' totals: stated on the card, and found in releases."""

import json
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from click.testing import CliRunner

import geodp
from geodp.cli import geodp as command_line
from geodp.errors import BudgetError
from geodp.grid.order import Order
from geodp.io.verify import verify_release
from geodp.io.verify.verify import verify
from geodp.mechanisms import mechanism
from geodp.mechanisms.trees import attributes
from geodp.mechanisms.trees.attributes import SMALL, warnings_of
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.release.report.markdown import markdown
from geodp.table.card import Card
from tests.grids import FORMS, masked
from tests.mechanisms.central.test_pyramid import spent

KANTO = geodp.Grid.regular((512, 512))
AGES = [f"{5 * i}-" for i in range(16)]
PEOPLE = 46.4e6


def labelled(shape, *counts, order="below"):
    """A map with attributes of so many labels."""
    grid = geodp.Grid.regular(shape)
    for i, count in enumerate(counts):
        grid = grid.with_attribute(f"a{i}", [str(label) for label in range(count)])
    return grid.with_attribute_order(order)


def rows_of(grid, method="pyramid", epsilon="0.1", people=None, rho=None):
    method = mechanism(method)
    return method.label_totals(grid, spent(method, grid, epsilon, rho), people)


def keys_of_label(grid, axis, label):
    key = np.arange(prod(grid.order.radices), dtype=np.uint64)
    key = key[grid.contains_keys(key)]
    return key[grid.decode(key)[axis] == label]


OFFICIAL = geodp.Grid.mesh("jis:secondary", bounds=(138.75, 35, 139.25, "35.5")).with_attribute(
    "age", ["young", "middle", "old"]
)
CLOSED = {
    "below": labelled((13, 8), 5),
    "above": labelled((8, 8), 4, order="above"),
    "interleaved": labelled((8, 8), 6, order="interleaved"),
    "two": labelled((8, 16), 3, 2),
    "mask": masked(labelled((12, 9), 5, 2), np.add.outer(np.arange(12), np.arange(9)) < 13),
    "official": OFFICIAL.with_official_order(),
    "official above": OFFICIAL.with_official_order("above"),
    "official between": OFFICIAL.with_official_order("jis:primary"),
    "own order": labelled((4, 8), 4).with_order(Order((2, 0, 1, 2, 0, 1, 1), (2,) * 7)),
}


@pytest.mark.law
@pytest.mark.parametrize("method", ["pyramid", "pyramid:passes=1,setting=flat", "topdown"])
@pytest.mark.parametrize("name", CLOSED)
def test_the_stated_error_is_that_of_the_region_of_the_label(name, method):
    """Which is summed cell by cell: for any number of cells it comes from the digits alone."""
    grid, chosen = CLOSED[name], mechanism(method)
    if chosen.unsupported(grid) is not None:
        pytest.skip("topdown needs bits")
    tree = chosen.tree_variance(grid, spent(chosen, grid, "0.1"))
    rows = rows_of(grid, method)
    first = len(grid.shape) - len(grid.attributes)
    assert [row["attribute"] for row in rows] == [a.name for a in grid.attributes]
    for axis, row in enumerate(rows, first):
        error = tree.region(keys_of_label(grid, axis, 0), grid) ** 0.5
        # where nodes of a map's edge have fewer children, parts differ a little from node to node
        assert row["standard_error"] == pytest.approx(error, rel=0.02)


def made_up(grid, others):
    """A map whose cells all hold so many people of every label, and a tenth of label 0."""
    index = np.indices(grid.shape).reshape(len(grid.shape), -1)
    count = np.where(index[2] == 0, round(SMALL * others), others)
    return geodp.CountTable.from_index(grid, index, count)


@pytest.mark.law
@pytest.mark.parametrize("rho", [None, Fraction(1, 200)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("order", ["below", "interleaved"])
@pytest.mark.parametrize("method", ["pyramid", "pyramid:passes=1,prune=1", "topdown"])
def test_the_bias_is_that_of_releases(method, order, rho):
    compare_with_releases(method, labelled((32, 32), 8, order=order), rho, 24)


@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_the_bias_is_that_of_releases_of_more_cells_than_are_simulated(method):
    compare_with_releases(method, labelled((128, 128), 8), None, 6)


def compare_with_releases(method, grid, rho, trials):
    others, cells = 50, prod(grid.shape[:2])
    table, chosen = made_up(grid, others), mechanism(method)
    use = spent(chosen, grid, "0.1", rho)
    (row,) = chosen.label_totals(grid, use, float(table.count.sum()))
    small = keys_of_label(grid, 2, 0)
    found = np.empty(trials)
    for trial in range(found.size):
        released = chosen.release(table, use, NoiseKey((700 + trial).to_bytes(32, "little")))
        inside = np.isin(released.key, small)
        found[trial] = released.count[inside].sum() - small.size * round(SMALL * others)
    doubt = np.hypot(found.std(ddof=1) / np.sqrt(found.size), row["simulation_error"])
    assert row["bias"] == pytest.approx(found.mean(), abs=4 * doubt)
    assert row["bias_per_cell"] == pytest.approx(row["bias"] / cells, rel=1e-3)
    assert not row["holds"]
    assert found.mean() > 2 * row["standard_error"]  # far beyond what is stated


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_labels_that_are_small_against_the_noise_are_warned_of(method, epsilon):
    grid = KANTO.with_attribute("age", AGES)
    for order, people in (("below", PEOPLE), ("interleaved", PEOPLE), ("below", None)):
        (row,) = rows_of(grid.with_attribute_order(order), method, epsilon, people)
        assert not row["holds"]
        assert row["bias"] > 10 * row["standard_error"]


@pytest.mark.parametrize("people", [None, PEOPLE])
@pytest.mark.parametrize("method", ["pyramid", "pyramid:setting=flat", "topdown"])
def test_attributes_above_all_areas_hold(method, people):
    grid = KANTO.with_attribute("age", AGES).with_attribute("sex", ["f", "m"])
    for row in rows_of(grid.with_attribute_order("above"), method, people=people):
        assert row["holds"]
        assert abs(row["bias"]) < row["standard_error"] + 3 * row["simulation_error"]


@pytest.mark.parametrize(
    ("epsilon", "people"), [("0.1", 1e12), ("1000", 46.4e6)], ids=["people", "epsilon"]
)
@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_labels_far_above_the_noise_hold(method, epsilon, people):
    grid = KANTO.with_attribute("sex", ["f", "m"])
    (row,) = rows_of(grid, method, epsilon, people)
    assert row["holds"]
    chosen = mechanism(method)
    assert warnings_of(chosen, grid, spent(chosen, grid, epsilon), people) == ()


def test_methods_that_clamp_nothing_and_maps_without_labels_have_no_such_bias():
    grid = labelled((8, 8), 4)
    assert rows_of(grid, "laplace") is rows_of(geodp.Grid.regular((8, 8))) is None
    assert rows_of(labelled((8, 8), 1)) is None
    assert [row["attribute"] for row in rows_of(labelled((8, 8), 1, 2))] == ["a1"]


@pytest.mark.law
@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_grid_is_looked_at(name):
    grid = FORMS[name]
    several = [a.name for a in grid.attributes if len(a.labels) > 1]
    for method in ("pyramid", "topdown"):
        if mechanism(method).unsupported(grid) is not None:
            continue
        for people in (None, 1e-3, 1e30):
            rows = rows_of(grid, method, people=people) or []
            assert [row["attribute"] for row in rows] == several
            assert np.isfinite([[row["bias"], row["standard_error"]] for row in rows]).all()
            json.dumps(rows, allow_nan=False)


@pytest.mark.law
def test_a_wide_node_and_many_labels_are_simulated_as_far_as_can_be():
    grid = labelled((1 << 12, 1 << 12), 64, 64, order="interleaved")
    for row in rows_of(grid):
        assert row["bias"] > row["standard_error"] > 0
    wide = labelled((64, 64), 2)
    (row,) = rows_of(wide, "pyramid:chain=6-7,shares=1-1-1")
    assert row["bias"] > row["standard_error"]


@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_among_thousands_of_labels_many_small_ones_are_looked_at(method):
    grid = labelled((64, 64), 3000)
    (row,) = rows_of(grid, method)
    assert row["bias"] > 10 * row["simulation_error"]
    assert not row["holds"]


def test_the_simulation_is_made_once(monkeypatch):
    grid = labelled((32, 16), 3)
    first = rows_of(grid, people=7e4)
    monkeypatch.setattr(attributes, "_leaves", None)
    assert rows_of(grid, people=7e4) == first


@pytest.fixture
def table():
    return made_up(labelled((16, 16), 8), 20)


def test_python_warns_before_the_charge(table, tmp_path):
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(Fraction(1, 100)))
    with (
        pytest.warns(UserWarning, match="a0 with a tenth .* too large by about") as said,
        pytest.raises(BudgetError),
    ):
        geodp.publish(
            table,
            method="pyramid",
            epsilon="0.1",
            contribution=1,
            ledger=ledger,
            dataset="census",
        )
    assert said[0].filename == __file__


def test_nothing_is_said_where_nothing_is_biased(table, recwarn):
    above = table.grid.with_attribute_order("above")
    moved = geodp.CountTable.from_index(above, table.grid.decode(table.key), table.count)
    geodp.publish(moved, epsilon="0.1", contribution=1)
    geodp.publish(table, method="laplace", epsilon="0.1", contribution=1)
    geodp.publish(table, epsilon="0.1", contribution=1)
    assert not [w for w in recwarn if w.category is UserWarning]


def test_the_card_says_it_and_both_verifiers_take_it(table, tmp_path):
    terms = {"epsilon": "0.1", "contribution": 1, "people": 4e4}
    release = geodp.publish(table, method="pyramid", **{"contribution": 1, **terms})
    release.write(tmp_path / "out")
    card = json.loads((tmp_path / "out/public/release.json").read_text(encoding="utf-8"))
    (row,) = card["expected_error"]["attributes"]["labels"]
    assert (row["holds"], row["people_from"]) == (False, "a public guess")
    assert row["people_per_cell"] == pytest.approx(4e4 / 256, rel=1e-3)
    assert [check for check in verify(tmp_path / "out") if not check.ok] == []
    assert all(ok for _, ok, _ in verify_release.verify(str(tmp_path / "out")))
    text = markdown(Card.from_json(card))
    assert f"{row['bias']:+,.0f}" in text
    assert "**no**" in text
    plain = geodp.publish(
        geodp.CountTable.from_dense(np.ones((4, 4), int), geodp.Grid.regular((4, 4))),
        epsilon=1,
        contribution=1,
    )
    assert plain.card().expected_error.attributes is None


def test_the_command_line_warns_once_before_the_charge(tmp_path):
    rows = "\n".join(f"{r},{c},{s},9" for r in range(8) for c in range(8) for s in "fm")
    (tmp_path / "a.csv").write_text(f"y,x,sex,n\n{rows}\n", encoding="utf-8")
    place = ["--grid", "regular:8x8", "--labels", "sex=f,m", "--epsilon", "0.1"]
    place += ["--method", "pyramid"]
    read = ["--x", "x", "--y", "y", "--anchor", "index", "--value", "n", "--column", "sex=sex"]
    arguments = [str(tmp_path / "a.csv"), *place, *read, "--contribution", "1", "--json"]
    done = CliRunner().invoke(
        command_line, ["publish", *arguments, "--output", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    assert done.stderr.count("Warning: Totals of small labels are biased: a label of sex") == 1
    (said,) = json.loads(done.stdout)["warnings"]
    assert f"Warning: {said}\n" == done.stderr
    above = [*arguments, "--attribute-order", "above", "--output", str(tmp_path / "above")]
    done = CliRunner().invoke(command_line, ["publish", *above])
    assert (done.stderr, json.loads(done.stdout)["warnings"]) == ("", [])
    done = CliRunner().invoke(command_line, ["plan", *place, "--json"])
    (planned,) = json.loads(done.stdout)["plans"][0]["warnings"]
    assert planned == said
    assert done.stderr == f"Warning: {said}\n"
    done = CliRunner().invoke(
        command_line, ["plan", *place, "--output", str(tmp_path / "plan.toml")]
    )
    assert done.stderr.startswith("Warning: ")
    assert f"# {said}" in (tmp_path / "plan.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_the_worst_case_of_a_label_above_others_is_looked_at(method):
    """It has as many people as the noise where each of its combinations has far fewer."""
    grid = geodp.Grid.regular((64, 64)).with_attribute("a", list("01234567"))
    grid = grid.with_attribute("b", [str(label) for label in range(64)])
    (worst, _) = rows_of(grid, method, "0.5", None)
    (known, _) = rows_of(grid, method, "0.5", 244.0 * 64 * 64)
    assert not worst["holds"]
    assert worst["bias"] > 0.8 * known["bias"] > 7_000
