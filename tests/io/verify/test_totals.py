"""A release is asked for its public totals if it lists some."""

from pathlib import Path

from geodp.io.verify.card import read_card
from geodp.io.verify.files import check_files
from geodp.io.verify.written import has_totals

RELEASES = Path(__file__).parents[2] / "golden" / "earlier"


def test_releases_without_totals_have_none():
    folder = next(RELEASES.rglob("population.csv")).parent
    card = read_card(folder)
    assert not has_totals(card)
    assert "no unlisted file" in check_files(folder, card)
