"""Bounds and assumptions: who answers for what."""

from typing import get_args

import pytest

from geodp.errors import UsageError
from geodp.privacy.assumption import (
    ANSWERS,
    Assumption,
    ContributionBound,
    Responsible,
    describe_bound,
    name_layout,
)
from geodp.privacy.event import Measurement
from geodp.privacy.reports import LocalReports
from geodp.privacy.terms import Terms
from geodp.table.contribution import combine_bounds

BOUNDS = [
    ContributionBound(2),
    ContributionBound(3, "geodp"),
    ContributionBound(1, "layout", "census (Census of 2020)"),
]


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.stated_by)
def test_an_event_keeps_who_answers_for_its_bound(bound):
    event = Measurement.of("pyramid", Terms.of(epsilon=1).bound(bound), 1)
    assert event.bound == bound
    said = event.describe()["contribution_bound"]
    assert said == describe_bound(bound.enforced, bound.layout)
    assumption = event.assumption
    assert (assumption.kind, assumption.stated_by) == ("contribution", bound.stated_by)
    assert str(bound.value) in assumption.statement
    assert ANSWERS[bound.stated_by] in assumption.sentence
    assert name_layout([assumption]) == bound.layout
    if bound.layout:
        assert bound.layout in assumption.sentence
        assert bound.layout in said


def test_what_cards_say_word_by_word():
    assert [describe_bound(bound.enforced, bound.layout) for bound in BOUNDS] == [
        "vouched for by the operator",
        "enforced by geodp on the records",
        "stated by the layout census (Census of 2020), for one table of its publisher",
    ]
    assert [bound.assume("trip").sentence for bound in BOUNDS] == [
        "One trip adds at most 2 to the sum of all counts. The operator vouches for it.",
        "One trip adds at most 3 to the sum of all counts. geodp enforces it on the records.",
        "One trip adds at most 1 to the sum of all counts. The layout of one table of its "
        "publisher states it: census (Census of 2020).",
    ]
    assert {*ANSWERS} == {*get_args(Responsible)}


@pytest.mark.parametrize("wrong", [(0,), (-1, "geodp"), (1, "operator", "x"), (1, "layout")])
def test_what_makes_no_bound_is_refused(wrong):
    with pytest.raises(UsageError):
        ContributionBound(*wrong)


@pytest.mark.parametrize(
    ("several", "expected"),
    [
        (BOUNDS, ContributionBound(3)),
        (BOUNDS[1:], ContributionBound(3, "layout", BOUNDS[2].layout)),
        ([BOUNDS[1], ContributionBound(5, "geodp")], ContributionBound(5, "geodp")),
        ([BOUNDS[2]], BOUNDS[2]),
    ],
)
def test_several_tables_have_the_largest_bound_and_the_weakest_answer(several, expected):
    assert combine_bounds(several) == combine_bounds(several[::-1]) == expected


def test_devices_answer_for_their_reports():
    assumption = LocalReports("grr", 1, "person", "week", 7).assumption
    assert assumption.stated_by == "device"
    assert assumption.sentence == (
        "Each person sends at most one report a week. Each device sees to it."
    )


def test_a_source_stands_behind_the_sentence():
    assert Assumption("mask", "A mask.", "operator", "Land office").sentence == (
        "A mask. The operator vouches for it: Land office."
    )
