"""What is true of one oracle alone: its settings, its fast ways, and what a device keeps."""

import hashlib
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.local.coins import Coins
from geodp.local.oracles import ORACLES, choose_oracle, pgr
from geodp.local.oracles.base import DENSE, State
from geodp.local.oracles.rappor import Rappor
from geodp.local.oracles.sketch import Hcms
from tests.local.oracles.cases import fixed
from tests.reference import pgr as projective
from tests.refusals import refuses


def state_of(one, total, reports):
    none = np.empty(0, np.uint64)
    arrays = {"key": none, "total": np.array(total), "reports": np.array([reports])}
    return State.of_arrays(
        one, {**arrays, "identity": np.frombuffer(one.identity.encode(), np.uint8)}
    )


def test_the_transform_of_sums_at_the_end_of_int64_is_whole():
    one = ORACLES["hadamard"](cells=4, epsilon=1)
    state = state_of(one, [(1 << 59) + 1, -(1 << 59), 1 - (1 << 58), 5], 1 << 61)
    a, b, c, d = state.total.tolist()
    exact = [a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d]
    assert one.products(state, None).tolist() == exact
    assert one.products(state, np.arange(4, dtype=np.uint64)).tolist() == exact


@pytest.mark.parametrize("cells", [1000, DENSE, DENSE + 1])
def test_hadamard_on_demand_is_the_transform(cells):
    one = ORACLES["hadamard"](cells=cells, epsilon=1)
    values = np.random.default_rng(1).integers(0, cells, 3000)
    state = one.aggregate(one.randomize(values, fixed(2, 10_000)))
    assert (state.key.size > 0) == (one.rows > DENSE)
    some = np.random.default_rng(3).integers(0, cells, 20)
    assert np.array_equal(one.estimate(state, some), one.estimate(state)[some])


@pytest.mark.parametrize(("q", "t"), [(2, 2), (2, 5), (3, 2), (3, 4), (5, 3), (7, 3), (13, 2)])
def test_the_projective_transform_counts_orthogonal_points(q, t):
    points = projective.points(q, t)
    told = np.random.default_rng(q).integers(0, 1 << 55, len(points))
    found = pgr._transform(told, q, t)
    for value, own in enumerate(points):
        orthogonal = [i for i, one in enumerate(points) if projective.inner(one, own, q) == 0]
        assert int(found[value]) == sum(told[orthogonal].tolist())


@pytest.mark.parametrize("prime", [2, 3, 7])
def test_projective_geometry_on_demand_is_the_transform(prime):
    one = ORACLES["pgr"](cells=2000, epsilon=1, prime=prime)
    state = one.aggregate(one.randomize(np.arange(4000) % 2000, fixed(4, 20_000)))
    some = np.random.default_rng(5).integers(0, 2000, 20)
    assert np.array_equal(one.estimate(state, some), one.estimate(state)[some])


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 4])
@pytest.mark.parametrize("cells", [2, 100, 1 << 18])
def test_the_prime_is_near_the_best_and_every_cell_has_a_point(epsilon, cells):
    one = ORACLES["pgr"](cells=cells, epsilon=epsilon)
    assert one.points >= cells
    others = [
        ORACLES["pgr"](cells=cells, epsilon=epsilon, prime=prime)
        for prime in (2, 3, 5, 7, 11, 13, 53, 59, 61, 67)
    ]
    least = min(other.variance(1) for other in others)
    assert one.variance(1) <= 1.02 * least
    assert one.points <= min(o.points for o in others if o.variance(1) <= least)


@pytest.mark.law
@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("hadamard", {"cells": 1 << 40}),
        ("grr", {"cells": 1 << 40}),
        ("olh", {"cells": 1 << 40}),
        ("pgr", {"cells": 1 << 24}),
        ("cms", {"cells": 1 << 40, "k": 1 << 16, "m": 32}),
        ("hcms", {"cells": 1 << 40, "k": 1 << 12, "m": 1 << 10}),
        ("rappor", {"cells": 1 << 40, "cohorts": 1 << 16, "bits": 32}),
    ],
)
def test_states_of_many_sums_hold_those_that_are_not_0(name, own):
    one = ORACLES[name](epsilon=1, **own)
    assert one.sums > DENSE
    values = np.random.default_rng(8).integers(0, 1 << 20, 600)
    reports = one.randomize(values, fixed(9, 40_000))
    whole = one.aggregate(reports)
    assert whole.total.all()
    assert (np.diff(whole.key.astype(object)) > 0).all()
    assert int(whole.key[-1]) < one.sums
    for pieces in (2, 9):
        total = one.aggregate(reports[:0])
        for part in np.array_split(np.random.default_rng(pieces).permutation(600), pieces):
            total = total + one.aggregate(reports[part])
        assert total == whole
    again = State.of_arrays(one, whole.arrays())
    assert again == whole
    assert np.array_equal(one.estimate(again, values[:9]), one.estimate(total, values[:9]))


def test_a_space_that_is_too_large_for_all_cells_is_asked_by_value():
    one = ORACLES["pgr"](cells=1 << 18, epsilon=4, prime=62617)
    state = one.aggregate(one.randomize([5, 6]))
    assert one.estimate(state, [5]).shape == (1,)
    with refuses(UsageError, "pgr-lists-too-many"):
        one.estimate(state)


@pytest.mark.parametrize("epsilon", [7, 8, 9, 10, 11])
def test_the_prime_of_choice_keeps_the_transform_short(epsilon):
    one = ORACLES["pgr"](cells=1 << 18, epsilon=epsilon)
    q, t = one.space
    assert q * t * one.points <= pgr.MAX_WORK
    assert one.variance(1) < 0.01 * ORACLES["hadamard"](cells=1 << 18, epsilon=epsilon).variance(1)


def test_a_state_of_2_to_the_40_cells_holds_its_reports_only():
    one = ORACLES["hadamard"](cells=1 << 40, epsilon=1)
    values = np.random.default_rng(6).integers(0, 1 << 40, 20_000)
    reports = one.randomize(values)
    one.aggregate(reports[:10])  # what is compiled is not counted
    tracemalloc.start()
    state = one.aggregate(reports)
    held, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert state.total.size <= 20_000
    assert held < 20_000 * 20
    assert most < 20_000 * 120
    assert one.estimate(state, values[:50]).shape == (50,)


@pytest.mark.parametrize(
    ("cells", "epsilon", "name"),
    [
        (10, 1, "grr"),
        (11, 1, "hadamard"),
        (1 << 18, "1/10", "hadamard"),
        (1 << 18, "1.04", "hadamard"),
        (1 << 18, "1.06", "pgr"),
        (1 << 18, 4, "pgr"),
        (1 << 62, 4, "hadamard"),
        (165, 4, "grr"),
        (166, 4, "pgr"),
    ],
)
def test_the_oracle_that_is_chosen(cells, epsilon, name):
    assert choose_oracle(cells, epsilon).name == name


def test_weak_protection_is_chosen_only_where_it_is_allowed():
    with refuses(UsageError, "epsilon-weak"):
        choose_oracle(1 << 40, 17)
    assert choose_oracle(1 << 40, 17, allow_weak=True).name == "pgr"


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 3])
@pytest.mark.parametrize("cells", [2, 8, 9, 30, 300])
def test_none_is_much_better_than_the_one_that_is_chosen(epsilon, cells):
    one = choose_oracle(cells, epsilon).variance(1)
    for other in ("grr", "oue", "sue", "hadamard", "pgr", "olh"):
        assert one <= 1.35 * ORACLES[other](cells=cells, epsilon=epsilon).variance(1) + 1e-9


@pytest.mark.parametrize("one_time", [False, True])
@pytest.mark.parametrize("hashes", [1, 2, 8])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 2), 1, 4, 16])
def test_chances_of_rappor_keep_to_the_epsilon_that_is_given(epsilon, hashes, one_time):
    more = {"hashes": hashes, "bits": 64, "one_time": one_time}
    one = ORACLES["rappor"](cells=9, epsilon=epsilon, **more)
    own = ORACLES["rappor"](cells=9, f=one.f, p=one.p, q=one.q, **more)
    assert Fraction(999, 1000) * epsilon < own.epsilon <= epsilon == one.epsilon
    if one_time:
        assert one.lasting_epsilon is None
    else:
        assert float(one.lasting_epsilon) == pytest.approx(2 * float(epsilon), rel=1e-3)
        assert one.lasting_epsilon <= 2 * Fraction(epsilon)


def test_a_device_keeps_its_permanent_bits():
    one = Rappor(cells=64, epsilon=1)
    kept = one.remember([5])
    before = kept.copy()
    reports = np.concatenate([one.report(kept) for _ in range(400)])
    assert one.aggregate(reports).reports == 400
    assert np.array_equal(kept, before)
    _, p, q = one._fpq
    bits = np.unpackbits(kept["bits"], axis=1, bitorder="little")[0, :64]
    shares = np.unpackbits(reports["bits"], axis=1, bitorder="little")[:, :64].mean(axis=0)
    assert np.abs(shares - np.where(bits, float(q), float(p))).max() < 6 * 0.5 / 20
    assert bits.sum() > 5  # the permanent bits are not the value's own
    with refuses(UsageError, "value-outside-domain"):
        one.remember([64])


def test_without_a_permanent_stage_a_device_has_nothing_to_keep():
    one = ORACLES["rappor"](cells=9, epsilon=1, one_time=True)
    with refuses(UsageError, "rappor-nothing-kept"):
        one.remember([3])


HALF = {"f": "1/2", "p": "1/2", "q": "3/4"}
RAPPOR = [
    ({"epsilon": 1, **HALF}, "rappor-epsilon-or-bits"),
    ({"epsilon": 1, "f": "1/2"}, "rappor-epsilon-or-bits"),
    ({"epsilon": None}, "rappor-epsilon-or-bits"),
    ({"epsilon": None, "f": "1/2", "p": "1/2"}, "rappor-epsilon-or-bits"),
    ({**HALF, "epsilon": None, "f": 0}, "rappor-f-zero"),
    ({**HALF, "epsilon": None, "f": 1}, "rappor-bits-range"),
    ({**HALF, "epsilon": None, "q": "1/2"}, "rappor-bits-range"),
    ({**HALF, "epsilon": None, "p": "3/4", "q": "1/2"}, "rappor-bits-range"),
    ({**HALF, "epsilon": None, "p": 0, "q": "1/2"}, "rappor-bits-range"),
    ({**HALF, "epsilon": None, "q": 1}, "rappor-bits-range"),
    ({**HALF, "epsilon": None, "p": "nan"}, r"budget-number-form: \bp\b"),
    ({"hashes": 2}, "rappor-needs-bloom"),
    ({"cohorts": 2}, "rappor-needs-bloom"),
    ({"hashes": 9, "bits": 64}, "setting-out-of-range: hashes"),
    ({"hashes": 2, "bits": 2}, "setting-out-of-range: bits"),
    ({"cells": 1 << 17}, "setting-out-of-range: cells"),
    ({"seed": 1 << 31, "bits": 64}, "setting-out-of-range: seed"),
    ({"bits": 1 << 16, "cohorts": 1 << 16}, "rappor-bits-too-many"),
    ({"epsilon": None, "f": "1/10", "p": "1/100", "q": "99/100", "hashes": 8, "bits": 99},
     "epsilon-weak"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "own", "rule"),
    [
        *(("rappor", *row) for row in RAPPOR),
        ("cms", {"k": 0}, r"setting-out-of-range: \bk\b.*\bcms\b"),
        ("cms", {"m": 1}, "setting-out-of-range: m of cms"),
        ("cms", {"k": 1 << 16, "m": 1 << 16}, "sketch-too-large"),
        ("hcms", {"m": 1000}, "hcms-power-of-two"),
        ("hcms", {"seed": -1}, "setting-out-of-range: seed"),
        ("pgr", {"prime": 4}, "pgr-prime"),
        ("pgr", {"prime": 65537}, "setting-not-whole|setting-out-of-range: prime"),
        ("pgr", {"prime": 2.0}, "setting-not-whole|setting-out-of-range: prime"),
        ("pgr", {"cells": 1 << 62}, "pgr-points-too-many"),
        ("oue", {"cells": (1 << 16) + 1}, r"setting-out-of-range: cells.*\boue\b"),
        ("sue", {"cells": (1 << 16) + 1}, r"setting-out-of-range: cells.*\bsue\b"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name, own, rule):
    with refuses(UsageError, rule):
        ORACLES[name](**{"cells": 9, "epsilon": 1, **own})


def test_texts_are_values_of_a_sketch():
    places = ["渋谷", "新宿", "池袋"]
    one = Hcms(cells=1 << 62, epsilon=4, k=64, m=256)
    state = one.aggregate(one.randomize(np.repeat(places, [3000, 2000, 1000]), fixed(7, 40_000)))
    found = one.estimate(state, places)
    assert found == pytest.approx([3000, 2000, 1000], abs=5 * one.variance(6000) ** 0.5)
    numbers = one.check_values([*places, "a", "a\0"])
    assert one.estimate(state, numbers[:3]).tolist() == found.tolist()
    digest = hashlib.sha256("渋谷".encode()).digest()
    assert int(numbers[0]) == int.from_bytes(digest, "big") >> 194
    assert len({*numbers.tolist()}) == 5
    for refused, words in (
        (["a", 1], "values-not-whole-or-texts"),
        ([["a"]], "values-not-whole-or-texts"),
        ([None], "values-not-whole-or-texts"),
    ):
        with refuses(UsageError, words):
            one.randomize(refused)
    with refuses(UsageError, "texts-need-all-cells: cells=2"):
        ORACLES["cms"](cells=1 << 61, epsilon=4).randomize(["a"])


@pytest.mark.parametrize("name", ["olh", "cms", "hcms"])
def test_large_domains_of_what_looks_at_every_cell_are_asked_by_value(name):
    one = ORACLES[name](cells=(1 << 16) + 1, epsilon=1)
    state = one.aggregate(one.randomize([5]))
    with refuses(UsageError, "oracle-lists-too-many"):
        one.estimate(state)
    assert one.estimate(state, [5]).shape == (1,)


def test_a_hundred_million_reports_need_no_more_memory_than_a_piece():
    """In pieces of a million; the state is what is kept, and does not grow with them."""
    one = ORACLES["hadamard"](cells=1 << 18, epsilon=1)
    piece = one.aggregate(one.randomize(np.zeros(1000, np.int64)))
    whole = piece
    for _ in range(17):
        whole = whole + whole
    assert whole.reports == 1000 << 17
    assert whole.total.nbytes + whole.key.nbytes == piece.total.nbytes == 8 << 18


def test_coins_of_many_devices_come_in_blocks():
    asked = []

    class Counted(Coins):
        def ahead(self, units):
            asked.append(units)
            return super().ahead(units)

    one = ORACLES["hadamard"](cells=1 << 18, epsilon=1)
    one.randomize(np.zeros(200_000, np.int64), Counted())
    assert len(asked) < 10
    assert max(asked) <= 1 << 17
