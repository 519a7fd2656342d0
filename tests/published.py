"""Publishes once when it is imported: a process forked from here has all that publishing loads."""

import tempfile
from pathlib import Path

from tests.command import geodp

with tempfile.TemporaryDirectory() as folder:
    rows = Path(folder, "in.csv")
    rows.write_text("x,y,n\n0,0,1\n")
    place = ["--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index", "--value", "n"]
    asked = ["--epsilon", "1", "--contribution", "1", "--output", Path(folder, "out")]
    done = geodp("publish", rows, *place, *asked)
    assert done.returncode == 0, done.stderr
