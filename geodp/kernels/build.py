"""Compile the sets of kernels that are shipped with geodp: ``python -m geodp.kernels.build``.

Each set is compiled in a separate process, as Numba compiles for one kind of processor in each.
No kernel is called, so the machine need not have that processor.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from numba.core import ir

from geodp.kernels.jit import digest_of, find_sources, full_name
from geodp.kernels.shipped import TARGETS, Shipped, Target, listed, save


def targets(every: bool) -> list[Target]:
    """Return the best target that runs here; or all of this machine, v4 only if it runs here."""
    candidates = [one for one in TARGETS if one.machine == platform.machine()]
    here = [one for one in candidates if one.runs_here()]
    # Sets for other systems were never tested, so they are not made: kernels compile on demand.
    if sys.platform != "linux":
        return []
    return (
        [one for one in candidates if one in here or one.name != "x86-64-v4"] if every else here[:1]
    )


def build(every: bool) -> None:
    """Compile the sets that are missing or out of date, and report progress."""
    for target in TARGETS:
        if target.path.exists() and not is_there(target):
            target.path.unlink()
    missing = [target for target in targets(every) if not target.path.exists()]
    if not missing:
        print("All inner loops of geodp are compiled.")
        return
    names = ", ".join(target.name for target in missing)
    print(f"Compiling the inner loops of geodp, once, for {names}: about a minute ...", flush=True)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="geodp-kernels-") as place:
        running = [compile_apart(target, place) for target in missing]
        ends = [one.wait() for one in running]
    # Without a set geodp still runs, but a build that promised one must not pass silently.
    if any(ends):
        raise SystemExit("The inner loops could not be compiled.")
    print(f"Compiled in {time.perf_counter() - started:.0f} s.")


def is_there(target: Target) -> bool:
    """Whether the set in a target's file matches these sources and this list."""
    current = Shipped.read(target, digest_of(find_sources()))
    return {*current.codes} == {f"{full_name(kernel)} {text}" for kernel, _, text in listed()}


def compile_apart(target: Target, place: str) -> subprocess.Popen[bytes]:
    """Start a process that compiles for a target, which its environment names for Numba.

    Its ordinary cache is the temporary folder ``place``.
    """
    command = [sys.executable, "-m", "geodp.kernels.build", "--only", target.name]
    # Numba names constants after their hashes: with a fixed seed, equal sources give equal bytes.
    fixed = {"NUMBA_CACHE_DIR": place, "PYTHONHASHSEED": "0"}
    environment = {**os.environ, **target.environment, **fixed}
    return subprocess.Popen(command, env=environment)


def forget_folders() -> None:
    """Make Numba state the files of compiled functions without their folders.

    What its own functions raise names their file in the compiled code, so that the bytes would
    depend on where Numba is installed.
    """
    place = ir.Loc.__init__

    def place_without_folder(self: ir.Loc, filename: str, *rest: Any, **options: Any) -> None:
        place(self, os.path.basename(filename), *rest, **options)

    ir.Loc.__init__ = place_without_folder


def compile_here(name: str) -> None:
    """Compile for the target of this name, and write its set.

    The environment must be that of :func:`compile_apart`.
    """
    (target,) = (one for one in TARGETS if one.name == name)
    forget_folders()
    results = {}
    for kernel, types, text in listed():
        kernel.compile(types)
        results[f"{full_name(kernel)} {text}"] = kernel.overloads[types]
    save(target, digest_of(find_sources()), results)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m geodp.kernels.build", description=__doc__)
    parser.add_argument("--all", action="store_true", help="for every processor of this machine")
    parser.add_argument("--only", metavar="TARGET", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.only:
        compile_here(options.only)
    else:
        build(options.all)


if __name__ == "__main__":
    main()
