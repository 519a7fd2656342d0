"""``python -m tests.faults``: every fault of every command that writes, a line for each call."""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.faults.calls import CALLS
from tests.faults.desk import desk_of, in_memory
from tests.faults.matrix import Matrix


def attempt_all(name: str, every: int) -> tuple[str, list[str]]:
    """Let every fault of a call happen, or every so many; return what to say, and what failed."""
    started, outcomes, failed = time.perf_counter(), [], []
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder, desk_of(Path(folder), [name]) as d:
        matrix = Matrix(d)
        for fault in list(matrix.faults(name))[::every]:
            try:
                outcomes.append(matrix.attempt(fault))
            except Exception as error:
                failed.append("\n".join([repr(error), *getattr(error, "__notes__", [])]))
    left = sum(bool(one.left) for one in outcomes)
    words = (
        f"{name}: {len(outcomes) + len(failed)} faults, "
        f"{sum(one.charged for one in outcomes)} charged before the output was there, "
        f"{sum(one.lost for one in outcomes)} of them not resumable, {left} left something, "
        f"{len(failed)} failed, {time.perf_counter() - started:.0f} s"
    )
    failed += [f"{name} left {one.left}" for one in outcomes if one.left]
    return words, failed + [f"{name} was charged for nothing" for one in outcomes if one.lost]


def main() -> int:
    """Run the matrix; the exit code is 1 where a fault had another outcome than it may."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CALLS)}")
    parser.add_argument("--every", type=int, default=1, help="only every so many faults")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    names = options.names or [*CALLS]
    wrong = []
    with ProcessPoolExecutor(options.processes) as pool:
        for words, failed in pool.map(attempt_all, names, [options.every] * len(names)):
            print(words, flush=True)
            wrong += failed
    print(*wrong, sep="\n\n", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
