"""The README's command-line example runs as it stands (its Python example runs as a doctest)."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import geodp

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_console_example_runs(tmp_path):
    block = re.search(r"```console\n(.*?)```", TEXT, re.DOTALL)
    commands = [line[2:] for line in block[1].splitlines() if line.startswith("$ ")]
    assert len(commands) == 4
    (tmp_path / "data").symlink_to(ROOT / "data")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    outputs = []
    for command in commands:
        assert shlex.split(command)[0] == "geodp"
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert "人口（総数）" in outputs[0]
    assert outputs[3].strip() == "533946113"
    assert (tmp_path / "release" / "public" / "population.tif").exists()


def test_every_file_the_readme_links_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        # Code is found where it is installed: a wheel is tested without the sources beside it.
        home = Path(geodp.__file__).parents[1] if target.startswith("geodp/") else ROOT
        assert (home / target).exists(), target


def test_every_method_is_in_the_table():
    table = TEXT[TEXT.index("## Methods") : TEXT.index("Where ours differs")]
    named = {name for row in table.splitlines() for name in re.findall("`([a-z0-9-]+)`", row[:60])}
    assert set(geodp.METHODS) <= named
