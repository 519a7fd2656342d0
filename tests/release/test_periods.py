"""Times of a series: one step, none missing, none twice, and hours from the first."""

import pytest

from geodp.errors import UsageError
from geodp.release.periods import Periods
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("names", "step", "starts", "last_end"),
    [
        (["2023", "2024", "2025"], "year", [0, 8760, 17544], 26304),
        (["2024-01", "2024-02", "2024-03"], "month", [0, 744, 1440], 2184),
        (["2024-02-28", "2024-02-29", "2024-03-01"], "day", [0, 24, 48], 72),
        (["2024-12-31T23", "2025-01-01T00"], "hour", [0, 1], 2),
        (["2015", "2020"], "year", [0, 43824], 52608),
    ],
)
def test_hours_from_the_first(names, step, starts, last_end):
    found = Periods.of(names)
    assert found.step == step
    assert found.starts.tolist() == starts
    assert found.ends[-1] == last_end
    assert found.origin == f"{names[0]}-01-01"[:10].replace("T23", "") + (
        " 23:00:00" if step == "hour" else " 00:00:00"
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["2024-01"], "snapshots-fewer-than-two"),
        (["2024-01", "2024-02", "2024-04"], "snapshot-missing: 2024-03"),
        (["2024-01", "2024-03", "2024-04"], "snapshot-missing: 2024-02"),
        (["2024-01", "2024-01"], "snapshot-twice: 2024-01"),
        (["2024-02", "2024-01"], "snapshots-out-of-order: 2024-01"),
        (["2024-01", "2024"], r"snapshot-step-differs: .*month.*\b2024\b"),
        (["2024-13", "2025-01"], "snapshot-not-in-calendar: 2024-13.*month"),
        (["2023-02-29", "2023-03-01"], r"snapshot-not-in-calendar: 2023-02-29.*\bday\b"),
        (["may", "june"], "snapshot-time-form: may is not a time of a snapshot"),
        (["٢٠٢٤", "٢٠٢٥"], "snapshot-time-form"),
        (["2024\n", "2025"], "snapshot-time-form"),
        (["2020-01", "2020-1"], "snapshot-step-differs: 2020-1.*month.*2024-05"),
        (["2020-1", "2020-01"], "snapshot-time-form: 2020-1"),
        (["2020-10-25T02", "2020-10-25T02"], "snapshot-twice: 2020-10-25T02"),
        (["2020-10-25T02+02:00", "2020-10-25T02+01:00"], "snapshot-has-offset: 2020-10-25T00"),
        (["2020-10-25T01", "2020-10-25T02+01:00"], "snapshot-has-offset: 2020-10-25T01"),
        (["2020-10-25T01:00Z", "2020-10-25T02:00Z"], "snapshot-has-offset: 2020-10-25T01"),
        (["2020-10-25T01:30+05:45", "x"], "snapshot-has-offset"),
        (["2020-10-25T02:30", "2020-10-25T03:30"], "snapshot-has-minutes"),
        (["2020-03-29T01", "2020-03-29T03", "2020-03-29T04"], "snapshot-missing: 2020-03-29T02"),
        (
            ["2024-05-31T23", "2024-05-31T24"],
            "snapshot-not-in-calendar: 24 is hour 00 of the next day",
        ),
    ],
)
def test_other_times_are_refused_in_a_sentence(names, said):
    with refuses(UsageError, said) as error:
        Periods.of(names)
    assert "\n" not in str(error.value)
