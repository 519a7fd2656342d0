"""The benchmark of marginals and of many parts; test_attributes has its document."""

import json
from fractions import Fraction

import numpy as np
import pytest

import geodp

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.suites import detail

PLACES = geodp.Grid.regular((16, 16))


@pytest.fixture(scope="module")
def source():
    grid = PLACES.with_attribute("sex", ["m", "f"]).with_attribute("age", list("abcdefgh"))
    return geodp.CountTable.from_dense(np.random.default_rng(0).poisson(30, (*grid.shape,)), grid)


def test_errors_are_those_of_one_sex(source, monkeypatch):
    monkeypatch.setattr(detail, "SIZES", (1, 4))
    found = detail.errors(source, "parts:marginals=sex", Fraction(1), 1)
    released = detail.draw(source, "parts:marginals=sex", Fraction(1), 0).to_dense()
    off = (released - source.to_dense()).sum(axis=3)[:, :, 0]
    assert found[0] == pytest.approx(abs(off).mean())
    assert found[1] == pytest.approx(abs(off.reshape(8, 2, 8, 2).sum(axis=(1, 3))).mean())


def test_the_committed_figures_are_as_good_as_is_claimed():
    """A marginal of two labels: better at every size where each has 21 parts."""
    kept = json.loads(detail.SAVED.read_text(encoding="utf-8"))
    errors = {(row["table"], row["epsilon"], row["method"]): row["errors"] for row in kept["rows"]}
    for epsilon in ("1/10", "1"):
        table = "sex x 21 ages, made up"
        own, sums = (errors[table, epsilon, method] for method in ("parts:marginals=sex", "parts"))
        assert all(a < b for a, b in zip(own, sums, strict=True))
    most = kept["times"][-1]
    assert most["parts"] == "2 x 21 x 97"
    assert most["released rows"] > 9_000_000
