"""``python -m tests.mutation``: try all mutants, list who was killed and who survived."""

import argparse
import ast
import signal
import sys
from collections import Counter
from pathlib import Path

from tests.mutation import trial
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.targets import TARGETS, Target

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
SURVIVED = "SURVIVED"


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
    parser.add_argument(
        "--resume", action="store_true", help="try those that it has killed no more"
    )
    options = parser.parse_args()
    chosen = [t for t in TARGETS if not options.words or any(w in t.module for w in options.words)]
    planned = {m.name: (t, m) for t in chosen for m in mutants_of(t) if options.only in m.name}
    if options.list:
        print(*planned, sep="\n")
        return 0
    fates = {}
    if options.resume and options.output.exists():
        rows = (line.split("\t") for line in options.output.read_text("utf-8").splitlines())
        fates = {name: (fate, *how) for name, fate, *how in rows if fate == "killed"}
        fates = {name: fate for name, fate in fates.items() if name in planned}
    waiting = [trial_ for name, trial_ in planned.items() if name not in fates]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing runs on
    trial.prepare()
    limits = {}
    tests = {target.module: (target, None) for target, _ in waiting}
    for verdict in trial.attempt(tests.values(), {}, options.jobs):
        if not verdict.survived:
            print(f"{verdict.target.module}: its tests fail as it is: {verdict.by}")
            return 2
        limits[verdict.target.module] = verdict.limits
    for verdict in trial.attempt(waiting, limits, options.jobs):
        _note(verdict, fates)
        if options.output is not None:
            lines = ("\t".join((name, *fate)) + "\n" for name, fate in sorted(fates.items()))
            options.output.write_text("".join(lines), "utf-8")
        if len(fates) % 50 == 0:
            print(f"{len(fates)} of {len(planned)}: {_counted(fates)}", flush=True)
    print(f"{len(planned)} mutants: {_counted(fates)}")
    return 1 if SURVIVED in _counted(fates) else 0


def _note(verdict: trial.Verdict, fates: dict[str, tuple[str, ...]]) -> None:
    """Keep what became of a mutant; tell of one that should have been killed."""
    name = verdict.mutant.name
    fate = "killed"
    if verdict.survived:
        fate = "equivalent" if name in equivalent() else SURVIVED
        if fate == SURVIVED:
            print(f"survived: {name}", flush=True)
    elif name in equivalent():
        print(f"killed here, though {EQUIVALENT.name} has it: {name}", flush=True)
    fates[name] = (fate, verdict.by, f"{verdict.seconds:.1f} s")


def _counted(fates: dict[str, tuple[str, ...]]) -> dict[str, int]:
    return dict(Counter(fate for fate, *_ in fates.values()))


if __name__ == "__main__":
    sys.exit(main())
