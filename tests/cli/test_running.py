"""How commands run."""

import pytest

from geodp.cli import running
from geodp.cli.running import COMPILING, pad_time, say_once, time_phase
from geodp.errors import UsageError


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


@pytest.mark.parametrize(("limit", "refused"), [(300 << 20, True), (1 << 30, True), (-1, False)])
def test_too_few_addresses_are_refused_before_a_library_waits_for_them(limit, refused, monkeypatch):
    resource = pytest.importorskip("resource", reason="Windows limits no addresses")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    if not refused:
        running.require_addresses()
        return
    with pytest.raises(UsageError, match=rf"{limit >> 20} MiB of addresses \(ulimit -v\)"):
        running.require_addresses()
