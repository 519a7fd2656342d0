"""Every way of running, beside one machine: ``python -m tests.cluster.matrix``.

Prints the SHA-256 of the released keys and counts of one machine, and of clusters of some workers
with some partitions, the last with a worker killed in mid-run; exits with 1 where one differs.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

import geodp
from geodp.cluster.api import publish
from tests.cluster.clusters import Clusters
from tests.cluster.tables import ONCE, kept, sha256, split, town

NOISE = {"pyramid": "begin", "topdown": "draw"}
"""Tasks that draw noise; without a second pass the same one ends the range."""


def main() -> int:
    """Run all, and say how many seconds each took."""
    asked = argparse.ArgumentParser(prog="python -m tests.cluster.matrix", description=__doc__)
    asked.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    asked.add_argument("--partitions", type=int, nargs="+", default=[7, 64])
    asked.add_argument("--methods", nargs="+", default=["topdown", "pyramid"])
    asked.add_argument("--parts", type=int, default=64)
    asked.add_argument("--people", type=int, default=20_000, help="draws of an occupied cell")
    given = asked.parse_args()
    logging.disable(logging.CRITICAL)
    table, right = town(given.people), True
    print(f"{table.key.size:,} occupied cells of {table.grid.size:,}", flush=True)

    def said(what: str, found: str, alone: str, start: float) -> bool:
        same = "same" if found == alone else "DIFFERENT"
        print(f"{what:58} {found} {same:9} {time.monotonic() - start:6.1f} s", flush=True)
        return found == alone

    with tempfile.TemporaryDirectory() as folder:
        files = {n: split(table, Path(folder, str(n)), n, seed=n) for n in given.partitions}
        clusters = Clusters(Path(folder))
        try:
            for method in given.methods:
                start = time.monotonic()
                terms = {"method": method, **ONCE, "key": kept()}
                alone = sha256(geodp.publish(table, **{"contribution": 1, **terms}).table)
                said(f"{method:8} one machine", alone, alone, start)
                for workers in given.workers:
                    for number, partitions in files.items():
                        for kill in (None, (NOISE[method], "memory")):
                            if kill and (workers, number) != (given.workers[-1], [*files][-1]):
                                continue
                            client, start = clusters(workers), time.monotonic()
                            if kill:
                                clusters.kill(workers, *kill)
                            found = publish(
                                client,
                                partitions,
                                parts=given.parts,
                                **{"contribution": 1, **terms},
                            )
                            what = f"{method:8} {workers} workers, {number:3} partitions"
                            if kill:
                                right = right and clusters.killed(workers)
                                what += ", one killed"
                            right = said(what, sha256(found.table), alone, start) and right
        finally:
            clusters.close()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
