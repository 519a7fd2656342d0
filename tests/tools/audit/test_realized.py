"""The realised number stays with the office: monotone, and never in a file or a message."""

import copy
import json
import math
import pickle
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import GeodpError, UsageError
from geodp.grid.grid import Grid
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.release.publish import publish
from geodp.table.counts import CountTable
from geodp.tools.audit.threshold import realized
from tests.refusals import refuses

PEOPLE = [7919, 60, 23, 11]
SAMPLED = [1601, 15, 10, 2]


def test_it_is_the_largest_of_the_published_classes():
    found = realized(PEOPLE, SAMPLED, "0.2", k=3)
    each = [math.log(0.8) - math.log(1 - s / n) for n, s in zip(PEOPLE, SAMPLED, strict=True)]
    assert found.value == pytest.approx(each[2])
    assert (found.where, found.infinite) == (2, 0)


def test_it_falls_with_the_rate_and_with_the_threshold():
    rates = [realized(PEOPLE, SAMPLED, rate).value for rate in ("0.1", "0.2", "0.3")]
    assert rates == sorted(rates, reverse=True)
    assert len({*rates}) == 3
    thresholds = [realized(PEOPLE, SAMPLED, "0.2", k).value for k in (1, 11, 16)]
    assert thresholds == sorted(thresholds, reverse=True)
    assert len({*thresholds}) == 3


def test_classes_of_which_all_were_drawn_are_counted():
    found = realized([5, 4, 9], [5, 4, 1], "0.2")
    assert (found.value, found.where, found.infinite) == (math.inf, 0, 2)
    assert realized([5, 4, 9], [5, 4, 1], "0.2", k=5).infinite == 1


def test_no_text_and_no_copy_shows_it():
    found = realized(PEOPLE, SAMPLED, "0.2")
    texts = [repr(found), str(found), f"{found}", f"{found:.3f}", f"{found!r}", repr([found])]
    assert {text.strip("[]") for text in texts} == {"Diagnostic(CONFIDENTIAL)"}
    for make in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="neither pickled nor copied"):
            make(found)
    with pytest.raises(TypeError):
        json.dumps({"epsilon": found})
    with pytest.raises(TypeError):
        float(found)


def test_no_part_of_a_release_takes_it(tmp_path):
    found = realized(PEOPLE, SAMPLED, "0.2")
    table = CountTable.from_dense(np.full((4, 4), 9), Grid.regular((4, 4)))
    release = publish(table, epsilon=1, contribution=1)
    for part in ({"public_facts": (found,)}, {"people": found}):
        with pytest.raises((TypeError, ValueError, GeodpError)):
            replace(release, **part).write(tmp_path / "out")
        assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError):
        publish(table, epsilon=found, contribution=1)
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(Fraction(1)))
    with refuses(UsageError, "details-not-plain"):
        ledger.charge(
            "census",
            PureDP(Fraction(1, 2)),
            mechanism="toy",
            neighbours="add-remove-one",
            contribution=1,
            fingerprint="00" * 8,
            details={"realized": found},
        )


@pytest.mark.parametrize(
    ("people", "sampled", "given"),
    [
        ([7919, 61], [7927, 15], {}),
        ([7919, 0], [1601, 0], {}),
        ([7919, 61], [1601, -15], {}),
        ([7919, 61.5], [1601, 15], {}),
        ([7919], [1601, 15], {}),
        ([7919, 61], [1601, 15], {"k": 7919}),
        ([7919, 61], [1601, 15], {"k": 0}),
        ([7919, 61], [1601, 15], {"rate": 1}),
        ([], [], {}),
    ],
)
def test_errors_show_no_count(people, sampled, given):
    with pytest.raises((UsageError, GeodpError)) as found:
        realized(people, sampled, **{"rate": "0.2", **given})
    assert not re.search(r"\b(7919|7927|1601|61|15)\b", str(found.value))
