"""``geodp households publish``: read in every way, charged once, written whole, resumed."""

import json
import os
import re

import numpy as np
import pytest

import geodp as package
from geodp.cli.commands.estimate import estimate
from geodp.io.folder import staged_release
from geodp.kinds.households.commands.households import publish
from geodp.privacy.ledger import Ledger
from tests.command import Runner, figures_of, geodp, override
from tests.kinds.households.test_publish import LABELS, MEANS, require_near, sizes_on
from tests.kinds.households.test_publish import publish as publish_release

RUNNER = Runner(publish)
GRID = ("--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index")
TERMS = ("--epsilon", "1", "--contribution", "1")
NAMES = ("persons", "households")
MESH = package.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
COUNTS = np.random.default_rng(4).poisson(6 * MEANS, (8, 8, 7))
PERSONS, HOMES = (COUNTS * np.arange(1, 8)).sum(-1), COUNTS.sum(-1)


def write_table(path, columns):
    lines = [",".join(["x", "y", *columns])]
    for y in range(8):
        for x in range(8):
            lines.append(",".join(map(str, [x, y, *(one[y, x] for one in columns.values())])))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def two_columns(tmp_path):
    return write_table(tmp_path / "census.csv", {"persons": PERSONS, "homes": HOMES})


@pytest.fixture
def sizes(tmp_path):
    columns = {f"s{label}": COUNTS[..., i] for i, label in enumerate(LABELS)}
    return write_table(tmp_path / "sizes.csv", columns)


@pytest.fixture
def call(two_columns, tmp_path):
    columns = ("--value", "persons", "--households", "homes")
    return [
        two_columns,
        *columns,
        *GRID,
        *TERMS,
        "--protect",
        "person",
        "--output",
        tmp_path / "out",
    ]


@pytest.fixture
def by_size(sizes, tmp_path):
    columns = [f"--value={label}=s{label}" for label in LABELS]
    return [sizes, "--by", "size", *columns, *GRID, *TERMS, "--output", tmp_path / "out"]


def instead(*words):
    """Return a call in which only the last of several values of an option is left."""
    return override("households", "publish", *words)[2:]


def run(*words):
    done = geodp("households", "publish", *words)
    assert done.returncode == 0, done.stderr
    return done


def opened(tmp_path):
    release = package.open(tmp_path / "out")
    return release.persons.table.to_dense(), release.households.table.to_dense()


def test_two_columns_are_published_and_verified(call, tmp_path):
    done = run(*call)
    assert "of these tables together by a factor of at most 2.718" in done.stdout
    assert "A household of k persons is protected by k times epsilon: one of 7 by 7." in done.stdout
    assert geodp("verify", tmp_path / "out").returncode == 0
    run_document = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert run_document["occupied_cells"] == 64


def test_two_files_are_the_same(call, tmp_path):
    one = write_table(tmp_path / "persons.csv", {"n": PERSONS})
    other = write_table(tmp_path / "homes.csv", {"n": HOMES})
    words = [one, "--value", "n", "--households-file", other, *call[5:]]
    run(*instead(*words, "--epsilon", "1000000"))
    assert np.array_equal(opened(tmp_path), [PERSONS, HOMES])
    run_document = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert len(run_document["inputs"]) == 2


def test_persons_outside_households_are_a_third_table(call, by_size, tmp_path):
    write_table(tmp_path / "census.csv", {"persons": PERSONS, "homes": HOMES, "inst": HOMES % 9})
    run(*instead(*call, "--others", "inst", "--epsilon", "1000000"))
    release = package.open(tmp_path / "out")
    assert np.array_equal(release.others.table.to_dense(), HOMES % 9)
    other = write_table(tmp_path / "inst.csv", {"n": HOMES % 5})
    words = ("--others-file", other, "--others", "n", "--epsilon", "1000000", "--overwrite")
    run(*instead(*call, *words))
    assert np.array_equal(package.open(tmp_path / "out").others.table.to_dense(), HOMES % 5)
    again = (*by_size, "--overwrite", "--protect", "person")
    error = RUNNER.error_of(*again, "--others", "s1")
    assert "--others goes with persons and households in two columns" in error
    # Before anything is read: the file is none of this census.
    words = [tmp_path / "inst.csv", *again[1:], "--others", "s1"]
    assert "--others goes with persons and households" in RUNNER.error_of(*words)


@pytest.mark.parametrize("protect", ["person", "household"])
def test_households_by_size_have_both(by_size, protect, tmp_path):
    run(*instead(*by_size, "--protect", protect, "--epsilon", "1000000"))
    require_near(opened(tmp_path), [PERSONS, HOMES])
    assert geodp("verify", tmp_path / "out").returncode == 0


def test_an_attribute_of_another_name_is_named(sizes, by_size, tmp_path):
    words = ["members" if word == "size" else word for word in by_size]
    words += ["--protect", "person", "--epsilon", "1000000"]
    assert "--size-attribute" in RUNNER.error_of(*instead(*words))
    run(*instead(*words, "--size-attribute", "members"))
    require_near(opened(tmp_path), [PERSONS, HOMES])


def test_larger_households_are_counted_as_the_largest(by_size, tmp_path):
    run(*instead(*by_size, "--protect", "household", "--max-size", "3", "--epsilon", "1000000"))
    persons = (COUNTS * np.minimum(np.arange(1, 8), 3)).sum(-1)
    require_near(opened(tmp_path), [persons, HOMES])


def test_the_document_names_the_release(call):
    found = RUNNER.document_of(*call)
    assert (found["protects"], found["max_size"], found["spends"]) == ("person", 7, "epsilon = 1")
    assert found["private"]


@pytest.fixture
def records(tmp_path):
    """A row for each person, with an id of the household: COUNTS, one by one."""
    lines, number = ["id,lon,lat"], 0
    for (y, x, size), homes in np.ndenumerate(COUNTS):
        for _ in range(homes):
            lines += [f"h{number},{x + 0.5},{y + 0.5}"] * (size + 1)
            number += 1
    path = tmp_path / "persons.csv"
    path.write_text("\n".join(lines) + "\n")
    place = ("--points", "--x", "lon", "--y", "lat", "--household", "id")
    square = ("--crs", "EPSG:3035", "--cell", "1", "--origin", "0", "0")
    return [path, *place, "--grid", "regular:8x8", *square, *TERMS, "--output", tmp_path / "out"]


@pytest.mark.parametrize("protect", ["person", "household"])
def test_records_with_a_household_are_published(records, protect, tmp_path):
    run(*instead(*records, "--protect", protect, "--epsilon", "1000000"))
    require_near(opened(tmp_path), [PERSONS, HOMES])
    assert geodp("verify", tmp_path / "out").returncode == 0


def test_records_are_not_named_twice(records, call):
    for more in (("--households", "id"), ("--person", "id")):
        error = RUNNER.error_of(*records, "--protect", "person", *more)
        assert "have sizes and persons already" in error
    assert "Not for points: --value" in RUNNER.error_of(*call[:3], *call[5:], "--household", "homes")


def test_limits_on_the_records_of_one_table_are_refused(records, tmp_path):
    """Truncation keeps a cell of every person and table: one person would change three counts."""
    other = tmp_path / "other.csv"
    other.write_text("id,lon,lat\nh1,0.5,0.5\n")
    place = [word for word in records if word not in ("--household", "id")]
    limits = ("--households-file", other, "--person", "id", "--cells", "1")
    error = RUNNER.error_of(*place, "--protect", "person", *limits)
    assert "leave --person, --cells, --per-cell and --truncation out" in error
    assert not (tmp_path / "out").exists()


def test_the_help_says_what_one_contributes_to_two_tables():
    said = " ".join(geodp("households", "publish", "--help").stdout.split())
    assert "In how many households one person is counted at most" in said
    assert "Required unless --person" not in said


@pytest.fixture
def ledger(tmp_path):
    def make(unit):
        file = tmp_path / "office.ledger"
        words = ("--ledger", file, "--dataset", "census", "--epsilon", "2", "--unit", unit)
        assert geodp("budget", "init", *words).returncode == 0
        return ("--ledger", file, "--dataset", "census")

    return make


def charges(tmp_path):
    return Ledger.open(tmp_path / "office.ledger").charges("census")


def test_a_kept_key_replays_at_no_cost(call, ledger, tmp_path):
    geodp("key", tmp_path / "key")
    kept = [*call, *ledger("person"), "--key-file", tmp_path / "key"]
    run(*kept)
    before = opened(tmp_path)
    run(*kept, "--overwrite")
    assert np.array_equal(opened(tmp_path), before)
    assert len(charges(tmp_path)) == 1


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("call", ()),
        ("call", ("--others", "homes")),
        ("by_size", ("--protect", "person", "--max-size", "4")),
        ("by_size", ("--protect", "household")),
        ("by_size", ("--protect", "household", "--max-size", "4")),
        ("records", ("--protect", "person", "--max-size", "4")),
        ("records", ("--protect", "household")),
    ],
)
def test_an_interrupted_run_is_resumed_from_what_was_charged(
    kind, more, ledger, request, tmp_path, monkeypatch
):
    words = [*request.getfixturevalue(kind), *more]
    words += ledger("household" if "household" in more else "person")

    def fail(*_given):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", fail)
        done = geodp("households", "publish", *words)
    assert done.returncode == 1
    assert "--resume completes" in done.stderr
    assert not (tmp_path / "out").exists()
    assert len(charges(tmp_path)) == 1
    waits = geodp("households", "publish", *words)
    assert waits.returncode == 2
    assert "repeat its command with --resume" in waits.stderr
    run(*words, "--resume")
    assert len(charges(tmp_path)) == 1
    verified = geodp("verify", tmp_path / "out")
    assert verified.returncode == 0, verified.stdout
    index = json.loads((tmp_path / "out" / "public" / "households.json").read_text())
    assert index["budget"]["head"] == charges(tmp_path)[0].hash
    assert index["max_size"] == (4 if "--max-size" in more else 7)
    assert sorted(os.listdir(tmp_path / "out" / "restricted"))[-1] == "run.json"


def test_every_card_says_how_its_table_was_read(call, ledger, tmp_path, monkeypatch):
    def fail(*_given):
        raise OSError(28, "No space left on device")

    def columns():
        folder = tmp_path / "out" / "public"
        cards = [json.loads((folder / n / "release.json").read_text()) for n in NAMES]
        return [card["reading"]["counts"][0]["column"] for card in cards]

    charged = [*call, *ledger("person")]
    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", fail)
        geodp("households", "publish", *charged)
    run(*charged, "--resume")
    assert columns() == ["persons", "homes"]
    run(*call, "--overwrite")
    assert columns() == ["persons", "homes"]


def test_a_resumed_run_is_the_one_that_was_interrupted(call, ledger, tmp_path, monkeypatch):
    geodp("key", tmp_path / "key")
    kept = [*call, *ledger("person"), "--key-file", tmp_path / "key"]

    def fail(*_given):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", fail)
        geodp("households", "publish", *kept)
    run(*kept, "--resume")
    resumed = opened(tmp_path)
    card = json.loads((tmp_path / "out" / "public" / "persons" / "release.json").read_text())
    run(*kept, "--overwrite")
    assert np.array_equal(opened(tmp_path), resumed)
    again = json.loads((tmp_path / "out" / "public" / "persons" / "release.json").read_text())
    assert again["guarantee"] == card["guarantee"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda call: [*call[:3], *call[5:]], "Say where the households are: --households COLUMN"),
        (lambda call: instead(*call, "--protect", "household"), "give households by size"),
        (lambda call: [*call, "--max-size", "2"], "a cell with more than 2 persons"),
        (lambda call: [call[0], "--value", "homes", "--households", "persons", *call[5:]],
         "a cell with more households than persons"),
        (lambda call: [*call, "--method", "topdown"], "released by pyramid"),
        (lambda call: [*call[: call.index("--contribution")], *call[call.index("--protect") :]],
         "No table of counts shows in how many households"),
    ],
)  # fmt: skip
def test_wrong_calls_are_refused_in_a_sentence_and_cost_nothing(
    call, change, said, ledger, tmp_path
):
    error = RUNNER.error_of(*change(call), *ledger("person"))
    assert re.search(said, error)
    assert charges(tmp_path) == ()
    assert not (tmp_path / "out").exists()


def test_households_by_size_are_not_named_twice(by_size):
    error = RUNNER.error_of(*by_size, "--protect", "person", "--households", "s1")
    assert "have persons already" in error


def test_regions_are_estimated_with_intervals(tmp_path):
    sizes = sizes_on(MESH, scale=40)
    for protect in ("person", "household"):
        release = publish_release(by_size=sizes, protect=protect)
        release.write(tmp_path / protect)
        words = ("estimate", tmp_path / protect, "--area", "523940", "--area")
        done = geodp(*words, "52394000")
        assert done.returncode == 0, done.stderr
        head, persons, _, size, *cell = done.stdout.splitlines()
        assert head.split()[0] == "region"
        expected = release.estimate("523940")
        assert f"{expected.mean_size.value:.6g}" in size
        assert f"{expected.persons.count:,}" in persons
        assert cell[0].split()[0] == "52394000"
        (found, _) = figures_of(geodp(*words, "52394000", "--json").stdout)
        assert found["mean_size"]["high"] == expected.mean_size.high


def test_what_has_no_households_is_not_estimated(call, tmp_path):
    run(*call)
    persons = tmp_path / "out" / "public" / "persons"
    assert Runner(estimate).run(persons, "--area", "5").exit_code != 0
    assert "Name one area or more" in Runner(estimate).error_of(tmp_path / "out")


def test_small_counts_are_shown_as_the_office_does(tmp_path):
    release = publish_release(by_size=sizes_on(MESH), metadata={"display_below": 100_000})
    release.write(tmp_path / "out")
    done = geodp("estimate", tmp_path / "out", "--area", "523940")
    assert done.returncode == 0, done.stderr
    size = done.stdout.splitlines()[3].split()
    assert size == ["mean", "size", "\N{EN DASH}", "\N{EN DASH}"]
    assert "<100,000" in done.stdout


def test_the_error_of_persons_does_not_tell_how_many_households_are_hidden(tmp_path):
    terms = {"by_size": sizes_on(MESH), "key": package.NoiseKey(bytes(32))}
    persons = publish_release(**terms).estimate("523940").persons.count
    release = publish_release(**terms, metadata={"display_below": persons})
    release.write(tmp_path / "out")
    done = geodp("estimate", tmp_path / "out", "--area", "523940")
    assert done.returncode == 0, done.stderr
    shown, hidden = (line.split() for line in done.stdout.splitlines()[1:3])
    assert shown == ["523940", "persons", f"{persons:,}", "\N{EN DASH}"]
    assert hidden == ["households", f"<{persons:,}", "\N{EN DASH}"]


def test_nothing_that_is_shown_depends_on_the_data(call, tmp_path):
    first = run(*call)
    more = write_table(tmp_path / "census.csv", {"persons": PERSONS + 3, "homes": HOMES + 2})
    second = run(more, *call[1:], "--overwrite")
    assert first.stdout == second.stdout
    assert first.stderr == second.stderr


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    release = publish_release(by_size=sizes_on(MESH, scale=9))
    release.write(folder / "out")
    return folder / "out"


def test_a_page_is_written(written, tmp_path):
    page = tmp_path / "page.html"
    result = geodp("report", written, "--output", page, "--language", "ja")
    assert result.returncode == 0
    assert 'lang="ja"' in page.read_text(encoding="utf-8")
    result = geodp("report", written, "--output", page, "--place-name", "a")
    assert "--places" in result.stderr


def test_regions_are_compared(written, tmp_path):
    codes = package.open(written).persons.view().all_rows.columns["code"].to_pylist()
    one, other = codes[0], codes[-1]
    areas = ("--area", one, "--area", other)
    result = geodp("compare", written, *areas, "--json")
    (row,) = figures_of(result.stdout)
    first, second = package.open(written).estimate_all([[one], [other]])
    assert row["name"] == f"{other} - {one}"
    assert row["persons"]["value"] == second.persons.count - first.persons.count
    assert row["persons"]["low"] < row["persons"]["value"] < row["persons"]["high"]
    corners = [[9, 5], [10, 5], [10, 6], [9, 6], [9, 5]]
    far = {"type": "Polygon", "coordinates": [corners]}
    (tmp_path / "far.geojson").write_text(
        json.dumps({"type": "Feature", "properties": {"name": "far"}, "geometry": far})
    )
    for command in ("estimate", "compare"):
        result = geodp(command, written, "--polygons", tmp_path / "far.geojson")
        assert "far: The region contains no cell of the domain" in result.stderr
    result = geodp("compare", written, written, *areas)
    assert "the same release" in result.stderr
    publish_release(by_size=sizes_on(MESH, scale=9)).write(tmp_path / "later")
    result = geodp("compare", written, tmp_path / "later", *areas)
    table = result.stdout.splitlines()
    assert [line.split()[0] for line in table[::3]] == ["region", "mean", "mean"]
    assert [line.split()[0] for line in table[1::3]] == [one, other]
    assert geodp("compare", written, *areas[:2]).returncode == 2


def test_a_limit_of_display_hides_differences(tmp_path):
    limit = {"metadata": {"display_below": 10**6}}
    publish_release(by_size=sizes_on(MESH, scale=9), **limit).write(tmp_path / "out")
    codes = package.open(tmp_path / "out").persons.view().all_rows.columns["code"].to_pylist()
    areas = ("--area", codes[0], "--area", codes[-1])
    for command, rows in (("estimate", 2), ("compare", 1)):
        result = geodp(command, tmp_path / "out", *areas, "--json")
        found = figures_of(result.stdout)
        assert [row["mean_size"]["below"] for row in found] == [True] * rows
    lines = geodp("compare", tmp_path / "out", *areas).stdout.splitlines()[1:]
    assert [line.split()[-2:] for line in lines] == [["\N{EN DASH}"] * 2] * 3


def test_a_query_is_printed_that_publish_can_continue():
    bounds = ("--bounds", "139", "35", "139.125", "35.0833333333")
    options = ("--engine", "duckdb", "--household", "id", "--max-size", "3")
    result = geodp("households", "sql", "--grid", "jis:basic", *bounds, *options)
    assert "--by size --column size=size --labels size=1,2,3" in result.stdout
    assert "least(count(*), 3)" in result.stdout
    assert (
        geodp("households", "sql", "--grid", "jis:basic", *options, "--table", " ").returncode == 2
    )
