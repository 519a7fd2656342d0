"""Whole tables from the command line: columns that the call relates, and earlier releases."""

import json

from tests.command import geodp as run
from tests.kinds.census.test_reading import write

ASKED = ["--grid", "regular:4x5", "--x", "x", "--y", "y", "--anchor", "index", "--value", "T"]
BUDGET = ["--epsilon", "1", "--contribution", "1", "--contradictions", "refuse"]


def test_the_command_publishes_columns_that_the_call_relates(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out"
    write(path, ["T", "M", "F", "EMP", "H"], [[20, 8, 11, 7, 9]] * 20)
    related = ["--margin", "sex=M,F", "--rest", "sex=?", "--part", "EMP", "--households", "H"]
    call = ["census", "publish", path, *ASKED, *BUDGET, "--output", out]
    done = run(*call, *related)
    assert done.returncode == 0, done.stderr
    assert "may be larger than it" in done.stdout
    card = json.loads((out / "public" / "census.json").read_text(encoding="utf-8"))
    assert [one["labels"] for one in card["margins"]] == [["M", "F", "?"], ["EMP", "not EMP"]]
    assert [one["name"] for one in card["columns"]] == ["T", "M", "F", "EMP", "H"]
    assert run("verify", out).returncode == 0
    for more, code in (
        ([], "--all-columns"),
        (["--all-columns"], "No layout"),
        (["--margin", "sex=M,Q"], "needs a column Q"),
        (["--margin", "sex=M,F"], "do not add up"),
        (["--margin", "Sex=M,F"], "small letters"),
        (["--part", "EMP", "--rest", "sex=?"], "no margin sex"),
        (["--part", "EMP", "--by", "age"], "--by"),
    ):
        done = run(*call, "--overwrite", *more)
        assert done.returncode != 0
        assert code in done.stderr
