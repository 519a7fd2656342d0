"""Compile the sets of kernels that travel with geodp: ``python -m geodp.kernels.build``.

Each is compiled in a process of its own, as Numba compiles for one kind of processor. Nothing is
called, so that the processor need not be of that kind.
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

from geodp.kernels.jit import digest_of, find_sources, full_name
from geodp.kernels.shipped import TARGETS, Shipped, Target, save
from geodp.kernels.signatures import listed


def targets(every: bool) -> list[Target]:
    """Return the best that runs here; or all of this machine, v4 only where it can be tried."""
    found = [one for one in TARGETS if one.machine == platform.machine()]
    here = [one for one in found if one.runs_here()]
    if sys.platform != "linux":  # it was tried nowhere else
        return []
    return [one for one in found if one in here or one.name != "x86-64-v4"] if every else here[:1]


def build(every: bool) -> None:
    """Compile the sets that are not there, or belong to something else; say so."""
    for target in TARGETS:
        if target.path.exists() and not is_there(target):
            target.path.unlink()
    missing = [target for target in targets(every) if not target.path.exists()]
    if not missing:
        print("Nothing of geodp's inner loops is left to compile here.")
        return
    names = ", ".join(target.name for target in missing)
    print(f"Compiling the inner loops of geodp, once, for {names}: about a minute ...", flush=True)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="geodp-kernels-") as place:
        running = [compile_apart(target, place) for target in missing]
        ends = [one.wait() for one in running]
    if any(ends):
        raise SystemExit("They could not be compiled.")
    print(f"Compiled in {time.perf_counter() - started:.0f} s.")


def is_there(target: Target) -> bool:
    """Whether the set in a target's file is that of these sources and of this list."""
    found = Shipped.opened(target, digest_of(find_sources()))
    return {*found.codes} == {f"{full_name(kernel)} {text}" for kernel, _, text in listed()}


def compile_apart(target: Target, place: str) -> subprocess.Popen[bytes]:
    """Compile for a target in a process whose environment says so to Numba; keep nothing else."""
    command = [sys.executable, "-m", "geodp.kernels.build", "--only", target.name]
    environment = {**os.environ, **target.environment, "NUMBA_CACHE_DIR": place}
    return subprocess.Popen(command, env=environment)


def compile_here(name: str) -> None:
    """Compile for the target of this name, which the environment says to Numba, and write it."""
    (target,) = (one for one in TARGETS if one.name == name)
    results = {}
    for kernel, types, text in listed():
        kernel.compile(types)
        results[f"{full_name(kernel)} {text}"] = kernel.overloads[types]
    save(target, digest_of(find_sources()), results)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compile what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m geodp.kernels.build", description=__doc__)
    parser.add_argument("--all", action="store_true", help="for every processor of this machine")
    parser.add_argument("--only", metavar="TARGET", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.only:
        compile_here(asked.only)
    else:
        build(asked.all)


if __name__ == "__main__":
    main()
