"""``python -m tests.mutation``: try all mutants, list who was killed and who survived."""

import argparse
import ast
import signal
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

from tests.mutation import drawn, identity, trial
from tests.mutation.lines import Lines, measure
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.targets import TARGETS, Target

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
LINES = trial.ROOT / "build" / "mutation" / "lines.json"
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
    parser.add_argument(
        "--random",
        type=int,
        metavar="NUMBER",
        help=f"draw so many mutants of {', '.join(drawn.PACKAGES)} instead of the targets'",
    )
    parser.add_argument("--seed", type=int, default=0, help="of --random")
    parser.add_argument(
        "--identity",
        action="store_true",
        help="change what identifies releases instead, which pinned folders must show",
    )
    parser.add_argument(
        "--lines",
        type=Path,
        default=LINES,
        help="which tests run which lines; measured anew, for --random, where it is not there",
    )
    options = parser.parse_args()
    if options.random is None:
        planned = (
            identity.plan()
            if options.identity
            else {m.name: (target, m) for target in TARGETS for m in mutants_of(target)}
        )
        words = options.words or [""]
        planned = {
            name: one for name, one in planned.items() if any(w in one[0].module for w in words)
        }
    else:
        if not options.lines.exists():
            measure(drawn.PACKAGES, options.lines)
        lines = Lines.read(options.lines)
        places = drawn.draw(options.random, options.seed)
        planned = {m.name: (drawn.target_of(m, lines), m) for m in places}
    planned = {name: trial_ for name, trial_ in planned.items() if options.only in name}
    if options.list:
        print(*planned, sep="\n")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing runs on
    trial.prepare()
    return _try(planned, options)


def _try(planned: dict[str, tuple[Target, Mutant]], options: argparse.Namespace) -> int:
    """Try what is planned but for what was killed before; tell and keep what became of each."""
    fates = {}
    if options.resume and options.output.exists():
        rows = (line.split("\t") for line in options.output.read_text("utf-8").splitlines())
        fates = {name: (fate, *how) for name, fate, *how in rows if fate == "killed"}
        fates = {name: fate for name, fate in fates.items() if name in planned}
    waiting = [trial_ for name, trial_ in planned.items() if name not in fates]
    if options.random is None:
        limits = _limits(waiting, options.jobs)
        if limits is None:
            return 2
    else:
        limits = {target.tests: drawn.LIMIT for target, _ in waiting}
    idle = [
        trial.Verdict(*one, True, "none of the tests runs it", 0, 0)
        for one in waiting
        if not one[0].tests
    ]
    waiting = [one for one in waiting if one[0].tests]
    for verdict in chain(idle, trial.attempt(waiting, limits, options.jobs)):
        _note(verdict, fates)
        _keep(fates, options.output)
        if len(fates) % 50 == 0:
            print(f"{len(fates)} of {len(planned)}: {_counted(fates)}", flush=True)
    if options.random is not None:
        fates |= _settle(planned, fates)
        _keep(fates, options.output)
    print(f"{len(planned)} mutants: {_counted(fates)}")
    if options.random is not None and not _killers_pass(planned, fates):
        return 2
    return 1 if SURVIVED in _counted(fates) else 0


def _keep(fates: dict[str, tuple[str, ...]], output: Path | None) -> None:
    if output is not None:
        lines = ("\t".join((name, *fate)) + "\n" for name, fate in sorted(fates.items()))
        output.write_text("".join(lines), "utf-8")


def _settle(
    planned: dict[str, tuple[Target, Mutant]], fates: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Find which mutants took too long only because their tests do so without them."""
    slow = [name for name, (_, by, _) in fates.items() if by == trial.SLOW]
    found = {}
    for name in slow:
        target, _ = planned[name]
        (plain,) = trial.attempt([(target, None)], {target.tests: drawn.LIMIT}, 1)
        if not plain.survived:
            print(f"not settled, as its tests {plain.by} as it is: {name}")
            found[name] = (SURVIVED, f"as it is: {plain.by}", f"{plain.seconds:.1f} s")
    return found


def _limits(waiting: list[tuple[Target, Mutant]], jobs: int) -> trial.Limits | None:
    """Run every target's tests on the project as it is; tell where they fail."""
    limits = {}
    tests = {target.tests: (target, None) for target, _ in waiting}
    for verdict in trial.attempt(tests.values(), {}, jobs):
        if not verdict.survived:
            print(f"{verdict.target.module}: its tests fail as it is: {verdict.by}")
            return None
        limits[verdict.target.tests] = verdict.limits
    return limits


def _killers_pass(
    planned: dict[str, tuple[Target, Mutant]], fates: dict[str, tuple[str, ...]]
) -> bool:
    """Run the tests that killed a mutant on the project as it is; tell where one fails."""
    killers = {
        test
        for name, (_, by, _) in fates.items()
        for test in planned[name][0].tests
        if f"{test} " in f"{by} "
    }
    for verdict in trial.attempt([(Target("geodp", tuple(sorted(killers))), None)], {}, 1):
        if not verdict.survived:
            print(f"a test that killed a mutant fails as it is: {verdict.by}")
            return False
    return True


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
