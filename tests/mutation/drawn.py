"""Mutants drawn at random from whole packages, and the tests that run the line of each."""

import ast
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from tests.mutation.lines import Lines
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.targets import ROOT, Target

PACKAGES = ("release", "io", "cli", "kinds", "tools", "local", "cluster")
PATIENCE = 40.0
"""Seconds that the tests of one mutant took together when they were measured."""

LIMIT = (120.0, 120)
"""Seconds by the clock and of the processor after which a mutant counts as one without end."""


def draw(number: int, seed: int, packages: tuple[str, ...] = PACKAGES) -> list[Mutant]:
    """Draw mutants of functions, each of the packages' as likely as any other."""
    everything = [
        mutant
        for package in packages
        for path in sorted((ROOT / "geodp" / package).rglob("*.py"))
        for mutant in mutants(_module(path), _tree(path))
        if "<module>" not in mutant.function and "<class>" not in mutant.function
    ]
    return random.Random(seed).sample(everything, number)


def target_of(mutant: Mutant, lines: Lines) -> Target:
    """Find the tests that run a mutant's statement, the nearest first, as far as patience goes."""
    path = Target(mutant.module, ()).path
    running = lines.running(path.as_posix(), _statement(ROOT / path, mutant))
    chosen, seconds = [], 0.0
    for test in sorted(running, key=lambda test: (*_distance(path, test), lines.seconds[test])):
        if not chosen or seconds + lines.seconds[test] <= PATIENCE:
            seconds += lines.seconds[test]
            chosen.append(test)
    return Target(mutant.module, tuple(chosen))


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _statement(path: Path, mutant: Mutant) -> Iterator[int]:
    """Yield the lines of the innermost statement: of one that holds others, its own alone.

    Of what is said where a function is defined, all lines of the function.
    """
    nodes = list(ast.walk(_tree(path)))
    changed = nodes[mutant.node]
    holding = (n for n in nodes if isinstance(n, ast.stmt) and changed in ast.walk(n))
    *_, statement = holding
    end = statement.end_lineno
    if not isinstance(statement, ast.FunctionDef) and getattr(statement, "body", ()):
        end = max(statement.lineno, statement.body[0].lineno - 1)
    yield from range(statement.lineno, end + 1)


def _distance(path: Path, test: str) -> tuple[bool, int]:
    """Order tests: of the file of the same name, then of folders more and more apart."""
    file = PurePosixPath(test.partition("::")[0])
    package, near = path.with_suffix("").parts[1:], file.with_suffix("").parts[1:]
    if package[-1] == "__init__":
        package = package[:-1]
    shared = 0
    for mine, other in zip(package[:-1], near[:-1], strict=False):
        if mine != other:
            break
        shared += 1
    return near[-1].removeprefix("test_") != package[-1], -shared
