"""The upper end of the clip by a quantile with a charge of its own."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.features.amounts.made import GRID, incomes, rows
from tests.refusals import refuses

READING = {"grid": GRID, "x": "x", "y": "y", "amount": "income", "unit_of_amount": "EUR"}
GIVEN = {**READING, "contribution": 1, "epsilon": 1, "lowest": 100, "highest": 10_000}


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


def test_it_is_charged_by_itself(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(Fraction(2)))
    given = GIVEN | {"epsilon": "1/100", "ledger": ledger, "dataset": "incomes"}
    choice = geodp.amounts.choose_clip(rows(), **given)
    (charge,) = ledger.charges("incomes")
    assert charge.loss == PureDP(Fraction(1, 100))
    choice.selected.write(tmp_path / "out")


def test_persons_are_bounded():
    data = pa.table({"id": ["a"] * 999 + ["b"], "x": [0.5] * 1000, "y": [0.5] * 1000,
                     "income": [5000] * 999 + [110]})  # fmt: skip
    given = GIVEN | {"epsilon": 100, "share": "0.4"}
    # Of either person one record counts: half of them are below 120.
    assert geodp.amounts.choose_clip(data, person="id", **given).upper == "6000"
    assert geodp.amounts.choose_clip(data, person="id", **{**given, "share": "0.6"}).upper == "120"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"share": 0}, "amounts-clip-share"),
        ({"share": 1}, "amounts-clip-share"),
        ({"lowest": None}, "amounts-clip-candidates"),
        ({"candidates": [5, 4]}, "amounts-clip-candidates"),
        ({"candidates": [5]}, "amounts-clip-candidates"),
        ({"contribution": None}, "contribution-unstated"),
    ],
)
def test_what_makes_no_sense_is_refused(more, code):
    with refuses(UsageError, code):
        geodp.amounts.choose_clip(rows(), **(GIVEN | more))
