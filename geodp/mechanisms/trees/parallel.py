"""Subtrees that are worked on by themselves, in blocks, on several threads, and joined in order."""

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
"""Nodes of a level from which on their subtrees are worked on side by side."""

PARTS = 16
"""Runs of subtrees for every thread, so that none waits long for the last one."""

FEWEST = 1 << 8
"""Nodes of a run at least: fewer are not worth a start."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Columns = TypeVar("Columns", bound=tuple[NDArray[Any], ...])


def partition(weight: NDArray[np.int64], parts: int) -> list[slice]:
    """Neighbouring nodes in at most ``parts`` runs of about the same weight; none is empty."""
    before = np.concatenate([[0], np.cumsum(weight)])
    ends = np.searchsorted(before, before[-1] * (np.arange(1, parts) / parts))
    cuts = np.unique(np.concatenate([[0], ends, [weight.size]])).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)] or [slice(0, 0)]


def processors(threads: int) -> int:
    """Threads that are asked for; 0: one for every processor."""
    return threads or os.cpu_count() or 1


def count_runs(nodes: int, threads: int) -> int:
    """Into how many runs to cut so many nodes."""
    return min(PARTS * processors(threads), -(-nodes // FEWEST))


def map_items(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Results of some work on every item, in order."""
    threads = min(processors(threads), len(items))
    if threads < 2:
        return [work(item) for item in items]
    progress.begin("Releasing", len(items))
    pool = ThreadPoolExecutor(threads)
    try:
        return [_count(result) for result in pool.map(work, items)]
    finally:  # after Ctrl-C nobody waits for what the threads are at
        pool.shutdown(wait=False, cancel_futures=True)


def _count(result: Result) -> Result:
    progress.advance()
    return result


def concat(parts: list[Columns]) -> Columns:
    """Tuples of arrays put together, one part after the other; ``parts`` is empty afterwards.

    What is put together is let go at once, so that a result is not held twice.
    """
    if len(parts) == 1:
        return parts.pop()
    size = sum(part[0].size for part in parts)
    found = cast("Columns", tuple(np.empty(size, column.dtype) for column in parts[0]))
    parts.reverse()
    at = 0
    while parts:
        part = parts.pop()
        for one, column in zip(found, part, strict=True):
            one[at : at + column.size] = column
        at += part[0].size
    return found
