"""What is told of the files that are read: exact, and of every file and term."""

import numpy as np

from geodp.io.read.rows.survey import Survey


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
    survey.take("a.csv", 7, {"year = 2020": 3, "sex = f": 0}, 0)
    survey.take("b.csv", 2, {"year = 2020": 2}, 2)
    survey.take("a.csv", 1, {"year = 2020": 1, "sex = f": 0}, 0)
    first, second = survey.reading().sources
    assert (first.name, first.rows, first.selected) == ("a.csv", 8, 0)
    assert first.terms == {"year = 2020": 4, "sex = f": 0}
    assert (second.name, second.rows, second.terms) == ("b.csv", 2, {"year = 2020": 2})
