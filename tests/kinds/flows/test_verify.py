"""Verification of flows: whatever is changed is found."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.io.verify import index as of_index
from geodp.io.verify.verify import verify
from geodp.kinds.flows import publish as publishing
from geodp.kinds.flows.flows import depend_ends
from geodp.table.counts import ReleasedTable
from tests.kinds.flows.forms import change_index, failed, list_sums, make
from tests.kinds.flows.test_publish import publish, trips_on
from tests.refusals import refuses


@pytest.fixture
def folder(name, shared, tmp_path):
    """A copy of the public folder of a form."""
    shared.copy(make(shared, name), tmp_path / "out")
    return tmp_path / "out" / "public"


def put(*path, value=None):
    """Return what puts a value into an index."""

    def change(card):
        for one in path[:-1]:
            card = card[one]
        card[path[-1]] = value

    return change


def rename_source(card):
    """Name another source of the prior wherever the index has it; the cards keep theirs."""
    card["prior"]["source"] = "another"
    (assumed,) = (one for one in card["guarantee"]["assumptions"] if one["kind"] == "prior")
    assumed.update(source="another")


LABELS = ("guarantee", "labels")
FALSE = [
    ("square", put("files", value=[]), "checksums"),
    ("square", put("tables", 1, "release_id", value="0" * 16), "tables"),
    ("square", put("decay", "length", value=99.0), "one release"),
    ("square", put("decay", "length"), "one release"),
    ("square", put("files", 0, "what", value="these are the exact trips"), "joint files"),
    ("square", put("left_out", value=[{"name": "x", "why": "y"}]), "joint files"),
    ("square", put("pairs"), "guarantee"),
    ("hours", put(*LABELS, "share", value="1/5"), "guarantee"),
    ("hours", put(*LABELS, "side", value=4), "guarantee"),
    ("hours", put(*LABELS, "attributes", value=["day"]), "guarantee"),
    ("hours", put(*LABELS), "guarantee"),
    ("prior", put("prior", "weight", value=0.1), "one release"),
    ("prior", put("prior", "weight", value=2.0), "guarantee"),
    ("prior", lambda card: card["prior"]["ends"].reverse(), "one release"),
    ("prior", lambda card: card.pop("prior"), "guarantee"),
    ("prior", rename_source, "one release"),
]
"""What no contract changes: of labels and priors, and what is more than one value."""


@pytest.mark.parametrize(("name", "change", "check"), FALSE)
def test_an_index_that_says_otherwise_is_found(folder, change, check):
    change_index(folder, change)
    assert check in failed(folder)


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("hours", {"side": 3, "pair_side": 12}),
        ("hours", {"side": 64, "pair_side": 256}),
        ("hours", {"side": 1 << 40, "pair_side": 1 << 42}),
        ("hours", {"share": "0"}),
        ("hours", {"share": "1"}),
        ("labels of units", {"side": 3}),
        ("labels of units", {"side": 1 << 40}),
    ],
)
def test_labels_that_no_release_measures_are_refused_at_opening(folder, stated):
    change_index(folder, lambda card: card["guarantee"]["labels"].update(stated))
    with refuses(VerificationError, "flows-stated-labels"):
        geodp.open(folder.parent)
    assert failed(folder)


def with_column(rows, name, values):
    return rows.set_column(rows.column_names.index(name), name, pa.array(values))


def raise_first(rows):
    """Another number in the first row of the last column."""
    name = rows.column_names[-1]
    first, *rest = rows[name].to_pylist()
    value = f"{first}1" if isinstance(first, str) else first + 1 if isinstance(first, int) else None
    return with_column(rows, name, [value, *rest])


CHANGES = {
    "number": raise_first,
    "fewer": lambda rows: rows.slice(1),
    "none": lambda rows: rows.slice(0, 0),
    "order": lambda rows: rows.take([*range(len(rows) - 1, -1, -1)]),
    "twice": lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]),
    "column": lambda rows: rows.append_column("secret", rows[rows.column_names[0]]),
    "metadata": lambda rows: rows.replace_schema_metadata({"secret": "7"}),
    "name": lambda rows: rows.rename_columns([*rows.column_names[:-1], "zone"]),
    "blank": lambda rows: with_column(rows, rows.column_names[-1], pa.nulls(len(rows))),
}
FILES = [
    ("square", "pairs-4.parquet"),
    ("prior", "prior.parquet"),
    ("hours", "labels-origins.parquet"),
    ("hours", "labels-pairs.parquet"),
    ("units", "blocks.parquet"),
    ("units", "origins/origins.outlines.parquet"),
    ("mask", "flows/flows.zones.parquet"),
]
"""Files beside the tables, by the form whose releases have them."""


@pytest.mark.parametrize(("name", "file"), FILES)
def test_other_files_are_found(folder, file):
    path, wrong = folder / file, {"joint files", "one release", "guarantee", "origins"}
    rows, before = pq.read_table(path), path.read_bytes()
    index = (folder / "flows.json").read_bytes()
    # Other files are read by the same code.
    some = CHANGES if file in ("pairs-4.parquet", "prior.parquet") else ("number", "order", "twice")
    for change in map(CHANGES.get, some):
        pq.write_table(change(rows), path, compression="zstd")
        change_index(folder)
        assert failed(folder).keys() & wrong
        (folder / "flows.json").write_bytes(index)
    path.write_bytes(before[:-100])
    change_index(folder)
    assert failed(folder).keys() & wrong
    path.unlink()
    list_sums(folder)
    assert failed(folder)


@pytest.mark.parametrize("damage", ["cut", "other columns", "many"])
def test_a_release_with_damaged_pairs_is_not_opened(public, damage):
    file = public / "pairs-4.parquet"
    rows = pq.read_table(file)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    else:
        pq.write_table(pa.concat_tables([rows, rows]) if damage == "many" else rows.slice(9), file)
    with refuses(VerificationError, "release-not-read-back|rows-above-possible"):
        geodp.open(public)


@pytest.mark.parametrize("name", ["hours"])
def test_labels_that_do_not_add_up_to_both_ends_are_found(folder):
    path = folder / "flows" / "flows.parquet"
    rows = pq.read_table(path)
    first, *rest = rows["flows"].to_pylist()
    pq.write_table(with_column(rows, "flows", [first + 1, *rest]), path, compression="zstd")
    list_sums(folder)
    assert failed(folder)


def moved(release):
    """A release in which one trip begins elsewhere."""
    table = release.flows.table
    count = np.array(table.count)
    count[[0, -1]] += [1, -1]
    key, count = table.key[count > 0], count[count > 0]
    return replace(release.flows, table=ReleasedTable(table.grid, key, count, table.event))


def test_parts_of_two_releases_are_found(release, tmp_path):
    """Flows that do not add up to their ends, other ends, and other pairs of the same plan."""
    other = publish(trips_on(seed=8))
    for number, (changed, wrong) in enumerate(
        (
            ({"flows": moved(release)}, {"constraints", "one release"}),
            ({"origins": other.origins}, {"one release"}),
            ({"noisy": release.noisy[::-1]}, {"joint files"}),
        )
    ):
        replace(release, **changed).write(tmp_path / str(number))
        assert wrong <= failed(tmp_path / str(number) / "public").keys()


def test_noisy_pairs_of_another_release_are_found(public, tmp_path):
    """Of the same plan: the digest tells them from the right ones, and the errors that follow."""
    publish(trips_on(seed=8)).write(tmp_path / "other")
    for name in ("pairs-4.parquet", "pairs-8.parquet"):
        shutil.copy(tmp_path / "other" / "public" / name, public / name)
    change_index(public)
    # The picture shows the largest estimates, which may be the same.
    assert failed(public).keys() - {"joint files"} == {"guarantee", "one release"}


@pytest.mark.parametrize("name", ["prior"])
def test_a_prior_of_another_release_is_found(name, folder, shared, tmp_path):
    """With its digest stated: what every card states of the whole tells."""
    other = publish(prior=trips_on(seed=9), prior_source="a census")
    other.write(tmp_path / "other")
    path = tmp_path / "other" / "public"
    shutil.copy(path / "prior.parquet", folder / "prior.parquet")
    stated = json.loads((path / "flows.json").read_text())["prior"]
    change_index(folder, put("prior", value=stated))
    assert failed(folder).keys() - {"joint files"} == {"guarantee", "one release"}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The public folder of a release whose maps of ends state their own share alone."""
    out = tmp_path_factory.mktemp("earlier") / "out"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(publishing, "depend_ends", lambda plan: depend_ends(plan).own)
        publish().write(out)
    return out / "public"


def test_a_release_that_was_made_before_holds_and_what_to_count_is_told(earlier, public):
    told = {one.name: one.detail for one in verify(earlier)}["guarantee"]
    assert failed(earlier) == failed(public) == {}
    assert "count epsilon = 1 for origins, epsilon = 1 for destinations" in told
    assert "count" not in {one.name: one.detail for one in verify(public)}["guarantee"]


def test_a_later_version_states_all_that_its_tables_depend_on(earlier, monkeypatch):
    monkeypatch.setattr(of_index, "EARLIER", "0.0.9")
    assert failed(earlier) == {"guarantee": "A table has another noise than the index implies."}


def test_the_card_of_a_map_of_ends_states_the_whole_budget(public):
    whole = json.loads((public / "flows.json").read_text())["guarantee"]
    for name in ("origins", "destinations"):
        stated = json.loads((public / name / "release.json").read_text())["guarantee"]
        assert (stated["spends"], stated["share"]) == (whole["spends"], whole["end_share"])
        assert "this table together with all that it depends on" in stated["in_words"]
