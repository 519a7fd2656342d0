"""``python -m tests.mutation``: try all mutants, list who was killed and who survived."""

import argparse
import ast
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from tests.mutation import trial
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.targets import TARGETS, Target

EQUIVALENT = Path(__file__).with_name("equivalent.txt")


def equivalent(path: Path = EQUIVALENT) -> dict[str, str]:
    """Mutants that change nothing that matters, by name, and why: the comment above them."""
    found, reason = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            found[line.strip()] = reason
    return found


def mutants_of(target: Target) -> list[Mutant]:
    tree = ast.parse((trial.ROOT / target.path).read_text(encoding="utf-8"))
    return mutants(target.module, tree, target.functions)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("words", nargs="*", help="only targets whose module holds one of them")
    parser.add_argument("--list", action="store_true", help="name the mutants and run nothing")
    parser.add_argument("--only", default="", help="only mutants whose name holds this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, help="a file for the verdict on every mutant")
    parser.add_argument("--resume", action="store_true", help="keep the verdicts of that file")
    options = parser.parse_args()
    chosen = [t for t in TARGETS if not options.words or any(w in t.module for w in options.words)]
    planned = [(t, m) for t in chosen for m in mutants_of(t) if options.only in m.name]
    if options.list:
        print(*(mutant.name for _, mutant in planned), sep="\n")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing runs on
    trial.prepare()
    limits = {}
    for verdict in trial.attempt([(target, None) for target in chosen], {}, options.jobs):
        if not verdict.survived:
            print(f"{verdict.target.module}: its tests fail as it is: {verdict.by}")
            return 2
        limits[verdict.target.module] = 20 + 6 * verdict.seconds
    return _judge(planned, limits, options)


def _judge(
    planned: list[tuple[Target, Mutant]], limits: dict[str, float], options: argparse.Namespace
) -> int:
    excused, started, every = equivalent(), time.monotonic(), len(planned)
    counted, alive, lines = Counter(), [], []
    if options.resume and options.output is not None and options.output.exists():
        lines = options.output.read_text(encoding="utf-8").splitlines()
        alive = [line.split("\t")[1] for line in lines if line.startswith("SURVIVED")]
        counted.update(line.split("\t")[0] for line in lines)
        known = {line.split("\t")[1] for line in lines}
        planned = [(target, mutant) for target, mutant in planned if mutant.name not in known]
    for verdict in trial.attempt(planned, limits, options.jobs):
        name = verdict.mutant.name
        fate = "killed"
        if verdict.survived:
            fate = "equivalent" if name in excused else "SURVIVED"
        counted[fate] += 1
        lines.append(f"{fate}\t{name}\t{verdict.by}\t{verdict.seconds:.1f} s")
        if fate == "SURVIVED":
            alive.append(name)
            print(f"survived: {name}", flush=True)
        if options.output is not None:
            options.output.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
        if sum(counted.values()) % 50 == 0:
            print(f"{sum(counted.values())} of {every}: {dict(counted)}", flush=True)
    killed = [line.split("\t")[1] for line in lines if line.startswith("killed")]
    wrong = sorted(set(killed) & set(excused))
    for name in wrong:
        print(f"killed here, though {EQUIVALENT.name} has it: {name}")
    minutes = (time.monotonic() - started) / 60
    print(f"{every} mutants, the last {len(planned)} in {minutes:.0f} minutes: {dict(counted)}")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
