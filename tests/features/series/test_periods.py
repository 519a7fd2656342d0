"""Times of a series: one step, none missing, none twice, and hours from the first."""

import pytest

from geodp.errors import UsageError
from geodp.features.series.periods import Periods


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
        (["2024-01"], "two snapshots at least"),
        (["2024-01", "2024-02", "2024-04"], "snapshot of 2024-03 is missing"),
        (["2024-01", "2024-03", "2024-04"], "snapshot of 2024-02 is missing"),
        (["2024-01", "2024-01"], "Two snapshots have the time 2024-01"),
        (["2024-02", "2024-01"], "2024-01 comes too late"),
        (["2024-01", "2024"], "months, as the first is, and 2024 not"),
        (["2024-13", "2025-01"], "2024-13 is no month of the calendar"),
        (["2023-02-29", "2023-03-01"], "2023-02-29 is no day"),
        (["may", "june"], "may is no time of a snapshot"),
        (["٢٠٢٤", "٢٠٢٥"], "is no time of a snapshot"),
        (["2024\n", "2025"], "no time of a snapshot"),
        (["2020-01", "2020-1"], "2020-1 not; a month is written 2024-05"),
        (["2020-1", "2020-01"], "2020-1 is no time of a snapshot"),
        (["2020-10-25T02", "2020-10-25T02"], "Two snapshots have the time 2020-10-25T02"),
        (["2020-10-25T02+02:00", "2020-10-25T02+01:00"], "in universal time.*2020-10-25T00"),
        (["2020-10-25T01", "2020-10-25T02+01:00"], "in universal time.*2020-10-25T01"),
        (["2020-10-25T01:00Z", "2020-10-25T02:00Z"], "in universal time.*2020-10-25T01"),
        (["2020-10-25T01:30+05:45", "x"], "has an offset"),
        (["2020-10-25T02:30", "2020-10-25T03:30"], "has minutes"),
        (["2020-03-29T01", "2020-03-29T03", "2020-03-29T04"], "snapshot of 2020-03-29T02 is"),
        (["2024-05-31T23", "2024-05-31T24"], "24 is hour 00 of the next day"),
    ],
)
def test_other_times_are_refused_in_a_sentence(names, said):
    with pytest.raises(UsageError, match=said) as error:
        Periods.of(names)
    assert "\n" not in str(error.value)
