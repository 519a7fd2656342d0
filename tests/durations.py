"""The CPU seconds that tests and their fixtures take: ``pytest -p tests.durations``.

Processor time of the worker and of the processes that it waited for, since wall time says how busy
a machine is. What a test takes holds its set-up and clean-up, so a shared fixture counts for
whichever test asked first; the table of fixtures says which these are.
"""

import collections
import contextlib
import os

import pytest

SLOWEST = 100
DEAREST = 30

CPU = "cpu_seconds"
FIXTURES = "cpu_of_fixtures"
"""What reports carry, also from another worker: of one phase, and of the fixtures set up in it."""

PROCESS = "cpu_of_process"
"""What a worker hands over at its end: until all tests were collected, and in all."""


def spent():
    """Return the CPU seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


def folder_of(file):
    """Return the folder a file is counted in: the feature, or else two names at most."""
    parts = file.split("/")[:-1]
    return "/".join(parts[: 3 if parts[:2] == ["tests", "kinds"] else 2]) or "documents"


class Watch:
    """Measures phases and fixtures in the process that runs them."""

    def __init__(self):
        self._since = self.collected = spent()
        self._within = [0.0]
        self._fixtures = []

    def pytest_collection_finish(self):
        """Keep what imports and collecting took."""
        self.collected = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        """Begin with the test, not with the end of the one before."""
        self._since = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """Count what a fixture takes without those that it asks for while it runs."""
        before = spent()
        self._within.append(0.0)
        try:
            return (yield)
        finally:
            whole, others = spent() - before, self._within.pop()
            self._within[-1] += whole
            module = fixturedef.func.__module__
            # Parameters of tests are fixtures of pytest.
            if not module.startswith("_pytest."):
                self._fixtures.append((f"{module}.{fixturedef.argname}", whole - others))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        """Write into the report of each phase what it took."""
        report = yield
        now = spent()
        setattr(report, CPU, now - self._since)
        setattr(report, FIXTURES, self._fixtures)
        self._since, self._fixtures = now, []
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        """Hand over what this worker took in all."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[PROCESS] = self.collected, spent()


class Durations:
    """Adds up what the reports of all workers say, and prints it at the end."""

    def __init__(self, watch):
        self._watch = watch
        self._tests = collections.Counter()
        self._fixtures = collections.Counter()
        self._made = collections.Counter()
        self._workers = []

    def pytest_runtest_logreport(self, report):
        """Take up one phase of a test."""
        self._tests[report.nodeid] += getattr(report, CPU, 0.0)
        for name, seconds in getattr(report, FIXTURES, ()):
            self._fixtures[name] += seconds
            self._made[name] += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Take up a worker of xdist that has ended; one that crashed says nothing."""
        with contextlib.suppress(AttributeError, KeyError):
            self._workers.append(node.workeroutput[PROCESS])

    def pytest_terminal_summary(self, terminalreporter):
        """Print the tables and the CPU seconds of the run."""
        folders, files = collections.Counter(), collections.Counter()
        for test, seconds in self._tests.items():
            file = test.partition("::")[0]
            folders[folder_of(file)] += seconds
            files[file] += seconds
        terminalreporter.section("CPU seconds")
        for title, costs, count in (
            ("folders", folders, None),
            (f"the {DEAREST} dearest files", files, DEAREST),
            (f"the {SLOWEST} slowest tests", self._tests, SLOWEST),
        ):
            terminalreporter.write_line(f"{title}:")
            for name, seconds in costs.most_common(count):
                terminalreporter.write_line(f"{seconds:9.2f}  {name}")
        terminalreporter.write_line(f"the {DEAREST} dearest fixtures, and how often each was made:")
        for name, seconds in self._fixtures.most_common(DEAREST):
            terminalreporter.write_line(f"{seconds:9.2f}  {self._made[name]:5d}  {name}")
        tests = sum(self._tests.values())
        collecting = sum(one for one, _ in self._workers) + self._watch.collected
        # The children of a process that has workers are these.
        own = sum(os.times()[:2]) if self._workers else spent()
        whole = sum(one for _, one in self._workers) + own
        terminalreporter.write_line(
            f"the run took {whole:.0f} CPU seconds: {tests:.0f} for {len(self._tests)} tests, "
            f"{collecting:.0f} for imports and collecting"
        )


def pytest_configure(config):
    """Measure in every worker, and add up in the process that prints."""
    watch = Watch()
    config.pluginmanager.register(watch)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(watch))
