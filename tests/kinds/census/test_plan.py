"""Plans of a census: their errors are those of releases, and what a given release saves."""

import json
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from tests import command

GRID = geodp.Grid.regular((64, 64))
LABELS = {"sex": ["f", "m"], "age": ["0", "15", "65"]}


def draw_tables():
    """Many people everywhere, whose shares differ from place to place more than the noise."""
    random = np.random.default_rng(4)
    shares = {
        name: random.dirichlet(np.ones(len(some)) * 4, (64, 64)) for name, some in LABELS.items()
    }
    people = random.integers(20_000, 30_000, (64, 64))
    made = {}
    for name, share in shares.items():
        upto = np.floor(np.cumsum(share, axis=2) * people[..., None]).astype(np.int64)
        upto[..., -1] = people
        made[name] = np.diff(upto, axis=2, prepend=0)
    return people, made


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": Fraction(1, 8), "delta": 1e-9}])
def test_planned_errors_are_those_of_releases(budget):
    people, margins = draw_tables()
    table = geodp.CountTable.from_dense
    tables = {
        name: table(dense, GRID.with_attribute(name, LABELS[name]))
        for name, dense in margins.items()
    }
    terms = {"contribution": 1, "contradictions": "refuse"}
    squares = {1: 1, 16: 256}
    plan = geodp.census.plan(GRID, LABELS, cells=64, **budget)
    assert plan.cells == (1, 256, 64)
    found = {one.name: [] for one in plan.columns}
    for _ in range(3):
        census = geodp.census.publish(table(people, GRID), tables, **terms, **budget)
        errors = {"persons": census.tables["persons"].table.to_dense() - people}
        for name, dense in margins.items():
            apart = census.tables[name].table.to_dense() - dense
            errors |= {label: apart[..., i] for i, label in enumerate(LABELS[name])}
        for name, error in errors.items():
            sums = [
                error.reshape(64 // side, side, 64 // side, side).sum(axis=(1, 3))
                for side in squares
            ]
            found[name].append([(each**2).mean() for each in sums])
    for one in plan.columns:
        cell, square = np.sqrt(np.mean(found[one.name], axis=0))
        assert cell == pytest.approx(one.errors[0], rel=0.1)
        # Of 48 squares, whose errors go together.
        assert square == pytest.approx(one.errors[1], rel=0.4)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """Folders of maps of a large and of a small budget."""
    table = geodp.CountTable.from_dense(draw_tables()[0], GRID)
    folders = {}
    for epsilon in (4, Fraction(1, 50)):
        folders[epsilon] = tmp_path_factory.mktemp("earlier") / "map"
        geodp.publish(table, epsilon=epsilon, contribution=1).write(folders[epsilon])
    return folders


def test_a_given_release_is_proposed_if_its_persons_are_near_the_truth(earlier):
    near, far = (
        geodp.census.plan(GRID, LABELS, epsilon=1, given=one, given_source="the office")
        for one in earlier.values()
    )
    assert near.keeps_persons
    assert near.ratio < 0.8
    assert not far.keeps_persons
    alone = geodp.census.plan(GRID, LABELS, epsilon=1)
    assert [one.afresh for one in near.columns] == [one.errors for one in alone.columns]
    assert alone.ratio is None


def test_the_command_prints_errors_and_what_it_proposes(earlier):
    call = ["census", "plan", "--grid", "regular:64x64", "--margin", "sex=f,m", "--epsilon", "1"]
    call += ["--rest", "sex=?", "--households", "homes", "--household-margin", "size=1,2"]
    plain = json.loads(command.geodp(*call, "--json").stdout)
    assert [one["name"] for one in plain["columns"]] == [
        *("persons", "households", "f", "m", "?", "1", "2")
    ]
    for folder, proposed in zip(earlier.values(), ("--given", "afresh"), strict=True):
        done = command.geodp(*call, "--given", folder, "--given-source", "the office")
        assert done.returncode == 0, done.stderr
        assert proposed in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("cells", [0, 5000])
def test_an_area_is_within_the_domain(cells):
    with pytest.raises(UsageError, match=f"not {cells}") as failure:
        geodp.census.plan(GRID, LABELS, epsilon=1, cells=cells)
    assert failure.value.code == "plan-cells"
