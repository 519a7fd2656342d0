"""What every oracle must do, whoever wrote it: no oracle is named here but by its table."""

import json
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import CodeError, UsageError
from geodp.local.coins import Coins, FixedCoins
from geodp.local.oracles import ORACLES, Oracle
from geodp.local.oracles.base import DENSE, MAX_REPORTS, State
from tests.local.oracles.cases import EPSILONS, SMALL, fixed, oracle
from tests.reference.coins import walks
from tests.refusals import refuses

pytestmark = pytest.mark.law

any_oracle = pytest.mark.parametrize("name", sorted(ORACLES))


def reports_of(one, values, seed=1):
    return one.randomize(np.asarray(values), fixed(seed, 60 * (len(values) + 10)))


@any_oracle
def test_it_says_what_it_is_and_its_settings_tell_it_apart(name):
    kind, one, again = ORACLES[name], *(oracle(name, epsilon="1/3") for _ in "ab")
    assert (kind.name, issubclass(kind, Oracle)) == (name, True)
    assert all(text.strip() for text in (kind.title, kind.citation, kind.guarantee.source))
    assert kind.guarantee.variant == "local epsilon-differential privacy"
    assert json.loads(json.dumps(one.settings)) == again.settings
    assert (again, again.identity, hash(again)) == (one, one.identity, hash(one))
    assert (one.settings["epsilon"], one.epsilon) == ("1/3", Fraction(1, 3))
    assert oracle(name, epsilon="1/4").identity != one.identity
    assert oracle(name, cells=10, epsilon="1/3").identity != one.identity


@any_oracle
def test_reports_have_a_small_fixed_type_and_other_bits_each_time(name):
    one, values = oracle(name), np.zeros(300, np.int64)
    reports = reports_of(one, [0, 8, 3])
    assert (reports.dtype, reports.shape) == (one.report_type, (3,))
    assert reports.itemsize <= 16
    assert not one.report_type.hasobject
    assert one.randomize(values).tobytes() != one.randomize(values).tobytes()


@any_oracle
@pytest.mark.parametrize("pieces", [1, 2, 7, 40])
def test_any_split_gives_the_same_state(name, pieces):
    one = oracle(name)
    reports = reports_of(one, np.arange(400) % 9)
    whole = one.aggregate(reports)
    order = np.random.default_rng(pieces).permutation(400)
    parts = [one.aggregate(reports[part]) for part in np.array_split(order, pieces)]
    total = one.aggregate(reports[:0])
    for part in parts:
        total = part + total
    assert total == whole
    assert whole.reports == 400
    assert np.array_equal(one.estimate(total), one.estimate(whole))
    assert whole != one.aggregate(reports[:399])


@any_oracle
def test_a_state_is_read_as_it_was_written(name, tmp_path):
    one = oracle(name)
    state = one.aggregate(reports_of(one, np.arange(50) % 9))
    np.savez(tmp_path / "state.npz", **state.arrays())
    with np.load(tmp_path / "state.npz") as arrays:
        again = State.of_arrays(one, arrays)
    assert again == state
    assert again + state == state + state
    assert all(array.dtype.kind in "iu" for array in state.arrays().values())


@any_oracle
def test_a_state_that_was_changed_is_refused(name):
    one = oracle(name)
    arrays = one.aggregate(reports_of(one, np.arange(50) % 9)).arrays()
    huge = np.full(arrays["total"].shape, np.iinfo(np.int64).min)
    for wrong in (
        {"reports": np.array([-1])},
        {"reports": np.array([0])},
        {"reports": np.array([], np.int64)},
        {"total": arrays["total"][:-1]},
        {"total": arrays["total"].astype(np.float64)},
        {"total": huge},
        {"key": np.array([1 << 63, 1], np.uint64)},
        {"key": arrays["key"].astype(np.int64)},
        {"identity": np.array([255], np.uint8)},
    ):
        with refuses(UsageError, "state-incomplete"):
            State.of_arrays(one, {**arrays, **wrong})
    for left in arrays:
        with pytest.raises(UsageError):
            State.of_arrays(one, {k: v for k, v in arrays.items() if k != left})


@any_oracle
def test_states_of_other_settings_are_refused(name):
    one, other = oracle(name), oracle(name, epsilon=2)
    state = one.aggregate(reports_of(one, [0, 1]))
    with refuses(UsageError, "state-of-other-oracle"):
        other.estimate(state)
    with refuses(UsageError, "state-of-other-oracle"):
        state + other.aggregate(reports_of(other, [0]))
    with refuses(UsageError, "state-of-other-oracle"):
        State.of_arrays(other, state.arrays())


@any_oracle
def test_counts_near_the_end_of_int64_stay_whole(name):
    one = oracle(name)
    arrays = one.aggregate(reports_of(one, np.arange(50) % 9)).arrays()
    arrays["total"] = arrays["total"].copy()
    arrays["total"][:] = 0
    arrays["total"][0] = (1 << 59) + 1
    if name == "olh":  # of a state that holds reports themselves
        arrays["total"][:] = 1
        arrays["total"][0] = (1 << 59) + 1
    arrays["reports"] = np.array([(1 << 59) + 1 + 50])
    state = State.of_arrays(one, arrays)
    four = state + state + state + state
    assert int(four.total[0]) == (1 << 61) + 4
    assert four.reports == 4 * state.reports
    with refuses(UsageError, "reports-too-many"):
        four + four + four
    assert MAX_REPORTS < (1 << 63)
    assert np.isfinite(one.estimate(four)).all()


@any_oracle
@pytest.mark.parametrize(
    "values", [[9], [-1], [0, 9], [1 << 63], [0.5], [1.0], ["1"], [True], 3, [[1]], [None]]
)
def test_values_outside_the_domain_are_refused_and_not_quoted(name, values):
    coins = FixedCoins(range(1000))
    with pytest.raises(UsageError) as told:
        oracle(name).randomize(values, coins)
    assert coins.ahead(0).size == 1000  # nothing was drawn
    assert str(1 << 63) not in str(told.value)


@any_oracle
def test_values_of_any_type_of_whole_numbers_are_taken(name):
    one = oracle(name)
    state = one.aggregate(reports_of(one, np.arange(90) % 9))
    expected = one.estimate(state)[[1, 5]]
    for kind in (np.uint8, np.int16, np.uint64, np.int64):
        assert np.array_equal(one.estimate(state, np.array([1, 5], kind)), expected)
    assert one.estimate(state, []).shape == (0,)
    assert one.randomize([]).shape == (0,)
    with refuses(UsageError, "value-outside-domain"):
        one.estimate(state, [9])


@any_oracle
def test_reports_of_another_type_are_refused(name):
    one = oracle(name)
    reports = reports_of(one, [0, 1, 2])
    for wrong in (
        np.zeros(3, np.dtype([("other", "u1")])),
        np.zeros(3),
        reports.reshape(1, 3),
        reports[0],
    ):
        with refuses(UsageError, "oracle-report-fields"):
            one.aggregate(wrong)


@any_oracle
def test_fields_out_of_range_are_refused_and_not_quoted(name):
    """Two numbers that are too large in every field: the sentence is the same."""
    one = oracle(name)
    reports = reports_of(one, np.arange(20) % 9)
    for field in one.report_type.names:
        told = []
        for less in (0, 1):
            wrong = reports.copy()
            wrong[field][7] = np.iinfo(wrong[field].dtype).max - less
            with refuses(CodeError, "report-field-out-of-range") as refused:
                one.aggregate(wrong)
            assert refused.value.position == 7
            told.append(str(refused.value))
        assert told[0] == told[1]


@any_oracle
def test_epsilons_and_domains_that_make_no_sense_are_refused(name):
    for epsilon in (0, -1, "nan", float("nan"), float("inf"), "x", None, 10**-7):
        with pytest.raises(UsageError):
            oracle(name, epsilon=epsilon)
    for cells in (0, 1, -5, 2.0, True, "9", (1 << 62) + 1, None):
        with refuses(UsageError, "setting-not-whole|setting-out-of-range: cells"):
            oracle(name, cells=cells)
    with refuses(UsageError, "epsilon-weak"):
        oracle(name, epsilon="16.01")
    assert oracle(name, epsilon="16.01", allow_weak=True).epsilon > 16
    with pytest.raises(UsageError):
        oracle(name, epsilon=65, allow_weak=True)


def takes(name, cells):
    """Whether an oracle takes a domain; otherwise it says so in one sentence."""
    try:
        oracle(name, cells=cells)
    except UsageError as refused:
        return "\n" in str(refused)
    return True


@any_oracle
def test_the_largest_domain_is_taken_or_refused_in_a_sentence(name):
    if not takes(name, 1 << 62):
        assert not takes(name, (1 << 62) - 1)
        return
    one = oracle(name, cells=1 << 62)
    values = np.array([0, (1 << 62) - 1, 1 << 61] * 200)
    state = one.aggregate(reports_of(one, values))
    assert state.total.size <= max(DENSE, 600)
    assert one.estimate(state, values[:3]).shape == (3,)
    with refuses(UsageError, "oracle-lists-too-many"):
        one.estimate(state)


@any_oracle
def test_all_that_single_coins_can_say_keeps_the_claim(name):
    """Oracles that draw one coin after the other; test_twins tests kernels."""
    one = oracle(name, cells=5)
    try:
        one.draw(np.zeros(1, np.uint64), _Single())
    except NotImplementedError:
        assert type(one).__module__.startswith("geodp.")
        return
    assert _largest_ratio(one) <= float(one.epsilon) + 1e-9
    assert _largest_ratio(one, 0.5) > float(one.epsilon) + 0.05


class _Single(Coins):
    def fill(self, *_):
        raise NotImplementedError


def _largest_ratio(one, scale=1.0):
    laws = []
    for value in range(one.cells):
        law = defaultdict(float)
        draw = np.array([value], np.uint64)
        for report, probability, _ in walks(lambda coins, v=draw: one.draw(v, coins), scale):
            law[report.tobytes()] += probability
        laws.append(law)
    assert all({*law} == {*laws[0]} for law in laws)
    return max(math.log(a[r] / b[r]) for r in laws[0] for a in laws for b in laws)


def errors(one, trials, n, held, seed):
    """Errors of estimates of value 0, which ``held`` of n devices have in each trial."""
    values = np.arange(n) % (one.cells - 1) + 1
    values[:held] = 0
    units = trials * n * (12 + one.report_type.itemsize * 8) + 1000
    reports = one.randomize(np.tile(values, trials), fixed(seed, units)).reshape(trials, n)
    return np.array([one.estimate(one.aggregate(part), [0])[0] - held for part in reports])


@pytest.mark.parametrize("name", sorted(ORACLES.keys() - SMALL.keys()))
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("held", [0, 40])
def test_estimates_are_unbiased_and_have_the_variance_that_is_stated(name, epsilon, held):
    """Within 3 standard errors. Sketches are tried below, with other functions in each trial."""
    one, trials, n = oracle(name, epsilon=epsilon), 1500, 40
    found, stated = errors(one, trials, n, held, 7), one.variance(n, held)
    assert abs(found.mean()) < 3 * math.sqrt(stated / trials)
    spread = math.sqrt(np.var((found - found.mean()) ** 2) / trials)
    assert abs(found.var() - stated) < 3 * spread
    assert one.variance(2 * n, held) > stated


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("cms", {"k": 4, "m": 8}),
        ("hcms", {"k": 4, "m": 8}),
        ("rappor", {"hashes": 2, "bits": 12, "cohorts": 3}),
        ("rappor", {"hashes": 1, "bits": 6}),
    ],
)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("held", [0, 1])
def test_sketches_have_their_variance_over_hash_functions(name, own, epsilon, held):
    """All devices have different values, so that nothing is left out of the closed form."""
    found, n, trials = [], 30, 1200
    for seed in range(trials):
        one = oracle(name, cells=1 << 40, epsilon=epsilon, seed=seed, **own)
        values = (np.arange(n) + 1) * 7919 * (seed + 1)
        values[:held] = 5
        state = one.aggregate(one.randomize(values, fixed(seed, 1000)))
        found.append(one.estimate(state, [5])[0] - held)
    found, stated = np.array(found), one.variance(n, held)
    assert abs(found.mean()) < 3 * math.sqrt(stated / trials)
    spread = math.sqrt(np.var((found - found.mean()) ** 2) / trials)
    assert abs(found.var() - stated) < 3 * spread
