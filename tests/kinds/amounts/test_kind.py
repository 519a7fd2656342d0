"""Amounts as a kind of release, which other commands recognise."""

import pyarrow as pa
import pytest

from tests.command import geodp
from tests.kinds.amounts.made import publish, rows


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
