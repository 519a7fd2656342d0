"""Amounts with a prior: an earlier census, an earlier release, and priors that know nothing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs.public import load
from bench.parts import add_parts, choose_parts
from bench.suites.amounts import (
    DOCUMENT,
    EPSILONS,
    RELEASED,
    Truth,
    draw_squares,
    judge_means,
    judge_medians,
    key_of,
    make_incomes,
    name_of,
    truth_of_box,
)
from bench.tables import excerpt, fill, least, markdown, table
from geodp.grid.region import Region
from geodp.kinds.amounts.publish import prepare_amounts
from geodp.kinds.amounts.streams import AmountTable
from geodp.privacy.loss import rational
from geodp.privacy.terms import Terms
from geodp.release.request import Request

TITLE = """\
Incomes of the people of two censuses, made up as by `amounts`: places keep their mean incomes.
Median errors of means (cells, 1 km and 8 km) and of medians (8 km, classes alone), in per cent;
mean absolute errors of counts and sums of cells. How often 95 % intervals of squares hold, by their
released records"""

SAVED = Path(__file__).parents[1] / "results" / "amounts_priors.json"

PAIRS = {
    "Hiroshima 2015 → 2020": ("hiroshima-2015-wide", "hiroshima-2020-wide"),
    "Europe 9/8 2011 → 2018": ("europe-2011-9-8", "europe-2018-9-8"),
}

PERIODS = {
    "Hiroshima 2010, 2015 → 2020": (
        "hiroshima-2010-wide", "hiroshima-2015-wide", "hiroshima-2020-wide"
    ),
}  # fmt: skip
"""Census that is the prior of two later periods, and these."""

AREAS = ("cells of 500 and more", "cells of 100 and more", "1 km of 500 and more",
         "8 km of 500 and more")  # fmt: skip
"""Areas whose means are judged."""

NONE, CENSUS, RELEASE, FLAT, MIRRORED = (
    "none", "earlier census", "earlier release", "flat", "mirrored"
)  # fmt: skip

COVERED = 3
"""Releases whose intervals are measured."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--epsilon", type=rational, nargs="+", default=EPSILONS)
    parser.add_argument("--trials", type=int, default=3)
    add_parts(parser, MEASURED)


def measure(
    data: Path | None = None,
    epsilon: tuple[Fraction, ...] = EPSILONS,
    trials: int = 3,
    parts: list[str] | None = None,
) -> dict[str, Any]:
    """Measure errors with every prior and without, and coverage of intervals.

    Of ``parts`` only, where these are named; others are taken from the saved figures.
    """
    chosen, saved = choose_parts(parts, MEASURED, SAVED)
    result: dict[str, Any] = {name: saved.get(name, []) for name in ("settings", *PARTS)}
    if "errors" in chosen:
        result |= measure_errors(data, epsilon, trials)
    if "changes" in chosen:
        result["changes"] = [*measure_changes(data, epsilon, min(trials, COVERED))]
    return result


def measure_changes(
    data: Path | None, epsilon: tuple[Fraction, ...], trials: int
) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of changes hold between two periods that have the same prior."""
    for title, (known, *names) in PERIODS.items():
        census = load(known, data)
        first, last = (make_incomes(load(name, data)) for name in names)
        for one in epsilon:
            for row in cover_changes((first, last), one, trials, census):
                yield {"data": title} | row


def cover_changes(
    truths: tuple[Truth, Truth], epsilon: Fraction, trials: int, census: geodp.CountTable
) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of changes of squares hold, by records released of the second."""
    rows: dict[str, list[list[float]]] = {name: [] for name in RELEASED}
    for trial in range(trials):
        # Noise of its own for either period.
        first, last = (
            publish_paired(truth, epsilon, 2000 + 2 * trial + at, prior=census, prior_source=CENSUS)
            for at, truth in enumerate(truths)
        )
        for box in draw_squares(truths[1], trial):
            region = Region.of_map(truths[1].grid, *np.mgrid[box].reshape(2, -1))
            name = name_of(last.estimate(region).count.count)
            if name is not None:
                before, now = (truth_of_box(truth, box) for truth in truths)
                change = first.compare(region, release=last)
                rows[name].append(hold_one(change, subtract_truths(before, now)))
    yield from share_rows(epsilon, rows)


def subtract_truths(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the changes of the numbers of a square; None where either period has none."""
    return {
        name: None if None in (before[name], now[name]) else now[name] - before[name]
        for name in HELD
    }


def measure_errors(data: Path | None, epsilon: tuple[Fraction, ...], trials: int) -> dict[str, Any]:
    """Measure errors with every prior and without, and how often intervals hold."""
    result: dict[str, Any] = {"settings": {"trials": trials}, "errors": [], "coverage": []}
    for title, names in PAIRS.items():
        before, now = (make_incomes(load(name, data)) for name in names)
        for one in epsilon:
            priors = make_priors(before, one)
            for name, more in priors.items():
                row = {"data": title, "epsilon": str(one), "prior": name}
                result["errors"].append(row | judge(now, one, trials, more))
            for name in (CENSUS, RELEASE):
                for row in cover(now, one, min(trials, COVERED), priors[name]):
                    result["coverage"].append({"data": title, "prior": name} | row)
    return result


def make_priors(before: Truth, epsilon: Fraction) -> dict[str, dict[str, Any]]:
    """Make the arguments of a release by its prior, from the people of the earlier census."""
    people = before.table.records
    maps = {CENSUS: people, FLAT: np.ones(people.grid.shape, np.int64),
            MIRRORED: people.to_dense()[::-1, ::-1].copy()}  # fmt: skip
    tables = {
        name: one
        if isinstance(one, geodp.CountTable)
        else geodp.CountTable.from_dense(one, people.grid)
        for name, one in maps.items()
    }
    # Of sums alone, with noise that nobody knows: others find slightly different figures.
    means = AmountTable(people, before.table.above, before.table.scale)
    released = geodp.amounts.publish(means, epsilon=epsilon, contribution=1)
    made: dict[str, dict[str, Any]] = {NONE: {}}
    told = {**tables, RELEASE: released}
    for name in (CENSUS, RELEASE, FLAT, MIRRORED):
        made[name] = {"prior": told[name], "prior_source": name}
    return made


def publish_paired(
    truth: Truth, epsilon: Fraction, trial: int, *, classes: bool = False, **more: Any
) -> geodp.amounts.Amounts:
    """Publish under the same noise whatever the prior is, so that nothing else differs."""
    made = truth.table
    if not classes:
        made = AmountTable(made.records, made.above, made.scale)
    request = Request(terms=Terms.of(epsilon=epsilon, contribution=1), key=key_of(trial))
    prepared = prepare_amounts(made, request, **more)
    design = prepared.design
    drawn = prepared.draw(key_of(trial).restrict(design.draws))
    return design.complete(drawn, None)


def judge(truth: Truth, epsilon: Fraction, trials: int, more: dict[str, Any]) -> dict[str, float]:
    """Return the errors of a release with a prior, averaged over trials."""
    rows = []
    for trial in range(trials):
        release = publish_paired(truth, epsilon, trial, **more)
        assert release.sum is not None
        number, total = release.count.table.to_dense(), release.sum.table.to_dense()
        row = {area: judge_means(truth, area, number, total)[0] for area in AREAS}
        row["count of a cell"] = float(np.abs(number - truth.number).mean())
        row["sum of a cell"] = float(np.abs(total - truth.total).mean())
        medians = publish_paired(truth, epsilon, trial, classes=True, means=False, **more)
        row["median of 8 km"] = judge_medians(truth, medians)["8 km"][1]
        rows.append(row)
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def cover(
    truth: Truth, epsilon: Fraction, trials: int, more: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of squares hold the truth, by their released records."""
    rows: dict[str, list[list[float]]] = {name: [] for name in RELEASED}
    for trial in range(trials):
        release = publish_paired(truth, epsilon, 1000 + trial, **more)
        boxes = draw_squares(truth, trial)
        regions = [Region.of_map(truth.grid, *np.mgrid[box].reshape(2, -1)) for box in boxes]
        for box, one in zip(boxes, release.estimate_all(regions), strict=True):
            name = name_of(one.count.count)
            if name is not None:
                rows[name].append(hold_one(vars(one), truth_of_box(truth, box)))
    yield from share_rows(epsilon, rows)


def share_rows(epsilon: Fraction, rows: dict[str, list[list[float]]]) -> Iterator[dict[str, Any]]:
    """Yield how often intervals hold, by released records; see :func:`hold_one`."""
    for name, listed in rows.items():
        line = {"epsilon": str(epsilon), "released records": name, "squares": len(listed)}
        held = np.array(listed, np.float64).reshape(-1, len(HELD))
        known = [one[~np.isnan(one)] for one in held.T]
        shares = {
            n: float(one.mean()) if one.size else None for n, one in zip(HELD, known, strict=True)
        }
        yield line | shares | {"means known": known[-1].size / max(len(listed), 1)}


def hold_one(one: Mapping[str, Any], exact: dict[str, Any]) -> list[float]:
    """Return which intervals of an estimate, or of a change, hold; NaN without a mean."""
    held = [float(one["count"].low <= exact["count"] <= one["count"].high)]
    for name in HELD[1:]:
        interval, value = one[name], exact[name]
        known = interval is not None and value is not None
        held.append(float(interval.low <= value <= interval.high) if known else np.nan)
    return held


HELD = ("count", "sum", "mean")
"""Numbers whose intervals are measured."""

PARTS = ("errors", "coverage", "changes")
"""Tables of the document, by their markers."""

MEASURED = ("errors", "changes")
"""What is measured together: errors, with the coverage of intervals; changes between periods."""


def lines(part: str, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a table."""
    for row in result[part]:
        shares: tuple[str, ...] = () if part == "errors" else (*HELD, "means known")
        yield row | {n: "-" if row[n] is None else f"{row[n]:.1%}" for n in shares}


def show(result: dict[str, Any]) -> str:
    """Format all tables."""
    tables = (table([*lines(part, result)]) for part in PARTS)
    return "\n\n".join([f"{result['settings']['trials']} trials", *tables])


def excerpts(result: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Build the document's tables: of coverage, the least over all places."""
    useful = ["none", "earlier census", "earlier release"]
    columns = ["1 km of 500 and more", "8 km of 500 and more", "cells of 500 and more"]
    held = (*HELD, "means known")
    covered = {
        "coverage": least(result["coverage"], ["prior", "epsilon"], held),
        "changes": least(result["changes"], ["epsilon"], held),
    }
    return {
        "errors": excerpt(result["errors"], {"prior": useful}, columns),
        **{part: [*lines(part, covered)] for part in covered},
    }


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, rows in excerpts(result).items():
        marks = f"<!-- bench:amounts_priors:{part} -->", f"<!-- /bench:amounts_priors:{part} -->"
        fill(DOCUMENT, marks, markdown(rows))
    return result
