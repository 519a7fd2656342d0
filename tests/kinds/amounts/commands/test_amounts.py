"""``geodp amounts``: two commands from a file of persons to means, charged once and resumed."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

from geodp import open as geodp_open
from geodp.cli.commands.estimate import estimate
from geodp.kinds.amounts.running.publish import publish
from geodp.tools.compare.commands.compare import compare
from geodp.tools.explain.commands.report import report
from tests.command import Runner, figures_of, geodp, override
from tests.kinds.amounts import made
from tests.kinds.amounts.made import incomes

RUNNER = Runner(publish)
GRID = ("--grid", "inspire:1km", "--bounds", "4000000 3000000 4016000 3016000")
TERMS = ("--epsilon", "1", "--contribution", "1", "--method", "pyramid:setting=R")
AMOUNT = ("--amount", "income", "--clip", "0", "1000", "--unit-of-amount", "10,000 yen")


@pytest.fixture
def persons(tmp_path):
    x, y, income = incomes(5000)
    lines = ["id,x,y,income,kind,n"]
    for i, (a, b, c) in enumerate(zip(x, y, income, strict=True)):
        kind = "a" if i % 2 else "b"
        lines.append(f"p{i},{4e6 + 1000 * a:.1f},{3e6 + 1000 * b:.1f},{c:.2f},{kind},1")
    (tmp_path / "persons.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "persons.csv"


@pytest.fixture
def call(persons, tmp_path):
    return [persons, *GRID, "--x", "x", "--y", "y", *AMOUNT, *TERMS, "--output", tmp_path / "out"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--person", "id", "--cells", "2"), "--cells"),
        (("--anchor", "corner"), "--anchor"),
        (("--duplicates", "sum"), "--duplicates"),
        (("--value", "n", "--value", "id"), "one column"),
        (("--share", "1/3"), "--share divides"),
        (("--classes", "100,200", "--no-means", "--share", "1/3"), "--share divides"),
        (("--no-means",), "edges of classes"),
        (("--classes", "9,3"), "increase"),
        (("--person", "id", "--value", "n"), "do not tell whose"),
        (("--amount", "kind"), "no number in plain digits"),
    ],
)
def test_options_that_do_not_go_together_are_refused(call, tmp_path, more, code):
    assert code in RUNNER.error_of(*override("amounts", "publish", *call, *more)[2:])
    assert not (tmp_path / "out").exists()


def test_a_changed_release_is_no_prior(call, tmp_path):
    first = geodp("amounts", "publish", *call[:-1], tmp_path / "first")
    assert first.returncode == 0, first.stderr
    public = tmp_path / "first" / "public"
    table = public / "amounts.parquet"
    table.write_bytes(table.read_bytes()[:-20])
    told = ("--prior", tmp_path / "first", "--prior-is-public", "--prior-source", "s")
    for change in (lambda: None, table.unlink):
        change()
        refused = geodp("amounts", "publish", *call, *told)
        assert refused.returncode == 2
        assert "no consistent release" in refused.stderr
    assert not (tmp_path / "out").exists()


def test_the_sum_of_a_cell_without_a_count_does_not_tell_the_end_of_the_count(call, tmp_path):
    assert RUNNER.run(*call, "--display-below", "1000000").exit_code == 0
    release = geodp_open(tmp_path / "out")
    codes = [code_of(cell) for cell in np.ndindex(16, 16)]
    counts = [one.count.count for one in release.estimate_all(codes)]
    empty = codes[counts.index(0)]
    assert release.estimate(empty).sum.high > 0
    done = Runner(estimate).run(tmp_path / "out", "--area", empty)
    count, total = (line.split() for line in done.output.splitlines()[2:4])
    assert count[2:] == ["0", *count[3:4], "0", "to", "<1,000,000"]
    assert total == ["sum", "0", "\N{EN DASH}"]


def test_a_query_is_printed_that_publish_can_continue():
    words = ("amounts", "sql", *GRID, "--engine", "duckdb", *AMOUNT, "--points", "x", "y")
    done = geodp(*words, "--step", "0.5", "--person", "id", "--contribution", "2")
    assert done.returncode == 0, done.stderr
    assert "--clip 0 1000 --step 0.5 --unit-of-amount '10,000 yen'" in done.stdout
    assert "--value geodp_records --contribution 2" in done.stdout
    assert "place <= 2" in done.stdout
    assert "you vouch" in geodp(*words).stdout
    assert geodp(*words, "--order-by", "t").returncode == 2


def code_of(cell):
    """Return the code of a cell by its row and column from the south-west."""
    return f"1kmN{3000 + cell[0]}E{4000 + cell[1]}"


def write_areas(folder, **boxes):
    """Write rectangles as west, south, east and north in metres of Europe."""
    features = []
    for name, (west, south, east, north) in boxes.items():
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        shape = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": {"name": name}, "geometry": shape})
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3035"}}
    document = {"type": "FeatureCollection", "crs": crs, "features": features}
    (folder / "areas.geojson").write_text(json.dumps(document))
    return folder / "areas.geojson"


PARTLY, INSIDE = (4, 4, 20, 12), (4, 4, 12, 12)
OUTSIDE = "partly: 25.0 % of its area lies outside the map, and nothing there is counted."


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """A release of amounts by sex and age, its folder, and two areas as words of a command."""
    draw, n = np.random.default_rng(8), 20_000
    sex, age = draw.integers(0, 2, n), draw.integers(0, 3, n)
    data = pa.table({
        "x": 16 * draw.beta(2, 2, n), "y": 16 * draw.beta(2, 2, n),
        "income": draw.gamma(4, 60, n) + 100 * sex,
        "sex": pa.array(["f", "m"]).take(pa.array(sex)),
        "age": pa.array(["20-29", "30-34", "35-39"]).take(pa.array(age)),
    })  # fmt: skip
    labels = {"sex": ["f", "m"], "age": ["20-29", "30-34", "35-39"]}
    release = made.publish(data, by=["sex", "age"], labels=labels, classes=made.EDGES, step="0.1")
    folder = tmp_path_factory.mktemp("groups")
    release.write(folder / "out")
    areas = write_areas(folder, partly=PARTLY, inside=INSIDE)
    return release, folder / "out", ("--polygons", areas)


def document_of(command, *words):
    """Return the document of ``--json``, whose numbers have the decimals of amounts."""
    text = Runner(command).run(*words, "--json").output
    numbers = re.findall(r": -?\d+\.(\d+)", text)
    assert max(map(len, numbers)) <= 6
    assert "NaN" not in text
    found = json.loads(text)
    assert found["outside"] == {"partly": pytest.approx(1 / 4), "inside": 0}
    return found, figures_of(text)


def test_groups_of_a_region_are_estimated(groups):
    release, out, areas = groups
    words = [word for one in ("sex=f", "age=30-34", "age=35-39") for word in ("--label", one)]
    found, rows = document_of(estimate, out, *areas, *words, "--quantile", "0.9")
    assert found["labels"] == {"sex": ["f"], "age": ["30-34", "35-39"]}
    one = release.estimate(INSIDE, {"sex": "f", "age": ["30-34", "35-39"]})
    assert rows[1]["count"]["value"] == one.count.count
    assert rows[1]["mean"]["value"] == pytest.approx(one.mean.value, abs=1e-3)
    more = ("--quantile", "0.9", "--below", "150")
    shown = Runner(estimate).run(out, *areas, *words[:2], *more).output
    for text in ("income in 10,000 yen", "; sex=f", "median", "quantile 0.9", "below 150", OUTSIDE):
        assert text in shown
    assert "inside: " not in shown


def test_groups_of_a_region_are_compared(groups):
    release, out, areas = groups
    words = (*areas, "--label", "sex=m", "--label", "age=20-29", "--against", "sex=f")
    _, rows = document_of(compare, out, *words)
    assert [row["name"] for row in rows] == [
        f"{name}: sex=f, age=20-29 - sex=m, age=20-29" for name in ("partly", "inside")
    ]
    men, women = ({"sex": sex, "age": "20-29"} for sex in "mf")
    mean = release.compare(INSIDE, labels=(men, women))["mean"]
    assert rows[1]["mean"]["value"] == pytest.approx(mean.value, abs=1e-3)
    assert rows[1]["mean"]["low"] == pytest.approx(mean.low, abs=1e-3)
    assert Runner(compare).run(out, *words).output.splitlines()[-1] == OUTSIDE
    # All women have the young ones among them.
    more = ("--label", "sex=f", "--against", "age=20-29")
    assert "common cells" in Runner(compare).error_of(out, *areas, *more)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--label", "f"), "names no label"),
        (("--label", "sex=f", "--label", "sex=f"), "twice"),
        (("--label", "sex=x"), "sex has no label 'x'"),
        (("--label", "job=x"), "no attribute 'job'"),
    ],
)
def test_labels_that_are_none_are_refused(groups, more, said):
    refused = Runner(estimate).error_of(groups[1], *groups[2], *more)
    assert said in refused
    assert "partly" not in refused


def test_a_polygon_without_a_cell_is_named(groups, tmp_path):
    far = write_areas(tmp_path, partly=PARTLY, far=(80, 4, 90, 12))
    blank = Runner(estimate).run(groups[1], "--polygons", far).stdout
    assert re.search("far +count +–", blank)
    for command, *words in (
        (compare, "--polygons", far),
        (compare, "--polygons", far, "--label", "sex=m", "--against", "sex=f"),
        (report, "--places", far, "--output", tmp_path / "page.html"),
    ):
        refused = Runner(command).error_of(groups[1], *words)
        assert refused.startswith("far: The region contains no cell of the domain")
    assert not (tmp_path / "page.html").exists()
