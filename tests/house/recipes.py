"""The examples of CONTRIBUTING, and copies of the project into which they are dropped."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import geodp

ROOT = Path(__file__).parents[2]


def example(heading):
    """The one block of Python under a heading of CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.M)
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return block


def copy_with(copy, file, heading):
    """A copy of the project in an empty folder, with the example's file and no other change."""
    shutil.copytree(Path(geodp.__file__).parent, copy / "geodp")
    for folder in ("tests", "bench"):
        if (ROOT / folder).exists():  # the wheel is tested without the benchmarks
            leave = shutil.ignore_patterns("__pycache__", "results")
            shutil.copytree(ROOT / folder, copy / folder, ignore=leave)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy2(ROOT / name, copy)
    assert not (copy / file).exists()
    (copy / file).write_text(example(heading), encoding="utf-8")
    return copy


def run_any(project, *words):
    """Run a module in a folder whose geodp comes before any that is installed.

    Its kernels are those of the project, and what is compiled of them is kept by their digest.
    """
    return subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )


def run(project, *words):
    """The same, where all must go well: what it printed."""
    done = run_any(project, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
