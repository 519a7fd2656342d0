"""Every option does something or is refused, before anything is read."""

import click
import pytest
from click.testing import CliRunner

from geodp.cli import geodp
from geodp.cli.commands.publish import publish
from geodp.cli.inputs import GRIDS, grid_of, read_named
from geodp.cli.readers import check_applicable, choose_reader, make_reader, require_addresses
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read.table import Table
from geodp.options.shared import NEIGHBOURS as RELATIONS
from geodp.privacy.terms import NEIGHBOURS
from tests.io.files import tiff
from tests.refusals import refuses

GRID, MESHES = Grid.mesh("inspire:1km"), Grid.mesh("jis:half")
END = ["--epsilon", "1", "--output", "out"]
MESH = ["a.txt", "--grid", "jis:half"]
RASTER = ["a.tif", "--grid", "like:b.tif"]
TABLE = ["a.csv", "--grid", "inspire:1km", "--code", "c", "--value", "n"]
POINTS = ["a.csv", "--grid", "jis:half", "--points", "--x", "x", "--y", "y"]


def context(*arguments: str) -> click.Context:
    return publish.make_context("publish", [*map(str, arguments), *END])


WITHOUT_EFFECT = (
    "option-needs-option|option-not-for-input|option-not-for-grid|option-of-other-reader"
)


@pytest.mark.parametrize("command", geodp.commands.values(), ids=list(geodp.commands))
def test_a_command_has_the_same_help_by_itself(command) -> None:
    alone = click.Context(command, info_name=command.name, **command.context_settings)
    assert set(command.get_help_option_names(alone)) == {"-h", "--help"}


def test_the_names_of_the_help_are_those_of_the_library() -> None:
    assert set(RELATIONS) == set(NEIGHBOURS)
    known = {option.name for option in publish.params}
    known |= {asked.name for asked in Table.option_fields()}
    assert {name for row in GRIDS.values() for name in row} <= known


@pytest.mark.parametrize(
    ("call", "options"),
    [
        (POINTS, ["--value", "--missing", "--anchor=index"]),
        (POINTS, ["--duplicates=sum", "--suppressed=zero", "--raster-unit=2", "--band=1"]),
        (RASTER, ["--value", "--where", "--by", "--column", "--duplicates=sum"]),
        (RASTER, ["--code", "--x", "--y", "--suppressed=zero", "--points-crs", "--encoding"]),
        (TABLE, ["--points-crs"]),
        (TABLE, ["--person", "--band=1", "--crs", "--origin=1", "--cell=1", "--primary"]),
        (MESH, ["--anchor=index", "--points-crs"]),
        (MESH, ["--origin=1", "--cell=1", "--mask-source", "--cells=2"]),
        (MESH, ["--domain-is-public", "--allow-ballpark", "--person"]),
        (RASTER, ["--decimal=.", "--layer=a"]),
        (POINTS, ["--round=nearest"]),
        (RASTER, ["--crs", "--origin=1", "--cell=1", "--bounds=1", "--primary", "--mask-source"]),
        (TABLE, ["--anchor=corner"]),
        (POINTS, ["--cells=2", "--per-cell=2", "--truncation=sample"]),
    ],
)
def test_an_option_without_effect_is_refused(call: list[str], options: list[str]) -> None:
    for option in options:
        name, _, value = option.partition("=")
        more = {"--origin": ["1", "1"], "--bounds": ["1"] * 4}.get(name, [value or "a"])
        flag = name in ("--domain-is-public", "--allow-ballpark")
        with refuses(UsageError, f"{WITHOUT_EFFECT}: {name}"):
            check_applicable(context(*call, name, *([] if flag else more)))


@pytest.mark.parametrize("call", [POINTS, RASTER, TABLE, MESH])
def test_defaults_are_no_options(call: list[str]) -> None:
    check_applicable(context(*call))


@pytest.mark.parametrize("grid", ["inspire:1km", "regular:3x4", "like:b.tif"])
def test_only_a_jis_grid_has_official_mesh_files(grid) -> None:
    call = ["a.csv", "--grid", grid, "--value", "n"]
    assert choose_reader(context(*call).params) is Table
    for where, more in ((GRID, []), (MESHES, ["--code", "c"]), (MESHES, ["--x", "x", "--y", "y"])):
        with refuses(UsageError, "suppressed-needs-mesh: --suppressed.*--missing"):
            make_reader(context(*call, "--suppressed", "zero", *more).params, where, None)
    check_applicable(context(*call, "--missing", "-1", "--by", "a"))


def test_a_name_is_given_once() -> None:
    assert read_named(["a=b", "c=d=e"], "--where") == {"a": "b", "c": "d=e"}
    for given, words in ((["y=a", "y=b"], "option-name-twice"), (["y"], "option-name-value")):
        with refuses(UsageError, words):
            read_named(given, "--where")


def test_the_datum_of_meshes_and_axes() -> None:
    grid = grid_of(context(*MESH, "--crs", "EPSG:4612", "--labels", "sex=male,female").params)
    assert grid.places[0].crs == "EPSG:4612"
    assert grid.attributes[0].labels == ("male", "female")
    one = grid_of(context(*MESH, "--crs", "EPSG:4612", "--primary", "5339").params)
    assert one.places[0].crs == "EPSG:4612"
    for wrong in ("EPSG:3035", "nothing"):
        with refuses(UsageError, "crs-of-jis-is-datum"):
            grid_of(context(*MESH, "--crs", wrong).params)


def test_a_grid_like_an_input_is_vouched_for(tmp_path) -> None:
    path = tiff([[1, 2], [3, 4]])(tmp_path)
    hard, soft, copy = (tmp_path / f"{name}.tif" for name in ("hard", "soft", "copy"))
    hard.hardlink_to(path)
    soft.symlink_to(path)
    copy.write_bytes(path.read_bytes())
    for like in (path, hard, soft):
        call = [path, "--grid", f"like:{like}"]
        with refuses(UsageError, "template-is-input: --domain-is-public"):
            grid_of(context(*call).params)
        assert grid_of(context(*call, "--domain-is-public").params).shape == (2, 2)
    # Contents are not compared, as that would be an outcome of the data.
    assert grid_of(context(path, "--grid", f"like:{copy}").params).shape == (2, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "x"], "epsilon"),
        (["--method", "magic"], "topdown"),
        (["--neighbours", "me"], "replace-one"),
        (["--contribution", "0"], "contribution"),
        (["--unit", " "], "--unit"),
        (["--name", "a/b"], "name"),
        (["--where", "a=1", "--where", "a=2"], "there twice"),
    ],
)
def test_checks_come_before_reading(options: list[str], words: str, tmp_path) -> None:
    """The input is absent, and that is not what the error is about."""
    call = ["absent.txt", "--grid", "jis:half", "--code", "c", "--value", "n", "--epsilon", "1"]
    call += ["--output", str(tmp_path / "o")]
    done = CliRunner().invoke(geodp, ["publish", *call, *options])
    assert done.exit_code != 0
    assert words in done.output + str(done.exception)


def test_points_are_filtered_and_profiled(tmp_path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("lon|lat|day|sex\n139.76|35.68|1|f\n139.76|35.68|2|m\n200|99|2|m\n")
    call = [path, "--grid", "jis:half", "--points", "--x", "lon", "--y", "lat", "--where", "day=1"]
    more = ["--labels", "s=f,m", "--column", "s=sex", "--contribution", "1", "--profile"]
    bounds = ["--bounds", "139", "35.3333333333", "140", "36"]
    out = tmp_path / "out"
    arguments = [*call, *more, *bounds, "--epsilon", "1", "--output", out]
    done = CliRunner().invoke(publish, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "writing" in done.stderr
    assert '"people": 1,' in (out / "restricted" / "run.json").read_text()


def test_a_raster_takes_its_band_and_what_is_missing(tmp_path) -> None:
    path = tiff([[[9, 9], [9, 9]], [[1, -5], [3, 4]]])(tmp_path)
    call = [path, "--grid", f"like:{path}", "--domain-is-public", "--band", "2"]
    call += ["--contribution", "1"]
    out = tmp_path / "out"
    arguments = [*call, "--missing", "-5", "--epsilon", "1", "--output", out]
    done = CliRunner().invoke(publish, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0
    assert '"people": 8,' in (out / "restricted" / "run.json").read_text()


@pytest.mark.parametrize(("limit", "refused"), [(300 << 20, True), (1 << 30, True), (-1, False)])
def test_too_few_addresses_are_refused_before_a_library_waits_for_them(limit, refused, monkeypatch):
    resource = pytest.importorskip("resource", reason="Windows limits no addresses")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    if not refused:
        require_addresses()
        return
    with refuses(UsageError, f"address-space-short: \\b{limit >> 20} MiB.*\\(ulimit -v\\)"):
        require_addresses()
