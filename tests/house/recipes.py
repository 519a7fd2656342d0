"""The examples of docs/how-to, and copies of the project into which they are dropped."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import geodp
from tests.command import Done

ROOT = Path(__file__).parents[2]


def example(heading, language="python"):
    """The one block of a language of the recipe with this title."""
    page = ROOT / "docs" / "how-to" / f"{heading.lower().replace(' ', '-')}.md"
    text = page.read_text(encoding="utf-8")
    (block,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return block


def copy_with(copy, file, heading):
    """A copy of the project in an empty folder, with the example's file and no other change."""
    copy_project(copy)
    assert not (copy / file).exists()
    (copy / file).write_text(example(heading), encoding="utf-8")
    return copy


def copy_project(copy):
    """A copy of the project in an empty folder.

    Its kernels are loaded from where they were copied: Numba keeps machine code by a file's place,
    and would compile those of the copy anew.
    """
    package = Path(geodp.__file__).parent
    shutil.copytree(package, copy / "geodp")
    for kernels in filter(Path.is_dir, package.rglob("kernels")):
        face = copy / "geodp" / kernels.relative_to(package) / "__init__.py"
        with face.open("a", encoding="utf-8") as opened:
            opened.write(f"__path__ = [{str(kernels)!r}]\n")
    for folder in ("tests", "bench"):
        if (ROOT / folder).exists():  # the wheel is tested without the benchmarks
            leave = shutil.ignore_patterns("__pycache__", "results")
            shutil.copytree(ROOT / folder, copy / folder, ignore=leave)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy2(ROOT / name, copy)
    shutil.copytree(ROOT / "docs" / "how-to", copy / "docs" / "how-to")


SERVE = """
import json, sys
from tests.command import geodp
for line in sys.stdin:
    print(json.dumps(geodp(*json.loads(line))), flush=True)
"""
"""Runs the commands of a copy of the project, one after another, and says how each has ended."""


@cache
def _server(project):
    """One process for all commands of a copy: it ends with this one, as its input does."""
    return subprocess.Popen(
        [sys.executable, "-c", SERVE],
        cwd=project,
        env=_environment(project),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _environment(project):
    """Where a folder's geodp comes before any that is installed."""
    return {**os.environ, "PYTHONPATH": str(project), "PYTHONUTF8": "1"}


def run_any(project, *words):
    """Run a command of geodp in a copy of the project: its exit code, and what it printed."""
    server = _server(project)
    server.stdin.write(json.dumps([*map(str, words)]) + "\n")
    server.stdin.flush()
    return Done(*json.loads(server.stdout.readline()))


def run(project, *words):
    """The same, where all must go well: what it printed."""
    done = run_any(project, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def count_passed(project, files, asked):
    """Run the tests of files that have a word in their name, all in one process of a copy.

    Returns
    -------
    dict of str to int
        How many were neither skipped nor failed, by file: its module, which begins with ``tests.``.
    """
    paths = [f"{name.replace('.', '/')}.py" for name in files]
    more = ("-q", "-p", "no:cacheprovider", "--junitxml", "asked.xml")
    run_module(project, "pytest", *paths, "-k", asked, *more)
    cases = ElementTree.parse(project / "asked.xml").iter("testcase")
    passed = [case.get("classname") for case in cases if not len(case)]
    return {name: sum(one.startswith(name) for one in passed) for name in files}


def run_module(project, *words):
    """Run a module in a process of its own in a copy of the project: what it printed."""
    command = [sys.executable, "-m", *map(str, words)]
    done = subprocess.run(
        command, cwd=project, env=_environment(project), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
