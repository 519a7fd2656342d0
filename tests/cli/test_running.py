"""How commands run."""

from contextlib import contextmanager

import click
import pytest
from click.testing import CliRunner

from geodp import progress
from geodp.cli import geodp
from geodp.cli.running import (
    COMPILING,
    COMPILING_MORE,
    report_compiling,
    report_progress,
    time_phase,
)
from geodp.kernels import jit


def test_phases_are_timed_by_name():
    seconds = {}
    with time_phase("Reading", "reading", seconds):
        pass
    assert seconds["reading"] >= 0


@pytest.mark.parametrize(("kept", "said"), [(0, COMPILING), (3, COMPILING_MORE)])
def test_compiling_is_told_once(kept, said, capsys, monkeypatch):
    monkeypatch.setattr(jit, "count_cached", lambda: kept)
    with report_progress():
        for kernel in "ab":
            progress.compile_begins(kernel)
            progress.compile_ends()
    assert capsys.readouterr().err == said + "\n"
    report_compiling()
    assert capsys.readouterr().err == said + "\n"


@pytest.mark.parametrize(("words", "shown"), [([], 1), (["--quiet"], 0), (["-q"], 0)])
def test_whoever_wants_quiet_is_told_nothing(words, shown, monkeypatch):
    found = []

    @contextmanager
    def show(stream, _at_compiling):
        found.append(stream)
        yield

    @click.command("test-quiet")
    def command():
        with report_progress():
            pass

    monkeypatch.setattr(progress, "show", show)
    geodp.commands["test-quiet"] = command
    try:
        done = CliRunner().invoke(geodp, [*words, "test-quiet"])
    finally:
        del geodp.commands["test-quiet"]
    assert done.exit_code == 0, done.output
    assert len(found) == shown
