from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.verify.verify import verify
from geodp.mechanisms.central.laplace import Laplace
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.central.topdown import TopDown
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.loss import epsilon_for
from geodp.privacy.terms import Terms
from geodp.release.card import card_of
from geodp.release.opening import errors_of
from geodp.table.card import StatedMetadata
from tests.keys import keep
from tests.ledgers import small_ledger
from tests.refusals import refuses

GRID = geodp.Grid.regular((32, 32))
TABLE = geodp.CountTable.from_dense(np.full((32, 32), 50), GRID)


@pytest.mark.parametrize("method", ["topdown", "pyramid"])
def test_gaussian_noise_has_the_sigma_of_its_budget(method):
    """Squared L2 sensitivity over 2 rho, for a contribution of 3; and what epsilon it states."""
    release = geodp.publish(TABLE, method=method, rho="1/8", delta="1e-6", contribution=3)
    event = release.event
    steps = TABLE.grid.bits + 1 if method == "topdown" else 1
    assert event.sigma2 == steps * 9 / (2 * Fraction(1, 8))
    assert event.epsilon == epsilon_for(Fraction(1, 8), Fraction(1, 10**6))
    assert "concentrated" in release.card().guarantee.variant
    event = geodp.publish(TABLE, method=method, epsilon=1, delta="1e-6", contribution=1).event
    more = event.rho * 1001 / 1000
    assert epsilon_for(event.rho, event.delta) <= 1 < epsilon_for(more, event.delta)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method-unknown"),
        ({"epsilon": 0}, "budget-number-not-positive: epsilon"),
        ({"epsilon": None, "rho": 1, "method": "laplace"}, "method-has-no-gaussian"),
        ({"contribution": 0}, "option-out-of-range"),
        ({"epsilon": "1/1000000000"}, "noise-too-wide"),
        ({"key": b"x" * 32}, "key-expected"),
        ({"method": ["topdown"]}, "method-unknown"),
    ],
)
def test_calls_that_are_refused(options, message):
    with refuses(UsageError, message):
        geodp.publish(TABLE, **{"contribution": 1, **{"epsilon": 1, **options}})


def test_a_huge_epsilon_leaves_the_counts_as_they_are():
    release = geodp.publish(TABLE, epsilon=1e6, contribution=np.int64(1))
    assert (release.table.to_dense() == TABLE.to_dense()).all()
    assert "at most exp(1000000), if" in release.event.statement


def test_a_kept_key_never_gives_two_inputs_the_same_noise():
    key = geodp.NoiseKey(bytes(range(32)))
    other = TABLE.to_dense()
    other[0, 0] += 1
    noises = []
    for dense in (TABLE.to_dense(), other):
        table = geodp.CountTable.from_dense(dense, GRID)
        release = geodp.publish(table, epsilon="1/10", key=key, contribution=1)
        noises.append(release.table.to_dense() - dense)
    assert (noises[0] != noises[1]).mean() > 0.5
    again = geodp.publish(TABLE, epsilon=Decimal("0.1"), key=key, contribution=1)
    assert (again.table.to_dense() - TABLE.to_dense() == noises[0]).all()


def test_a_generated_key_that_is_used_twice_does_not_share_noise_either():
    key = geodp.NoiseKey.generate()
    other = TABLE.to_dense() + 1
    noises = [
        geodp.publish(table, epsilon="1/10", key=key, contribution=1).table.to_dense()
        - table.to_dense()
        for table in (TABLE, geodp.CountTable.from_dense(other, GRID))
    ]
    assert (noises[0] != noises[1]).mean() > 0.5


def test_parameters_and_grid_change_the_noise_of_a_kept_key():
    key = geodp.NoiseKey(bytes(range(32)))
    base = geodp.publish(TABLE, epsilon=1, neighbours="replace-one", key=key, contribution=1)
    double = geodp.publish(TABLE, epsilon=1, contribution=2, key=key)
    assert base.event.scale == double.event.scale
    assert (base.table.to_dense() != double.table.to_dense()).any()


def test_a_fixed_key_is_stamped_and_the_others_are_not(tmp_path):
    file = keep(tmp_path / "key")
    fixed = geodp.publish(TABLE, epsilon=1, key=geodp.NoiseKey(bytes(32)), contribution=1)
    repeated = geodp.publish(TABLE, epsilon=1, key=geodp.NoiseKey.from_file(file), contribution=1)
    fresh = geodp.publish(TABLE, epsilon=1, contribution=1)
    assert fixed.card().private is False
    assert fixed.card().guarantee.in_words.startswith("NOT PRIVATE")
    assert repeated.card().private is True
    assert fresh.card().private is True


def test_the_card_is_public_and_complete():
    card = geodp.publish(TABLE, epsilon="1/10", contribution=1).card()
    guarantee = card.guarantee
    assert guarantee.epsilon == "1/10"
    assert guarantee.l1_sensitivity == 1
    assert guarantee.noise_scale == "10"
    assert card.domain.cells == 1024
    assert [row.cells for row in card.expected_error.blocks] == [1, 4, 16, 64, 256, 1024]
    assert card.post_processing
    # Two different tables have the same card: nothing in it depends on the data.
    other = geodp.CountTable.from_dense(np.eye(32, dtype=int), GRID)
    assert geodp.publish(other, epsilon="1/10", contribution=1).card() == card
    empty = geodp.CountTable.from_dense(np.zeros((32, 32), int), GRID)
    cards = [
        geodp.publish(t, epsilon="1/10", allow_empty=True, contribution=1).card()
        for t in (TABLE, empty)
    ]
    assert cards[0] == cards[1]


def test_standard_error_takes_numbers_and_arrays():
    release = geodp.publish(TABLE, epsilon=1, contribution=1)
    assert isinstance(release.standard_error(4), float)
    assert release.standard_error([[1, 4], [16, 64]]).shape == (2, 2)
    assert release.standard_error(5) == release.standard_error(4) + release.standard_error(1)
    for wrong in (0, 2000, -1, 1.5):
        with refuses(UsageError, r"block-size: \b1024\b"):
            release.standard_error(wrong)


def test_an_event_says_whom_it_protects_and_whether_the_bound_is_enforced():
    grid = geodp.Grid.regular((4, 4))
    key, count = np.arange(3, dtype=np.uint64), np.array([3, 4, 5])
    plain = geodp.publish(geodp.CountTable.from_keys(grid, key, count), epsilon=1, contribution=2)
    assert (plain.event.unit, plain.event.enforced) == ("person", False)
    table = geodp.CountTable.from_keys(grid, key, count, bound=ContributionBound(2, "geodp"))
    bounded = geodp.publish(table, epsilon=1, unit="household").event
    assert (bounded.unit, bounded.enforced, bounded.contribution) == ("household", True, 2)


def test_what_a_method_does_not_take_is_refused_in_its_own_words():
    line = geodp.CountTable.from_dense(np.ones(16, int), geodp.Grid.regular((16,)))
    with pytest.raises(UsageError) as refused:
        geodp.publish(line, method="ugrid", epsilon=1, contribution=1)
    assert str(refused.value) == geodp.METHODS["ugrid"].unsupported(line.grid)


def test_a_stage_whose_noise_cannot_be_drawn_is_refused_before_the_charge(tmp_path, monkeypatch):
    """The whole budget's noise could be drawn; that of the pyramid's least share could not."""
    for module in ("privacy.noise.law", "privacy.event"):
        monkeypatch.setattr(f"geodp.{module}.LARGEST_SCALE", 5000)
    row = geodp.METHODS["pyramid"]
    total_event = row.event(GRID, Terms.of(epsilon=1, contribution=1))
    min_share = row.min_share(GRID, total_event)
    epsilon = row.sensitivity(GRID) / min_share / 5000 * Fraction(99, 100)
    assert row.sensitivity(GRID) / epsilon < 5000 * Fraction(99, 100)
    ledger = small_ledger(tmp_path)
    with refuses(UsageError, "noise-too-wide"):
        geodp.publish(TABLE, epsilon=epsilon, ledger=ledger, dataset="census", contribution=1)
    assert not ledger.charges("census")


class Mine(TopDown):
    """A method that geodp does not know."""

    name = "mine"


class Taken(TopDown):
    """Somebody else's, by the name of one of geodp's."""


def test_a_method_of_ones_own_is_published_planned_and_evaluated(tmp_path):
    key = geodp.NoiseKey(bytes(32))
    release = geodp.publish(TABLE, method=Mine(), epsilon=1, key=key, contribution=1)
    known = geodp.publish(TABLE, method="topdown", epsilon=1, key=key, contribution=1)
    assert (release.method, release.event.mechanism) == (Mine(), "mine")
    assert (release.table.to_dense() != known.table.to_dense()).any(), "it shares the noise"
    box = (0, 0, 4, 4)
    assert release.estimate(box).standard_error == known.estimate(box).standard_error
    assert release.write(tmp_path / "out")["public"]
    assert release.card().mechanism.name == "mine"
    planned = geodp.plan(GRID, Mine(), epsilon=1)
    assert (planned.name, planned.blocks) == (
        "mine",
        geodp.plan(GRID, "topdown", epsilon=1).blocks,
    )
    found = geodp.evaluate(TABLE, methods=[Mine(), "laplace"], epsilon=1, trials=1, contribution=1)
    assert [*found.methods] == ["mine", "laplace"]


def test_a_method_of_ones_own_has_a_name_of_its_own():
    with refuses(UsageError, "method-name-taken"):
        geodp.publish(TABLE, method=Taken(), epsilon=1, contribution=1)
    assert (
        geodp.publish(TABLE, method=TopDown(), epsilon=1, contribution=1).event.mechanism
        == "topdown"
    )


def test_a_keyword_that_no_door_knows_is_refused():
    for door in (geodp.publish, geodp.evaluate):
        with pytest.raises(TypeError, match="epsilom"):
            door(TABLE, epsilom=1)
    with pytest.raises(TypeError, match="epsilom"):
        geodp.plan(GRID, epsilom=1)


class Renamed(Laplace):
    """A name with what would be read as a setting."""

    name = "pyramid:passes=1"


class Spendthrift(Laplace):
    """Tells of half of what it spends."""

    name = "spendthrift"

    def event(self, grid, terms, key_origin="entropy"):
        found = super().event(grid, terms, key_origin)
        return replace(found, epsilon=found.epsilon / 2)


class Other(TopDown):
    """Another class with the name and version of ``Mine``."""

    name = "mine"


def test_a_name_is_plain_and_an_event_is_what_was_agreed():
    with refuses(UsageError, "method-name-form"):
        geodp.publish(TABLE, method=Renamed(), epsilon=1, contribution=1)
    with refuses(UsageError, "method-spends-otherwise"):
        geodp.publish(TABLE, method=Spendthrift(), epsilon=1, contribution=1)


def test_two_classes_of_one_name_share_no_noise_under_a_kept_key():
    key = geodp.NoiseKey(bytes(32))
    one, two = (
        geodp.publish(TABLE, method=row, epsilon=1, key=key, contribution=1)
        for row in (Mine(), Other())
    )
    assert one.event == two.event
    assert (one.table.to_dense() != two.table.to_dense()).any()


def test_a_release_by_a_method_of_ones_own_is_verified_as_far_as_it_can_be(tmp_path):
    release = geodp.publish(TABLE, method=Mine(), epsilon=1, contribution=1)
    release.write(tmp_path / "out")
    checks = verify(tmp_path / "out", errors_of)
    assert all(check.ok for check in checks)
    (intervals,) = (check.detail for check in checks if check.name == "intervals")
    assert intervals.endswith("this version does not know their method")


def test_levels_of_a_subclass_are_its_own():
    """Its fields may not be all that its levels depend on, so nothing is kept for it."""

    class Uneven(Pyramid):
        name, steps = "uneven", (4, 6)

        def levels(self, grid, *, gaussian=False):
            return replace(super().levels(grid, gaussian=gaussian), shares=self.weights)

    one, two = Uneven(), Uneven()
    plain = Pyramid().levels(GRID).shares
    object.__setattr__(one, "weights", plain)
    object.__setattr__(two, "weights", plain[::-1])
    assert one == two
    event = one.event(GRID, Terms.of(epsilon=1, contribution=1))
    assert one.queries(GRID, event) != two.queries(GRID, event)


MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
FRAME = pandas.DataFrame({"mesh": ["53394611", "53394612", "53394612"], "n": [812, 40, 7]})[:2]


@pytest.mark.parametrize("door", [lambda f: f, polars.from_pandas, pa.Table.from_pandas])
def test_a_frame_is_published_as_its_table_is(door):
    terms = {"epsilon": 1, "contribution": 1, "key": geodp.NoiseKey(bytes(32))}
    expected = geodp.publish(geodp.read_table(FRAME, grid=MESH, code="mesh", value="n"), **terms)
    for named in ({}, {"value": "n"}, {"code": "mesh", "value": ["n"]}):
        found = geodp.publish(door(FRAME), grid=MESH, **named, **terms)
        assert np.array_equal(found.table.key, expected.table.key)
        assert np.array_equal(found.table.count, expected.table.count)


def test_a_file_or_records_are_published_from_where_they_are(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    for source in (tmp_path / "a.csv", [str(tmp_path / "a.csv")]):
        assert geodp.publish(source, grid="jis:basic", epsilon=1, contribution=1).table.total
    records = pandas.DataFrame({"lon": [139.7] * 9, "lat": [35.7] * 9, "id": range(9)})
    assert geodp.publish(records, grid=MESH, person="id", epsilon=1).table.event.enforced
    frame = FRAME.assign(sex=["f", "m"])
    columns = {"grid": MESH.with_attribute("sex", ["f", "m"]), "columns": {"sex": "sex"}}
    assert geodp.publish(frame, **columns, epsilon=1, contribution=1).grid.attributes


def test_the_card_of_a_release_is_worked_out_before_the_draw_alone(monkeypatch):
    made = []

    def count(release):
        made.append(release)
        return card_of(release)

    monkeypatch.setattr("geodp.release.release.card_of", count)
    release = geodp.publish(TABLE, epsilon=1, contribution=1)
    found = release.card()
    assert len(made) == 1
    assert found == card_of(release)


@pytest.mark.parametrize(
    "change",
    [
        {"people": 9.0},
        {"public_facts": ("a fact",)},
        {"postprocessing": ("smoothed",)},
        {"metadata": StatedMetadata(title="other")},
        {"custom_method": Pyramid(passes=1)},
        {"table": geodp.publish(TABLE, epsilon=2, contribution=1).table},
    ],
)
def test_a_changed_release_has_a_card_of_its_own(change):
    release = geodp.publish(TABLE, epsilon=1, contribution=1)
    changed = replace(release, **change)
    assert changed.card() == replace(changed, preview=None).card()
    assert changed.card() != release.card()
    assert changed.block_errors == replace(changed, preview=None).block_errors


def test_a_charge_is_all_that_the_card_adds_to_that_of_nobody(tmp_path):
    ledger = small_ledger(tmp_path)
    release = geodp.publish(TABLE, epsilon=1, contribution=1, ledger=ledger, dataset="census")
    found = release.card()
    assert found.budget is not None
    assert found == card_of(release)
    assert replace(found, budget=None) == release.preview.card()


@pytest.mark.parametrize("method", ["parts", "pyramid", "topdown", "laplace"])
def test_cards_of_every_kind_of_method_are_those_of_the_release(method):
    grid = geodp.Grid.regular((8, 8)).with_attribute("sex", ["f", "m"])
    table = geodp.CountTable.from_dense(np.full((8, 8, 2), 50), grid)
    release = geodp.publish(table, epsilon=1, contribution=1, method=method)
    assert release.card() == card_of(release)
