"""Persons of an earlier release are kept to the last cell; other releases are refused."""

import shutil
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.release.composite import Composite
from tests import command
from tests.kinds.changing import failed, list_sums
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16))
SOURCE = "Statistics Office, map of 2020"
OPTIONS = {"epsilon": 1, "contribution": 1, "contradictions": "refuse"}


def make_tables(grid=GRID):
    """Persons, and their sexes."""
    persons = np.random.default_rng(3).poisson(40, grid.shape)
    women = persons // 2
    sexes = np.stack([women, persons - women], axis=2)
    table = geodp.CountTable.from_dense
    return table(persons, grid), table(sexes, grid.with_attribute("sex", ["f", "m"]))


def publish(folder, **options):
    persons, sex = make_tables()
    options = {**OPTIONS, "given_source": SOURCE, **options}
    return geodp.census.publish(persons, {"sex": sex}, given=folder, **options)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The folder of a map of the same persons."""
    folder = tmp_path_factory.mktemp("earlier") / "map"
    geodp.publish(make_tables()[0], epsilon=2, contribution=1).write(folder)
    return folder


@pytest.fixture(scope="module")
def later(earlier, tmp_path_factory):
    """The folder of sexes of the persons of this map."""
    folder = tmp_path_factory.mktemp("later") / "sexes"
    publish(earlier).write(folder)
    return folder


def test_persons_are_kept_and_both_losses_stated(earlier, later):
    kept, census = geodp.open(earlier), geodp.open(later)
    sums = census.tables["sex"].table.to_dense().sum(axis=2)
    np.testing.assert_array_equal(sums, kept.table.to_dense())
    assert not failed(later / "public")
    assert (later / "public/given/release.json").read_bytes() == (
        earlier / "public/release.json"
    ).read_bytes()
    assert census.index.guarantee.epsilon == census.tables["sex"].event.describe()["epsilon"] == "3"
    assert census.index.given.new == "epsilon = 1"
    region = (2, 3, 9, 12)
    assert census.estimate(region)["persons"] == kept.estimate(region)


def test_a_census_is_given_in_turn(later, tmp_path):
    persons = make_tables()[0]
    old = geodp.CountTable.from_dense(
        persons.to_dense()[..., None] // 5, GRID.with_attribute("age", ["65+"])
    )
    options = {**OPTIONS, "given": later, "given_source": SOURCE, "rest": {"age": "0-64"}}
    geodp.census.publish(persons, {"age": old}, **options).write(tmp_path / "ages")
    ages = geodp.open(tmp_path / "ages")
    assert not failed(tmp_path / "ages/public")
    assert isinstance(geodp.open(tmp_path / "ages/public/given"), Composite)
    assert ages.index.guarantee.spends == "epsilon = 4"
    counts = ages.tables["age"].table.to_dense().sum(axis=2)
    np.testing.assert_array_equal(counts, geodp.open(later).releases["persons"].table.to_dense())


def test_only_what_is_new_is_charged(earlier, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("2020", PureDP(Fraction(3, 2)))
    publish(earlier, ledger=ledger, dataset="2020").write(tmp_path / "out")
    assert ledger.spent("2020") == PureDP(1)
    assert not failed(tmp_path / "out/public")
    # What was charged to a ledger may be given by its card alone.
    publish(tmp_path / "out", given_source=None)


@pytest.mark.parametrize("budget", [{"rho": "1/8"}, {"epsilon": 2}], ids=["rho", "epsilon"])
def test_epsilon_of_gaussian_noise_is_that_of_both(tmp_path, budget):
    persons, _ = make_tables()
    geodp.publish(persons, rho="1/4", delta="1e-6", contribution=1).write(tmp_path / "map")
    census = publish(tmp_path / "map", **{"epsilon": None, "delta": "1e-6", **budget})
    census.write(tmp_path / "out")
    assert not failed(tmp_path / "out/public")
    promise = census.index.guarantee
    alone = geodp.publish(persons, rho=promise.rho, delta="1e-6", contribution=1)
    assert Fraction(promise.rho) > Fraction(1, 4)
    assert promise.epsilon == str(alone.event.epsilon)


def test_another_given_release_is_another_draw(earlier, tmp_path):
    geodp.publish(make_tables()[0], epsilon=2, contribution=1).write(tmp_path / "other")
    key = NoiseKey(bytes(range(32)))
    drawn = [publish(one, key=key) for one in (earlier, tmp_path / "other", earlier)]
    first, other, again = (one.tables["sex"].table.to_dense() for one in drawn)
    np.testing.assert_array_equal(first, again)
    noise = first[..., 0] - first[..., 1], other[..., 0] - other[..., 1]
    assert np.corrcoef(*(one.ravel() for one in noise))[0, 1] < 0.9


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"given_source": None}, "given-source-missing"),
        ({"given_source": " "}, "given-source-missing"),
        ({"epsilon": None, "rho": 1}, "given-promises-otherwise"),
        ({"contribution": 2}, "given-promises-otherwise"),
        ({"neighbours": "replace-one"}, "given-promises-otherwise"),
        ({"unit": "resident"}, "given-promises-otherwise"),
    ],
)
def test_a_release_of_another_promise_is_refused(earlier, options, code):
    with refuses(UsageError, code):
        publish(earlier, **options)


def other_grid(folder):
    persons = make_tables(geodp.Grid.regular((8, 8)))[0]
    geodp.publish(persons, epsilon=1, contribution=1).write(folder)


def with_prior(folder):
    persons = make_tables()[0]
    public = geodp.CountTable.from_dense(np.full((16, 16), 9), GRID)
    options = {"prior": public, "prior_source": "a made-up map"}
    geodp.publish(persons, epsilon=1, contribution=1, **options).write(folder)


def by_sex(folder):
    geodp.publish(make_tables()[1], epsilon=1, contribution=1).write(folder)


def with_known_key(folder):
    geodp.publish(make_tables()[0], epsilon=1, contribution=1, key=NoiseKey(bytes(32))).write(
        folder
    )


def with_floats(folder):
    geodp.publish(make_tables()[0], epsilon=1, contribution=1, method="hay").write(folder)


def changed(folder):
    geodp.publish(make_tables()[0], epsilon=1, contribution=1).write(folder)
    (folder / "public/count.csv").write_text("cell,count\n")


def withdrawn(folder):
    geodp.publish(make_tables()[0], epsilon=1, contribution=1).write(folder)
    done = command.geodp("withdraw", folder, "--reason", "A district was missing.")
    assert not done.returncode


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (other_grid, "given-of-other-grid"),
        (with_prior, "given-without-errors"),
        (by_sex, "given-without-persons"),
        (with_known_key, "given-not-private"),
        (with_floats, "given-without-persons"),
        (changed, "given-not-verified"),
        (withdrawn, "given-withdrawn"),
    ],
)
def test_what_is_no_release_of_the_same_persons_is_refused(tmp_path, write, code):
    write(tmp_path / "given")
    with refuses(UsageError, code):
        publish(tmp_path / "given")


def test_another_release_in_the_folder_is_found(later, tmp_path):
    changed = tmp_path / "changed"
    shutil.copytree(later, changed)
    persons = make_tables()[0]
    shutil.rmtree(changed / "public/given")
    geodp.publish(persons, epsilon=2, contribution=1).write(tmp_path / "other")
    shutil.copytree(tmp_path / "other/public", changed / "public/given")
    list_sums(changed / "public")
    assert {"constraints", "guarantee", "joint files"} <= {*failed(changed / "public")}


def test_its_persons_are_those_of_pages_and_answers(tmp_path):
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, "139.125", "35.0833333333"))
    persons, sex = make_tables(grid)
    geodp.publish(persons, epsilon=1, contribution=1).write(tmp_path / "map")
    options = {**OPTIONS, "given": tmp_path / "map", "given_source": SOURCE}
    geodp.census.publish(persons, {"sex": sex}, **options).write(tmp_path / "out")
    one, other = geodp.open(tmp_path / "map").to_pandas()["code"][:2]
    for call in (
        ("report", tmp_path / "out", "--output", tmp_path / "page.html"),
        ("estimate", tmp_path / "out", "--area", one),
        ("compare", tmp_path / "out", "--area", one, "--area", other),
    ):
        done = command.geodp(*call)
        assert not done.returncode, done.stderr
    count = int(geodp.open(tmp_path / "map").estimate(one).value)
    said = command.geodp("estimate", tmp_path / "out", "--area", one).stdout
    assert f" {count:,} " in said
