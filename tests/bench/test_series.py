"""The benchmark of series: errors of every accounting, beside those of independent releases."""

from pathlib import Path

import numpy as np
import pytest

import geodp
from bench.inputs.series import load_months
from bench.suites import series
from geodp.errors import UsageError


def test_errors_of_every_accounting_are_measured(monkeypatch):
    grid = geodp.Grid.regular((8, 8))
    tables = [geodp.CountTable.from_dense(np.full((8, 8), 50), grid)] * 2
    monkeypatch.setattr(series, "load_months", lambda folder: (["2024", "2025"], tables))
    found = series.measure(Path(), epsilon="0.01", trials=3)  # never all errors 0
    assert [row["accounting"] for row in found["rows"]] == [*series.ACCOUNTS] * 2
    assert all(len(row["mae"]) == 4 and row["mae"][0] > 0 for row in found["rows"])
    assert found["rows"][0]["gain"] == [1] * 4
    assert "zCDP, smoothed" in series.show(found)


def test_without_the_public_series_a_sentence_says_so(tmp_path):
    with pytest.raises(UsageError, match="--data DIR"):
        series.measure()
    with pytest.raises(UsageError, match="There is no"):
        load_months(tmp_path)
