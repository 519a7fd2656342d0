import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import signalled
from tests.bits import has_bits
from tests.command import geodp

DATA = Path(__file__).parents[2] / "data" / "kanto"
SMALL = [
    str(DATA / "tblT999999H5339.zip"),
    *["--grid", "jis:half", "--primary", "5339", "--value", "人口（総数）", "--epsilon", "1/2"],
]


def publics(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "public").iterdir())}


HELP = """
import sys
from tests.command import cli, commands
for words, _ in commands():
    try: cli.geodp.main([*words.split(), "--help"])
    except SystemExit as end: assert not end.code, words
heavy = {"numpy", "numba", "pyarrow", "rasterio", "matplotlib", "scipy", "shapely", "rich"}
assert not heavy & {*sys.modules}, heavy & {*sys.modules}
"""


def run_code(code, *words):
    """Run code in a process of its own, which must end well; return what it printed."""
    call = [sys.executable, "-c", code, *map(str, words)]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        call, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_of_every_command_is_quick_because_it_imports_nothing_heavy():
    assert "geodp households publish" in run_code(HELP)


def test_maps_are_written_as_is_asked_and_refused_in_a_sentence(tmp_path):
    out = tmp_path / "out"
    done = geodp("publish", *SMALL, "--output", out, "--json")
    assert done.returncode == 0, done.stderr
    assert {Path(path).name for path in json.loads(done.stdout)["public"]} == {*publics(out)}
    assert has_bits(out / "restricted", 0o700)
    assert geodp("map", out, "--output", tmp_path / "again.png").returncode == 0
    assert (tmp_path / "again.png").stat().st_size > 10_000
    for target, *more, words in (
        (tmp_path / "again.png", "--overwrite"),
        (tmp_path / "again.tif", ".png"),
        (tmp_path / "a.pdf", ".png or .svg"),
        (out / "public" / "new.png", "inside a release"),
        (tmp_path / "b.svg", "--dpi", "200", "PNG only"),
        (tmp_path / "b.png", "--bounds", "0", "0", "1", "1", "no cell"),
    ):
        refused = geodp("map", out, "--output", target, *more)
        assert refused.returncode == 2
        assert words in refused.stderr
    assert geodp("map", out, "--output", tmp_path / "again.png", "--overwrite").returncode == 0
    look = ["--title", "People", "--credit", "CC BY", "--dark", "--no-fade", "--size", "300"]
    look += ["--no-ground", "--no-flows", "--bounds", "139", "35.4", "140", "36"]
    assert geodp("map", out, "--output", tmp_path / "a.svg", *look).returncode == 0
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ">People</text>" in drawn
    assert ">CC BY</text>" in drawn
    assert "cannot be told" not in drawn
    assert "Natural Earth" not in drawn


@pytest.mark.law
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
@pytest.mark.parametrize("moment", [*list(signalled.MOMENTS)[::2], signalled.LAST])
def test_a_terminated_run_leaves_nothing(tmp_path, moment):
    out = tmp_path / "out"
    run = signalled.run(signal.SIGTERM, moment, "publish", *SMALL, "--output", out)
    if moment == signalled.LAST:
        assert run.returncode == 0, run.stderr
        assert geodp("verify", out).returncode == 0
    else:
        assert run.returncode == (-signal.SIGTERM if moment == signalled.BEFORE else 143)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["publish"], 2, "Usage"),
        (["publish", "absent.zip", "--grid", "jis:half", "--epsilon", "1", "--output", "x"], 5, ""),
        ([*["publish", *SMALL[:-2]], "--epsilon", "nought", "--output", "x"], 2, "decimal"),
        ([*["publish", *SMALL[:-2]], "--epsilon", "-1", "--output", "x"], 2, "above 0"),
        ([*["publish", *SMALL], "--method", "magic", "--output", "x"], 2, "method must be"),
        ([*["publish", *SMALL], "--neighbours", "me", "--output", "x"], 2, "neighbours"),
        ([*["publish", *SMALL], "--bounds", *"1234", "--output", "x"], 2, "not both"),
        ([*["publish", *SMALL], "--mask", "m", "--output", "x"], 2, "--mask-source"),
        ([*["publish", *SMALL], "--key-file", "absent", "--output", "x"], 5, "key file"),
        ([*["publish", *SMALL], "--name", "a/b", "--output", "x"], 2, "name"),
        (["mesh", "decode", "5339461132"], 5, "Code 1"),
        (["mesh", "encode", "--grid", "jis:half", "1"], 2, "pairs"),
        (["mesh", "encode", "--grid", "jis:huge", "1", "2"], 2, "jis:<level>"),
        (["verify", "absent"], 3, "holds no release"),
    ],
)
def test_wrong_calls_get_one_sentence(tmp_path, arguments, code, words):
    done = geodp(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.law
def test_a_process_says_what_the_command_says_in_this_one(tmp_path):
    """The other tests are about what commands do, and start none."""
    for call in (["mesh", "decode", "--json", "533946113"], ["verify", "absent"], ["publish"]):
        done = subprocess.run(
            [sys.executable, "-m", "geodp", *call],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        here = geodp(*call, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (here.returncode, here.stdout)
        assert done.stderr.replace("python -m geodp", "geodp") == here.stderr


def test_mesh_codes_from_arguments_and_standard_input():
    assert geodp("mesh", "encode", "--grid", "jis:half", "139.767125", "35.681236").stdout == (
        "533946113\n"
    )
    piped = geodp("mesh", "encode", "--grid", "inspire:1km", input="4695500,2599500\n")
    assert piped.stdout == "CRS3035RES1000mN2599000E4695000\n"
    decoded = json.loads(geodp("mesh", "decode", "--json", "533946113").stdout)
    assert (decoded[0]["code"], decoded[0]["grid"]) == ("533946113", "jis:half")
    assert decoded[0]["bounds"] == [139.7625, 35 + 163 / 240, 139.76875, 35 + 164 / 240]


def test_the_grid_of_a_code_is_told_by_the_code():
    codes = ["CRS3035RES1000mN2599000E4695000", "10kmN259E469", "53394611"]
    decoded = json.loads(geodp("mesh", "decode", "--json", *codes).stdout)
    assert [row["grid"] for row in decoded] == ["inspire:1km", "inspire:10km", "jis:basic"]
    assert geodp("mesh", "decode", "3kmN1E1").returncode == 5


def test_an_unforeseen_error_shows_its_place_and_no_message(tmp_path):
    code = (
        "import sys, geodp.cli as cli\n"
        "def broken(**_): raise RuntimeError('secret 987654')\n"
        "cli.geodp.commands['doctor'].callback = broken\n"
        "sys.argv = ['geodp', 'doctor']\n"
        "cli.main()\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "GEODP_TRACEBACK"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    assert "987654" not in done.stderr


def test_a_key_is_private_and_never_overwritten(tmp_path):
    file = tmp_path / "key"
    done = geodp("key", file)
    assert done.returncode == 0
    assert has_bits(file, 0o600)
    secret = file.read_text()
    assert secret.strip() not in done.stdout + done.stderr
    assert geodp("key", file).returncode == 2
    assert file.read_text() == secret
