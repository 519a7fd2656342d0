"""Decorators that compile kernels with Numba, and the cache of compiled code.

This is the only module that configures Numba. Sets that were compiled when geodp was built are in
:mod:`geodp.kernels.shipped`.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import llvmlite
import numba
import numpy as np
import platformdirs
from llvmlite import ir
from numba import extending, types
from numba.core import event

from geodp.kernels.shipped import Layered, Shipped
from geodp.progress import compile_begins, compile_ends

P = ParamSpec("P")
R = TypeVar("R")

_kernels: list[Any] = []
"""Numba's dispatcher of every kernel that was imported."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` on its first call and keep the machine code on disk.

    ``error_model="numpy"`` keeps divisions vectorisable. The identity signature lets mypy check
    the calls of a kernel.
    """
    # Neither `fastmath` nor `parallel`: both may reorder a floating-point sum, and a release would
    # then depend on the processor or on the number of threads (docs/decisions/0011).
    return _compile(function, nogil=True, _nrt=True)


def inline(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that is merged into its callers, so that their loops stay vectorisable."""
    return _compile(function, nogil=True, _nrt=True, forceinline=True)


def bare(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that makes no array and returns none, without reference counting."""
    # With counting, every array argument costs two atomic operations and every call that passes it
    # on two more; the code for them also takes time to compile.
    return _compile(function, nogil=True, _nrt=False)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel without reference counting that only other kernels call, not Python."""
    # The wrapper that unpacks Python objects into arrays would be compiled for each of them.
    return _compile(function, nogil=True, _nrt=False, no_cpython_wrapper=True)


def bare_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel as :func:`part` does, and merge it into its callers."""
    return _compile(function, nogil=True, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def lowest_bit(word: np.uint64) -> np.uint64:
    """Return the position of the lowest 1 bit of a word that is not 0.

    Compiled code replaces it with one instruction, see :func:`_lowest_bit`.
    """
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


@extending.intrinsic  # type: ignore[untyped-decorator]
def _count_trailing_zeros(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # The second argument allows an undefined result for 0, which callers never pass: without
        # it, older processors need a branch.
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@extending.overload(lowest_bit, inline="always")  # type: ignore[untyped-decorator]
def _lowest_bit(word: Any) -> Any:
    def count(word: Any) -> Any:
        return _count_trailing_zeros(word)

    return count


def _compile(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    if numba.config.DISABLE_JIT:
        return function
    # No C code calls kernels, so the wrapper for it would be compiled in vain.
    options |= {"error_model": "numpy", "no_cfunc_wrapper": True}
    compiled = _cache(function, options) or numba.njit(**options)(function)
    if SHIPPED.codes:
        compiled._cache = Layered(SHIPPED, full_name(function), compiled._cache)
    _kernels.append(compiled)
    return cast(Callable[P, R], compiled)


def full_name(function: Any) -> str:
    """Return a function's module and qualified name; also of a dispatcher."""
    return f"{function.__module__}.{function.__qualname__}"


def _cache(function: Callable[P, R], options: dict[str, Any]) -> Any:
    """Return the function with its machine code cached in ``CACHE``; None if it cannot be."""
    if CACHE.folder is None:
        return None
    # Numba reads the setting when a function is decorated; it is restored at once, so that
    # functions of other packages keep their own cache.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE.folder)
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no folder that it can write
        return None
    finally:
        numba.config.CACHE_DIR = before
    # If Numba cannot write there it silently uses another folder, whose code may be of older
    # sources: such a cache is not used.
    return compiled if CACHE.folder in Path(compiled.stats.cache_path).parents else None


@dataclass(frozen=True)
class Cache:
    """The folder for compiled kernels.

    Numba checks the modification time of a function's own file only, not of functions that are
    merged into it from other files. So the folder's name contains a digest of all kernels and of
    the compiler: after any change there is a new folder, and everything is compiled again.

    Attributes
    ----------
    digest : str
        Digest of the sources of all kernels and of the versions of Python, NumPy, Numba and
        llvmlite. Numba itself distinguishes processors.
    folder : Path, optional
        A folder that no other user can write to or replace, as its contents are executed. None:
        nothing is cached.
    wrong : str
        Why nothing is cached, as a sentence; otherwise empty.
    """

    digest: str
    folder: Path | None
    wrong: str = ""

    @classmethod
    def locate(cls) -> Cache:
        """Find or make the folder for these kernels.

        It lies in the folder that ``NUMBA_CACHE_DIR`` names, otherwise in the user's cache folder.
        """
        try:
            digest = digest_of(find_sources(), compilers())
        except OSError:
            return cls("", None, "The sources of the compiled functions are not there to be read.")
        configured = numba.config.CACHE_DIR
        home = (
            Path(configured)
            if configured
            else platformdirs.user_cache_path("geodp", appauthor=False)
        )
        folder = home / f"geodp-kernels-{digest}"
        try:
            folder = folder.absolute()
            for place in (*reversed(folder.parents), folder):
                if not place.exists():
                    place.mkdir(0o700, exist_ok=True)
            # Resolved before it is checked: a link on the way could be changed by others.
            folder = folder.resolve()
            tempfile.TemporaryFile(dir=folder).close()
            open_place = open_to_others(folder)
        except OSError as error:
            return cls(digest, None, f"{folder} cannot be written ({error.strerror}).")
        if open_place is not None:
            wrong = f"Other users can write to {open_place}, and could plant code in {folder}."
            return cls(digest, None, wrong)
        return cls(digest, folder)


def find_sources() -> list[Path]:
    """List the source files of all kernels and of the modules that compile them."""
    package = Path(__file__).parents[1]
    folders = [package / "kernels", package / "local/kernels", *package.glob("kinds/*/kernels")]
    inside = [path for folder in folders for path in folder.rglob("*.py")]
    return [*inside, *package.glob("kinds/*/kernels.py")]


def compilers() -> tuple[str, ...]:
    """Return the versions of Python and of the packages that compile kernels."""
    return sys.version, np.__version__, numba.__version__, llvmlite.__version__


def digest_of(sources: list[Path], made_by: tuple[str, ...] = ()) -> str:
    """Return 32 hexadecimal digits that identify files by name and content, and their compilers."""
    # Each part is preceded by its length, so that no two lists of parts are hashed as the same.
    state = hashlib.sha256()
    parts = [part.encode() for part in made_by]
    for path in sorted(sources):
        parts += [path.name.encode(), path.read_bytes()]
    for part in parts:
        state.update(len(part).to_bytes(8, "little") + part)
    return state.hexdigest()[:32]


def open_to_others(folder: Path) -> Path | None:
    """Return the first folder on a path in which other users can replace files, if there is one.

    A safe folder belongs to this user or to root, and others cannot write to it; except where
    the sticky bit protects the entries of others, or where others cannot reach it. ``folder`` is
    resolved.
    """
    if not hasattr(os, "geteuid"):  # on Windows a profile's folder belongs to its owner
        return None
    # Below a folder that others may not enter, write permissions for others have no effect.
    within_reach = True
    for place in (*reversed(folder.parents), folder):
        status = os.stat(place)
        sticky = status.st_mode & stat.S_ISVTX and place != folder
        writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky
        if status.st_uid not in (0, os.geteuid()) or (within_reach and writable):
            return place
        if not status.st_mode & (stat.S_IXGRP | stat.S_IXOTH):
            within_reach = False
    return None


def _find_shipped() -> Shipped:
    try:
        return Shipped.choose(digest_of(find_sources()))
    except OSError:
        return Shipped(wrong="The sources of the compiled functions are not there to be read.")


CACHE = Cache.locate()
SHIPPED = _find_shipped()


def cache_folder() -> str | None:
    """Return the folder in which the imported kernels are cached; None if none is."""
    is_cached = any(one.stats.cache_path for one in _kernels)
    return str(CACHE.folder) if is_cached else None


def count_cached() -> int:
    """Count the compiled functions in the cache for the kernels that were imported."""
    folders = {one.stats.cache_path for one in _kernels} - {None}
    return sum(len(list(Path(folder).glob("*.nbc"))) for folder in folders)


def count_compiled() -> tuple[int, int]:
    """Count the functions that this process has compiled, and those that it has loaded."""
    stats = [kernel.stats for kernel in _kernels]
    made = sum(sum(one.cache_misses.values()) for one in stats)
    return made, sum(sum(one.cache_hits.values()) for one in stats)


class _Listener(event.Listener):  # type: ignore[misc]
    """Reports every kernel that must be compiled, but not Numba's own functions."""

    def on_start(self, event: Any) -> None:
        if _is_kernel(event):
            compile_begins(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        if _is_kernel(event):
            compile_ends()


def _is_kernel(event: Any) -> bool:
    return any(event.data["dispatcher"] is kernel for kernel in _kernels)


event.register("numba:compile", _Listener())
