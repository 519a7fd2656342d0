"""A mutant is tried in a process that is forked for it and has imported nothing of geodp yet."""

import ast
import importlib.machinery
import importlib.util
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant
from tests.mutation.targets import Target

ROOT = Path(__file__).parents[2]
MOST_MEMORY = 8 << 30
"""Bytes of address space that a trial may take: a mutant may ask for numbers without end."""

SLOW = "took too long"
"""How a mutant without end is killed."""

Limits = dict[tuple[str, ...], tuple[float, int]]
"""Seconds by the clock and of the processor that a mutant may take, by the tests that try it."""

HEAVY = (
    "click",
    "hypothesis",
    "hypothesis.stateful",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "PIL.Image",
    "pyarrow.csv",
    "pyarrow.parquet",
    "pyproj",
    "pytest",
    "rasterio",
    "scipy.io",
    "scipy.stats",
    "shapely",
)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: ``by`` the first test that failed, or how it ended.

    ``seconds`` by the clock, and ``work`` of the processor, in which a mutant that never ends is
    found as soon on a busy machine.
    """

    target: Target
    mutant: Mutant | None
    survived: bool
    by: str
    seconds: float
    work: float

    @property
    def limits(self) -> tuple[float, int]:
        """What a mutant may take where this was the project as it is."""
        return 20 + 6 * self.seconds, round(10 + 3 * self.work)


@dataclass
class _Running:
    target: Target
    mutant: Mutant | None
    output: Path
    started: float
    limit: float


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads a module with a change; no compiled file of it is read or written."""

    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> object:
        tree = ast.parse(Path(self.path).read_text(encoding="utf-8"))
        return compile(self._mutant.applied(tree), self.path, "exec")


class _Finder:
    """Finds the module of a mutant before anything else does."""

    def __init__(self, mutant: Mutant, path: Path) -> None:
        self._mutant, self._path = mutant, path

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != self._mutant.module:
            return None
        loader = _Changed(name, str(self._path), self._mutant)
        inside = [str(self._path.parent)] if self._path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, self._path, loader=loader, submodule_search_locations=inside
        )


def shorten_examples() -> None:
    """Register the profile under which Hypothesis tries few examples, the same ones every time."""
    from hypothesis import Phase, settings

    settings.register_profile(
        "mutation",
        database=None,
        deadline=None,
        derandomize=True,
        max_examples=30,
        phases=(Phase.explicit, Phase.generate),
    )


def prepare() -> None:
    """Import what all trials need, once."""
    for name in HEAVY:
        importlib.import_module(name)
    shorten_examples()
    loaded = [name for name in sys.modules if name == "geodp" or name.startswith("geodp.")]
    if loaded:
        raise RuntimeError(f"{loaded[0]} is loaded already, so a change of it would not be seen")


def attempt(
    trials: Iterable[tuple[Target, Mutant | None]],
    limits: Limits,
    jobs: int,
) -> Iterator[Verdict]:
    """Run trials, some at a time; without a mutant the project is tried as it is."""
    waiting, running = iter(trials), dict[int, _Running]()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        number = 0
        try:
            while True:
                while len(running) < jobs and (trial := next(waiting, None)) is not None:
                    number += 1
                    target, mutant = trial
                    output = Path(folder, str(number))
                    limit, work = limits.get(target.tests, (600.0, 600))
                    process = _start(target, mutant, output, work)
                    running[process] = _Running(target, mutant, output, time.monotonic(), limit)
                if not running:
                    return
                yield from _ended(running)
                time.sleep(0.02)
        finally:
            for process in running:
                _kill(process)


def _ended(running: dict[int, _Running]) -> Iterator[Verdict]:
    for process, trial in list(running.items()):
        seconds = time.monotonic() - trial.started
        done, status, used = os.wait4(process, os.WNOHANG)
        if not done and seconds < trial.limit:
            continue
        if not done:
            _kill(process)
        del running[process]
        code = os.waitstatus_to_exitcode(status) if done else None
        if done and not trial.output.exists():  # which says nothing of the mutant
            raise RuntimeError(f"{trial.output}: the trial could not start, or its folder is gone")
        text = trial.output.read_text(errors="replace") if trial.output.exists() else ""
        if code == 5:
            raise RuntimeError(f"{trial.target.module}: no test was found\n{text}")
        failed = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))]
        how = "all tests passed" if code == 0 else failed[0] if failed else f"ended with {code}"
        by = how if done and code != -signal.SIGXCPU else SLOW
        work = used.ru_utime + used.ru_stime
        yield Verdict(trial.target, trial.mutant, code == 0, by, seconds, work)


def _kill(process: int) -> None:
    """With all that it started."""
    with suppress(ProcessLookupError):  # it has no group of its own yet
        os.killpg(process, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def _start(target: Target, mutant: Mutant | None, output: Path, work: int) -> int:
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        import resource  # POSIX only, as forks are

        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (work, work + 1))
        handle = os.open(output, os.O_WRONLY | os.O_CREAT)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.chdir(ROOT)
        if not target.compiled:
            import numba

            numba.config.DISABLE_JIT = True
        if mutant is not None:
            path = ROOT / target.path
            sys.meta_path.insert(0, _Finder(mutant, path))
        import pytest

        # Nobody reads more of a failure than its name, and rewritten assertions take their time.
        options = ["-x", "-q", "--no-header", "--tb=no", "--assert=plain", "-p", "no:cacheprovider"]
        options += ["--hypothesis-profile=mutation", "--timeout=0", "-W", "ignore"]
        options += [f"--basetemp={output}-files"]
        code = int(pytest.main([*options, *target.tests]))
        sys.stdout.flush()
    finally:
        os._exit(code)
