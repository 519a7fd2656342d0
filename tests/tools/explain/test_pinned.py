"""What is said of pinned releases of kinds with sentences of their own, by the names of these."""

import pytest

from geodp.io.verify.card import read_card
from geodp.tools.explain.card import explain
from geodp.tools.explain.page import Writer
from tests.golden.case import RELEASES

SAID = {
    "amounts": "title clipped means vouched",
    "amounts-classes": "title clipped means classes enforced",
    "amounts-classes-alone-mask": "title clipped classes vouched",
    "amounts-prior": "title clipped means prior_unused vouched",
    "amounts-series": "series_title clipped means series_vouched",
    "amounts-series-classes": "series_title clipped means classes weights series_weighed_vouched",
    "amounts-series-prior": "series_title clipped means series_prior series_vouched",
    "amounts-weights": "title clipped means weights weighed_vouched",
    "flows": "title zones pairs estimated agree enforced",
    "flows-counted-prior": "title zones pairs estimated prior_unused agree vouched",
    "flows-days": "title zones pairs estimated labels agree enforced period",
    "flows-labels": "title zones labels agree enforced",
    "flows-pings": "title zones pairs estimated labels pings agree enforced",
    "flows-stays": "title zones pairs estimated stays_gap agree enforced",
    "flows-units": "title zones agree enforced",
    "flows-weights": "title zones pairs estimated agree weighed weights raked",
    "households": "title epsilon",
    "households-regions": "title rho",
}


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("name", SAID)
def test_a_kind_says_of_its_release_what_it_states(name, language, monkeypatch):
    said, write = [], Writer.write

    def note(page, sentence, /, **figures):
        said.append(sentence)
        return write(page, sentence, **figures)

    monkeypatch.setattr(Writer, "write", note)
    explain(read_card(RELEASES / name / "public"), language)
    kind = f"{name.partition('-')[0]}_"
    assert [one.removeprefix(kind) for one in said if one.startswith(kind)] == SAID[name].split()
