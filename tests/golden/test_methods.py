"""What is released of the same table under the same key is what it was, or has a new version."""

from copy import deepcopy

import pytest

import geodp
from geodp.mechanisms.baselines import quadtree
from geodp.mechanisms.central import pyramid
from geodp.privacy.terms import Terms
from geodp.release.noise_identity import components
from tests.golden import __main__ as command
from tests.golden.methods import REFUSED, TOLERANCE, faults, kept, made

METHODS = sorted(geodp.METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_releases_what_its_version_is_known_for(name):
    """Otherwise: a higher version of the method, and ``python -m tests.golden``."""
    old, new = kept(), made([name])
    assert faults(old, new) == []
    now, before = new["methods"][name], old["methods"].get(name)
    assert before is not None, "python -m tests.golden pins a new method"
    assert now["version"] == before["version"], "python -m tests.golden pins a new version"
    assert now["releases"].keys() == before["releases"].keys(), "and new cases"
    assert old["noise_format"] == new["noise_format"]
    assert set(now["releases"].values()) - {REFUSED}


def test_the_file_has_no_method_that_is_gone():
    assert sorted(kept()["methods"]) == METHODS


def test_a_method_of_a_package_is_known_by_its_name_and_its_class():
    """In this order, so that a kept key replays its releases."""

    class Other(pyramid.Pyramid):
        pass

    grid, method = geodp.Grid.regular((4, 4)), Other()
    event = method.event(grid, Terms.of(epsilon=1, contribution=1), key_origin="fixed")
    own = (Other.__module__, Other.__qualname__)
    assert components(grid, method, event)["method"] == ("pyramid", *own)


def changed_default(monkeypatch):
    """Shares of the pyramid's levels, as they were changed once in this project's history."""
    monkeypatch.setattr(pyramid, "SMALL", 1)
    return "pyramid"


def changed_constant(monkeypatch):
    monkeypatch.setattr(quadtree, "CUBE_ROOTS", (1_000_000, 1_250_000, 1_587_401))
    return "quadtree"


@pytest.mark.parametrize("change", [changed_default, changed_constant])
def test_a_changed_default_without_a_new_version_is_refused(change, monkeypatch, tmp_path, capsys):
    name = change(monkeypatch)
    old, new = kept(), made([name])
    (sentence,) = faults(old, new)
    version = geodp.METHODS[name].version
    assert sentence.startswith(f"{name} releases something else than version {version} did")
    monkeypatch.setattr(type(geodp.METHODS[name]), "version", version + 1)
    assert faults(old, made([name])) == []


@pytest.mark.law
def test_the_command_writes_new_versions_and_refuses_the_old_ones(monkeypatch, tmp_path, capsys):
    file = tmp_path / "methods.json"
    monkeypatch.setattr("tests.golden.methods.FILE", file)
    monkeypatch.setattr(command, "FILE", file)
    monkeypatch.setattr(geodp, "METHODS", {"pyramid": geodp.METHODS["pyramid"]})
    assert command.main("methods", "--write") == 0
    assert f"pyramid {pyramid.Pyramid.version}: this method is new" in capsys.readouterr().out
    first = file.read_bytes()
    changed_default(monkeypatch)
    assert command.main("methods", "--write") == 1
    assert "give it a higher version" in capsys.readouterr().err
    assert file.read_bytes() == first
    version = pyramid.Pyramid.version
    monkeypatch.setattr(pyramid.Pyramid, "version", version + 1)
    assert command.main("methods", "--write") == 0
    assert file.read_bytes() != first
    assert f"pyramid {version} -> {version + 1}: " in capsys.readouterr().out
    monkeypatch.setattr(pyramid.Pyramid, "version", version)
    assert command.main("methods", "--write") == 1
    assert f"has version {version} after {version + 1}" in capsys.readouterr().err


def test_a_changed_default_of_a_setting_without_a_new_version_is_refused():
    """Also one that shows in no pinned release."""
    old = kept()
    for name in METHODS:
        for setting in old["methods"][name]["settings"]:
            new = deepcopy(old)
            new["methods"][name]["settings"][setting] += "0"
            (sentence,) = faults(old, new)
            assert sentence.startswith(f"{name} has other settings")
            new["methods"][name]["version"] += 1
            assert faults(old, new) == []


@pytest.mark.law
@pytest.mark.parametrize("name", ["barak", "laplace", "matrix", "topdown"])
def test_any_changed_release_is_seen(name):
    """One digit of a hash, one value of a list, one refusal."""
    old = kept()
    for case, release in old["methods"][name]["releases"].items():
        new = deepcopy(old)
        first, blank, rest = release.partition(" ")
        value = f"{release[:-1]}{release[-1] == '0':d}"
        if release != REFUSED and case.partition(" | ")[0] in TOLERANCE:
            value = f"{float(first) + 1e9}{blank}{rest}"
        new["methods"][name]["releases"][case] = value
        assert len(faults(old, new)) == 1, case
