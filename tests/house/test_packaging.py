"""The container file and the conda recipe install what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

import geodp

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (PACKAGING / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def requirements(section):
    """Name and version of each line of a section of the recipe."""
    (block,) = re.findall(rf"^  {section}:\n((?:    .*\n)+)", RECIPE, re.MULTILINE)
    return dict(re.findall(r"([a-z][a-z-]*) (>=[\d.,<]+)", block))


def test_the_recipe_has_the_version_and_the_dependencies_of_the_project():
    assert f"version: {geodp.__version__}\n" in RECIPE
    wanted = dict(re.match(r"([a-z-]+)(>=[\d.]+)", one).groups() for one in PROJECT["dependencies"])
    assert requirements("run") == {"python": PROJECT["requires-python"], **wanted}


def test_the_recipe_compiles_with_the_versions_that_it_runs_with():
    host, run = requirements("host"), requirements("run")
    assert {"numba", "numpy", "platformdirs", "python"} <= {*host}
    assert {name: host[name] for name in host if name in run} == {
        name: run[name] for name in host if name in run
    }


def test_the_container_installs_extras_that_there_are():
    text = (PACKAGING / "Containerfile").read_text(encoding="utf-8")
    named = re.findall(r"\[([a-z,]+)\]'", text)
    assert len(named) == 2
    assert {*named[0].split(",")} <= {*PROJECT["optional-dependencies"]}
    assert named[0] == named[1]
