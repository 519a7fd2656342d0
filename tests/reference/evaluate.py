"""What an evaluation measures, cell by cell, on small grids."""

import math
from collections import Counter
from functools import cache
from itertools import product
from statistics import mean, stdev

import numpy as np

CLASSES = {"0": (0, 0), "1-9": (1, 9), "10-99": (10, 99), "100-999": (100, 999)}
CLASSES["1000+"] = (1000, math.inf)


@cache
def cells_of(grid):
    """Key of every cell of the domain, by index."""
    found = {}
    for index in product(*map(range, grid.shape)):
        column = [[i] for i in index]
        if grid.contains(np.array(column))[0]:
            found[index] = int(grid.encode(column)[0])
    return found


def counts_of(table):
    return dict(zip(table.key.tolist(), table.count.tolist(), strict=True))


def areas_of(bits):
    areas = []
    while 4 ** len(areas) < 2**bits:
        areas.append(4 ** len(areas))
    return [*areas, 2**bits]


def block_errors(grid, true, given, area):
    """Error of every block of ``area`` keys that holds a cell of the domain."""
    errors = Counter()
    for key in cells_of(grid).values():
        errors[key // area] += given.get(key, 0) - true.get(key, 0)
    return list(errors.values())


def averages(errors_of_trials):
    """MAE, RMSE and bias with standard errors, of a list of errors a trial."""
    mae = [mean(abs(e) for e in errors) for errors in errors_of_trials]
    mse = [mean(e * e for e in errors) for errors in errors_of_trials]
    bias = [mean(errors) for errors in errors_of_trials]
    root = math.sqrt(len(errors_of_trials))
    rmse = math.sqrt(mean(mse))
    return {
        "mae": mean(mae),
        "mae_se": stdev(mae) / root,
        "rmse": rmse,
        "rmse_se": stdev(mse) / root / (2 * rmse) if rmse else 0.0,
        "bias": mean(bias),
        "bias_se": stdev(bias) / root,
    }


def by_area(grid, true, releases):
    """One row of averages for every area, with the mean largest error."""
    rows = []
    for area in areas_of(grid.bits):
        errors = [block_errors(grid, true, given, area) for given in releases]
        worst = mean(max(map(abs, e)) for e in errors)
        rows.append({**averages(errors), "worst": worst})
    return rows


def by_class(grid, true, releases):
    found = {}
    for name, (low, high) in CLASSES.items():
        keys = [k for k in cells_of(grid).values() if low <= true.get(k, 0) <= high]
        errors = [given.get(k, 0) - true.get(k, 0) for given in releases for k in keys]
        found[name] = {"cells": len(keys)}
        if keys:
            found[name]["mae"] = mean(map(abs, errors))
            found[name]["rmse"] = math.sqrt(mean(e * e for e in errors))
            found[name]["bias"] = mean(errors)
    return found


def hottest(counts, area, k):
    blocks = Counter()
    for key, count in counts.items():
        blocks[key // area] += count
    ranked = sorted((b for b in blocks if blocks[b] > 0), key=lambda b: (-blocks[b], b))
    return set(ranked[:k])


def precision(true, given, area, k):
    return len(hottest(true, area, k) & hottest(given, area, k)) / k


def total_variation(true, given):
    above = {key: max(count, 0) for key, count in given.items()}
    people, released = sum(true.values()), sum(above.values())
    if not people or not released:
        return float(people != released)
    keys = true.keys() | above.keys()
    return sum(abs(above.get(k, 0) / released - true.get(k, 0) / people) for k in keys) / 2


def rectangle_error(grid, true, given, low, high):
    return sum(
        given.get(key, 0) - true.get(key, 0)
        for index, key in cells_of(grid).items()
        if all(a <= i <= b for a, i, b in zip(low, index, high, strict=True))
    )
