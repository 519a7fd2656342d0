"""Secret epsilons: the figures, the definition beside the closed form, estimators as enumerated."""

import json
import math
from fractions import Fraction as F
from itertools import combinations, product

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom, hypergeom

from geodp.cli import geodp
from geodp.errors import UsageError
from geodp.literature.blending import ESTIMATORS, blend
from geodp.privacy.loss import PureDP
from tests.reference.blending import indicator
from tests.refusals import refuses

HALVES = ["1/2", "1/2"]


def response(keep, values=2):
    """The channel of randomised response."""
    lie = (1 - keep) / (values - 1)
    return np.where(np.eye(values, dtype=bool), keep, lie)


def leak(channel):
    """The largest logarithm of a ratio in a column."""
    return float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())


@pytest.mark.parametrize(
    ("weak", "factor"),
    [("2/5", 4), ("3/7", 4), ("1/2", 3), ("3/5", 3), ("2/3", 4), ("9/10", 4)],
)
def test_the_indicator_by_share(weak, factor):
    found = blend([F(weak), 1 - F(weak)], truths=["0.8", "0.6"])
    assert np.exp(found.pbp) == pytest.approx([factor, 1.5])


def test_best_shares():
    found = blend(HALVES, truths=["0.8", "0.6"])
    weak, strong = found.best_shares
    assert weak == pytest.approx(0.550510, abs=5e-7)
    assert weak + strong == pytest.approx(1)
    share = F(weak).limit_denominator(10**12)
    least = max(blend([share, 1 - share], truths=["0.8", "0.6"]).pbp)
    assert least == pytest.approx(0.895880, abs=5e-7)
    assert least == pytest.approx(sum(found.ldp) / 2)
    for other in (share - F(1, 100), share + F(1, 100)):
        assert max(blend([other, 1 - other], truths=["0.8", "0.6"]).pbp) > least
    assert blend(["1/3", "1/3", "1/3"], [1, 2, 3]).best_shares is None


@pytest.mark.parametrize("values", [2, 3, 5])
@pytest.mark.parametrize(
    ("shares", "truths"),
    [
        (["1/2", "1/2"], ["0.8", "0.6"]),
        (["1/5", "3/10", "1/2"], ["0.9", "0.55", "0.7"]),
        (["1/10", "9/10"], ["0.3", "0.95"]),
        (["1"], ["0.75"]),
    ],
)
def test_the_closed_form_is_the_definition(values, shares, truths):
    found = blend(shares, truths=truths, values=values)
    weights = [float(F(share)) for share in shares]
    channels = [response(float(truth), values) for truth in truths]
    assert found.pbp == pytest.approx(indicator(weights, channels))
    assert found.ldp == pytest.approx([leak(channel) for channel in channels])
    mixed = sum(w * channel for w, channel in zip(weights, channels, strict=True))
    assert found.mixture == pytest.approx(leak(mixed))
    assert all(p <= e + 1e-12 for p, e in zip(found.pbp, found.ldp, strict=True))
    assert found.mixture <= max(found.pbp) + math.log(len(shares)) + 1e-12


def test_split_labels_show_that_the_indicator_is_no_guarantee():
    channels = [response(0.8), response(0.8), response(0.2)]
    assert indicator([1 / 3] * 3, channels) == pytest.approx([0, 0, 0], abs=1e-12)
    merged = blend(["2/3", "1/3"], truths=["0.8", "0.2"])
    assert merged.pbp == pytest.approx([math.log(2)] * 2)
    assert merged.mixture == pytest.approx(math.log(1.5))
    with refuses(UsageError, "labels-answer-alike"):
        blend(["1/3", "1/3", "1/3"], truths=["0.8", "0.8", "0.2"])


HONEST = [np.eye(2), np.full((2, 2), 0.5)]


@pytest.mark.parametrize(("share", "own", "mixed"), [("4/5", 8, 9), ("1/5", 2, 1.5)])
def test_the_first_example_of_the_source(share, own, mixed):
    """One answers honestly, one at random, each with its share of all devices."""
    menu = blend([F(share), 1 - F(share)], truths=["1", "1/2"])
    assert menu.pbp == pytest.approx([math.log(own), 0])
    assert menu.pbp == pytest.approx(indicator([F(share), 1 - F(share)], HONEST))
    assert menu.mixture == pytest.approx(math.log(mixed))
    assert menu.ldp == (math.inf, 0)
    assert menu.best_shares is None
    with refuses(UsageError, "label-without-epsilon"):
        menu.loss  # noqa: B018
    assert menu.describe()["labels"][0]["ldp"] is None
    assert "no protection of their own" in menu.statement


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("truths", [["0.8", "0.6"], ["0.9", "0.3"], ["1", "0.4"], ["0", "0.6"]])
@pytest.mark.parametrize("reports", range(1, 5))
def test_repeated_answers_as_enumerated(values, truths, reports):
    """Theorem 2: of a device that keeps its label and answers several times."""
    menu = blend(["1/4", "3/4"], truths=truths, values=values)
    channels = [response(float(truth), values) for truth in truths]
    laws = [
        [
            sum(
                weight * math.prod(channel[value, answer] for answer in answers)
                for weight, channel in zip((0.25, 0.75), channels, strict=True)
            )
            for answers in product(range(values), repeat=reports)
        ]
        for value in range(values)
    ]
    ratios = [
        math.inf if not there else here / there
        for one in laws
        for other in laws
        for here, there in zip(one, other, strict=True)
        if here
    ]
    assert menu.repeated(reports) == pytest.approx(math.log(max(ratios)))
    assert menu.repeated(1) == menu.mixture
    assert menu.repeated(reports) <= reports * max(menu.ldp) + 1e-12


def test_a_label_that_is_kept_tends_to_its_nearest_answers():
    """Many reports tell the label, and each more adds as little as the other label's answer."""
    menu = blend(HALVES, truths=["0.8", "0.6"])
    assert menu.repeated(1000) - menu.repeated(999) == pytest.approx(math.log(0.8 / 0.4))
    for reports in (0, 1001, True):
        with refuses(UsageError, "repeated-reports-range"):
            menu.repeated(reports)


@pytest.mark.parametrize("truths", [["3/4", "3/5"], ["1", "1/2"], ["0.9", "0.2"]])
@pytest.mark.parametrize("holders", [0, 3, 8])
def test_errors_of_all_estimators_are_those_of_the_enumerated_law(truths, holders):
    menu, sizes = blend(HALVES, truths=truths), (4, 4)
    keep = [float(F(truth)) for truth in truths]
    squares, total = dict.fromkeys(ESTIMATORS, 0.0), 0.0
    for inside in range(max(0, holders - 4), min(4, holders) + 1):
        drawn = hypergeom.pmf(inside, 8, holders, 4)
        laws = [
            np.convolve(binom.pmf(range(5), own, p), binom.pmf(range(5), 4 - own, 1 - p))[:5]
            for own, p in zip((inside, holders - inside), keep, strict=True)
        ]
        for told in product(range(5), repeat=2):
            chance = drawn * laws[0][told[0]] * laws[1][told[1]]
            if chance <= 0:
                continue
            total += chance
            estimates = {"hidden": menu.hidden(sum(told), 8).share} | {
                name: menu.disclosed(told, sizes, name).share for name in ESTIMATORS[1:]
            }
            for name, one in estimates.items():
                squares[name] += chance * (one - holders / 8) ** 2
    assert total == pytest.approx(1)
    simulated = menu.mean_square_errors(holders / 8, 8, trials=4000)
    for name, (mean, error) in simulated.items():
        assert mean == pytest.approx(squares[name], abs=5 * error + 1e-12), name
    closed = {
        "hidden": menu.hidden_variance(holders / 8, 8),
        "inverse-variance": menu.disclosed_variance(holders / 8, 8, "inverse-variance"),
    }
    for name, variance in closed.items():
        assert squares[name] == pytest.approx(variance, abs=1e-12), name


def test_estimators_at_the_published_setting():
    """n 100, a share of one half: hidden .0131; told, with truths 3/4 and 3/5, .0148."""
    menu = blend(HALVES, truths=["0.8", "0.6"])
    errors = menu.compare_estimators(0.5, 100)
    for name, expected in (
        ("hidden", 0.0131313),
        ("likelihood", 0.0148),
        ("inverse-variance", 0.014755),
        ("min-rule", 0.022089),
    ):
        margin = 4 * errors[name].standard_error + 1e-6
        assert errors[name].mean == pytest.approx(expected, abs=margin)
    hidden = menu.mean_square_errors(0.5, 100, estimators=["hidden"])["hidden"]
    assert hidden.mean == pytest.approx(errors["hidden"].mean, abs=4 * hidden.standard_error)


def test_the_rule_of_the_source_chooses_among_three_estimates():
    menu = blend(HALVES, truths=["3/4", "3/5"])
    # The estimated variances f (1 - f) / ((n - 1) gain^2) of the labels and of all reports.
    for told, variances, chosen in (
        ([25, 25], [0.0204, 0.1276, 0.0206], 0.5),
        ([25, 40], [0.0204, 0.0816, 0.0188], (0.65 - 0.325) / 0.35),
        ([26, 50], [0.0204, 0.0000, 0.0150], 3.0),
    ):
        found = menu.disclosed(told, [50, 50], "min-rule")
        assert found.share == pytest.approx(chosen)
        assert found.variance == pytest.approx(min(variances), abs=5e-5)


@pytest.mark.parametrize("values", [2, 4])
@pytest.mark.parametrize("truths", [["0.8", "0.6"], ["1", "0.5"], ["0.1", "0.7"], ["0.05", "0.2"]])
def test_known_labels_have_the_indicators_as_their_local_epsilons(truths, values):
    menu = blend(["2/5", "3/5"], truths=truths, values=values)
    known = menu.as_disclosed()
    assert known.ldp == pytest.approx(menu.pbp)
    assert known.shares == menu.shares
    assert (np.sign(known.keep - known.lie) * np.sign(menu.keep - menu.lie) >= 0).all()


def test_truths_at_constant_protection():
    """Worked out by hand: the indicator of the weak label stays ln 3, and that of 3/5 ln 1.5."""
    menu = blend(HALVES, truths=["0.8", "0.6"])
    for weak, truth in (
        (0.4, 0.75),  # hiding is worth nothing: the other label's answers are too far
        (0.45, 1 - 0.2 * 0.55 / 0.45),
        (0.5, 0.8),
        (7 / 12, 6 / 7),
        (0.6, 1.2 * 0.4 / 0.6),
        (0.7, 0.75),
    ):
        found = menu.at_constant_protection([weak, 1 - weak])
        assert found.keep == pytest.approx([truth, 0.6], abs=1e-6)
        assert found.pbp == pytest.approx([math.log(3), math.log(1.5)], abs=1e-6)
    # Labels that gain nothing by being hidden stay as they are.
    alone = blend(["1/5", "4/5"], truths=["0.9", "0.3"])
    assert alone.at_constant_protection([0.5, 0.5]).keep == pytest.approx(alone.keep)


@pytest.mark.parametrize("values", [2, 4])
def test_the_hidden_estimator_as_enumerated(values):
    n, holders, sizes = 6, 2, (2, 4)
    found = blend(["1/3", "2/3"], truths=["0.85", "0.6"], values=values)
    mean = square = total = 0.0
    for group in combinations(range(n), sizes[0]):
        label = [0 if i in group else 1 for i in range(n)]
        chance = [found.keep[t] if i < holders else found.lie[t] for i, t in enumerate(label)]
        for told in product((0, 1), repeat=n):
            p = math.prod(c if bit else 1 - c for c, bit in zip(chance, told, strict=True))
            share = found.hidden(sum(told), n).share
            mean, square, total = mean + p * share, square + p * share**2, total + p
    mean, square = mean / total, square / total
    assert mean == pytest.approx(holders / n)
    assert found.hidden_variance(holders / n, n) == pytest.approx(square - mean**2)


@pytest.mark.law
def test_the_disclosed_estimator_is_the_maximum_and_has_its_variance():
    found = blend(["1/4", "3/4"], truths=["0.9", "0.65"], values=3)
    n, holders, trials = 4000, 1400, 4000
    random = np.random.default_rng(5)
    inside = random.hypergeometric(holders, n - holders, n // 4, trials)
    shares = []
    for one in inside.tolist():
        groups = ((n // 4, one), (3 * n // 4, holders - one))
        told = [
            int(random.binomial(own, found.keep[t]) + random.binomial(size - own, found.lie[t]))
            for t, (size, own) in enumerate(groups)
        ]
        shares.append(found.disclosed(told, [n // 4, 3 * n // 4]).share)
    stated = found.disclosed_variance(holders / n, n)
    assert np.mean(shares) == pytest.approx(holders / n, abs=4 * math.sqrt(stated / trials))
    assert np.var(shares) == pytest.approx(stated, rel=4 * math.sqrt(2 / trials))
    assert stated < found.hidden_variance(holders / n, n)


def test_the_disclosed_estimate_stays_within_0_to_1():
    found = blend(HALVES, truths=["0.8", "0.6"])
    assert found.disclosed([0, 0], [50, 50]).share == 0
    assert found.disclosed([50, 50], [50, 50]).share == 1
    told, n = [30, 20], [40, 30]
    share = found.disclosed(told, n).share

    def likelihood(at):
        chance = found.lie + (found.keep - found.lie) * at
        ones, rest = np.array(told), np.subtract(n, told)
        return float((ones * np.log(chance) + rest * np.log(1 - chance)).sum())

    assert likelihood(share) > max(likelihood(share - 1e-4), likelihood(share + 1e-4))


def test_only_the_largest_local_epsilon_is_a_loss():
    assert blend(["1/4", "3/4"], ["1/2", "3/2"]).loss == PureDP(F(3, 2))
    rounded = blend(HALVES, truths=["0.8", "0.6"]).loss.epsilon
    assert rounded >= F(math.log(4))
    assert rounded - F(math.log(4)) < F(1, 10**13)


@pytest.mark.parametrize(
    ("shares", "given", "said"),
    [
        ([0.5, 0.4], {"epsilons": [1, 2]}, "shares-do-not-add-up"),
        ([0.3333333333333333] * 3, {"epsilons": [1, 2, 3]}, "shares-do-not-add-up"),
        (HALVES, {"epsilons": [1]}, "menu-size"),
        ([], {"epsilons": []}, "menu-size"),
        (HALVES, {"epsilons": [1, 0]}, "budget-number-not-positive"),
        (HALVES, {"epsilons": [1, -1]}, "budget-number-not-positive"),
        (HALVES, {"epsilons": [1, math.nan]}, "budget-number-form"),
        (HALVES, {"epsilons": [1, 17]}, r"menu-epsilon-weak: \b16\b"),
        (HALVES, {"epsilons": [1, 701]}, "epsilon-no-protection"),
        (HALVES, {"epsilons": [1, "1.0"]}, "labels-answer-alike"),
        (HALVES, {"truths": ["0.8", "0.2"]}, "menu-tells-nothing"),
        (HALVES, {"truths": ["0.8", "1.1"]}, "truth-no-chance"),
        (HALVES, {"truths": ["0.8", "-1"]}, "budget-number-not-positive"),
        (HALVES, {"truths": ["1", "0"]}, "menu-tells-nothing"),
        (HALVES, {"epsilons": [1, 2], "values": 1}, "values-fewer-than-two"),
        (HALVES, {"epsilons": [1, 2], "truths": ["0.8", "0.6"]}, "epsilons-or-truths"),
        (HALVES, {}, "epsilons-or-truths"),
        (["3/2", "-1/2"], {"epsilons": [1, 2]}, "budget-number-not-positive"),
    ],
)
def test_what_is_refused(shares, given, said):
    with refuses(UsageError, said):
        blend(shares, **given)


def test_a_weak_label_that_is_asked_for():
    assert blend(HALVES, [1, 17], allow_weak=True).loss == PureDP(17)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda b: b.hidden(5, 4), "ones-out-of-range"),
        (lambda b: b.hidden(0.5, 4), "ones-out-of-range"),
        (lambda b: b.hidden(1, 1), "reports-fewer-than-two|variance-out-of-range"),
        (lambda b: b.disclosed([1], [2]), r"label-number-missing: \b2\b"),
        (lambda b: b.disclosed([1, 2], [2]), "ones-out-of-range"),
        (lambda b: b.hidden_variance(1.5, 10), "variance-out-of-range"),
        (lambda b: b.disclosed_variance(0.5, 1), "reports-fewer-than-two|variance-out-of-range"),
        (lambda b: b.disclosed_variance(0.5, 10, "min-rule"), "estimator-without-closed-form"),
        (lambda b: b.disclosed([1, 2], [2, 2], "hidden"), "estimator-unknown"),
        (lambda b: b.mean_square_errors(0.5, 10, trials=10), "trials-fewer-than-100"),
    ],
)
def test_estimates_that_are_refused(call, said):
    with refuses(UsageError, said):
        call(blend(HALVES, [1, 2]))


def test_the_command_says_it_in_text_and_json():
    done = CliRunner().invoke(geodp, ["local", "blend", "--menu", "0.8:0.5,0.6:0.5", "--json"])
    document = json.loads(done.output)
    assert [row["indicator"] for row in document["labels"]] == pytest.approx(
        [math.log(3), math.log(1.5)]
    )
    assert document["mixture"] == pytest.approx(0.847298, abs=5e-7)
    assert document["best_shares"][0] == pytest.approx(0.550510, abs=5e-7)
    text = CliRunner().invoke(geodp, ["local", "blend", "--menu", "0.8:0.5,0.6:0.5"]).output
    assert "indicator (no guarantee)" in text
    assert "mixture: 0.847298" in text
    epsilons = ["--menu", "2:1/3,1/2:2/3", "--epsilons", "--values", "10", "--json"]
    labels = json.loads(CliRunner().invoke(geodp, ["local", "blend", *epsilons]).output)["labels"]
    assert [row["ldp"] for row in labels] == [2, 0.5]
    assert isinstance(
        CliRunner().invoke(geodp, ["local", "blend", "--menu", "0.8"]).exception, UsageError
    )


def test_the_command_takes_honest_devices_and_says_what_repeated_answers_tell():
    menu = ["local", "blend", "--menu", "1:0.2,0.5:0.8", "--reports", "3", "--devices", "50"]
    document = json.loads(CliRunner().invoke(geodp, [*menu, "--json"]).output)
    assert document["labels"][0]["ldp"] is None
    assert document["loss"] is None
    assert document["repeated"] == pytest.approx(np.log([1.5, 2, 3]))
    assert [row["share"] for row in document["errors"]] == [0.01, 0.1, 0.25, 0.5]
    assert document["errors"][-1]["hidden"] > 2 * document["errors"][-1]["likelihood"]
    equal = document["equal_protection"]
    assert equal["truths"] == pytest.approx([2 / 3, 1 / 2])
    assert equal["errors"][-1]["hidden"] < equal["errors"][-1]["likelihood"]
    text = CliRunner().invoke(geodp, menu).output
    for words in (
        *("infinite", "as many times one report", "inverse-variance", "no protection of"),
        "hidden, or known with the truths 0.6667, 0.5",
    ):
        assert words in text


def test_a_picture_of_one_label_is_refused(tmp_path):
    one = ["local", "blend", "--menu", "0.8:1", "--plot", str(tmp_path / "one.svg")]
    assert "at least two" in str(CliRunner().invoke(geodp, one).exception)
    assert not (tmp_path / "one.svg").exists()


def test_other_shares_of_the_same_labels():
    menu = blend(HALVES, truths=["0.8", "0.6"])
    assert menu.with_shares([0.25, 0.75]).pbp == blend([0.25, 0.75], truths=["0.8", "0.6"]).pbp
    for shares in ([1.0], [1.0, 0.0]):
        with refuses(UsageError, "menu-shares"):
            menu.with_shares(shares)
