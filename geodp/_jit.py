"""The only place that configures Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


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
    return cast(Callable[P, R], compiled)
