"""Both maps of ends with a prior look at noisy counts alone: the same ones give the same maps."""

import numpy as np
import pytest

from geodp.kinds.flows.prior_flows import FlowsPrior
from geodp.kinds.flows.publish import make_plan
from geodp.kinds.flows.streams import TripStreams
from geodp.kinds.flows.zones import Zones
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.privacy.terms import Terms
from tests.kinds.flows.test_publish import GRID, trips_on

ZONES = Zones.of(GRID)
PLAN = make_plan(ZONES, Terms.of(epsilon="1/2", contribution=2), key_origin="fixed")
REAL = NodeNoise.families


def draw(table, prior, patch, counted):
    """Draw both maps from noisy counts that are those of ``counted``, whatever the table counts.

    Each node's noise is lowered by its count in the table, and raised by that in ``counted``.
    """
    trips, pinned = (TripStreams.of(one, ZONES) for one in (table, counted))
    strides = PLAN.method.descent(GRID, PLAN.ends).strides
    keys = []

    def families(self, above, fanout):
        noise, uniform = REAL(self, above, fanout)
        if self.key not in keys:
            keys.append(self.key)
        name, level = ("origins", "destinations")[keys.index(self.key)], self.stream
        stride = strides[level - Stream.PYRAMID]
        children = number_children(above, fanout).astype(np.int64)
        counts = [
            getattr(one, name).to_vector().reshape(-1, stride).sum(axis=1)[children]
            for one in (trips, pinned)
        ]
        return noise + (counts[1] - counts[0]).reshape(noise.shape), uniform

    with patch.context() as one:
        one.setattr(NodeNoise, "families", families)
        key = NoiseKey(bytes(range(32))).restrict(PLAN.declare())
        made = PLAN.draw_ends(trips, key, prior.ends(ZONES))
    assert len(keys) == 2
    return made


@pytest.mark.parametrize("known", [trips_on(seed=4), trips_on(seed=9, number=50)])
def test_maps_are_functions_of_the_noisy_counts(known, monkeypatch):
    prior, now = FlowsPrior.of(ZONES, known, "a census"), trips_on()
    made = PLAN.draw_ends(
        TripStreams.of(now, ZONES),
        NoiseKey(bytes(range(32))).restrict(PLAN.declare()),
        prior.ends(ZONES),
    )
    for table in (now, trips_on(seed=8), trips_on(number=1), trips_on(number=0)):
        found = draw(table, prior, monkeypatch, now)
        assert found.learned == made.learned
        for one, other in zip(found.tables, made.tables, strict=True):
            assert np.array_equal(one.key, other.key)
            assert np.array_equal(one.count, other.count)
    # Control: another person's noisy counts are others.
    other = draw(now, prior, monkeypatch, trips_on(number=19_990))
    assert other.tables[0].count.tolist() != made.tables[0].count.tolist()
