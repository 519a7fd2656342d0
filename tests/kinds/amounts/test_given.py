"""Records agree with the persons of an earlier release, to the last cell."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.amounts.given import Keeping, fit_related, relate_persons
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests import command
from tests.kinds.amounts import worlds
from tests.kinds.amounts.made import EDGES, GIVEN, GRID, KEY, incomes, publish, truth
from tests.kinds.changing import failed
from tests.refusals import refuses

SOURCE = "Statistics Office, map of 2020"
RELATIONS = ("same", "part")
by_relation = pytest.mark.parametrize("relation", RELATIONS)


def persons(relation):
    """The persons of whom all, or a part, have an income."""
    number, *_ = truth()
    others = np.random.default_rng(1).poisson(20, GRID.shape)
    return geodp.CountTable.from_dense(number + (others if relation == "part" else 0), GRID)


def of_given(folder, relation, **more):
    return publish(given=folder, relation=relation, **{"given_source": SOURCE, **more})


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """Folders of maps of the persons, by relation."""
    folder = tmp_path_factory.mktemp("earlier")
    for relation in RELATIONS:
        geodp.publish(persons(relation), epsilon=2, contribution=1).write(folder / relation)
    return folder


@pytest.fixture(scope="module")
def later(earlier, tmp_path_factory):
    """Folders of incomes of these persons, by relation."""
    folder = tmp_path_factory.mktemp("later")
    for relation in RELATIONS:
        of_given(earlier / relation, relation).write(folder / relation)
    return folder


@by_relation
def test_records_agree_and_both_losses_are_stated(earlier, later, relation):
    kept, release = geodp.open(earlier / relation), geodp.open(later / relation)
    number, most = release.count.table.to_dense(), kept.table.to_dense()
    assert (number == most).all() if relation == "same" else (number <= most).all()
    total, scale = release.sum.table.to_dense(), release.scale
    assert ((number * scale.lower <= total) & (total <= number * scale.upper)).all()
    assert not failed(later / relation / "public")
    assert release.index.guarantee.epsilon == release.count.event.describe()["epsilon"] == "3"
    assert release.index.related.release.new == "epsilon = 1"
    assert (later / relation / "public/given/release.json").read_bytes() == (
        earlier / relation / "public/release.json"
    ).read_bytes()


@by_relation
@pytest.mark.parametrize("epsilon", [10, "1/30"])
def test_records_agree_however_much_noise_there_is(earlier, relation, epsilon):
    release = of_given(earlier / relation, relation, epsilon=epsilon)
    number = release.count.table.to_dense()
    most = geodp.open(earlier / relation).table.to_dense()
    assert (number == most).all() if relation == "same" else (number <= most).all()
    total = release.sum.table.to_dense()
    assert ((total >= 0) & (total <= 1000 * number)).all()


def test_records_are_estimated_as_the_given_persons(earlier, later):
    kept, release = geodp.open(earlier / "same"), geodp.open(later / "same")
    for region in [(2, 3, 9, 12), (0, 0, 16, 16), (4, 4, 5, 5)]:
        assert release.estimate(region).count == kept.estimate(region)


def test_numbers_are_near_the_truth(later):
    number, total, _ = truth()
    for relation in RELATIONS:
        found = geodp.open(later / relation).estimate((0, 0, 16, 16))
        assert found.mean.value == pytest.approx(total.sum() / number.sum(), rel=0.02)
        assert found.count.value == pytest.approx(number.sum(), rel=0.02)


@by_relation
def test_intervals_hold_what_is_true(earlier, tmp_path, relation):
    """Also of a given map with much more noise than the amounts have."""
    number, total, _ = truth()
    areas = [(4 * row, 4 * col, 4 * row + 4, 4 * col + 4) for row in range(3) for col in range(3)]
    held = {"count": [], "sum": [], "mean": []}
    for trial in range(12):
        # Given maps are drawn anew, as their errors are those of every record here.
        geodp.publish(persons(relation), epsilon="1/4", contribution=1).write(
            tmp_path / f"map {trial}"
        )
        release = of_given(tmp_path / f"map {trial}", relation, epsilon=2)
        for area, one in zip(areas, release.estimate_all(areas), strict=True):
            at = slice(area[1], area[3]), slice(area[0], area[2])
            n, s = number[at].sum(), total[at].sum()
            for name, true in (("count", n), ("sum", s), ("mean", s / n)):
                each = getattr(one, name)
                held[name].append(each.low <= true <= each.high)
    assert all(np.mean(each) > 0.88 for each in held.values()), {
        name: np.mean(each) for name, each in held.items()
    }


def test_only_what_is_new_is_charged(earlier, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("2020", PureDP(Fraction(3, 2)))
    release = of_given(earlier / "same", "same", ledger=ledger, dataset="2020")
    release.write(tmp_path / "out")
    assert ledger.spent("2020") == PureDP(1)
    assert not failed(tmp_path / "out/public")


def test_gaussian_noise_adds_rho_up(tmp_path):
    budget = {"epsilon": None, "rho": "1/8", "delta": "1e-6"}
    geodp.publish(persons("same"), rho="1/4", delta="1e-6", contribution=1).write(tmp_path / "map")
    of_given(tmp_path / "map", "same", **budget).write(tmp_path / "out")
    assert geodp.open(tmp_path / "out").index.guarantee.rho == "3/8"
    assert not failed(tmp_path / "out/public")


def test_persons_of_a_census_are_given(tmp_path):
    counts = persons("part")
    halves = counts.to_dense() // 2
    both = np.stack([halves, counts.to_dense() - halves], axis=2)
    sex = geodp.CountTable.from_dense(both, GRID.with_attribute("sex", ["f", "m"]))
    census = geodp.census.publish(
        counts, {"sex": sex}, epsilon=2, contribution=1, contradictions="refuse"
    )
    census.write(tmp_path / "census")
    of_given(tmp_path / "census", "part").write(tmp_path / "out")
    assert not failed(tmp_path / "out/public")


def test_another_given_release_is_another_draw(earlier):
    """Or noise at two scales would give the amounts."""
    drawn = [of_given(earlier / one, "part", key=KEY) for one in ("same", "part", "part")]
    first, other, again = (one.sum.table.to_dense() for one in drawn)
    assert (other == again).all()
    noise = first - truth()[1], other - truth()[1]
    assert abs(np.corrcoef(*(each.ravel() for each in noise))[0, 1]) < 0.5
    alone = publish(key=KEY).sum.table.to_dense() - truth()[1]
    assert abs(np.corrcoef(noise[1].ravel(), alone.ravel())[0, 1]) < 0.5


@pytest.mark.parametrize("times", [1, Fraction(5, 4)], ids=["stated", "a quarter more"])
@pytest.mark.parametrize("amounts", [{"epsilon": Fraction(1)}, {"rho": Fraction(1, 8)}])
def test_one_record_costs_the_new_budget_and_no_more(tmp_path, amounts, times):
    """In all small worlds; and, as a control, noise for a quarter more is found."""
    ((name, claim),) = amounts.items()
    people = geodp.CountTable.from_dense(np.full((2, 2), 9), worlds.GRID)
    geodp.publish(people, contribution=1, **{name: 2 * claim}).write(tmp_path / "map")
    keeping = Keeping(tmp_path / "map", SOURCE, "part")
    spent = {name: claim * times}
    design = worlds.design_of(worlds.table_of(()), keeping=keeping, **spent)
    assert getattr(design.whole, name) == 2 * claim + claim * times
    assert getattr(design.measured, name) == claim * times
    found = {
        worlds.loss(*(worlds.measure(worlds.table_of(each), design) for each in (world, more)))
        for world in worlds.worlds(1, amounts=worlds.FEW)
        for more in worlds.one_record_more(world, amounts=worlds.FEW)
    }
    assert max(found) == claim * times


@by_relation
@pytest.mark.parametrize("mean", [0.3, 3, 300])
def test_runs_of_cells_follow_what_was_measured(earlier, relation, mean):
    """And what is released is possible, whatever was measured."""
    kept = relate_persons(
        Keeping(earlier / relation, SOURCE, relation), GRID, publish().count.event
    )
    key = np.arange(256, dtype=np.uint64)
    draw, persons_there = np.random.default_rng(2), kept.given.release.table.counts_at(key)
    for notches in (1, 7, 1000):
        sums = draw.poisson(mean * notches, (2, 256)).astype(np.int64)
        measured = sums.sum(axis=0) // notches
        number, total = fit_related(key, sums, measured, kept, notches)
        assert ((number >= 0) & (number <= persons_there)).all()
        assert ((total >= 0) & (total <= notches * number)).all()
        if relation == "same":
            assert (number == persons_there).all()
        elif mean < 10:
            # There is room for all of them nearly everywhere.
            assert abs(number.sum() - measured.sum()) <= 2


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"relation": None}, "amounts-relation-unstated"),
        ({"relation": "most"}, "amounts-relation-unstated"),
        ({"given": None}, "given-options-without-given"),
        ({"given_source": None}, "given-source-missing"),
        ({"classes": EDGES}, "amounts-given-with"),
        ({"classes": EDGES, "means": False}, "amounts-given-with"),
        ({"weight": "income", "max_weight": 2000}, "amounts-given-with"),
        ({"prior": geodp.CountTable.from_dense(np.ones(GRID.shape, int), GRID),
          "prior_source": "a map"}, "amounts-given-with"),
        ({"epsilon": None, "rho": 1}, "given-promises-otherwise"),
        ({"contribution": 2}, "given-promises-otherwise"),
        ({"unit": "household"}, "given-promises-otherwise"),
        ({"grid": geodp.Grid.regular((32, 32), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))},
         "given-of-other-grid"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_before_the_charge(earlier, ledger, more, code):
    options = {"given": earlier / "same", "relation": "same", "given_source": SOURCE, **more}
    with refuses(UsageError, code):
        publish(ledger=ledger, dataset="census", **options)
    assert not ledger.charges("census")


def test_amounts_are_no_persons_that_could_be_given(later):
    with refuses(UsageError, "given-without-persons"):
        of_given(later / "same", "same")


@by_relation
def test_records_that_do_not_agree_are_found(later, relation):
    release = geodp.open(later / relation)
    table = release.count.table
    more = replace(table, count=table.count + 1000)
    made = replace(release, count=geodp.Release(more))
    assert not all(one.holds(made) for one in made.constraints)


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card["related"].update(relation="part"),
        lambda card: card["related"]["release"].update(spent="epsilon = 1"),
        lambda card: card["related"]["release"].update(sha256="0" * 64),
        lambda card: card.update(related=None),
    ],
    ids=["relation", "spent", "digest", "nothing"],
)
def test_an_index_that_says_otherwise_is_found(later, tmp_path, change):
    shutil.copytree(later / "same", tmp_path / "out")
    index = tmp_path / "out/public/amounts.json"
    card = json.loads(index.read_text())
    change(card)
    index.write_text(json.dumps(card))
    assert failed(tmp_path / "out/public")


def test_the_command_says_what_a_person_reveals(earlier, tmp_path):
    x, y, income = incomes()
    lines = [f"{a},{b},{c}" for a, b, c in zip(x, y, income, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y,income", *lines]))
    done = command.geodp(
        "amounts", "publish", tmp_path / "rows.csv",
        *("--grid", "regular:16x16", "--cell", "1", "--origin", "0", "0", "--crs", "EPSG:3035"),
        *("--x", "x", "--y", "y", "--amount", "income", "--clip", "0", "1000"),
        *("--unit-of-amount", "EUR", "--contribution", "1", "--epsilon", "1"),
        *("--method", GIVEN["method"]),
        *("--given", earlier / "same", "--given-source", SOURCE, "--relation", "same"),
        *("--output", tmp_path / "out"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for language, word in (("en", "earlier release"), ("ja", "以前の公開物")):
        told = command.geodp("explain", tmp_path / "out", "--language", language)
        assert word in told.stdout, told.stderr
    assert command.geodp("verify", tmp_path / "out").returncode == 0
    page = command.geodp("report", tmp_path / "out", "--output", tmp_path / "out.html")
    assert page.returncode == 0, page.stderr
    assert "number of persons of the given release" in (tmp_path / "out.html").read_text()
