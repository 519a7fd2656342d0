"""Amounts as a kind of release, which other commands recognise."""

import pyarrow as pa
import pytest

from geodp.errors import VerificationError
from geodp.io.folder.kinds import find_kind, kind_of
from geodp.kinds.amounts.kind import AmountsKind
from tests.command import geodp
from tests.kinds.amounts.made import publish, rows
from tests.refusals import refuses


def test_the_kind_is_found_by_its_index(release, public):
    kind = kind_of(release.card())
    assert isinstance(kind, AmountsKind)
    assert kind.read_card(public).amount == release.card().amount
    assert isinstance(find_kind(public), AmountsKind)


def test_a_table_is_asked_for_by_its_folder(public):
    with refuses(VerificationError, "amounts-are-tables"):
        AmountsKind().refuse_table()


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_release_is_explained(public, language):
    done = geodp("explain", public.parent, "--language", language)
    assert done.returncode == 0, done.stderr
    assert "income" in done.stdout
    assert "10,000 yen" in done.stdout


@pytest.mark.parametrize(
    ("language", "person", "said"),
    [
        ("en", None, "have weights of at most 10 together; the office answers for that"),
        ("ja", None, "ウェイトが合わせて最大 10 なら成り立ちます。これは公表者が"),
        ("en", "id", "count as at most 10 together, each as its weight; geodp made sure of it"),
        ("ja", "id", "合わせて最大 10 件として数えます。これは geodp が"),
    ],
)
def test_weights_are_explained(tmp_path, language, person, said):
    data = rows(500).append_column("w", pa.array([1, 2] * 250))
    given = {"weight": "w", "max_weight": 5, "contribution": 2, "person": person}
    publish(data, **given).write(tmp_path / "out")
    done = geodp("explain", tmp_path / "out", "--language", language)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert said in (text if language == "en" else done.stdout.replace("\n", "").replace(" ", " "))
    assert "of all records" not in text
    assert {"en": "calibrated on other", "ja": "調整した"}[language] in text
