"""Chunks of subtrees that are processed on several threads, with results joined in key order.

Noise is a function of the node, so neither the chunks nor the threads affect a release.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from geodp import progress

MANY = 1 << 11
"""Number of nodes of a level from which on their subtrees are processed in parallel."""

PARTS = 16
"""Chunks for every thread: enough that none waits long for the last one."""

FEWEST = 1 << 8
"""Fewest nodes of a chunk: fewer are not worth starting."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Columns = TypeVar("Columns", bound=tuple[NDArray[Any], ...])


def partition(weight: NDArray[np.int64], parts: int) -> list[slice]:
    """Divide nodes into at most ``parts`` consecutive chunks of about the same weight.

    None is empty.
    """
    before = np.concatenate([[0], np.cumsum(weight)])
    ends = np.searchsorted(before, before[-1] * (np.arange(1, parts) / parts))
    cuts = np.unique(np.concatenate([[0], ends, [weight.size]])).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)] or [slice(0, 0)]


def processors(threads: int) -> int:
    """Return the number of threads; 0: one for every processor."""
    return threads or os.cpu_count() or 1


def count_runs(nodes: int, threads: int) -> int:
    """Return the number of chunks for ``nodes`` nodes."""
    return min(PARTS * processors(threads), -(-nodes // FEWEST))


def map_items(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Apply a function to every item on several threads; return the results in order."""
    threads = min(processors(threads), len(items))
    if threads < 2:
        return [work(item) for item in items]
    progress.begin("Releasing", len(items))
    pool = ThreadPoolExecutor(threads)
    try:
        return [_count(result) for result in pool.map(work, items)]
    finally:
        # After Ctrl-C the call returns at once instead of waiting for running threads.
        pool.shutdown(wait=False, cancel_futures=True)


def _count(result: Result) -> Result:
    progress.advance()
    return result


def concat(parts: list[Columns]) -> Columns:
    """Concatenate tuples of arrays column by column; ``parts`` is empty afterwards."""
    # Each part is released as soon as it is copied, so that a result is not in memory twice.
    if len(parts) == 1:
        return parts.pop()
    size = sum(part[0].size for part in parts)
    joined = cast("Columns", tuple(np.empty(size, column.dtype) for column in parts[0]))
    parts.reverse()
    at = 0
    while parts:
        part = parts.pop()
        for one, column in zip(joined, part, strict=True):
            one[at : at + column.size] = column
        at += part[0].size
    return joined
