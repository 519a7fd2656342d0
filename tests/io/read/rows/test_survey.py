"""What is told of the files that are read: exact, and of every file and term."""

import numpy as np

from geodp.io.read.rows.survey import Survey
from geodp.table.source import Outside


def test_sums_are_exact_where_they_exceed_64_bits():
    survey, large = Survey(), np.full(40, 2**59 + 1, np.int64)
    inside = np.arange(40) % 4 == 0
    survey.place("a.csv", large, inside)
    survey.place("a.csv", large, None)
    (file,) = survey.reading().sources
    assert (file.inside, file.outside) == (10 + 40, 30)
    assert file.people == 50 * (2**59 + 1) > 2**63
    assert file.people_outside == 30 * (2**59 + 1)


def test_a_term_that_no_row_meets_is_told_of_every_file():
    survey = Survey()
    survey.take("a.csv", 7, {"year=2020": {"2020": 3}, "sex=f": {}}, 0)
    survey.take("b.csv", 2, {"year=2020": {"2020": 2}}, 2)
    survey.take("a.csv", 1, {"year=2020": {"2020.0": 1}, "sex=f": {}}, 0)
    first, second = survey.reading().sources
    assert (first.name, first.rows, first.selected) == ("a.csv", 8, 0)
    assert first.terms == {"year=2020": 4, "sex=f": 0}
    assert first.spellings == {"year=2020": {"2020": 3, "2020.0": 1}, "sex=f": {}}
    assert (second.name, second.rows, second.terms) == ("b.csv", 2, {"year=2020": 2})


def test_what_lies_outside_is_told_by_its_reason():
    survey, count = Survey(), np.array([4, 0, 7, 2])
    far, sea = np.array([True, True, False, False]), np.array([False, False, True, False])
    survey.place("a.csv", count, ~far & ~sea, reasons={"bounds": far, "mask": sea})
    sizes = np.array([[3, 1, 1, 5], [2, 0, 1, 5]])
    survey.place("a.csv", count, ~far & ~sea, sizes, reasons={"bounds": far, "mask": sea})
    (file,) = survey.reading().sources
    assert file.beyond == {"bounds": Outside(2 + 4, 8), "mask": Outside(2, 14)}
    assert (file.inside, file.outside, file.people, file.people_outside) == (6, 8, 4, 22)
    assert survey.reading(cells=1).doubled == 5
