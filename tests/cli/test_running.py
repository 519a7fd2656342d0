"""How commands run."""

import pytest

from geodp.cli.running import COMPILING, pad_time, say_once, time_phase


def test_phases_are_timed_by_name():
    seconds = {}
    with time_phase("Reading", "reading", seconds):
        pass
    assert seconds["reading"] >= 0


def test_a_run_that_is_to_take_no_time_is_as_long_as_it_is(capsys):
    with pytest.raises(ValueError, match="as before"), pad_time(0):
        raise ValueError("as before")
    assert capsys.readouterr().err == ""


def test_compiling_is_told_once(capsys):
    tell = say_once()
    for kernel in "ab":
        tell(kernel)
    assert capsys.readouterr().err == COMPILING + "\n"
