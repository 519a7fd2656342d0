"""Which tests run which lines: measured once with coverage.py, each test a context of its own.

Loaded into pytest by ``-p tests.mutation.lines``, it writes what it saw to the file that the
variable ``LINES`` names. A line that a fixture runs is one of all tests that ask for the fixture.
What processes of their own run is not seen, as they would not see a mutant either.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutation.trial import ROOT, shorten_examples

LINES = "GEODP_MUTATION_LINES"


@dataclass(frozen=True)
class Lines:
    """``seconds`` of every test that passes, and the tests of every line of every file."""

    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]

    @classmethod
    def read(cls, path: Path) -> "Lines":
        content = json.loads(path.read_text("utf-8"))
        names = list(content["seconds"])
        tests = {
            file: {int(line): [names[n] for n in numbers] for line, numbers in lines.items()}
            for file, lines in content["tests"].items()
        }
        return cls(content["seconds"], tests)

    def running(self, file: str, lines: Iterable[int]) -> set[str]:
        """Tests that run at least one of a file's lines."""
        known = self.tests.get(file, {})
        return {test for line in lines for test in known.get(line, ())}


def measure(packages: Iterable[str], output: Path) -> None:
    """Run the tests and doctests of the packages once, and keep which lines each of them runs."""
    output.parent.mkdir(parents=True, exist_ok=True)
    folders = [str(ROOT / top / package) for top in ("tests", "geodp") for package in packages]
    options = ["-q", "--no-header", "--tb=line", "--assert=plain", "-p", "no:cacheprovider"]
    options += [
        "-m",
        "not law and not real",
        "-W",
        "ignore",
        "-p",
        "tests.mutation.lines",
        "--hypothesis-profile=mutation",
    ]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, *folders],
        cwd=ROOT,
        env={**os.environ, LINES: str(output.resolve())},
        check=False,
    )


class _Watch:
    """Follows a run of pytest: a context for every test, and for every fixture that is shared."""

    def __init__(self, output: Path) -> None:
        from coverage import Coverage

        self._output = output
        self._coverage = Coverage(
            data_file=None, config_file=False, source=["geodp"], context="import"
        )
        self._coverage.start()
        self._seconds = defaultdict(float)
        self._failed = set()
        self._items = []
        self._contexts = [""]

    @contextmanager
    def _context(self, name: str):
        self._contexts.append(name)
        self._coverage.switch_context(name)
        yield
        self._contexts.pop()
        self._coverage.switch_context(self._contexts[-1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self._items.append(item)
        with self._context(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        with self._context(f"fixture {fixturedef.baseid} {fixturedef.argname}"):
            return (yield)

    def pytest_runtest_logreport(self, report):
        self._seconds[report.nodeid] += report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        self._coverage.stop()
        passed = [item for item in self._items if item.nodeid not in self._failed]
        number = {item.nodeid: place for place, item in enumerate(passed)}
        asking = defaultdict(set)
        for item in passed:
            asking[item.nodeid].add(number[item.nodeid])
            for name in item.fixturenames:
                asking[name].add(number[item.nodeid])
        data = self._coverage.get_data()
        files = {Path(file).relative_to(ROOT).as_posix(): file for file in data.measured_files()}
        tests = {
            short: {
                line: sorted({n for context in contexts for n in _numbers(context, asking, passed)})
                for line, contexts in data.contexts_by_lineno(file).items()
            }
            for short, file in sorted(files.items())
        }
        seconds = {item.nodeid: round(self._seconds[item.nodeid], 3) for item in passed}
        self._output.write_text(json.dumps({"seconds": seconds, "tests": tests}), "utf-8")


def _numbers(context: str, asking: dict[str, set[int]], passed: list[pytest.Item]) -> set[int]:
    """Tests of a context: of a fixture, all that lie below its place and ask for it."""
    context = context.removeprefix("import").removeprefix("|")
    if not context.startswith("fixture "):
        return asking.get(context, set())
    _, base, name = context.split(" ")
    return {n for n in asking.get(name, ()) if passed[n].nodeid.startswith(base)}


if LINES in os.environ:
    shorten_examples()


def pytest_configure(config):
    if LINES in os.environ:
        config.pluginmanager.register(_Watch(Path(os.environ[LINES])))
