"""The errors of a release of every kind are predicted before its data are read."""

import json
import re

from tests.contract.desk import require
from tests.contract.using import list_figures
from tests.io.verify.forging import find, list_leaves, show

ERRORS = re.compile("error|noise|persons|households")


def test_errors_are_predicted_before_data_are_read(kind, released):
    """An error of one region is at most three times that which the plan has, and a third of it."""
    done = released.run(*kind.planned, "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    predicted = [
        find(plan, path)
        for path in list_leaves(plan)
        if ERRORS.search(show(path)) and isinstance(find(plan, path), float)
    ]
    done = require(released.run("estimate", released.asked(), *kind.region, "--json"))
    stated = [
        (one["high"] - one["low"]) / 2 / 1.96 for one in list_figures(json.loads(done.stdout))
    ]
    assert any(one / 3 < guess < 3 * one for guess in predicted for one in stated)


def test_a_plan_is_printed_for_people(kind, released):
    done = released.run(*kind.planned)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"\b(None|nan|inf)\b", done.stdout)
