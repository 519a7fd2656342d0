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
    pad_time,
    report_compiling,
    report_progress,
    time_phase,
)
from geodp.kernels import jit
from tests import command


def test_phases_are_timed_by_name():
    seconds = {}
    with time_phase("Reading", "reading", seconds):
        pass
    assert seconds["reading"] >= 0


def test_a_run_that_is_to_take_no_time_is_as_long_as_it_is(capsys):
    with pytest.raises(ValueError, match="as before"), pad_time(0):
        raise ValueError("as before")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("kept", "said"), [(0, COMPILING), (3, COMPILING_MORE)])
def test_compiling_is_told_once(kept, said, capsys, monkeypatch):
    monkeypatch.setattr(jit, "count_kept", lambda: kept)
    with report_progress():
        for kernel in "ab":
            progress.compile_begins(kernel)
            progress.compile_ends()
    assert capsys.readouterr().err == said + "\n"
    report_compiling()
    assert capsys.readouterr().err == said + "\n"


@pytest.mark.parametrize(("words", "shown"), [([], [True]), (["--quiet"], []), (["-q"], [])])
def test_whoever_wants_quiet_is_told_nothing(words, shown, monkeypatch):
    found = []

    @contextmanager
    def show(_stream, _at_compiling, *, lines):
        found.append(lines)
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
    assert found == shown


def test_a_run_whose_duration_tells_nothing_tells_no_step_on_a_pipe(tmp_path, monkeypatch):
    found = []

    @contextmanager
    def show(_stream, _at_compiling, *, lines):
        found.append(lines)
        yield

    monkeypatch.setattr(progress, "show", show)
    (tmp_path / "a.csv").write_text("code,n\n533946113,30\n")
    call = ["publish", tmp_path / "a.csv", "--grid", "jis:half", "--primary", 5339, "--check"]
    call += ["--code", "code", "--value", "n", "--contribution", 1]
    for number, padding in enumerate(([], ["--pad-time", 0.001])):
        done = command.geodp(*call, *padding, "--output", tmp_path / str(number))
        assert done.returncode == 0, done.stderr
    assert found == [True, False]
