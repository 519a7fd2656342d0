"""Releases with a prior: who vouches, what is charged, what the card says, and what is refused."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.mechanisms.trees import informed
from geodp.table.prior import Prior
from tests.ledgers import small_ledger
from tests.refusals import refuses

GRID = geodp.Grid.regular((32, 32))
SOURCE = "census of 2015, published by nobody"


def people(year):
    draw = np.random.default_rng(1)
    town = np.exp(draw.normal(3, 1.5, GRID.shape)) * (draw.random(GRID.shape) < 0.5)
    return geodp.CountTable.from_dense(np.random.default_rng(year).poisson(town), GRID)


BEFORE, NOW = people(2015), people(2020)
PRIOR_ARGUMENTS = {"prior": BEFORE, "prior_source": SOURCE}


def publish(**kwargs):
    return geodp.publish(NOW, epsilon="1/2", method="pyramid:setting=R", **kwargs, contribution=1)


def test_a_release_with_a_prior_is_a_replay_of_the_one_without(tmp_path, key):
    """The same is measured with the same noise, so that it costs nothing more."""
    ledger = small_ledger(tmp_path)
    held = {"key": key, "ledger": ledger, "dataset": "census", "measurements": True}
    plain, informed = publish(**held), publish(**held, **PRIOR_ARGUMENTS)
    assert informed.charge.replay
    assert len(ledger.charges("census")) == 1
    for one, other in zip(plain.measurements.levels, informed.measurements.levels, strict=True):
        shared = np.isin(one.node, other.node), np.isin(other.node, one.node)
        assert (one.value[shared[0]] == other.value[shared[1]]).all()
    assert informed.table.count.tobytes() != plain.table.count.tobytes()
    again = publish(**held, **PRIOR_ARGUMENTS)
    assert again.card() == informed.card()
    assert again.table.count.tobytes() == informed.table.count.tobytes()


def test_the_card_has_the_source_and_what_was_learned(tmp_path):
    release = publish(**PRIOR_ARGUMENTS)
    card = release.card()
    assert card.prior.source == SOURCE
    assert card.prior.levels[-1].in_use == 1
    assert "attenuated" in card.prior.meaning
    assert card.prior.meaning in card.post_processing[-1]
    stated = card.guarantee.assumptions[-1]
    assert (stated.kind, stated.stated_by, stated.source) == ("prior", "operator", SOURCE)
    assert "prior" not in {one.kind for one in publish().card().guarantee.assumptions}
    assert card.prior.attenuation
    release.write(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    schema = Path(geodp.__file__).parent / "table" / "release-2.schema.json"
    jsonschema.validate(written, json.loads(schema.read_text()))
    assert written["prior"]["source"] == SOURCE
    assert "prior" not in publish().card().to_json()


def test_an_earlier_release_can_be_the_prior():
    before = geodp.publish(BEFORE, epsilon=1, contribution=1)
    release = publish(prior=before, prior_source="our release of 2015")
    assert release.prior.levels[-1].in_use == 1


def test_a_prior_of_its_own_source():
    prior = Prior.of(GRID, BEFORE, SOURCE)
    assert publish(prior=prior).prior.source == SOURCE
    with refuses(UsageError, "prior-has-source"):
        publish(prior=prior, prior_source="another")


@pytest.mark.parametrize(
    ("kwargs", "sentence"),
    [
        ({"prior": BEFORE}, "prior-source-missing"),
        ({"prior_source": SOURCE}, "source-without-prior"),
        ({"prior": NOW, "prior_source": SOURCE}, "prior-is-table"),
        ({"prior": "census", "prior_source": SOURCE}, "prior-kind"),
        ({**PRIOR_ARGUMENTS, "method": "topdown"}, "prior-needs-pyramid"),
        (
            {
                "prior": Prior.of(
                    geodp.Grid.regular((16, 64)),
                    geodp.CountTable.from_keys(geodp.Grid.regular((16, 64)), [1], [1]),
                    SOURCE,
                )
            },
            "prior-of-other-grid",
        ),
    ],
)
def test_refused_before_any_charge(tmp_path, kwargs, sentence):
    ledger = small_ledger(tmp_path)
    with refuses(UsageError, sentence) as caught:
        geodp.publish(NOW, epsilon="1/2", ledger=ledger, dataset="census", **kwargs, contribution=1)
    assert "\n" not in str(caught.value)
    assert not ledger.charges("census")


PLACES = [(0, 0, 4, 4), (3, 5, 20, 17), (8, 8, 9, 9), (10, 2, 31, 30)]


def test_intervals_with_a_prior_hold():
    held = []
    for number in range(8):
        key = geodp.NoiseKey((number + 50).to_bytes(32, "little"))
        for place, one in zip(
            PLACES, publish(**PRIOR_ARGUMENTS, key=key).estimate_all(PLACES), strict=True
        ):
            true = NOW.counts_at(Region.of(GRID, place).key).sum()
            held.append(one.low <= true <= one.high)
    assert np.mean(held) >= 0.9


def test_public_totals_and_measurements_go_with_it():
    release = publish(**PRIOR_ARGUMENTS, measurements=True)
    assert release.measurements is not None
    assert release.table.total == release.table.count.sum()


def test_a_fault_after_the_charge_keeps_nothing_that_was_learned(monkeypatch):
    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(informed, "refine", fail)
    with pytest.raises(RuntimeError):
        publish(**PRIOR_ARGUMENTS)
