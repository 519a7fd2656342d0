"""Random combinations: a sample of what ``python -m tests.combinations`` runs at length."""

from collections import Counter

import numpy as np
import pytest

from geodp.errors import UsageError
from tests.combinations import taken
from tests.combinations.__main__ import covered, main, outcomes, table, uncovered
from tests.combinations.draws import METHODS, draw
from tests.combinations.forms import FORMS

EVERY = len(METHODS) * len(FORMS)
"""Draws in which every method meets every form once."""

PARTS = 9


def seeds_of(part):
    """A diagonal of the table of methods and forms: every method and every form is in every one."""
    return [
        seed
        for seed in range(EVERY)
        if (seed % len(METHODS) + seed // len(METHODS)) % PARTS == part
    ]


@pytest.mark.law
@pytest.mark.parametrize("part", range(PARTS))
def test_every_method_on_every_form_of_grid(part):
    """No combination fails, and what is refused is refused before the charge."""
    drawn = [draw(seed) for seed in seeds_of(part)]
    assert {one.form for one in drawn} == {*FORMS}
    assert {one.method.partition(":")[0] for one in drawn} == {*METHODS}
    found = list(outcomes(seeds_of(part)))
    assert [one for one in found if one.kind == "failed"] == [], table(found)
    kinds = Counter(one.kind for one in found)
    assert kinds["published"] > len(found) / 2


def test_all_forms_and_methods_are_drawn():
    drawn = [draw(seed) for seed in range(EVERY)]
    assert {(one.form, one.method.partition(":")[0]) for one in drawn} == {
        (form, method) for form in FORMS for method in METHODS
    }
    for name in ("key", "ledger", "name", "whole"):
        assert len({getattr(one, name) for one in drawn}) > 1
    for name, values in (("neighbours", 2), ("contribution", 4), ("unit", 3), ("people", 4)):
        assert len({one.terms[name] for one in drawn}) == values
    assert max(one.count.max() for one in drawn) >= 1 << 59
    assert sum(bool(one.grid.mask) for one in drawn) > 30
    assert sum(bool(one.grid.hierarchy) for one in drawn) > 30


def test_a_seed_is_always_the_same_draw():
    one, two = draw(77), draw(77)
    assert one.said == two.said
    assert one.grid == two.grid
    assert np.array_equal(one.index, two.index)
    assert np.array_equal(one.count, two.count)


@pytest.mark.law
def test_failures_are_told_with_their_seed(monkeypatch, capsys):
    """A refusal after the charge, and a claim that does not hold."""
    monkeypatch.setattr("sys.argv", ["combinations", "--draws", "4", "--seed", "4"])

    def _plan(*given):
        raise UsageError("Something is said too late.")

    monkeypatch.setattr(taken, "_plan", _plan)
    assert main() == 1
    said = capsys.readouterr().out
    assert "--only 4: plan: UsageError: Something is said too late." in said
    monkeypatch.undo()

    real = taken.geodp.publish

    def late(*given, **named):
        real(*given, **named)
        raise UsageError("Something is said too late.")

    monkeypatch.setattr(taken.geodp, "publish", late)
    found = list(outcomes(range(40)))
    failed = {one.draw.seed for one in found if one.kind == "failed"}
    assert failed
    assert failed <= {one.draw.seed for one in found if one.draw.ledger}
    assert all("after the charge" in one.why for one in found if one.kind == "failed")


def test_methods_and_forms_that_are_published_too_rarely_are_named():
    found = [taken.Outcome(draw(seed), "published") for seed in range(0, 300, 100)] * 100
    assert len(uncovered(found)) >= len(METHODS) + len(FORMS) - 6
    assert sum(sum(c.values()) for c in covered(found)["method"].values()) == len(found)
