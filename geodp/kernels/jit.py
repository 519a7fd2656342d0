"""The only place that configures Numba."""

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

    No ``fastmath`` and no ``parallel``: both may change a sum with the machine or
    the number of threads. ``error_model="numpy"`` keeps divisions vectorisable.
    The identity signature lets mypy check the calls of a kernel.
    """
    return _compile(function, nogil=True, _nrt=True)


def inline(function: Callable[P, R]) -> Callable[P, R]:
    """Merge a kernel's part into its callers, so that their loops stay vectorisable."""
    return _compile(function, nogil=True, _nrt=True, forceinline=True)


def bare(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that makes no array and returns none, so that no reference is counted.

    Every array that a kernel is given costs two atomic operations, every call of another kernel
    with it two more, and the code of all that the compiler's time.
    """
    return _compile(function, nogil=True, _nrt=False)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile such a kernel for others alone: Python cannot call it.

    Taking the arguments from Python's objects and turning them into arrays is code too.
    """
    return _compile(function, nogil=True, _nrt=False, no_cpython_wrapper=True)


def bare_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Merge such a part into its callers."""
    return _compile(function, nogil=True, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def lowest_bit(mark: np.uint64) -> np.uint64:
    """Return the place of the lowest 1 of a word that is not 0: one instruction, where compiled."""
    return np.uint64((int(mark) & -int(mark)).bit_length() - 1)


@extending.intrinsic  # type: ignore[untyped-decorator]
def _count_trailing_zeros(context: Any, mark: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))  # a 0 is not asked for

    return types.uint64(types.uint64), generate


@extending.overload(lowest_bit, inline="always")  # type: ignore[untyped-decorator]
def _lowest_bit(mark: Any) -> Any:
    def count(mark: Any) -> Any:
        return _count_trailing_zeros(mark)

    return count


def _compile(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    if numba.config.DISABLE_JIT:
        return function
    options |= {"error_model": "numpy", "no_cfunc_wrapper": True}  # for nobody's C
    compiled = _keep(function, options) or numba.njit(**options)(function)
    if SHIPPED.codes:
        compiled._cache = Layered(SHIPPED, full_name(function), compiled._cache)
    _kernels.append(compiled)
    return cast(Callable[P, R], compiled)


def full_name(function: Any) -> str:
    """Name a function, or its dispatcher, by its module and itself."""
    return f"{function.__module__}.{function.__qualname__}"


def _keep(function: Callable[P, R], options: dict[str, Any]) -> Any:
    """Return the function with its cache in ``CACHE``; None where that cannot be.

    Numba reads its setting when a function is decorated. Other packages' functions keep theirs.
    """
    if CACHE.folder is None:
        return None
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE.folder)
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no folder that it can write
        return None
    finally:
        numba.config.CACHE_DIR = before
    # Where it cannot write there, it goes elsewhere, where old code may lie.
    return compiled if CACHE.folder in Path(compiled.stats.cache_path).parents else None


@dataclass(frozen=True)
class Cache:
    """Where compiled kernels are kept.

    Numba looks at the file of a function only, and not at what is merged into it from other files:
    after a change of such a part it would go on with the old one. So all kernels, and all that
    compiles them, name the folder: another digest, another folder, and everything is compiled.

    Attributes
    ----------
    digest : str
        Of the sources of all kernels, of Python, NumPy, Numba and llvmlite. Numba itself tells
        processors apart.
    folder : Path, optional
        Nobody else can write to it or replace it, as what lies in it is run. None: nothing is kept.
    wrong : str
        Why not, as a sentence; otherwise empty.
    """

    digest: str
    folder: Path | None
    wrong: str = ""

    @classmethod
    def found(cls) -> Cache:
        """Return the folder of these kernels, made where there is none.

        In the folder that ``NUMBA_CACHE_DIR`` names, or in the user's folder for such things.
        """
        try:
            digest = digest_of(find_sources(), compilers())
        except OSError:
            return cls("", None, "The sources of the compiled functions are not there to be read.")
        given = numba.config.CACHE_DIR
        home = Path(given) if given else platformdirs.user_cache_path("geodp", appauthor=False)
        folder = home / f"geodp-kernels-{digest}"
        try:
            folder = folder.absolute()
            for place in (*reversed(folder.parents), folder):
                if not place.exists():
                    place.mkdir(0o700, exist_ok=True)
            folder = folder.resolve()
            tempfile.TemporaryFile(dir=folder).close()
            open_place = open_to_others(folder)
        except OSError as error:
            return cls(digest, None, f"{folder} cannot be written ({error.strerror}).")
        if open_place is not None:
            wrong = f"Others than this user can write to {open_place}, and plant code in {folder}."
            return cls(digest, None, wrong)
        return cls(digest, folder)


def find_sources() -> list[Path]:
    """Find the files of all kernels, and of all that compiles them."""
    package = Path(__file__).parents[1]
    folders = [package / "kernels", *package.glob("features/*/kernels")]
    return [path for folder in folders for path in folder.rglob("*.py")]


def compilers() -> tuple[str, ...]:
    """Return the versions of all that compiles."""
    return sys.version, np.__version__, numba.__version__, llvmlite.__version__


def digest_of(sources: list[Path], made_by: tuple[str, ...] = ()) -> str:
    """32 hexadecimal digits of some files' names and contents, and of what compiles them."""
    state = hashlib.sha256()
    parts = [part.encode() for part in made_by]
    for path in sorted(sources):
        parts += [path.name.encode(), path.read_bytes()]
    for part in parts:
        state.update(len(part).to_bytes(8, "little") + part)
    return state.hexdigest()[:32]


def open_to_others(folder: Path) -> Path | None:
    """Return the first place on the way to a folder where others can replace things, if any.

    A place belongs to this user or to root, and others may not write there, but where the sticky
    bit keeps them from what is not theirs, or where they cannot get to. ``folder`` is resolved.
    """
    if not hasattr(os, "geteuid"):  # as on Windows: a profile's folder is its owner's
        return None
    within_reach = True
    for place in (*reversed(folder.parents), folder):
        found = os.stat(place)
        sticky = found.st_mode & stat.S_ISVTX and place != folder
        writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky
        if found.st_uid not in (0, os.geteuid()) or (within_reach and writable):
            return place
        if not found.st_mode & (stat.S_IXGRP | stat.S_IXOTH):
            within_reach = False
    return None


def _find_shipped() -> Shipped:
    try:
        return Shipped.found(digest_of(find_sources()))
    except OSError:
        return Shipped(wrong="The sources of the compiled functions are not there to be read.")


CACHE = Cache.found()
SHIPPED = _find_shipped()


def cache_folder() -> str | None:
    """Folder in which the kernels that were imported are kept; None where none are."""
    kept = any(one.stats.cache_path for one in _kernels)
    return str(CACHE.folder) if kept else None


def count_kept() -> int:
    """How many machine codes lie in the cache for the kernels that were imported."""
    folders = {one.stats.cache_path for one in _kernels} - {None}
    return sum(len(list(Path(folder).glob("*.nbc"))) for folder in folders)


def count_compiled() -> tuple[int, int]:
    """How many machine codes this process has compiled, and how many it has found in the cache."""
    stats = [kernel.stats for kernel in _kernels]
    made = sum(sum(one.cache_misses.values()) for one in stats)
    return made, sum(sum(one.cache_hits.values()) for one in stats)


class _Listener(event.Listener):  # type: ignore[misc]
    """Tells of every kernel that must be compiled, and of none of Numba's own functions."""

    def on_start(self, event: Any) -> None:
        if _is_kernel(event):
            compile_begins(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        if _is_kernel(event):
            compile_ends()


def _is_kernel(event: Any) -> bool:
    return any(event.data["dispatcher"] is kernel for kernel in _kernels)


event.register("numba:compile", _Listener())
