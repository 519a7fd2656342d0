"""Publishing against a ledger: charged for what is drawn, refused over the cap, replays free."""

import multiprocessing
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import BudgetError, UsageError
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP
from tests.refusals import refuses

GRID = geodp.Grid.regular((8, 8))
F = "f" * 64
TABLE = geodp.CountTable.from_dense(np.full((8, 8), 20), GRID)


def test_a_draw_is_not_returned_where_another_run_has_charged_in_the_meantime(ledger, monkeypatch):
    real = Pyramid.release

    def slow(*args):
        entry = real(*args)
        common = {"mechanism": "other", "neighbours": "add-remove-one", "contribution": 1}
        Ledger.open(ledger.path).charge("census", PureDP(Fraction(4, 5)), **common, fingerprint=F)
        return entry

    monkeypatch.setattr(Pyramid, "release", slow)
    with pytest.raises(BudgetError):
        geodp.publish(TABLE, epsilon="1/2", ledger=ledger, dataset="census", contribution=1)
    assert [one.fingerprint for one in ledger.charges("census")] == [F]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": None}, "ledger-needs-dataset"),
        ({"dataset": "another"}, "dataset-unknown"),
        ({"ledger": None}, "ledger-needs-dataset"),
        ({"unit": "trip"}, "unit-differs-from-ledger"),
        ({"key": geodp.NoiseKey(bytes(32))}, "fixed-key-in-ledger"),
        ({"neighbours": "replace-one"}, "dataset-of-other-neighbours"),
    ],
)
def test_what_does_not_fit_the_ledger_is_refused_and_costs_nothing(ledger, options, message):
    kwargs = {"epsilon": 1, "ledger": ledger, "dataset": "census", **options}
    with refuses(UsageError, message):
        geodp.publish(TABLE, **kwargs, contribution=1)
    assert ledger.charges("census") == ()


def _publish(path, queue):
    try:
        geodp.publish(
            TABLE, epsilon="1/5", ledger=Ledger.open(path), dataset="census", contribution=1
        )
    except BudgetError:
        queue.put("refused")
    else:
        queue.put("published")


@pytest.mark.law
def test_eight_publishers_at_once_against_a_cap_for_five(ledger):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # all of them import it once
    queue = context.Queue()
    runs = [context.Process(target=_publish, args=(ledger.path, queue)) for _ in range(8)]
    for run in runs:
        run.start()
    answers = sorted(queue.get(timeout=120) for _ in runs)
    for run in runs:
        run.join()
    assert answers == ["published"] * 5 + ["refused"] * 3
    assert ledger.check()
    assert len(ledger.charges("census")) == 5


def test_a_budget_in_rho_is_charged_as_the_cap_is_kept(tmp_path):
    """Exactly where the cap is concentrated too; converted where it is not."""
    tenth = Fraction(1, 10)
    made = Ledger.create(tmp_path / "gaussian.ledger")
    made.add_dataset("concentrated", ZeroConcentratedDP(Fraction(5)))
    made.add_dataset("approximate", ApproximateDP(Fraction(9), Fraction(1, 10**6)))
    geodp.publish(TABLE, rho=tenth, ledger=made, dataset="concentrated", contribution=1)
    assert made.spent("concentrated").rho == tenth
    converted = geodp.publish(
        TABLE, epsilon=1, delta="1/1000000000", ledger=made, dataset="concentrated", contribution=1
    )
    assert made.spent("concentrated").rho == tenth + converted.event.rho
    geodp.publish(TABLE, epsilon=tenth, ledger=made, dataset="concentrated", contribution=1)
    assert made.spent("concentrated").rho == tenth + converted.event.rho + tenth**2 / 2
    geodp.publish(
        TABLE, epsilon=1, delta="1/1000000000", ledger=made, dataset="approximate", contribution=1
    )
    charged = made.spent("approximate")
    assert (charged.epsilon, charged.delta) == (1, Fraction(1, 10**9))
