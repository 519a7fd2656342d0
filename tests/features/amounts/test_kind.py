"""Amounts as a kind of release, which other commands recognise."""

import pytest

from geodp.errors import VerificationError
from geodp.features.amounts.kind import AmountsKind
from geodp.io.folder.kinds import find_kind, kind_of
from tests.command import geodp
from tests.refusals import refuses


def test_the_kind_is_found_by_its_index(release, public):
    kind = kind_of(release.card())
    assert isinstance(kind, AmountsKind)
    assert kind.read_card(public).amount == release.card().amount
    assert isinstance(find_kind(public), AmountsKind)


def test_a_table_is_asked_for_by_its_folder(public):
    done = geodp("estimate", public.parent, "--area", "0_0")
    assert done.returncode != 0
    assert "give the folder count" in done.stderr
    with refuses(VerificationError, "amounts-are-tables"):
        AmountsKind().refuse_table()


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_release_is_explained(public, language):
    done = geodp("explain", public.parent, "--language", language)
    assert done.returncode == 0, done.stderr
    assert "income" in done.stdout
    assert "10,000 yen" in done.stdout
