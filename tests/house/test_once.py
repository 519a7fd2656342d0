"""A value is read, checked and converted once: one small release is followed from call to call."""

import json
import os
import subprocess
import sys

import pytest

MOVES = 401
"""Most moves from one file of geodp to another in a small publish; they were 1,282.

Some 40 of them ask before every draw whether it was declared.
"""

FOLLOW = """
import json, os, sys
from collections import Counter
import numpy as np
import geodp

home = os.path.dirname(geodp.__file__)
calls, moves = Counter(), 0


def of(frame):
    file = frame.f_code.co_filename
    return os.path.relpath(file, home) if file.startswith(home) else None


def hook(frame, event, argument):
    global moves
    if event != "call" or (here := of(frame)) is None:
        return
    calls[f"{here}:{frame.f_code.co_qualname}"] += 1
    above = frame.f_back
    while above is not None and of(above) is None:
        above = above.f_back
    moves += above is not None and of(above) != here


grid = geodp.Grid.regular((64, 64))
table = geodp.CountTable.from_dense(np.full((64, 64), 100), grid)
publish = geodp.publish
sys.setprofile(hook)
release = publish(table, method="pyramid:setting=R", epsilon="1/2", contribution=1)
sys.setprofile(None)
drawn, moves = moves, 0
sys.setprofile(hook)
release.write(sys.argv[1])
sys.setprofile(None)
print(json.dumps({"moves": drawn, "calls": calls}))
"""


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """Moves and calls of one publish in a new process, and of writing what it released."""
    folder = tmp_path_factory.mktemp("once") / "release"
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW, folder],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.law
def test_a_small_publish_moves_seldom_from_file_to_file(followed):
    assert followed["moves"] <= MOVES


@pytest.mark.parametrize(
    "name",
    [
        "mechanisms/__init__.py:mechanism",  # the method's text is parsed
        "privacy/budget.py:rational",  # the budget is read
        "mechanisms/central/pyramid.py:_levels",
        "mechanisms/central/pyramid.py:_tree_variance",
        "mechanisms/central/pyramid.py:_descent",
        "privacy/terms.py:Terms.of",
        "io/write/areas.py:file_names",
        "io/folder/staged_release.py:check_publication",
    ],
)
def test_what_is_asked_once_is_worked_out_once(followed, name):
    assert followed["calls"][name] == 1
