"""``geodp local``: a round from the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from geodp.cli.commands.budget import budget
from geodp.errors import GeodpError, UsageError
from geodp.grid.grid import Grid
from geodp.local.commands.local import local

BOX = ("138", "35", "138.4", "35.2666666667")
GRID = ("--grid", "jis:half", "--bounds", *BOX)


def run(*arguments, command=local):
    return CliRunner().invoke(command, [*map(str, arguments)])


def done(*arguments, command=local):
    found = run(*arguments, command=command)
    assert found.exit_code == 0, found.output
    return found.stdout


def error_of(*arguments, kind=GeodpError):
    found = run(*arguments)
    assert isinstance(found.exception, kind), found.output
    text = str(found.exception)
    assert "\n" not in text
    return text


@pytest.fixture
def folder(tmp_path):
    """A plan, a ledger, an open round and the cells of 3,000 devices."""
    grid = Grid.mesh("jis:half", bounds=tuple(map(float, BOX)))
    index = (np.random.default_rng(0).random((2, 3000)) ** 2 * 64).astype(np.int64)
    codes = grid.places[0].format(*index).tolist()
    (tmp_path / "cells.csv").write_text("code,more\n" + "".join(f"{code},x\n" for code in codes))
    plan, ledger = tmp_path / "plan.toml", tmp_path / "phones.ledger"
    done("plan", *GRID, "--devices", 3000, "--epsilon", 1, "--output", plan)
    account = ("--dataset", "phones", "--epsilon", "3/2", "--unit", "device", "--model", "local")
    done("init", "--ledger", ledger, *account, command=budget)
    charged = ("--ledger", ledger, "--dataset", "phones")
    done("open", "--plan", plan, *charged, "--output", tmp_path / "round.json")
    return tmp_path


def test_the_help_imports_nothing_heavy_and_describes_every_option():
    code = (
        "import sys; from geodp.local.commands.local import local;"
        "assert not {'numpy', 'numba', 'scipy', 'rich'} & set(sys.modules);"
        "options = [o for c in local.commands.values() for o in c.params if o.opts[0][0] == '-'];"
        "assert all(o.help for o in options)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sums_and_reports_are_merged(folder):
    rounds, reports = folder / "round.json", [folder / name for name in ("a.parquet", "b.jsonl")]
    for path in reports:
        assert "3,000 reports" in done("randomize", rounds, folder / "cells.csv", "-o", path)
    text = done("aggregate", rounds, *reports, "-o", folder / "both.sums")
    assert "6,000 reports of 2 files" in text
    done("aggregate", rounds, reports[0], "-o", folder / "one.sums")
    merged = ("aggregate", rounds, folder / "one.sums", reports[1], "--json")
    assert json.loads(done(*merged, "-o", folder / "merged.sums"))["reports"] == 6000
    assert (folder / "merged.sums").read_bytes() == (folder / "both.sums").read_bytes()
    text = done("publish", folder / "both.sums", "-o", folder / "fine", "--spread")
    assert "No further charge" in text
    assert "--overwrite" in error_of(*merged, "-o", folder / "both.sums", kind=UsageError)
    done(*merged, "-o", folder / "both.sums", "--overwrite")


def test_bad_codes_of_devices_get_one_sentence(folder):
    """It names the file and the row, and quotes no code."""
    rounds, far, out = folder / "round.json", folder / "far.csv", folder / "far.parquet"
    _, first, *_ = (folder / "cells.csv").read_text().replace(",x", "").splitlines()
    for bad in ("53394611", "5339461x", "523940"):
        far.write_text(f"code\n{first}\n{first}\n{bad}\n{first}\n")
        text = error_of("randomize", rounds, far, "-o", out)
        assert "far.csv, row 4: Column code: " in text
        assert bad not in text
    # A place outside is refused for a device's reason: it has no --outside.
    far.write_text("code\n523940001\n")
    text = error_of("randomize", rounds, far, "-o", out)
    assert "far.csv, row 2: " in text
    assert "must send nothing" in text
    assert "--outside" not in text
    # Without a header the first device would be dropped silently.
    for empty in ("", "code\n", "\n\n", f"{first}\n" * 9):
        far.write_text(empty)
        assert first not in error_of("randomize", rounds, far, "-o", out)
    assert not out.exists()


def test_wrong_calls_get_one_sentence(folder):
    rounds, cells, sums = (folder / name for name in ("round.json", "cells.csv", "a.sums"))
    broken, long, reports = folder / "broken.json", folder / ("a" * 300), folder / "a.parquet"
    done("randomize", rounds, cells, "-o", reports)
    broken.write_text(rounds.read_text().replace('"epsilon": "1"', '"epsilon": "2"'))
    planned = ("plan", *GRID, "--devices", 3000, "--epsilon")
    for said, *words in (
        ("end in", "randomize", rounds, cells, "-o", folder / "a.csv"),
        ("too long", "randomize", rounds, cells, "-o", long.with_suffix(".jsonl")),
        ("too long", "aggregate", rounds, reports, "-o", long.with_suffix(".sums")),
        ("cells.csv: Files", "aggregate", rounds, cells, "-o", sums),
        ("changed", "aggregate", broken, cells, "-o", sums),
        ("--allow-weak", *planned, 17),
        ("between 0.000001 and 64", *planned, 65),
        ("between 0.000001 and 64", *planned, 65, "--allow-weak"),
        ("whole number", "plan", *GRID, "--devices", "3000.7", "--epsilon", 1),
        ("at most", "plan", *GRID, "--devices", "1e13", "--epsilon", 1),
        ("exists", "open", "--plan", folder / "plan.toml", "--output", rounds),
    ):
        assert said in error_of(*words)
    done(*planned, 17, "--allow-weak")
    assert not sums.exists()
