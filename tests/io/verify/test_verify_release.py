"""The verifier of the standard library alone: one file, without geodp."""

import ast
import csv
import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.units import grid_of_units, pairs_of_units
from geodp.io.folder.publication import sha256
from geodp.io.verify import verify_release
from geodp.io.verify.readback import read_release_table
from tests.command import Done
from tests.io.verify.test_golden_releases import RELEASES, name_of
from tests.io.verify.test_strangers import DOCUMENTS
from tests.io.verify.test_verify import card_of, write_checksums
from tests.io.write.test_writers import GRIDS, released

FILE = Path(verify_release.__file__)
LAEA = (4_000_000, 3_000_000, 4_020_000, 3_020_000)
BASIC = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.2, 35.1))
UNITS = grid_of_units(
    {
        "block": [f"0{i}" for i in range(12)],
        "tract": [f"0{i // 3}" for i in range(12)],
        "county": [f"{i // 6}" for i in range(12)],
    },
    "made up",
)
MORE = {
    "units": UNITS,
    "units with attributes": UNITS.with_attribute("sex", ["female", "male"]),
    "pairs of units": pairs_of_units(UNITS),
    "official": GRIDS["attributes"].with_official_order(),
    "above": GRIDS["attributes"].with_official_order("above"),
    "basic": BASIC.with_official_order(),
    "2km": geodp.Grid.mesh("jis:2km", bounds=(139, 35, 139.25, 35.25)).with_official_order(),
    "eighth": geodp.Grid.mesh("jis:eighth", bounds=(139, 35, 139.025, 35.025)),
    "inspire": geodp.Grid.mesh("inspire:1km", bounds=LAEA).with_official_order(),
    "quadkey": geodp.Grid.mesh("quadkey:4").with_official_order(),
    "geohash": geodp.Grid.mesh("geohash:2", bounds=(0, -90, 180, 90)).with_official_order(),
}


def failed(folder):
    return [name for name, ok, _ in verify_release.verify(str(folder)) if not ok]


def run(*arguments):
    """Call the script: its exit code, and what it says."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = verify_release.main([*map(str, arguments)])
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def public(tmp_path, write_copy):
    write_copy(MORE["official"], tmp_path / "out")
    return tmp_path / "out" / "public"


@pytest.mark.parametrize("name", ["units", "units with attributes", "pairs of units"])
@pytest.mark.parametrize("file", ["population-tract.csv", "population.regions.csv"])
def test_a_changed_sum_of_units_or_another_table_of_them_is_found(tmp_path, write_copy, name, file):
    write_copy(MORE[name], tmp_path / "out")
    folder = tmp_path / "out" / "public"
    assert failed(folder) == []
    path = folder / file
    # The last unit is one with people, whose sums so change with its tract.
    header, *others, last = path.read_text(encoding="utf-8-sig").splitlines()
    cells = last.split(",")
    number = header.split(",").index("population" if "tract" in file else "tract")
    cells[number] = str(int(cells[number]) + 1).zfill(len(cells[number]))
    path.write_text("\n".join([header, *others, ",".join(cells)]) + "\n", encoding="utf-8")
    write_checksums(folder)
    assert "areas" in failed(folder)


def test_it_needs_the_standard_library_only():
    tree = ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("name", [*GRIDS, *MORE])
def test_every_release_is_verified(tmp_path, write_copy, name):
    write_copy({**GRIDS, **MORE}[name], tmp_path / "out", name="人口")
    found = list(verify_release.verify(str(tmp_path / "out")))
    assert [question for question, _, _ in found] == list(verify_release.CHECKS)
    assert all(ok for _, ok, _ in found), found
    table, card = read_release_table(tmp_path / "out")
    assert found[4][2].startswith(f"{table.key.size} cells, {table.total} in all")
    assert ("intervals follow from the counts" in found[4][2]) is (card.domain.mask is None)
    levels = {file.extras["level"] for file in card.files if "level" in file.extras}
    assert all(level in found[5][2] for level in levels)


def test_real_counts_without_intervals_are_verified(tmp_path):
    table = geodp.CountTable.from_dense([[5, 0, 9], [0, 0, 1]], geodp.Grid.regular((2, 3)))
    release = geodp.publish(table, epsilon=1, contribution=1, method="laplace-nonnegative")
    release.write(tmp_path / "out")
    assert failed(tmp_path / "out") == []


@pytest.mark.parametrize("method", ["hay", "geometric", "quadtree"])
def test_an_interval_around_a_count_that_is_not_clamped_is_worked_out(tmp_path, method):
    table = geodp.CountTable.from_dense([[50, 0, 90], [0, 0, 10]], geodp.Grid.regular((2, 3)))
    key = geodp.NoiseKey(bytes(32))
    geodp.publish(table, epsilon=1, method=method, key=key, contribution=1).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    assert failed(public) == []
    for row, column, by in product((0, 1), ("low", "high"), (-0.1, 0.1)):
        change(public, row, column, lambda end, by=by: end + by)
        assert failed(public) == ["counts"]
        change(public, row, column, lambda end, by=by: round(end - by, 6))
        assert failed(public) == []


def regions():
    """A grid in the order of regions that differ in size, some cells being in none."""
    row, col = np.indices((23, 31)).reshape(2, -1)
    row, col = np.stack([row, col])[:, (row + col) % 7 > 0]
    levels = {
        "county": np.char.add("c", (row // 7).astype(str)),
        "town": np.char.add("town ", ((row * row + col) // 5 % 13).astype(str)),
    }
    grid = geodp.Grid.regular((23, 31)).with_hierarchy(
        Hierarchy.of_cells([row, col], levels, "a test")
    )
    return grid.with_attribute("sex", ["female", "male"])


def few_people(grid, seed=4):
    """Counts of a few cells with long tails: alone, in company and at edges of the domain."""
    random = np.random.default_rng(seed)
    counts = (random.pareto(1.2, grid.shape) * 40).astype(int) * (random.random(grid.shape) < 0.1)
    counts.flat[0] = 900
    index = np.array(np.nonzero(counts))
    return geodp.CountTable.from_index(grid, index, counts[tuple(index)])


PLAIN = geodp.Grid.regular((100, 70))
CLAMPED = {
    "plain": (PLAIN, "pyramid", {"epsilon": 1}),
    "Gaussian": (PLAIN, "pyramid", {"rho": 0.1}),
    "dropped": (PLAIN, "pyramid:passes=1,prune=2", {"epsilon": 1}),
    "dropped, Gaussian": (PLAIN, "pyramid:prune=2", {"rho": 0.1}),
    "halves": (PLAIN, "topdown", {"epsilon": 1}),
    "all keys": (geodp.Grid.regular((32, 64)), "pyramid", {"epsilon": 1}),
    "mixed radices": (MORE["official"], "pyramid", {"epsilon": 1}),
    "one cell": (geodp.Grid.regular((1, 1)), "pyramid", {"epsilon": 1}),
}


def require_worked_out(folder):
    """Every end is worked out again: one that differs by its last digit is found."""
    (ok, detail), card = answer_of(folder), card_of(folder)
    assert ok, detail
    assert detail.endswith("their intervals follow from the counts")
    file = folder / "population.csv"
    lines = file.read_text().splitlines()
    for number in {1, 2, len(lines) // 2, len(lines) - 1} - {len(lines)}:
        for at in (-2, -1):
            for by in (-0.001, 0.001):
                cells = lines[number].split(",")
                cells[at] = f"{float(cells[at]) + by:.3f}"
                changed = [*lines[:number], ",".join(cells), *lines[number + 1 :]]
                file.write_text("\n".join(changed) + "\n")
                with pytest.raises(ValueError, match=f"Row {number}: the interval"):
                    verify_release.check_counts(str(folder), card)


def answer_of(folder):
    """Whether the question about counts holds, and what was found."""
    return next(one[1:] for one in verify_release.verify(str(folder)) if one[0] == "counts")


@pytest.mark.parametrize("name", CLAMPED)
def test_an_interval_of_a_method_that_clamps_is_worked_out_to_its_last_digit(tmp_path, name):
    grid, method, more = CLAMPED[name]
    key = geodp.NoiseKey(bytes(32))
    release = geodp.publish(few_people(grid), method=method, key=key, contribution=1, **more)
    release.write(tmp_path / "out")
    require_worked_out(tmp_path / "out" / "public")


@pytest.mark.parametrize("name", ["regions", "units with attributes", "pairs of units"])
def test_an_interval_of_a_cell_of_regions_is_worked_out_to_its_last_digit(tmp_path, name):
    released(regions() if name == "regions" else MORE[name]).write(tmp_path / "out")
    details = {question: told for question, _, told in verify_release.verify(str(tmp_path / "out"))}
    assert name != "regions" or ("county" in details["areas"] and "town" in details["areas"])
    require_worked_out(tmp_path / "out" / "public")


def test_a_tree_that_is_none_of_the_cells_is_refused(tmp_path):
    released(PLAIN).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    resealed(public, lambda card: card["expected_error"]["cells"]["tree"].update(fanouts=[7]))
    assert failed(public) == ["counts"]
    resealed(public, lambda card: card["expected_error"]["cells"]["tree"].update(fanouts=[4096]))
    assert failed(public) == ["counts"]


@pytest.mark.parametrize(
    "forget", [lambda cells: cells.pop("tree"), lambda cells: cells.update(version=5)]
)
def test_intervals_that_do_not_follow_from_the_card_have_to_hold_their_counts(tmp_path, forget):
    released(PLAIN).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    resealed(public, lambda card: forget(card["expected_error"]["cells"]))
    for column, end, wrong in (("low", -1, True), ("low", 0, False), ("high", 0, True)):
        change(public, 3, column, lambda _, end=end: end)
        ok, detail = answer_of(public)
        assert (ok, "follow" in detail) == (not wrong, False)


def change(folder, row, column, move):
    """Change a number of the CSV, and list the file as it is then."""
    header, *rows = (folder / "population.csv").read_text().splitlines()
    cells, at = rows[row].split(","), header.split(",").index(column)
    cells[at] = str(move(float(cells[at])))
    rows[row] = ",".join(cells)
    (folder / "population.csv").write_text("\n".join([header, *rows]) + "\n")
    write_checksums(folder)


@pytest.mark.parametrize("folder", RELEASES, ids=name_of)
def test_earlier_releases_are_verified(folder):
    done = run(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("ok      ") == len(verify_release.CHECKS)


def rewritten(public, name, change):
    """A CSV with other rows, listed as a forger would."""
    path = public / name
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(change(rows))
    write_checksums(public)


def cell(row, column, text):
    def change(rows):
        rows[row][column] = text
        return rows

    return change


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (cell(1, 3, "40"), ["counts", "areas"]),  # and outside of its interval
        (cell(1, 3, "0"), ["counts", "areas"]),
        (cell(1, 3, "-7"), ["counts", "areas"]),
        (cell(1, 3, "7.5"), ["counts", "areas"]),
        (cell(1, 3, "1e3"), ["counts", "areas"]),
        (cell(1, 3, "9" * 30), ["counts", "areas"]),
        (cell(1, 1, "else"), ["counts"]),
        (cell(1, 0, "533940001"), ["counts", "areas"]),
        (cell(1, 0, "52394000x"), ["counts", "areas"]),
        (cell(1, 0, "523940005"), ["counts", "areas"]),
        (cell(1, 4, "99"), ["counts"]),
        (cell(1, 4, "nan"), ["counts"]),
        (cell(0, 3, "people"), ["counts", "areas"]),
        (lambda rows: [rows[0], rows[2], rows[1], *rows[3:]], ["counts"]),
        (lambda rows: [rows[0], rows[1], *rows[1:]], ["counts", "areas"]),
        (lambda rows: [*rows[:-1], rows[-1][:3]], ["counts", "areas"]),
        (lambda rows: rows[:1], ["areas"]),
        (lambda rows: [], ["counts", "areas"]),
    ],
)
def test_a_forged_table_is_found(public, change, found):
    rewritten(public, "population.csv", change)
    assert failed(public) == found


@pytest.mark.parametrize("level", ["secondary", "half"])
def test_a_forged_sum_is_found(public, level):
    rewritten(public, f"population-{level}.csv", cell(1, 1, "7"))
    assert failed(public) == ["areas"]


def resealed(public, change):
    card = card_of(public)
    change(card)
    write_checksums(public, card)


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card.update(private=True),
        lambda card: card["guarantee"].update(epsilon="2"),
        lambda card: card["guarantee"].update(epsilon="1e999999999"),
        lambda card: card["guarantee"].update(epsilon="1/0"),
        lambda card: card["guarantee"].update(epsilon=None, epsilon_decimal=None),
        lambda card: card["domain"].update(cells=4607),
        lambda card: card["domain"]["axes"].update(row=-24),
        lambda card: card["domain"]["attributes"][0]["labels"].append("more"),
    ],
)
def test_a_card_that_contradicts_itself_is_found(public, change):
    resealed(public, change)
    assert "card" in failed(public)


@pytest.mark.parametrize("data", DOCUMENTS, ids=lambda data: data[:12])
def test_a_hostile_card_is_refused(public, data):
    (public / "release.json").write_bytes(data)
    assert failed(public) == ["card"]


@pytest.mark.parametrize("name", ["population.csv", "release.json", "extra"])
def test_a_link_is_not_opened(public, tmp_path, name):
    (tmp_path / "secret").write_text("my secret\n")
    (public / name).unlink(missing_ok=True)
    (public / name).symlink_to(tmp_path / "secret")
    done = run(public)
    assert (done.returncode, "my secret" in done.stdout) == (3, False)
    assert failed(public) == ["card"]
    (public / name).unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(public / name)
        assert failed(public) == ["card"]


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "/etc/passwd", "population.parquet/a"])
def test_a_name_that_leaves_the_folder_is_refused(public, name):
    card = card_of(public)
    card["files"][0]["name"] = name
    (public / "release.json").write_text(json.dumps(card))
    assert failed(public) == ["files"]
    (public / "release.json").write_text(json.dumps({**card, "name": name}))
    assert failed(public) == ["files"]


def test_messages_do_not_steer_the_terminal(public):
    (public / "\x1b[2J").write_text("")
    done = run(public)
    assert (done.returncode, "\x1b" in done.stdout) == (3, False)


def withdraw(out, **changed):
    said = {"card_sha256": sha256(out / "public" / "release.json"), "date": "2026-01-02"}
    said |= {"reason": "Counted \x1b[2J twice.", "use": None, **changed}
    (out / "WITHDRAWN.json").write_text(json.dumps(said), encoding="utf-8")


def test_a_withdrawal_is_told_and_the_release_still_holds(public):
    withdraw(public.parent, use="0123456789abcdef")
    for folder in (public, public.parent):
        done = run(folder)
        assert done.returncode == 0
        (told,) = [line for line in done.stdout.splitlines() if line.startswith("NOTE")]
        assert "WITHDRAWN on 2026-01-02: Counted ?[2J twice." in told
        assert "0123456789abcdef" in told


@pytest.mark.parametrize("notice", ["", "[]", '{"card_sha256": "00"}', "[" * 10**5])
def test_a_notice_that_cannot_be_read_is_told_too(public, notice):
    (public.parent / "WITHDRAWN.json").write_text(notice)
    done = run(public.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be read, or is of another release" in done.stdout


def test_a_notice_that_is_a_link_is_not_opened(public):
    withdraw(public.parent)
    os.rename(public.parent / "WITHDRAWN.json", public.parent / "elsewhere")
    (public.parent / "WITHDRAWN.json").symlink_to("elsewhere")
    assert "cannot be read" in run(public).stdout


def test_without_a_notice_nothing_is_said_of_one(public):
    assert "NOTE" not in run(public).stdout
    withdraw(public.parent)
    public.rename(public.parent / "copy")
    assert "NOTE" not in run(public.parent / "copy").stdout


@pytest.fixture(scope="module")
def smoothed(tmp_path_factory):
    """The folder of a snapshot that depends on the noisy counts of another."""
    grid, folder = geodp.Grid.regular((4, 4)), tmp_path_factory.mktemp("series") / "out"
    tables = [geodp.CountTable.from_dense(np.full((4, 4), 60), grid)] * 2
    series = geodp.publish_series(
        tables, times=["2024", "2025"], person="all", epsilon=1, contribution=1
    )
    series.write(folder)
    return folder / "public" / "2025"


@pytest.mark.parametrize(
    "change",
    [
        {"share": "1/3"},
        {"share": "1"},
        {"share": None},
        {"epsilon": "1/2", "epsilon_decimal": 0.5},
        {"noise_scale": "1"},
        {"in_words": "Nobody is harmed."},
    ],
    ids=str,
)
def test_budget_share_and_width_of_the_noise_of_a_part_belong_together(smoothed, change):
    card = card_of(smoothed)
    assert failed(smoothed) == []
    assert "the stated budget is that of all" in " ".join(card["guarantee"]["not_protected"])
    guarantee = {k: v for k, v in {**card["guarantee"], **change}.items() if k != "share" or v}
    with pytest.raises(ValueError, match=r"(?i)share|noise|budget"):
        verify_release.check_card(str(smoothed), {**card, "guarantee": guarantee})
