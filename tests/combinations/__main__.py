"""``python -m tests.combinations``: many draws, and a table of what became of them."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.combinations.draws import METHODS, draw
from tests.combinations.forms import FORMS
from tests.combinations.taken import Outcome, take

LEAST = 20, 2000
"""Releases of every method and every form, in so many draws."""


def outcomes(seeds: Iterable[int]) -> Iterator[Outcome]:
    """What becomes of the draws of these seeds, one by one."""
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            yield take(draw(seed), Path(folder))


def covered(found: list[Outcome]) -> dict[str, dict[str, Counter]]:
    """Outcomes by method and by form."""
    rows = {
        "method": {name: Counter() for name in METHODS},
        "form": {name: Counter() for name in FORMS},
    }
    for one in found:
        rows["method"][one.draw.method.partition(":")[0]][one.kind] += 1
        rows["form"][one.draw.form][one.kind] += 1
    return rows


def table(found: list[Outcome]) -> str:
    """Draws by method and form, refusals by reason, and what failed, as text."""
    kinds = ("published", "refused", "failed")
    lines = [f"{'':24}" + "".join(f"{kind:>11}" for kind in kinds)]
    for rows in covered(found).values():
        for name, counts in rows.items():
            lines.append(f"{name:24}" + "".join(f"{counts[kind]:11,}" for kind in kinds))
        lines.append("")
    totals = Counter(one.kind for one in found)
    lines.append(f"{'all':24}" + "".join(f"{totals[kind]:11,}" for kind in kinds))
    lines += ["", "Refused before any charge:"]
    refused = Counter(one.why for one in found if one.kind == "refused")
    lines += [f"{count:6,}  {why}" for why, count in refused.most_common()]
    failed = [one for one in found if one.kind == "failed"]
    lines += ["", "Failed:" if failed else "None failed."]
    lines += [f"--only {one.draw.seed}: {one.why}\n        {one.draw.said}" for one in failed]
    return "\n".join(lines)


def uncovered(found: list[Outcome]) -> list[str]:
    """Methods and forms that were published too rarely."""
    least = len(found) * LEAST[0] // LEAST[1]
    every = [row for rows in covered(found).values() for row in rows.items()]
    return [name for name, counts in every if counts["published"] < least]


def main() -> int:
    """Take the draws; 1 where one fails, or a method or a form is published too rarely."""
    parser = argparse.ArgumentParser(prog="python -m tests.combinations", description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first draw")
    parser.add_argument("--only", type=int, help="the draw of this seed alone")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.draws)
    if given.only is not None:
        seeds = range(given.only, given.only + 1)
    found, started = [], time.perf_counter()
    for one in outcomes(seeds):
        found.append(one)
        if one.kind == "failed":
            print(f"--only {one.draw.seed}: {one.why}", file=sys.stderr, flush=True)
    each = (time.perf_counter() - started) / len(found)
    print(table(found))
    print(f"\n{len(found):,} draws, {each:.2f} s each")
    rare = uncovered(found) if given.only is None else []
    if rare:
        print(f"Published too rarely: {', '.join(rare)}")
    return int(bool(rare) or any(one.kind == "failed" for one in found))


if __name__ == "__main__":
    sys.exit(main())
