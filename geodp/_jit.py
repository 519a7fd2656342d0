"""The only place that configures Numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event

P = ParamSpec("P")
R = TypeVar("R")

_kernels: list[Any] = []
"""Numba's dispatcher of every kernel that was imported."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` on its first call and keep the machine code on disk.

    No ``fastmath`` and no ``parallel``: both may change a sum with the machine or
    the number of threads. ``error_model="numpy"`` keeps divisions vectorisable.
    The identity signature lets mypy check the calls of a kernel.
    """
    return _compile(function, nogil=True)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel's part, merged into its callers so that their loops stay vectorisable."""
    return _compile(function, nogil=True, forceinline=True)


def _compile(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    try:
        compiled = numba.njit(cache=True, error_model="numpy", **options)(function)
    except RuntimeError:  # neither the package nor the user has a writable folder
        compiled = numba.njit(error_model="numpy", **options)(function)
    _kernels.append(compiled)
    return cast(Callable[P, R], compiled)


def cache_folder() -> str | None:
    """Folder in which compiled kernels are kept; None where Numba finds none that it can write."""
    folder: str | None = _kernels[0].stats.cache_path
    return folder


def compiled_kernels() -> tuple[int, int]:
    """How many machine codes this process has compiled, and how many it has found in the cache."""
    stats = [kernel.stats for kernel in _kernels]
    made = sum(sum(one.cache_misses.values()) for one in stats)
    return made, sum(sum(one.cache_hits.values()) for one in stats)


@contextmanager
def compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Call ``tell`` with the name of every kernel that must be compiled, before it is."""
    listener = _Listener(tell)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)


class _Listener(event.Listener):  # type: ignore[misc]
    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        if any(dispatcher is kernel for kernel in _kernels):  # and none of Numba's own functions
            self._tell(dispatcher.py_func.__name__)

    def on_end(self, event: Any) -> None:
        pass
