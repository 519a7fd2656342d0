"""``geodp publish --formats``: the files of ``geodp export``, in one run, or nothing at all."""

import errno
import json

import pytest

from geodp.io.write.export.vector import FlatGeobuf
from tests.command import geodp

NAMES = ["SHA256SUMS", "n.excel.csv", "n.fgb", "n.parquet"]


@pytest.fixture
def call(ledger, tmp_path):
    rows = "".join(f"533946{y}{x},{40 + x * y}\n" for y in range(8) for x in range(8))
    (tmp_path / "in.csv").write_text(f"mesh,n\n{rows}")
    return [
        *("publish", tmp_path / "in.csv", "--grid", "jis:basic", "--code", "mesh", "--value", "n"),
        *("--bounds", "139.5", "35.5", "140", "36", "--contribution", "1", "--epsilon", "1/9"),
        *("--ledger", ledger.path, "--dataset", "census", "--name", "n"),
        *("--output", tmp_path / "out"),
    ]


@pytest.mark.law
def test_they_are_what_export_writes_and_go_with_the_release(call, ledger, tmp_path):
    asked = "csv:excel,fgb,parquet"
    done = geodp(*call, "--formats", asked, "--json")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    assert json.loads(done.stdout)["formats"] == [str(out / "formats" / name) for name in NAMES]
    assert sorted(path.name for path in (out / "formats").iterdir()) == NAMES
    assert geodp("export", out, "--to", asked, "--output", tmp_path / "to").returncode == 0
    for name in NAMES[1:]:
        assert (out / "formats" / name).read_bytes() == (tmp_path / "to" / name).read_bytes()
    assert geodp("verify", out).returncode == 0
    assert geodp(*call, "--formats", "csv:excel", "--overwrite").returncode == 0
    assert sorted(path.name for path in (out / "formats").iterdir()) == NAMES[:2]
    (out / "formats" / "mine.txt").write_text("mine")
    done = geodp(*call, "--overwrite")
    assert done.returncode == 2
    assert "mine.txt" in done.stderr
    (out / "formats" / "mine.txt").unlink()
    assert geodp(*call, "--overwrite").returncode == 0
    assert sorted(path.name for path in out.iterdir()) == ["public", "restricted"]
    assert len(ledger.charges()) == 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [("shp", "There is no export to 'shp'"), ("stac", "needs a reference_date"), ("", "''")],
)
def test_what_cannot_be_written_is_refused_before_the_charge(call, ledger, tmp_path, asked, said):
    done = geodp(*call, "--formats", asked)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "out").exists()
    assert len(ledger.charges()) == 0


def test_what_fails_for_nobody_costs_nothing(call, ledger, tmp_path, monkeypatch):
    def fail(self, sheet, path):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(FlatGeobuf, "write", fail)
    assert geodp(*call, "--formats", "parquet,fgb").returncode == 1
    assert not (tmp_path / "out").exists()
    assert len(ledger.charges()) == 0


@pytest.mark.parametrize("asked", ["parquet,fgb", "parquet"])
def test_what_fails_after_the_charge_is_completed_at_no_cost(
    asked, call, ledger, tmp_path, monkeypatch
):
    """And a format that goes on failing can be left out of what was charged."""
    write = FlatGeobuf.write

    def fail(self, sheet, path):
        if sheet.table.key.size:
            raise OSError(errno.ENOSPC, "no space")
        write(self, sheet, path)

    monkeypatch.setattr(FlatGeobuf, "write", fail)
    assert geodp(*call, "--formats", "parquet,fgb").returncode == 1
    assert not (tmp_path / "out").exists()
    assert len(ledger.charges()) == 1
    if "fgb" in asked:
        monkeypatch.undo()
    done = geodp(*call, "--formats", asked, "--resume")
    assert done.returncode == 0, done.stderr
    made = sorted(path.name for path in (tmp_path / "out" / "formats").iterdir())
    assert made == ["SHA256SUMS", *(["n.fgb"] if "fgb" in asked else []), "n.parquet"]
    assert geodp("verify", tmp_path / "out").returncode == 0
    assert len(ledger.charges()) == 1
