"""What cannot be carried out is one sentence, before anything is charged, and leaves nothing."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rasterio.errors import NotGeoreferencedWarning

import geodp as package
from geodp import METHODS, cli
from geodp.errors import PluginWarning, UsageError
from geodp.io.folder import staged_release
from geodp.io.folder.publication import card_bytes
from geodp.io.folder.staging import require_free
from geodp.privacy.ledger import Ledger
from tests.command import geodp
from tests.refusals import refuses

CELLS = ["--grid", "regular:8x8", "--value", "n", "--x", "x", "--y", "y", "--anchor", "index"]
ROWS = "x,y,n\n" + "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
MESH = ["--grid", "jis:basic", "--primary", "5339", "--code", "code", "--value", "n"]
CODES = "code,n\n53394600,3\n53394611,4\n"

SHIFT_JIS = "人口".encode("shift_jis")
"""A name as archives from Japan unpack to it on Linux: no UTF-8."""

NAME = SHIFT_JIS.decode("utf-8", "surrogateescape")
"""The same as Python has it."""

bytes_are_names = pytest.mark.skipif(
    sys.platform != "linux", reason="names of any bytes are of Linux"
)


@pytest.fixture
def office(tmp_path, monkeypatch):
    """A folder with inputs, which is the current one, and a ledger elsewhere."""
    folder = tmp_path / "office"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("a.csv").write_text(ROWS)
    Path("codes.csv").write_text(CODES)
    file = tmp_path / "office.ledger"
    into = ["--ledger", file, "--dataset", "stays"]
    assert geodp("budget", "init", *into, "--epsilon", 9).returncode == 0
    return ["--epsilon", "1", "--contribution", "1", *into]


def charges(office):
    return len(Ledger.open(office[office.index("--ledger") + 1]).charges("stays"))


def refused(office, *call, code, words):
    """Run a command that must be refused before a charge, and leave nothing."""
    before = sorted(os.listdir(b"."))
    done = geodp(*call)
    assert done.returncode == code, done
    (line,) = done.stderr.splitlines()
    assert words in line
    assert charges(office) == 0
    assert sorted(os.listdir(b".")) == before


def put_zip(path):
    """Write an archive whose member has a name that is not UTF-8."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("XXXX.csv", ROWS)
    path.write_bytes(path.read_bytes().replace(b"XXXX", SHIFT_JIS))


def put_workbook(path):
    import openpyxl

    book = openpyxl.Workbook()
    for row in ROWS.splitlines():
        book.active.append([int(one) if one.isdigit() else one for one in row.split(",")])
    with path.open("wb") as file:
        book.save(file)


def put_parquet(path):
    rows = [line.split(",") for line in ROWS.splitlines()]
    columns = zip(rows[0], np.array(rows[1:], int).T, strict=True)
    with path.open("wb") as file:
        pq.write_table(pa.table(dict(columns)), file)


def put_folder(path):
    path.mkdir()
    (path / "rows.csv").write_text(ROWS)


def put_text(path):
    path.write_text(ROWS)


FORMS = {
    "file": (put_text, f"{NAME}.csv"),
    "folder": (put_folder, NAME),
    "member": (put_zip, "plain.zip"),
    "packed": (put_zip, f"{NAME}.zip"),
    "workbook": (put_workbook, f"{NAME}.xlsx"),
    "parquet": (put_parquet, f"{NAME}.parquet"),
}


@bytes_are_names
@pytest.mark.parametrize("form", FORMS)
def test_inputs_whose_names_are_not_utf8_are_published(office, form):
    put, name = FORMS[form]
    put(Path(name))
    done = geodp("publish", name, *CELLS, *office, "--output", "out")
    assert done.returncode == 0, done.stderr
    assert charges(office) == 1
    (told,) = json.loads(Path("out/restricted/run.json").read_text(encoding="utf-8"))["inputs"]
    assert os.path.exists(os.fsencode(told))
    assert geodp("verify", "out").returncode == 0
    done = geodp("publish", name, *CELLS, *office[:4], "--check", "--output", "checked")
    assert done.returncode == 0, done.stderr
    (again,) = json.loads(Path("checked/restricted/check.json").read_text("utf-8"))["inputs"]
    assert again == told


@bytes_are_names
def test_an_interrupted_run_with_such_a_name_is_completed(office, monkeypatch):
    put_text(Path(f"{NAME}.csv"))

    def fail(*_given):
        raise OSError(28, "No space left on device")

    call = ["publish", f"{NAME}.csv", *CELLS, *office, "--output", "out"]
    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_public", fail)
        assert "--resume completes" in geodp(*call).stderr
    assert geodp(*call, "--resume").returncode == 0
    assert charges(office) == 1


PUBLIC = {
    "prior": (ROWS, ["a.csv", *CELLS], ["--prior-is-public", "--prior-source", "a test"]),
    "mask": (CODES, ["codes.csv", *MESH], ["--mask-source", "a test"]),
    "regions": ("code,city\n53394600,a\n53394611,b\n", ["codes.csv", *MESH], ["--regions-source"]),
    "public-totals": ("code,total\n533946,7\n", ["codes.csv", *MESH], ["--public-totals-source"]),
}


@bytes_are_names
@pytest.mark.parametrize("option", PUBLIC)
def test_public_files_whose_names_are_not_utf8_are_taken(office, option):
    text, call, source = PUBLIC[option]
    Path(f"{NAME}.csv").write_text(text)
    source = source if len(source) > 1 else [*source, "a test"]
    given = [f"--{option}", f"{NAME}.csv", *source]
    done = geodp("publish", *call, *office, *given, "--output", "out")
    assert done.returncode == 0, done.stderr
    assert charges(office) == 1


@bytes_are_names
def test_a_recipe_says_what_it_cannot_hold(office):
    Path(f"{NAME}.csv").write_text(CODES)
    Path("recipe.toml").write_text('[options]\ncode = "code"\n')
    grid = ["--grid", "jis:basic", "--primary", "5339", "--value", "n", "--recipe", "recipe.toml"]
    mask = ["--mask", f"{NAME}.csv", "--mask-source", "a test"]
    done = geodp("publish", "codes.csv", *grid, *office, *mask, "--output", "out")
    assert done.returncode == 0, done.stderr
    written = Path("out/restricted/recipe.toml").read_text(encoding="utf-8")
    assert "# mask: its name is not UTF-8" in written
    again = ["--recipe", "out/restricted/recipe.toml", *office, "--output", "other"]
    done = geodp("publish", "codes.csv", *again)
    assert (done.returncode, "--mask" in done.stderr) == (2, True)
    assert geodp("publish", "codes.csv", *mask[:2], *again).returncode == 0


@bytes_are_names
@pytest.mark.parametrize("ending", ["tif", "gpkg", "shp"])
def test_what_only_gdal_opens_is_refused_by_its_name(office, ending):
    starts = {"tif": b"II*\0", "gpkg": b"SQLite format 3\0", "shp": b"\0\0\x27\x0a"}
    Path(f"{NAME}.{ending}").write_bytes(starts[ending] + bytes(99))
    call = ["publish", f"{NAME}.{ending}", *CELLS, *office, "--output", "out"]
    if ending == "tif":
        call[2 : 2 + len(CELLS)] = CELLS[:2]
    refused(office, *call, code=5, words="is not UTF-8, and libraries that read such files")


@bytes_are_names
@pytest.mark.parametrize("command", ["verify", "map", "statistics"])
def test_a_release_below_such_a_name_is_not_called_wrong(office, command):
    assert geodp("publish", "a.csv", *CELLS, *office[:4], "--output", "out").returncode == 0
    shutil.move("out", NAME)
    output = ["--output", "map.png"] if command == "map" else []
    done = geodp(command, NAME, *output)
    assert (done.returncode, "is not UTF-8" in done.stderr) == (2, True), done


OUTPUTS = {
    "bytes": (NAME, "is not UTF-8", bytes_are_names),
    "below bytes": (f"{NAME}/out", "is not UTF-8", bytes_are_names),
    "long": ("o" * 300, "too long", ()),
    "long when staged": ("o" * 240, "too long", ()),
    "long below": (f"new/{'o' * 300}/out", "too long", ()),
    "long and staged below": (f"new/{'o' * 240}", "too long", ()),
    "deep": ("/".join(["o" * 200] * 30), "too long", ()),
    "a device": ("/dev/null/x", "Not a directory", ()),
    "far below a file": ("a.csv/x/y", "Not a directory", ()),
}
COMMANDS = {
    "publish": ["publish", "a.csv", *CELLS],
    "check": ["publish", "a.csv", *CELLS, "--check"],
    "series": ["publish-series", "2024=a.csv", "2025=codes.csv", *CELLS, "--person-in", "all"],
    "select": ["select", "top", "a.csv", *CELLS, "--k", "2"],
}


@pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
@pytest.mark.parametrize(
    ("command", "output"),
    [
        *(pytest.param("publish", name, marks=row[2]) for name, row in OUTPUTS.items()),
        *((name, "long when staged") for name in COMMANDS if name != "publish"),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_the_charge(office, command, output):
    path, words, _ = OUTPUTS[output]
    call = [*COMMANDS[command], *office, "--output", path]
    refused(office, *call, code=2, words=words)


def test_a_current_folder_that_is_gone_is_told(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    with monkeypatch.context() as patched:
        patched.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        for output in ("out", tmp_path / "out"):
            with refuses(UsageError, "output-not-writable: No such file or directory"):
                require_free(output, overwrite=False)


def in_shell(before, *call):
    """Run a command in a shell of its own, after what changes that."""
    run = ["sh", "-c", f'{before} exec "$@"', "sh", sys.executable, "-m", "geodp", *map(str, call)]
    # A relative path of modules leads nowhere from a folder that is gone.
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    return subprocess.run(run, capture_output=True, text=True, check=False, env=found)


@pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
@pytest.mark.parametrize("output", ["out", "/tmp/never-made/out"])
def test_a_command_in_a_folder_that_is_gone_says_so(office, output):
    before = sorted(os.listdir("."))
    gone = "mkdir gone && cd gone && rmdir ../gone;"
    done = in_shell(gone, "publish", Path("a.csv").resolve(), *CELLS, *office, "--output", output)
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1
    assert "current folder does not exist" in done.stderr or "No such file" in done.stderr
    assert charges(office) == 0
    assert sorted(os.listdir(".")) == before


@pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
@pytest.mark.parametrize("handles", [6, 30])
def test_few_handles_charge_nothing_and_leave_nothing(office, handles):
    before = sorted(os.listdir("."))
    done = in_shell(f"ulimit -n {handles};", "publish", "a.csv", *CELLS, *office, "--output", "out")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "too few files may be open at once" in line.lower()
    assert charges(office) == 0
    assert sorted(os.listdir(".")) == before


TEXTS = {
    "mask": ["--mask", "codes.csv", "--mask-source"],
    "regions": ["--regions", "regions.csv", "--regions-source"],
    "totals": ["--public-totals", "totals.csv", "--public-totals-source"],
    "prior": ["--prior", "codes.csv", "--prior-value", "n", "--prior-is-public", "--prior-source"],
}


@pytest.mark.parametrize("text", TEXTS)
def test_public_words_that_are_not_utf8_are_refused_before_the_charge(office, text):
    shutil.copy("codes.csv", "rows.csv")
    Path("regions.csv").write_text("code,city\n53394600,a\n53394611,b\n")
    Path("totals.csv").write_text("code,total\n533946,7\n")
    call = ["publish", "rows.csv", *MESH, *office, *TEXTS[text], NAME, "--output", "out"]
    refused(office, *call, code=2, words="source")


def test_labels_that_are_not_utf8_are_refused_before_the_charge(office):
    Path("sexes.csv").write_text("code,sex,n\n53394600,f,3\n")
    call = ["publish", "sexes.csv", *MESH, "--labels", f"sex=f,{NAME}", "--column", "sex=sex"]
    call += [*office, "--output", "out"]
    refused(office, *call, code=2, words="The name and the labels of an attribute must be UTF-8")


def test_a_card_with_a_text_that_is_not_utf8_is_refused():
    assert json.loads(card_bytes({"source": "人口"})) == {"source": "人口"}
    with refuses(UsageError, "card-not-utf8"):
        card_bytes({"source": NAME})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(24, "Too many open files"), "Too few files may be open at once"),
        (OSError(13, "Permission denied", "maps/a.csv"), "maps/a.csv cannot be used (Permission"),
        (UnicodeEncodeError("utf-8", NAME, 0, 1, "a value"), "is not UTF-8, and a library takes"),
        (UnicodeEncodeError("ascii", "人", 0, 1, "a value"), "unforeseen UnicodeEncodeError"),
        (OSError("a value"), "unforeseen OSError"),
    ],
)
def test_what_the_system_refuses_is_a_sentence_without_values(error, words, capsys):
    with contextlib.suppress(type(error)):
        raise error
    assert cli._explain(error, 0) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert "a value" not in line


def test_the_screen_takes_every_name(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="strict", write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    cli._open_streams()
    click.echo(json.dumps({"file": f"人口 {NAME}"}, ensure_ascii=False))
    text = stream.buffer.getvalue().decode("utf-8")
    assert "人口" in text
    assert json.loads(text) == {"file": f"人口 {NAME}"}


QUIET = """
import logging, sys
from geodp import cli
cli._silence_libraries()
logging.getLogger("rasterio._err").error("a value", exc_info=ValueError("a value"))
class Broken:
    def __del__(self): raise ValueError("a value")
Broken()
"""


@pytest.mark.parametrize(("traceback", "shown"), [("", False), ("1", True)])
def test_what_libraries_log_is_not_on_the_screen(traceback, shown):
    asked = {**os.environ, "GEODP_TRACEBACK": traceback}
    done = subprocess.run(
        [sys.executable, "-c", QUIET], capture_output=True, text=True, check=True, env=asked
    )
    assert ("a value" in done.stderr) is shown
    assert bool(done.stderr) is shown


@pytest.mark.parametrize("category", [NotGeoreferencedWarning, UserWarning, RuntimeWarning])
def test_what_libraries_warn_of_is_not_on_the_screen(category, monkeypatch, capsys):
    monkeypatch.delenv("GEODP_TRACEBACK", raising=False)
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *_: seen.append(category)
        cli._show_warnings()
        warnings.warn("a value", category, stacklevel=1)
        warnings.warn("Left out.", PluginWarning, stacklevel=1)
        assert (seen, capsys.readouterr().err) == ([], "Note: Left out.\n")
        monkeypatch.setenv("GEODP_TRACEBACK", "1")
        warnings.warn("a value", category, stacklevel=1)
    assert seen == [category]


def test_names_of_columns_that_are_not_utf8_are_refused(office):
    Path("a.jsonl").write_bytes(b'{"x": 1, "y": 2, "n": 4, "q\xffq": 3}\n')
    put_parquet(Path("rows.parquet"))
    table = pq.read_table("rows.parquet").append_column("qqq", pa.array([1] * 64))
    pq.write_table(table, "rows.parquet", store_schema=False)
    data = Path("rows.parquet").read_bytes()
    Path("rows.parquet").write_bytes(data.replace(b"qqq", b"q\xffq"))
    for name in ("a.jsonl", "rows.parquet"):
        call = ["publish", name, *CELLS, *office, "--output", "out"]
        refused(office, *call, code=5, words=f"{name}: The name of a column is not UTF-8")


def test_wide_tables_are_read_or_refused_for_their_width(office):
    for name, many in (("wide.csv", 150_000), ("wider.csv", 1_000_000)):
        Path(name).write_text(f"x,y,n{',' * many}\n1,1,3{',' * many}\n")
    call = ["publish", "wider.csv", *CELLS, *office, "--output", "out"]
    refused(office, *call, code=5, words="The header is longer than 262,144 bytes")
    done = geodp("publish", "wide.csv", *CELLS, *office, "--output", "out")
    assert done.returncode == 0, done.stderr


def test_an_encoding_of_no_text_is_refused(office):
    for name in (NAME, "idna", "punycode", "base64"):
        call = ["publish", "a.csv", *CELLS, *office, "--encoding", name, "--output", "out"]
        refused(office, *call, code=2, words="one that keeps ASCII")


@pytest.mark.parametrize("shape", [(1 << 62,), (1 << 31, 1 << 31)])
def test_the_largest_grid_is_published_by_all_that_take_it(shape):
    grid = package.Grid.regular(shape)
    table = package.CountTable.from_keys(grid, np.array([5], np.uint64), np.array([100]))
    taken = [method for method in METHODS.values() if not method.unsupported(grid)]
    assert "pyramid" in {method.name for method in taken}
    for method in taken:
        release = package.publish(table, epsilon=1, method=method, contribution=1)
        assert release.card().mechanism.name == method.name


@pytest.mark.parametrize("command", ["plan", "publish"])
def test_a_grid_of_two_to_the_63_cells_is_refused_alike(command, tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    inputs = [] if command == "plan" else [tmp_path / "a.csv", *CELLS[2:], "--contribution", "1"]
    inputs += [] if command == "plan" else ["--output", tmp_path / "out"]
    done = geodp(command, *inputs, "--grid", "regular:4294967296x2147483648", "--epsilon", "1")
    assert done.returncode == 2
    assert "more than 2**62 cells after padding" in done.stderr
