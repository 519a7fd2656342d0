"""Households by size in a census, and incomes of given persons, beside releases of each apart."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs.public import load, load_households
from bench.suites.amounts import make_incomes, publish_amounts
from bench.suites.households import MAX_SIZE
from bench.suites.table import key_of, squares
from geodp.kinds.households.inputs import sizes_of
from geodp.typing import FloatArray, IntArray

SIZES = 4
"""Sizes of households that are told apart, the last one and more."""

SIDES = (1, 4, 16, 64)
"""Cells on a side of squares whose errors are measured."""

FEWEST = 500
"""Least records of a square whose mean is compared."""

Trial = Callable[[int], dict[str, list[float]]]

Errors = Sequence[Mapping[str, Sequence[float]]]
"""Errors of trials by quantity and side."""


def compare_sizes(folder: Path | None, trials: int) -> list[dict[str, Any]]:
    """Compare households by size and persons in one release of epsilon 2 with two of 1 each."""
    table = load_households(folder)
    homes, members = sizes_of(table, SIZES).table, sizes_of(table, MAX_SIZE).streams().all_members
    people = np.maximum(load("kanto", folder).to_dense(), members.to_dense())
    persons = geodp.CountTable.from_dense(people, members.grid)
    truth = {"persons": people, **_name_sizes(_larger(homes.to_dense()))}

    def together(trial: int) -> dict[str, list[float]]:
        census = geodp.census.publish(
            persons, households=homes, members=members, max_size=MAX_SIZE, epsilon=2,
            contribution=1, contradictions="refuse", key=key_of(trial),
        )  # fmt: skip
        status = census.releases["household_status"].table.to_dense()
        found = {"persons": status.sum(axis=-1), **_name_sizes(status[..., :SIZES])}
        return {name: _absolute(one - truth[name]) for name, one in found.items()}

    def apart(trial: int) -> dict[str, list[float]]:
        alone = geodp.publish(persons, epsilon=1, contribution=1, key=key_of(1000 + trial))
        # Who joins a household takes it from one size to the next.
        sizes = geodp.publish(homes, epsilon=1, contribution=2, key=key_of(2000 + trial))
        larger = _larger(sizes.table.to_dense())
        found = {"persons": alone.table.to_dense(), **_name_sizes(larger)}
        return {name: _absolute(one - truth[name]) for name, one in found.items()}

    return list_ratios(together, apart, trials)


def _larger(sizes: IntArray) -> IntArray:
    """Add up households of each size and more: int64[rows, columns, sizes]."""
    found: IntArray = sizes[..., ::-1].cumsum(axis=-1)[..., ::-1]
    return found


def _name_sizes(larger: IntArray) -> dict[str, IntArray]:
    names = ("households", *(f"of {number} or more" for number in range(2, SIZES + 1)))
    return dict(zip(names, np.moveaxis(larger, -1, 0), strict=True))


def _absolute(wrong: IntArray) -> list[float]:
    """Return mean absolute errors of squares, by side."""
    return [float(np.abs(squares(wrong, side)).mean()) for side in SIDES]


def compare_amounts(folder: Path | None, trials: int) -> list[dict[str, Any]]:
    """Compare a map and incomes that agree with it, of epsilon 1 each, with both apart."""
    truth = make_incomes(load("kanto", folder))
    records = truth.table.records

    def publish(trial: int, **given: Any) -> dict[str, list[float]]:
        release = publish_amounts(truth, 1, trial, **given)  # type: ignore[arg-type]
        assert release.sum is not None
        number, total = release.count.table.to_dense(), release.sum.table.to_dense()
        means = [
            _mean_error(*(squares(one, side) for one in (number, total, truth.number, truth.total)))
            for side in SIDES
        ]
        return {
            "records": _absolute(number - truth.number),
            "sums": _absolute(total - truth.total),
            "means, per cent": means,
        }

    def given(trial: int) -> dict[str, list[float]]:
        with tempfile.TemporaryDirectory() as place:
            earlier = geodp.publish(records, epsilon=1, contribution=1, key=key_of(3000 + trial))
            earlier.write(Path(place) / "map")
            asked = {"given_source": "the map of this trial", "relation": "same"}
            return publish(trial, given=Path(place) / "map", **asked)

    return list_ratios(given, publish, trials)


def _mean_error(number: IntArray, total: IntArray, true: IntArray, sums: IntArray) -> float:
    """Return the median error of the means of squares with some people, in per cent."""
    some = (true >= FEWEST) & (number > 0)
    mean: FloatArray = total[some] / number[some]
    return float(100 * np.median(np.abs(mean / (sums[some] / true[some]) - 1)))


def list_ratios(together: Trial, apart: Trial, trials: int) -> list[dict[str, Any]]:
    """List the errors of both by quantity and side, and their ratios."""
    one, other = ([made(trial) for trial in range(trials)] for made in (together, apart))
    return [*compare_errors(one, other)]


def compare_errors(one: Errors, apart: Errors) -> Iterator[dict[str, Any]]:
    """Yield mean errors of trials of one release and of releases apart, and their ratios."""
    for name in one[0]:
        mean = [np.mean([each[name] for each in some], axis=0) for some in (one, apart)]
        row: dict[str, Any] = {"quantity": name}
        for number, side in enumerate(SIDES):
            row |= {
                f"{side * side}": mean[0][number],
                f"{side * side} apart": mean[1][number],
                f"{side * side} ratio": mean[0][number] / mean[1][number],
            }
        yield row
