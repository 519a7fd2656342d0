"""The resolution limit: the smallest block that tells more than zeros would."""

from geodp.accuracy.closed_form import BlockError, resolution_floor

ERRORS = [BlockError(n, e, e) for n, e in [(64, 40.0), (16, 20.0), (4, 10.0), (1, 5.0)]]


def test_it_is_the_smallest_block_whose_people_are_at_least_its_error():
    for people, limit in ((39.9, None), (40, 64), (80, 16), (160, 4), (319.9, 4), (320, 1)):
        assert resolution_floor(ERRORS, people, cells=64) == limit


def test_a_larger_block_with_a_larger_error_does_not_hide_a_smaller_one():
    errors = [BlockError(4, 100.0, 100.0), BlockError(1, 5.0, 5.0)]
    assert resolution_floor(errors, people=20, cells=4) == 1
