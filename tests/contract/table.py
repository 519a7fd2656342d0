"""Runs every check for every kind, and prints at the end which kind kept which.

A plugin of pytest, as what is printed comes from all workers of a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.contract.holes import EVERY, HOLES, NOT_ASKED, SUBJECTS
from tests.contract.kinds import KINDS

HERE = "tests/contract/test_"
KEPT, HOLE, NONE, FAILED = "kept", "hole", "-", "FAILED"


def reason_of(rows: dict[str, dict[str, str]], check: str, kind: str) -> str | None:
    """Return the reason in a row of :mod:`tests.contract.holes`, None where there is none."""
    found = rows.get(check, {})
    return found.get(kind, found.get(EVERY))


def params_of(check: str, subject: str) -> list[object]:
    """Return the kinds that a check is run for; those with a hole are expected to fail."""
    found = []
    for name in KINDS:
        asked = SUBJECTS.get(name)
        if asked is not None and subject not in asked:
            continue
        if reason_of(NOT_ASKED, check, name) is None:
            reason = reason_of(HOLES, check, name)
            # Only what is asserted is a hole: another exception is a fault of the check.
            mark = pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)
            found.append(pytest.param(name, marks=[mark] if reason else []))
    return found


def check_of(function: str) -> str:
    """Return the name of a check by that of its test function."""
    return function.removeprefix("test_")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a check of the contract for every kind."""
    if metafunc.definition.nodeid.startswith(HERE) and "kind" in metafunc.fixturenames:
        subject = metafunc.module.__name__.rpartition("test_")[2]
        names = params_of(check_of(metafunc.function.__name__), subject)
        metafunc.parametrize("kind", names, indirect=True, scope="package")


def read_results(stats: dict[str, list[object]]) -> dict[str, dict[str, str]]:
    """Return what became of every check by kind, of the reports of a run."""
    words = {"passed": KEPT, "xfailed": HOLE, "failed": FAILED, "error": FAILED}
    found: dict[str, dict[str, str]] = {}
    for outcome, word in words.items():
        for report in stats.get(outcome, ()):
            match = re.match(
                rf"{HERE}\w+\.py::test_(\w+)\[([^]]*)\]", getattr(report, "nodeid", "")
            )
            if match is None or (outcome == "passed" and report.when != "call"):
                continue
            check, params = match.groups()
            kind = next((one for one in KINDS if params == one or params.startswith(f"{one}-")), "")
            before = found.setdefault(check, {}).get(kind, KEPT)
            # A check that is asked in several ways is kept where it is kept in all of them.
            found[check][kind] = max(before, word, key=(KEPT, HOLE, FAILED).index)
    return found


def list_reasons(check: str) -> Iterator[str]:
    """Yield a line for each reason of a check's holes, with the kinds that have it."""
    kinds: dict[str, list[str]] = {}
    for kind, reason in HOLES.get(check, {}).items():
        kinds.setdefault(reason, []).append(kind)
    for reason, names in kinds.items():
        yield f"  {check} ({', '.join(names)}): {reason}"


def format_table(found: dict[str, dict[str, str]]) -> list[str]:
    """Return lines of a table of checks by kinds, and of the reasons of holes below it."""
    width = max(map(len, found), default=0)
    signs = {KEPT: ".", HOLE: "o", FAILED: "F"}
    kinds = [*KINDS]
    text = [f"{n + 1}: {name}" for n, name in enumerate(kinds)]
    text.append(f"{'':{width}} " + "".join(f"{n + 1:>3}" for n in range(len(kinds))))
    for check in sorted(found):
        row = found[check]
        text.append(
            f"{check:{width}} " + "".join(f"{signs.get(row.get(k, ''), NONE):>3}" for k in kinds)
        )
    counts = {
        word: sum(one == word for row in found.values() for one in row.values()) for word in signs
    }
    text.append(
        f"{len(found)} checks of {len(kinds)} kinds: {counts[KEPT]} are kept (.), "
        f"{counts[HOLE]} are holes (o), {counts[FAILED]} failed (F); - is not asked."
    )
    text.append("Holes:")
    text += [line for check in sorted(found) for line in list_reasons(check)]
    return text


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table after a run that has checks of the contract."""
    found = read_results(terminalreporter.stats)
    if found:
        terminalreporter.section("the contract")
        for line in format_table(found):
            terminalreporter.write_line(line)
