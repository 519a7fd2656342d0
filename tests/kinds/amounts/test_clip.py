"""The upper end of the clip by a quantile with a charge of its own."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.verify.verify import verify
from geodp.kinds.amounts.clip import prepare_choice
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from tests.kinds.amounts.made import GRID, incomes, rows
from tests.refusals import refuses

READING = {"grid": GRID, "x": "x", "y": "y", "amount": "income", "unit_of_amount": "EUR"}
GIVEN = {**READING, "contribution": 1, "epsilon": 1, "lowest": 100, "highest": 10_000}


NO_SCALE = {"lowest": None, "highest": None}


@pytest.mark.parametrize("share", ["0.2", "0.1", "0.01"])
def test_about_a_share_lies_above_the_chosen_end(share):
    _, _, income = incomes()
    choice = geodp.amounts.choose_clip(rows(), share=share, **GIVEN)
    uppers = [100, 120, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1200, 1500, 2000, 2500]
    exact = next(upper for upper in uppers if np.mean(income >= upper) <= float(share))
    assert float(choice.upper) == exact
    release = geodp.amounts.publish(
        rows(), clip=(0, choice.upper), contribution=1, epsilon=1, **READING
    )
    assert release.index.amount.upper == choice.upper


def test_persons_are_bounded():
    data = pa.table({"id": ["a"] * 999 + ["b"], "x": [0.5] * 1000, "y": [0.5] * 1000,
                     "income": [5000] * 999 + [110]})  # fmt: skip
    given = GIVEN | {"epsilon": 100, "share": "0.4"}
    # Of either person one record counts: half of them are below 120.
    assert geodp.amounts.choose_clip(data, person="id", **given).upper == "6000"
    assert geodp.amounts.choose_clip(data, person="id", **{**given, "share": "0.6"}).upper == "120"


def weighted(*records):
    """Records of an amount and a weight each, in one cell."""
    amounts, weights = zip(*records, strict=True)
    place = np.full(len(records), 0.5)
    return pa.table({"x": place, "y": place, "income": amounts, "w": weights})


UPPERS = ("10", "100", "1000")


def prepare_weighted(*records, max_weight=3, contribution=1, q=Fraction(1, 2)):
    """What is measured of them, ready to be drawn at epsilon 1."""
    given = READING | {"clip": (0, UPPERS[-1]), "classes": UPPERS[:-1], "weight": "w"}
    table = geodp.amounts.read_records(weighted(*records), max_weight=max_weight, **given)
    request = Request(terms=Terms.of(epsilon=1, contribution=contribution))
    return prepare_choice(table, UPPERS, q, request)


def log_chances(prepared, q):
    """Logarithms of the chances of all candidates, of the exponential mechanism's law."""
    before = np.concatenate([[0], np.cumsum(prepared.draw.args[0])])
    target = float(q) * before[-1]
    missing = np.maximum(np.maximum(before[:-1] - target, target - before[1:]), 0)
    score = -float(prepared.design.shown.event.rate) * missing
    return score - np.log(np.exp(score).sum())


@pytest.mark.parametrize("contribution", [1, 2])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)])
def test_a_record_with_its_weight_costs_no_more_than_is_stated(contribution, q):
    amounts, weights = (5, 50, 500), (1, 2, 3, 1000)
    base = [(5, 1), (50, 2), (500, 3), (5, 1)]
    old = log_chances(prepare_weighted(*base, contribution=contribution, q=q), q)
    worst = 0.0
    for added in itertools.product(itertools.product(amounts, weights), repeat=contribution):
        prepared = prepare_weighted(*base, *added, contribution=contribution, q=q)
        worst = max(worst, np.abs(log_chances(prepared, q) - old).max())
    assert 0.3 < worst <= 1
    assert prepared.design.shown.event.contribution == 3 * contribution


def test_its_card_says_what_is_public_of_weights_and_amounts():
    card = prepare_weighted((5, 1), (50, 2)).design.shown.card()
    facts = " ".join(card.guarantee.not_protected)
    for said in ("every amount was a plain number", "amounts below 0 and above 1000",
                 "weights are taken as given", "every weight was a plain number"):  # fmt: skip
        assert said in facts
    assert "records" in card.question.in_words
    assert "people" not in card.question.in_words + card.question.utility


@pytest.mark.parametrize(
    ("uppers", "lower", "upper"), [((-50, 20, 100), -200, "-50"), (("0", "0.2", "0.5"), -1, "0")]
)
def test_an_end_may_be_negative_or_0(tmp_path, uppers, lower, upper):
    data = weighted(*[(lower, 1)] * 50)
    given = READING | {"contribution": 1, "epsilon": 90, "lower": lower, "step": "0.1"}
    choice = geodp.amounts.choose_clip(data, candidates=uppers, **given)
    assert choice.upper == upper
    choice.selected.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))


@pytest.mark.parametrize("n", [200, 1000])
def test_no_number_of_records_is_refused(n):
    draw = np.random.default_rng(1)
    data = weighted(*((income, 1) for income in draw.lognormal(5.5, 0.7, n)))
    card = geodp.amounts.choose_clip(data, **GIVEN).selected.card()
    assert not any("labels which count" in fact for fact in card.guarantee.not_protected)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"share": 0}, "amounts-clip-share"),
        ({"share": 1}, "amounts-clip-share"),
        ({"lowest": None}, "amounts-clip-candidates"),
        ({"candidates": [5, 40]}, "amounts-clip-candidates"),
        ({"candidates": [5, 4], **NO_SCALE}, "amounts-clip-candidates"),
        ({"candidates": [5], **NO_SCALE}, "amounts-clip-candidates"),
        ({"contribution": None}, "contribution-unstated"),
        ({"epsilon": None}, "selection-without-epsilon"),
    ],
)
def test_what_makes_no_sense_is_refused(more, code):
    with refuses(UsageError, code):
        geodp.amounts.choose_clip(rows(), **(GIVEN | more))
