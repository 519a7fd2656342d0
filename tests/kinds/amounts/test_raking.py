"""Totals that weights were raked to stand on the cards."""

import numpy as np
import pytest

from geodp.errors import UsageError
from tests.kinds.amounts.made import publish, rows
from tests.refusals import refuses

RAKED_TO = "residents by age and sex of this survey"


def weighted(weight):
    return rows().append_column("w", [list(map(str, weight))])


def test_totals_that_weights_were_raked_to_stand_on_the_cards():
    data = weighted(np.full(20_000, 3))
    release = publish(data, weight="w", max_weight=5, raked_to=RAKED_TO)
    for promise in (release.index.guarantee, release.count.card().guarantee):
        (fact,) = [one for one in promise.not_protected if RAKED_TO in one]
        assert "invariants" in fact
    plain = publish(data, weight="w", max_weight=5)
    assert not any("raked" in one for one in plain.index.guarantee.not_protected)


@pytest.mark.parametrize("more", [{"weight": None}, {"raked_to": " "}, {"raked_to": 5},
                                  {"raked_to": "a\nb"}, {"raked_to": "a" * 501}])  # fmt: skip
def test_raked_to_is_a_sentence_about_weights(more):
    given = {"weight": "w", "max_weight": 5, "raked_to": RAKED_TO} | more
    if given["weight"] is None:
        given["max_weight"] = 1
    with refuses(UsageError, "weights-raked-to|weights-raked-without"):
        publish(weighted(np.full(20_000, 3)), **given)
