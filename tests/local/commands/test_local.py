"""``geodp local``: a round from the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from geodp.cli.commands.budget import budget
from geodp.errors import BudgetError, GeodpError, InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.verify.verify import verify
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


def test_a_plan_for_people_and_for_programs():
    text = done("plan", *GRID, "--devices", "1e6", "--epsilon", 1)
    for part in ("Protocol", "blocks of", "bytes", "standard error", "2.718 (exp(1))"):
        assert part in text
    document = json.loads(done("plan", *GRID, "--devices", "1e6", "--epsilon", 1, "--json"))
    assert document["devices"] == 10**6
    assert document["cells"] * document["fine_cells_of_a_cell"] == 64 * 64


def test_a_round(folder):
    reports, sums = folder / "a.parquet", folder / "phones.sums"
    cells = (folder / "round.json", folder / "cells.csv")
    assert "3,000 reports" in done("randomize", *cells, "-o", reports)
    said = json.loads(done("randomize", *cells, "-o", folder / "b.jsonl", "--json"))
    assert said["reports"] == 3000
    both = (reports, folder / "b.jsonl")
    text = done("aggregate", folder / "round.json", *both, "-o", folder / "both.sums")
    assert "6,000 reports of 2 files" in text
    text = done("aggregate", folder / "round.json", reports, "-o", sums)
    assert "3,000 reports of 1 file\n" in text
    merged = ("aggregate", folder / "round.json", sums, folder / "b.jsonl", "--json")
    assert json.loads(done(*merged, "-o", folder / "merged.sums"))["reports"] == 6000
    assert (folder / "merged.sums").read_bytes() == (folder / "both.sums").read_bytes()
    text = done("publish", sums, "-o", folder / "release")
    assert "No further charge" in text
    assert all(check.ok for check in verify(folder / "release"))
    said = json.loads(done("publish", sums, "-o", folder / "fine", "--spread", "--json"))
    assert (said["model"], said["reports"]) == ("local", 3000)
    shown = done("show", "--ledger", folder / "phones.ledger", "--json", command=budget)
    (dataset,) = json.loads(shown)["datasets"]
    assert (dataset["model"], dataset["neighbours"]) == ("local", "replace-one")
    assert len(dataset["charges"]) == 1


def test_a_second_round_above_the_cap_is_refused(folder):
    plan, ledger = folder / "plan.toml", folder / "phones.ledger"
    charged = ("--ledger", ledger, "--dataset", "phones")
    again = ("open", "--plan", plan, *charged, "--output", folder / "second.json")
    assert "nothing was charged" in error_of(*again, kind=BudgetError)
    assert not (folder / "second.json").exists()


def test_what_is_there_is_not_replaced(folder):
    cells = (folder / "round.json", folder / "cells.csv")
    done("randomize", *cells, "-o", folder / "a.parquet")
    assert "exists" in error_of("randomize", *cells, "-o", folder / "a.parquet", kind=UsageError)
    call = ("aggregate", folder / "round.json", folder / "a.parquet", "-o", folder / "a.sums")
    done(*call)
    assert "--overwrite" in error_of(*call, kind=UsageError)
    done(*call, "--overwrite")
    again = ("open", "--plan", folder / "plan.toml", "--output", folder / "round.json")
    assert "exists" in error_of(*again, kind=UsageError)


def test_bad_input_gets_one_sentence(folder):
    rounds, cells = folder / "round.json", folder / "cells.csv"
    assert "end in" in error_of("randomize", rounds, cells, "-o", folder / "a.csv")
    done("randomize", rounds, cells, "-o", folder / "a.parquet")
    twice = (folder / "a.parquet", folder / "a.parquet")
    text = error_of("aggregate", rounds, *twice, "-o", folder / "a.sums", kind=InputError)
    assert "already" in text
    assert "a.parquet" in text
    assert not (folder / "a.sums").exists()
    header, first, *_ = cells.read_text().splitlines()
    for bad in ("53394611", "5339461x", "523940"):
        (folder / "far.csv").write_text(f"{header}\n{first}\n\n{first}\n{bad}\n{first}\n")
        text = error_of("randomize", rounds, folder / "far.csv", "-o", folder / "far.parquet")
        assert text.startswith("far.csv, row 5: ")
        assert bad not in text
        assert not (folder / "far.parquet").exists()
    for empty in ("", "code\n", "\n\n", f"{first}\n"):
        (folder / "far.csv").write_text(empty)
        text = error_of("randomize", rounds, folder / "far.csv", "-o", folder / "far.parquet")
        assert text.startswith("far.csv: The file has no codes;")
        assert not (folder / "far.parquet").exists()
    weak = ("plan", *GRID, "--devices", 3000, "--epsilon", 17)
    assert "--allow-weak" in error_of(*weak)
    done(*weak, "--allow-weak")
    beyond = ("plan", *GRID, "--devices", 3000, "--epsilon", 65)
    for more in ((), ("--allow-weak",)):
        text = error_of(*beyond, *more)
        assert "between 0.000001 and 64" in text
        assert "--allow-weak" not in text
    assert "whole number" in error_of("plan", *GRID, "--devices", "3000.7", "--epsilon", 1)
    broken = folder / "broken.json"
    broken.write_text(rounds.read_text().replace('"epsilon": "1"', '"epsilon": "2"'))
    text = error_of("aggregate", broken, folder / "a.parquet", "-o", folder / "a.sums")
    assert "changed" in text
    (folder / "bare.csv").write_text(cells.read_text().partition("\n")[2])
    text = error_of("randomize", rounds, folder / "bare.csv", "-o", folder / "bare.parquet")
    assert "first line" in text
    assert not (folder / "bare.parquet").exists()
    text = error_of("aggregate", rounds, cells, "-o", folder / "a.sums", kind=InputError)
    assert text.count("cells.csv") == 1
    long = folder / ("a" * 300 + ".jsonl")
    assert "too long" in error_of("randomize", rounds, cells, "-o", long)
    assert "too long" in error_of("aggregate", rounds, twice[0], "-o", long.with_suffix(".sums"))
    assert "at most" in error_of("plan", *GRID, "--devices", "1e13", "--epsilon", 1)
