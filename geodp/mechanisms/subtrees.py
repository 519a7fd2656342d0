"""Subtrees that are worked on by themselves, in blocks, on several threads, and joined in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp import progress

MANY = 1 << 11
"""Nodes of a level from which on their subtrees are worked on side by side."""

PARTS = 16
"""Runs of subtrees for every thread, so that none waits long for the last one."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def runs(weight: NDArray[np.int64], parts: int) -> list[slice]:
    """Neighbouring nodes in at most ``parts`` runs of about the same weight; none is empty."""
    before = np.concatenate([[0], np.cumsum(weight)])
    ends = np.searchsorted(before, before[-1] * (np.arange(1, parts) / parts))
    cuts = np.unique(np.concatenate([[0], ends, [weight.size]])).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)] or [slice(0, 0)]


def processors(threads: int) -> int:
    """Threads that are asked for; 0: one for every processor."""
    return threads or os.cpu_count() or 1


def each(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Results of some work on every item, in order."""
    threads = min(processors(threads), len(items))
    if threads < 2:
        return [work(item) for item in items]
    progress.begin("Releasing", len(items))
    pool = ThreadPoolExecutor(threads)
    try:
        return [_counted(result) for result in pool.map(work, items)]
    finally:  # after Ctrl-C nobody waits for what the threads are at
        pool.shutdown(wait=False, cancel_futures=True)


def _counted(result: Result) -> Result:
    progress.advance()
    return result
