"""The script of the standard library words what follows from numbers as geodp does."""

import pytest

from geodp.io.verify import verify_release
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from tests.kinds.flows.test_publish import publish


def test_the_script_says_what_it_leaves_of_an_index(tmp_path, capsys):
    publish().write(tmp_path / "out")
    assert verify_release.main([str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "not checked: Only geodp verify checks" in said
    assert "origins: counts: " in said
    assert "FAILED" not in said


@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("contribution", [1, 7])
@pytest.mark.parametrize(
    "budget",
    [{"epsilon": "1/3"}, {"epsilon": 200}, {"rho": "1/8"}, {"rho": "1/8", "delta": "1/1000000"}],
)
@pytest.mark.parametrize("origin", ["entropy", "fixed"])
def test_the_script_words_guarantees_as_geodp_does(neighbours, contribution, budget, origin):
    terms = Terms.of(**budget, neighbours=neighbours, contribution=contribution, unit="trip")
    event = Measurement.of("pyramid", terms, 3, origin)
    described = event.describe()
    assert verify_release.promise(described) == event.statement
    assert verify_release.spends(described) == event.spends
