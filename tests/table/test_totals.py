"""Totals beside their parts: by name, and by sums in every cell; the bound is asked for."""

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import geodp
from geodp.errors import UsageError
from geodp.privacy.assumption import ContributionBound
from geodp.table.contribution import SUMS
from geodp.table.counts import Cells
from geodp.table.totals import InMemoryTable, find_sums, is_near, label_sums
from tests.refusals import refuses

GRID = geodp.Grid.regular((4, 4))
MESHES = geodp.Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))


def naive_sums(dense: np.ndarray) -> set[int]:
    """Labels of the last axis that count the sum of all others, or of a run, in every cell.

    In so many cells that independent counts would agree in all of them once in a million times.
    """
    n = dense.shape[-1]
    runs = {tuple(range(a, b)) for a, b in combinations(range(n + 1), 2) if b - a >= 2}
    found = set()
    for whole in range(n):
        others = tuple(i for i in range(n) if i != whole)
        for parts in {run for run in runs if whole not in run} | {others}:
            same = (dense[..., whole] == dense[..., list(parts)].sum(axis=-1)).all()
            equal = 1 / np.sqrt(1 + 2 * np.pi * dense[..., whole])
            if len(parts) > 1 and same and equal.prod() <= 1e-6:
                found.add(whole)
    return found


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(0, 5), st.integers(1, 9))
@settings(max_examples=60)
def test_sums_are_those_of_the_definition(seed: int, labels: int, whole: int, cells: int) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 3 * rng.integers(1, 100), (cells, labels))
    if whole < labels and rng.integers(0, 2):
        start, stop = np.sort(rng.choice(labels + 1, 2, replace=False))
        parts = [i for i in range(start, stop) if i != whole]
        dense[:, whole] = dense[:, parts].sum(axis=1)
    grid = geodp.Grid.regular((1, cells)).with_attribute("a", [str(i) for i in range(labels)])
    table = geodp.CountTable.from_dense(dense[None], grid)
    assert label_sums(table)[0].tolist() == dense.sum(axis=0).tolist()
    found = find_sums(grid, InMemoryTable(table))
    assert {int(label) for _, label in found} == naive_sums(dense)


@pytest.mark.parametrize("place", ["below", "above", "interleaved"])
def test_sums_are_found_in_any_order_and_beside_other_attributes(place: str) -> None:
    grid = GRID.with_attribute("age", ["0", "1"]).with_attribute("sex", ["a", "b", "c"])
    grid = grid.with_attribute_order(place)
    dense = np.random.default_rng(1).integers(0, 9, grid.shape)
    dense[..., 1] = dense[..., 0] + dense[..., 2]
    table = geodp.CountTable.from_dense(dense, grid)
    assert find_sums(grid, InMemoryTable(table)) == [("sex", "b")]
    dense[0, 0, 0, 1] += 1
    dense[3, 3, 1, 1] -= 1  # the sums over all cells are still equal
    table = geodp.CountTable.from_dense(dense, grid)
    assert find_sums(grid, InMemoryTable(table)) == []


def round_at_random(counts: NDArray[np.int64], base: int, rng: np.random.Generator) -> Any:
    low = counts // base * base
    return low + base * (rng.random(counts.shape) < (counts - low) / base)


PERTURBED = {
    "random rounding to base 3": lambda counts, rng: round_at_random(counts, 3, rng),
    "random rounding to base 5": lambda counts, rng: round_at_random(counts, 5, rng),
    "random rounding to base 10": lambda counts, rng: round_at_random(counts, 10, rng),
    "rounding to base 5": lambda counts, rng: (counts + 2) // 5 * 5,
    "cell key": lambda counts, rng: np.maximum(counts + rng.integers(-2, 3, counts.shape), 0),
    "one count that is corrected": lambda counts, rng: counts + (np.arange(counts.size) == 0),
    "hidden counts below 3": lambda counts, rng: np.where(counts < 3, 0, counts),
}


@pytest.mark.parametrize("how", PERTURBED)
@pytest.mark.parametrize("whole", [0, 2])
def test_totals_are_found_though_publishers_round_and_perturb(how: str, whole: int) -> None:
    rng = np.random.default_rng(4)
    people = np.exp(rng.normal(6, 1, 300))[:, None]
    parts = rng.poisson(people * [0.5, 0.3, 0.2])
    sums = np.insert(parts, whole, parts.sum(axis=1), axis=1)
    dense = np.stack([PERTURBED[how](column, rng) for column in sums.T], axis=1)
    labels = [f"V{number}" for number in range(4)]
    table = by_label(labels, dense)
    assert find_sums(table.grid, InMemoryTable(table)) == [("sex", labels[whole])]
    with refuses(UsageError, f"contribution-below-sums-found: V{whole} \\(sex\\): .*\\b2\\b"):
        geodp.publish(table, epsilon=1, contribution=1)


PARTS_ONLY = {
    **{
        f"half of {2 * mean} people in a cell": (
            lambda rng, mean=mean: rng.poisson([2 * mean, mean, mean], (400, 3))
        )
        for mean in (1, 3, 10, 50, 1_000, 20_000)
    },
    "cells of fixed size": lambda rng: rng.multinomial(200, [0.5, 0.3, 0.2], 400),
    "cells of many sizes": lambda rng: rng.poisson(
        np.exp(rng.normal(6, 1.5, (400, 1))) * [0.5, 0.3, 0.2]
    ),
    "a model's fixed shares": lambda rng: np.round(
        np.exp(rng.normal(6, 1.5, (400, 1))) * [0.501, 0.3, 0.199]
    ).astype(int),
    "few people, mostly equal": lambda rng: np.ones((400, 3), int) + (rng.random((400, 3)) < 0.2),
    "four populous cells": lambda rng: np.array([[2_005, 1_000, 1_000], [2_994, 1_500, 1_500]] * 2),
}


@pytest.mark.parametrize("how", PARTS_ONLY)
@pytest.mark.parametrize("seed", range(5))
def test_labels_that_count_other_people_are_no_totals(how: str, seed: int) -> None:
    dense = PARTS_ONLY[how](np.random.default_rng(seed))
    table = by_label(["V0", "V1", "V2"], dense)
    assert find_sums(table.grid, InMemoryTable(table)) == []


def test_two_equal_labels_are_no_total_and_its_part() -> None:
    table = by_label(["V0", "V1"], [[500, 500]] * 30)
    assert find_sums(table.grid, InMemoryTable(table)) == []


def test_pieces_find_the_totals_of_the_whole() -> None:
    """Labels of one cell may lie in different pieces."""
    rng = np.random.default_rng(8)
    parts = rng.poisson(200, (60, 3))
    dense = np.column_stack([parts.sum(axis=1), parts]) + rng.integers(-1, 2, (60, 4))
    grid = geodp.Grid.regular((1, 60)).with_attribute("a", list("wxyz"))
    for place in ("below", "above", "interleaved"):
        own = grid.with_attribute_order(place)
        table = geodp.CountTable.from_dense(dense[None], own)
        ends = np.append(np.arange(0, table.key.size, 37), table.key.size)
        pieces = [
            InMemoryTable(Cells(own, table.key[a:b], table.count[a:b])) for a, b in pairwise(ends)
        ]
        assert find_sums(own, Pieces(pieces)) == [("a", "w")]


@dataclass
class Pieces:
    pieces: list[InMemoryTable]

    def label_sums(self) -> Any:
        return [sum(each) for each in zip(*(one.label_sums() for one in self.pieces), strict=True)]

    def remainders(self, relation: Any) -> Any:
        return [one for piece in self.pieces for one in piece.remainders(relation)]


def test_differences_that_lean_to_one_side_are_not_those_of_rounding() -> None:
    together = np.full(40, 1_000)
    assert is_near(np.array([2, -2] * 20), together)
    assert not is_near(np.full(40, 2), together)


def by_label(labels: list[str], counts: Any) -> geodp.CountTable:
    grid = geodp.Grid.regular((1, len(counts))).with_attribute("sex", labels)
    return geodp.CountTable.from_dense(np.array(counts)[None], grid)


def test_a_table_of_arrays_has_no_bound() -> None:
    pairs = geodp.CountTable.from_index(GRID.pairs(), np.zeros((4, 1), int), [5])
    plain = geodp.CountTable.from_dense(np.ones((4, 4), int), GRID)
    for table in (by_label(["m", "f"], [[3, 4]]), pairs, plain):
        assert table.bound is None
        with refuses(UsageError, "contribution-unstated: --contribution"):
            geodp.publish(table, epsilon=1)
        assert geodp.publish(table, epsilon=1, contribution=1).event.contribution == 1


def test_a_total_beside_its_parts_is_refused_by_name_at_a_contribution_of_one() -> None:
    table = by_label(["T", "M", "F"], [[7, 3, 4], [2, 2, 1]])  # no sum, and still refused
    for call in (geodp.publish, geodp.evaluate):
        with refuses(UsageError, r"contribution-below-sums: T \(sex\).*\b2\b"):
            call(table, epsilon=1, contribution=1)
    assert geodp.publish(table, epsilon=1, contribution=2).event.contribution == 2
    two = table.grid.with_attribute("age", ["総数", "0-14", "15-"])
    other = geodp.CountTable.from_index(two, np.array([[0], [0], [1], [1]]), [5])
    with refuses(UsageError, r"contribution-below-sums: \b4\b"):
        geodp.publish(other, epsilon=1, contribution=3)
    # Where records are bounded one by one, a label is a label.
    enforced = geodp.CountTable.from_keys(
        table.grid, table.key, table.count, bound=ContributionBound(1, "geodp")
    )
    assert geodp.publish(enforced, epsilon=1).event.contribution == 1


def test_a_sum_in_every_cell_is_refused_before_the_charge_and_its_absence_is_stated() -> None:
    class Untouched:
        def __getattr__(self, name: str) -> None:
            raise AssertionError("the ledger was asked")

    terms = {"epsilon": 1, "contribution": 1}
    total = by_label(["x", "y", "z"], [[7, 3, 4], [3, 2, 1], [0, 0, 0]] * 6)
    with refuses(UsageError, r"contribution-below-sums-found: x \(sex\)"):
        geodp.publish(total, ledger=Untouched(), dataset="census", **terms)
    assert find_sums(total.grid, InMemoryTable(total), disjoint=["sex"]) == []
    few = by_label(["x", "y", "z"], [[7, 3, 4], [3, 2, 1], [0, 0, 0]])
    assert geodp.publish(few, **terms).event.contribution == 1  # as chance has it
    parts = by_label(["x", "y", "z"], [[7, 3, 4], [3, 2, 2], [0, 0, 0]])
    assert SUMS in geodp.publish(parts, **terms).card().guarantee.not_protected
    both = geodp.publish(total, epsilon=1, contribution=2)
    assert SUMS not in both.card().guarantee.not_protected


def in_attributes(*labels: list[str]) -> geodp.Grid:
    grid = GRID
    for number, own in enumerate(labels):
        grid = grid.with_attribute(f"a{number}", own)
    return grid


def test_every_total_beside_its_parts_doubles_what_is_asked_for() -> None:
    labels = ["T", "M", "F"], ["総数", "0-14", "15-"], ["Total", "home", "away"]
    grid = in_attributes(*labels)
    table = geodp.CountTable.from_index(grid, np.array([[0], [0], [1], [1], [1]]), [5])
    with pytest.raises(UsageError) as refused:
        geodp.publish(table, epsilon=1, contribution=7)
    assert str(refused.value) == (
        "T (a0), 総数 (a1), Total (a2): the total stands beside its parts, and a person is counted "
        "in both. Leave the total out, as the parts add up to it anyway; or state 8 or "
        "more (--contribution, contribution=)."
    )
    assert geodp.publish(table, epsilon=1, contribution=8).event.contribution == 8


def test_every_sum_in_all_cells_does_so_too() -> None:
    """Two attributes, or three, whose first label is the sum of the others in every cell."""
    for number in (1, 2, 3):
        grid = in_attributes(*(["x", "y", "z"] for _ in range(number)))
        parts = np.array(list(np.ndindex((2,) * number))) + 1
        count, index = [], []
        for at in np.ndindex((3,) * number):
            inside = [(part == here) | (here == 0) for part, here in zip(parts.T, at, strict=True)]
            people = int((np.all(inside, axis=0) * (1 + np.arange(len(parts)))).sum())
            count += [people] * GRID.size
            index += [(*cell, *at) for cell in np.ndindex(GRID.shape)]
        table = geodp.CountTable.from_index(grid, np.array(index).T, count)
        with pytest.raises(UsageError) as refused:
            geodp.publish(table, epsilon=1, contribution=2**number - 1)
        listed = ", ".join(f"x (a{i})" for i in range(number))
        why = "in every cell the sum of other labels, exactly or up to rounding, so that the "
        assert str(refused.value).startswith(f"{listed}: {why}total stands beside its parts, and")
        assert f"state {2**number} or more" in str(refused.value)
        assert geodp.publish(table, epsilon=1, contribution=2**number).event is not None


@pytest.mark.law
def test_a_bound_that_allows_for_one_sum_is_enough_for_one() -> None:
    """And what three attributes would allow for is looked at below 8, and said."""
    grid = in_attributes(["x", "y", "z"], ["u", "v"], ["r", "s"])
    index = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 2], [0, 0, 1], [0, 1, 1]])
    odd = geodp.CountTable.from_index(grid, index, [7, 3, 5])
    for bound, stated in ((1, True), (6, True), (7, True), (8, False)):
        said = geodp.publish(odd, epsilon=1, contribution=bound).public_facts
        assert (SUMS in said) == stated
    one = in_attributes(["x", "y", "z"], ["u", "v"])
    cells = [(*cell, label, 0) for cell in np.ndindex(GRID.shape) for label in range(3)]
    summed = geodp.CountTable.from_index(one, np.array(cells).T, [7, 3, 4] * GRID.size)
    with refuses(UsageError, r"contribution-below-sums-found: \b2\b"):
        geodp.publish(summed, epsilon=1, contribution=1)
    assert SUMS in geodp.publish(summed, epsilon=1, contribution=2).public_facts


HEAD = """KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T1,T2,T3
,,,,人口（総数）,人口（総数）　男,人口（総数）　女
"""


def mesh(folder: Path, values: list[str], **options: str) -> geodp.CountTable:
    path = folder / "t.txt"
    path.write_text(HEAD + "533946113,1,,,30,10,20\n533946114,2,,,5,*,*\n", encoding="utf-8")
    given = {"by": "sex", "suppressed": "zero", **options}
    return geodp.read_mesh(path, grid=MESHES, value=values, **given)


def test_columns_of_mesh_files_are_known_by_their_titles(tmp_path: Path) -> None:
    """Named by codes, and details are hidden, so that neither labels nor sums tell."""
    table = mesh(tmp_path, ["T1", "T2", "T3"])
    assert table.bound is None
    assert table.reading.totals == ["人口（総数）"]
    with refuses(UsageError, r"contribution-below-sums: 人口（総数） \(columns.*values\)"):
        geodp.publish(table, epsilon=1, contribution=1)
    (file,) = table.reading.sources
    several = replace(table.reading, sources=(replace(file, totals=("総数", "人口（総数）")),))
    with refuses(UsageError, r"contribution-below-sums: ^人口（総数）, 総数 \(columns of values\)"):
        geodp.publish(replace(table, reading=several), epsilon=1, contribution=1)
    parts = mesh(tmp_path, ["T2", "T3"])
    with refuses(UsageError, "contribution-unstated: --contribution"):
        geodp.publish(parts, epsilon=1)
    assert geodp.publish(parts, epsilon=1, contribution=1).event.contribution == 1


def test_what_is_summed_has_no_bound(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("KEY_CODE,T1\n533946113,30\n", encoding="utf-8")
    assert geodp.read_mesh(path, grid=MESHES, duplicates="sum").bound is None
    months = tmp_path / "m.csv"
    months.write_text("code,n\n533946113,30\n533946113,31\n", encoding="utf-8")
    given = {"grid": MESHES, "code": "code", "value": "n"}
    table = geodp.read_table(months, **given, duplicates="sum")
    with refuses(UsageError, "contribution-unstated: --contribution"):
        geodp.publish(table, epsilon=1)
    one = tmp_path / "one.csv"
    sexes = MESHES.with_attribute("sex", ["f", "m"])
    one.write_text("code,sex,n\n533946113,f,30\n", encoding="utf-8")
    by_sex = geodp.read_table(one, **{**given, "grid": sexes}, columns={"sex": "sex"})
    assert by_sex.bound is None


def test_all_totals_of_an_attribute_are_listed() -> None:
    grid = in_attributes(["T", "Total", "M"])
    table = geodp.CountTable.from_index(grid, np.array([[0], [0], [0]]), [5])
    with refuses(UsageError, r"contribution-below-sums: ^T, Total \(a0\)"):
        geodp.publish(table, epsilon=1, contribution=1)
