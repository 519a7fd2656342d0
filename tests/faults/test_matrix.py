"""Every command that writes, with faults: nothing half, charged and lost, or left; a sentence."""

import contextlib
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click
import pytest

from tests.command import commands, context_of
from tests.faults.calls import CALLS, LEFT_OUT, READ, READ_BY_ALL
from tests.faults.desk import desk_of, in_memory
from tests.faults.matrix import Fault, Matrix

SLOW = {"join"}
"""Calls whose inputs are made by a cluster, which ``make faults`` tries."""

pytestmark = pytest.mark.timeout(600)

linux = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="faults are injected with a C compiler and the loader of Linux",
)


def outputs():
    """Yield every option or argument that names what a command writes, as far as is known."""
    for name, command in commands():
        for one in command.get_params(context_of(command)):
            read = one.name in READ.get(name, {}) or one.name in READ_BY_ALL
            if isinstance(one.type, click.Path) and not read:
                yield name, one


def calls_of(name):
    """Return the words of all calls of a command, which are no longer than its name at first."""
    words = name.split()
    return [call.words for call in CALLS.values() if [*call.words[: len(words)]] == words]


def has(words, one):
    """Return whether a call gives an option, or has an argument in the folder of faults."""
    if isinstance(one, click.Option):
        return any(option in words for option in one.opts)
    return any(word.split("/")[0] == "place" for word in words)


@contextlib.contextmanager
def matrix_of(names):
    """Yield a matrix of some calls, each of which is run once before."""
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        desk_of(Path(folder), names) as desk,
    ):
        yield Matrix(desk)


@pytest.fixture(scope="module")
def matrix():
    """A matrix of all calls but the slow ones."""
    with matrix_of([name for name in CALLS if name not in SLOW]) as found:
        yield found


def test_every_option_that_names_an_output_is_in_a_call():
    found = {(name, one.name) for name, one in outputs()}
    assert len({name for name, _ in found}) >= 21
    for name, one in outputs():
        known = one.name in LEFT_OUT or any(has(words, one) for words in calls_of(name))
        assert known, f"{name} {one.opts[-1]}: what is left after a fault?"


def test_no_reason_is_given_for_what_is_not_there():
    params = {
        (name, one.name)
        for name, command in commands()
        for one in command.get_params(context_of(command))
    }
    assert {*LEFT_OUT} | READ_BY_ALL <= {option for _, option in params}
    assert {(name, option) for name, told in READ.items() for option in told} <= params
    assert {*CALLS} >= SLOW


@linux
def test_a_sample_of_faults_of_every_command(matrix):
    names = [name for name in CALLS if name not in SLOW]
    faults = matrix.sample(names, seed=0)
    assert {fault.name for fault in faults} == {*names}
    outcomes = [(fault, matrix.attempt(fault)) for fault in faults]
    assert [(fault, found) for fault, found in outcomes if found.left or found.lost] == []
    assert sum(found.charged for _, found in outcomes) > 10


@linux
def test_what_breaks_a_rule_is_found(matrix, monkeypatch):
    last = len(matrix.changes("publish charged", False, False)) - 9
    kill = Fault("publish charged", "kill", last, False, False)
    assert matrix.attempt(kill).charged
    monkeypatch.setitem(CALLS, kill.name, replace(kill.call, resume=None))
    with pytest.raises(AssertionError):
        matrix.attempt(kill)
    last = len(matrix.changes("local randomize", False, True))
    kill = Fault("local randomize", "kill", last, False, True)
    matrix.attempt(kill)
    monkeypatch.setitem(CALLS, kill.name, replace(kill.call, replaces=True))
    with pytest.raises(AssertionError):
        matrix.attempt(kill)


@linux
@pytest.mark.law
def test_every_change_of_a_charged_release_fails_once():
    with matrix_of(["publish charged"]) as matrix:
        faults = [one for one in matrix.faults("publish charged") if one.kind == "fail"]
        outcomes = [matrix.attempt(fault) for fault in faults if not fault.overwrite]
    assert [found for found in outcomes if found.left or found.lost] == []
    resumed = sum(found.charged for found in outcomes)
    assert resumed >= 30
    assert len(outcomes) - resumed >= 10
