"""A round from its plan to its release: one charge, exact sums, and nothing half-written."""

import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import geodp
from geodp.errors import BudgetError, CodeError, InputError, OutputError, UsageError
from geodp.io.folder import stopping
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.verify.verify_release import verify as verify_alone
from geodp.local import (
    aggregate,
    collect,
    open_round,
    opening,
    plan,
    publish,
    randomize,
    read_round,
)
from geodp.local.collect import MIN_REPORTS, Sums
from geodp.local.files import write_reports, write_sums
from geodp.local.opening import _charge
from geodp.local.round import Round
from geodp.release.opening import errors_of
from geodp.release.release import Release
from tests.refusals import refuses

pytestmark = pytest.mark.law


@pytest.fixture
def opened(planned, ledger, tmp_path):
    return open_round(planned, ledger=ledger, dataset="phones", path=tmp_path / "round.json")


def test_a_round_charges_once_and_publishing_costs_nothing(
    opened, planned, ledger, index, tmp_path
):
    """A second one above the cap is refused, and writes nothing."""
    (charge,) = ledger.charges("phones")
    assert (charge.fingerprint, str(charge.loss)) == (opened.id, "epsilon 1")
    sums, before = aggregate(opened, randomize(opened, index)), sorted(tmp_path.iterdir())
    with refuses(BudgetError, "cap-exceeded"):
        open_round(planned, ledger=ledger, dataset="phones", path=tmp_path / "second.json")
    assert sorted(tmp_path.iterdir()) == before
    for name in ("one", "two"):
        publish(opened, sums).write(tmp_path / name)
    assert len(ledger.charges("phones")) == 1


def test_the_ledger_keeps_local_and_central_losses_apart(planned, ledger):
    with refuses(UsageError, "dataset-of-other-model"):
        open_round(planned, ledger=ledger, dataset="census")
    table = geodp.CountTable.from_dense(np.full((4, 4), 100), geodp.Grid.regular((4, 4)))
    terms = {"epsilon": 1, "neighbours": "replace-one", "unit": "device", "contribution": 1}
    with refuses(UsageError, "dataset-of-other-model"):
        geodp.publish(table, ledger=ledger, dataset="phones", **terms)
    with refuses(UsageError, "unit-differs-from-ledger"):
        open_round(planned, ledger=ledger, dataset="people")
    assert not ledger.charges()
    assert ledger.check()


def test_a_local_data_set_hides_who_and_not_whether(ledger):
    with refuses(UsageError, "devices-need-replace"):
        ledger.add_dataset("more", ledger.account("phones").cap, model="local")


def test_nothing_is_charged_where_the_file_cannot_be_written(planned, ledger, tmp_path):
    there = tmp_path / "round.json"
    there.write_text("mine")
    for path in (there, tmp_path / "nowhere" / "round.json"):
        with pytest.raises((UsageError, geodp.GeodpError)):
            open_round(planned, ledger=ledger, dataset="phones", path=path)
    assert there.read_text() == "mine"
    assert not ledger.charges()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_nothing_is_charged_or_left_where_the_disk_is_full(planned, ledger, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(opening.os, "fsync", fail)
    with refuses(OutputError, r"file-unwritten: space left.*device\)\.$"):
        open_round(planned, ledger=ledger, dataset="phones", path=tmp_path / "round.json")
    assert not ledger.charges()
    assert [path.name for path in tmp_path.iterdir()] == ["phones.ledger"]


def test_of_two_that_open_a_round_at_once_the_second_is_refused_before_its_charge(
    planned, ledger, tmp_path, monkeypatch
):
    """The second begins after the first has looked for the file, and before it has charged."""
    path, charge, refused = tmp_path / "round.json", ledger.charge_round, []

    def open_another(*given, **named):
        monkeypatch.setattr(ledger, "charge_round", charge)
        with refuses(UsageError, "round-being-opened") as error:
            open_round(planned, ledger=ledger, dataset="phones", path=path)
        refused.append(error)
        return charge(*given, **named)

    monkeypatch.setattr(ledger, "charge_round", open_another)
    first = open_round(planned, ledger=ledger, dataset="phones", path=path)
    assert len(refused) == 1
    assert read_round(path) == first
    assert [one.fingerprint for one in ledger.charges("phones")] == [first.id]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["phones.ledger", "round.json"]


def test_a_round_comes_back_from_its_file(opened, tmp_path):
    found = read_round(tmp_path / "round.json")
    assert found.digest == opened.digest
    assert found == opened
    assert found.budget is not None
    assert found.budget.dataset == "phones"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", "2"),
        ("depth", 2),
        ("id", "0" * 64),
        ("report", [["level", "|u1"]]),
        ("version", 9),
        ("sha256", "0" * 64),
        ("more", 1),
        ("crs", "\ud800"),
        ("transform", [10**19, 0, 0, 0, 1, 0]),
    ],
)
def test_a_changed_file_is_refused(opened, name, value):
    plain = json.loads(json.dumps(opened.to_json()))
    place = plain["domain"]["places"][0]
    (place if name in place else plain)[name] = value
    with pytest.raises(InputError):
        Round.from_json(plain)


@pytest.fixture
def release(opened, index):
    return publish(opened, aggregate(opened, randomize(opened, index)))


def test_the_release_is_like_any_other(release):
    assert isinstance(release, Release)
    assert release.table.total == 5000
    assert release.grid.shape == (4, 4)
    card = release.card().to_json()
    said = card["guarantee"]
    assert (said["model"], said["reports"], said["period"]) == ("local", 5000, "day")
    assert "only the device needs to be trusted" in said["in_words"]
    assert said["further_charge"].startswith("none")
    assert card["budget"]["dataset"] == "phones"
    west, south, east, north = release.grid.places[0].bounds
    half = release.estimate((west, south, (west + east) / 2, north))
    assert 0 <= half.low <= half.count <= half.high
    whole = release.estimate((west, south, east, north))
    assert (whole.count, whole.standard_error) == (5000, 0)


def test_counts_that_are_not_the_reports_are_found(release, tmp_path):
    table = replace(release.table, event=replace(release.event, reports=4999))
    replace(release, table=table).write(tmp_path / "release")
    failed = [check for check in verify(tmp_path / "release") if not check.ok]
    assert [check.name for check in failed] == ["cells"]
    assert "number of reports" in failed[0].detail


def test_a_card_that_lacks_what_local_reports_need_is_refused(release, tmp_path):
    release.write(tmp_path / "release")
    path = tmp_path / "release" / "public" / "release.json"
    card = json.loads(path.read_text())
    assert np.array_equal(read_release_table(tmp_path / "release")[0].count, release.table.count)
    for name in ("period", "reports", "epsilon"):
        lacking = {key: one for key, one in card["guarantee"].items() if key != name}
        path.write_text(json.dumps(card | {"guarantee": lacking}))
        with pytest.raises(geodp.GeodpError):
            read_release_table(tmp_path / "release")


def test_spread_blocks_are_marked_and_have_no_errors(opened, index):
    sums = aggregate(opened, randomize(opened, index))
    blocks, fine = publish(opened, sums), publish(opened, sums, spread=True)
    assert fine.grid == opened.grid
    assert fine.table.total == 5000
    key = fine.table.key // np.uint64(opened.coarse.side**2)
    assert set(key.tolist()) == set(blocks.table.key.tolist())
    assert fine.table.count.max() <= -(-blocks.table.count.max() // opened.coarse.side**2)
    card = fine.card()
    assert any("Even within" in words for words in card.post_processing)
    assert card.expected_error.blocks is None
    assert card.mechanism.settings["spread"] is True
    assert not any("Even within" in words for words in blocks.card().post_processing)
    with refuses(UsageError, "round-not-spread"):
        replace(opened, protocol=replace(opened.protocol, spread=True))


def test_one_file_is_forty(opened, index, tmp_path):
    reports = randomize(opened, index)
    whole = aggregate(opened, reports)
    paths = []
    for n, piece in enumerate(np.array_split(reports, 40)):
        paths.append(tmp_path / f"{n}.{'jsonl' if n % 2 else 'parquet'}")
        write_reports(paths[-1], opened.digest, piece)
    many = aggregate(opened, paths)
    assert many.state == whole.state
    parts = [aggregate(opened, some) for some in (paths[:7], paths[7:])]
    merged = aggregate(opened, parts)
    assert merged == many
    releases = [publish(opened, sums).table for sums in (whole, many, merged)]
    assert all(np.array_equal(releases[0].count, other.count) for other in releases)
    assert all(np.array_equal(releases[0].key, other.key) for other in releases)


def test_the_same_reports_in_any_form_count_once(opened, index, tmp_path):
    reports = randomize(opened, index)
    path, other = tmp_path / "a.parquet", tmp_path / "b.jsonl"
    write_reports(path, opened.digest, reports)
    write_reports(other, opened.digest, reports[::-1])
    copy = tmp_path / "b.parquet"
    copy.write_bytes(path.read_bytes())
    with refuses(InputError, r"reports-added-twice: ^b\.parquet:"):
        aggregate(opened, [path, copy])
    with refuses(UsageError, "reports-added-twice"):
        aggregate(opened, path) + aggregate(opened, copy)
    sums = aggregate(opened, path)
    sums.write(tmp_path / "a.sums")
    for both in ([path, other], [sums, other], [tmp_path / "a.sums", other]):
        with refuses(InputError, r"reports-added-twice: ^b\.jsonl:"):
            aggregate(opened, both)
    with refuses(InputError, r"reports-added-twice: ^a\.sums:"):
        aggregate(opened, [other, tmp_path / "a.sums"])
    changed = reports.copy()
    changed[np.flatnonzero(reports != reports[0])[0]] = reports[0]
    write_reports(tmp_path / "c.parquet", opened.digest, changed)
    write_reports(tmp_path / "d.parquet", opened.digest, reports[1:])
    more = [path, tmp_path / "c.parquet", tmp_path / "d.parquet"]
    assert aggregate(opened, more).reports == 3 * reports.size - 1


def test_arrays_are_added_up_beside_files(opened, index, tmp_path):
    reports = randomize(opened, index)
    write_reports(tmp_path / "a.parquet", opened.digest, reports[3000:])
    parts = [reports[:2000], tmp_path / "a.parquet", aggregate(opened, reports[2000:3000])]
    assert aggregate(opened, parts).state == aggregate(opened, reports).state


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_a_bad_report_is_named_by_file_and_row_and_not_quoted(
    opened, index, tmp_path, name, monkeypatch
):
    monkeypatch.setattr(collect, "CHUNK", 1000)
    reports = randomize(opened, index)
    reports["row"][4321] = 47111
    write_reports(tmp_path / name, opened.digest, reports)
    with pytest.raises(InputError) as error:
        aggregate(opened, [tmp_path / name])
    row = 4322 + (name == "a.jsonl")
    assert str(error.value).startswith(f"{name}, row {row}: A report of ")
    assert "47111" not in str(error.value)
    with pytest.raises(InputError) as error:
        aggregate(opened, [reports])
    assert error.value.position == 4321


@pytest.mark.parametrize("reports", [1 << 62, (1 << 62) + 1, (1 << 63) - 1])
def test_forged_sums_of_very_many_reports_are_taken_or_refused_by_rule(opened, tmp_path, reports):
    sums = aggregate(opened, randomize(opened, np.zeros((2, 10), np.int64)))
    own = sums.state.states[0].arrays() | {"reports": np.array([reports])}
    arrays = sums.state.arrays() | {f"0.{key}": array for key, array in own.items()}
    path, others = tmp_path / "forged.sums", sums.reports - sums.state.states[0].reports
    said = {"round": opened.to_json(), "files": []}
    write_sums(path, said, arrays, overwrite=False)
    if reports + others > 1 << 62:
        with refuses(InputError, r"reports-too-many|state-incomplete: ^forged\.sums: "):
            Sums.read(path)
        return
    found = Sums.read(path)
    assert publish(opened, found).table.total == reports
    with refuses(UsageError, "reports-too-many"):
        found + found


def test_reports_and_sums_of_another_round_are_refused(opened, planned, index, tmp_path):
    other = open_round(planned)
    path = tmp_path / "other.parquet"
    write_reports(path, other.digest, randomize(other, index))
    with refuses(InputError, "reports-of-other-round"):
        aggregate(opened, path)
    sums = aggregate(other, path)
    with refuses(UsageError, "sums-of-other-round"):
        aggregate(opened, sums)
    sums.write(tmp_path / "other.sums")
    with refuses(InputError, r"sums-of-other-round: ^other\.sums:"):
        aggregate(opened, tmp_path / "other.sums")
    with refuses(UsageError, "sums-of-wrong-round"):
        publish(opened, sums)


def test_few_reports_are_not_published(opened, index):
    few = aggregate(opened, randomize(opened, index[:, : MIN_REPORTS - 1]))
    with refuses(UsageError, r"reports-too-few: 1,000.*\b999\b"):
        publish(opened, few)


def test_a_cell_outside_is_refused_at_the_device_and_not_quoted(opened, index):
    bad = index.copy()
    bad[0, 17] = 4711
    with refuses(CodeError, "device-outside-domain") as error:
        randomize(opened, bad)
    assert error.value.position == 17
    assert "4711" not in str(error.value)
    with refuses(UsageError, "cells-form"):
        randomize(opened, index[0])


def test_codes_are_cells(opened, index):
    codes = opened.grid.places[0].format(*index)
    assert randomize(opened, codes.tolist()).size == index.shape[1]


@pytest.mark.parametrize("code", ["3,4", "a", "code", "9" * 40 + "_1", "1_", "\u0664_1", ""])
def test_codes_of_a_plain_grid_are_refused_and_not_quoted(code):
    opened = open_round(plan(geodp.Grid.regular((64, 64)), devices=5000, epsilon=1))
    assert randomize(opened, ["3_4"]).size == 1
    with refuses(CodeError, "code-not-row-col"):
        randomize(opened, ["3_4", code])


def test_reports_come_in_random_order(opened):
    corners = np.zeros((2, 4000), np.int64)
    corners[:, 2000:] = 63
    reports = randomize(opened, corners)
    early, late = reports[:2000], reports[2000:]
    assert aggregate(opened, early).reports == aggregate(opened, late).reports == 2000
    assert set(reports.dtype.names) <= {"level", "row", "bit", "value"}


@pytest.mark.parametrize("files", [("x",), ("0" * 64, "0" * 64)])
def test_sums_name_each_file_once(opened, index, tmp_path, files):
    sums = aggregate(opened, randomize(opened, index))
    replace(sums, files=files).write(tmp_path / "forged.sums")
    with refuses(InputError, r"sums-file-twice|sums-without-files: ^forged\.sums: "):
        Sums.read(tmp_path / "forged.sums")


def test_sums_come_back_whole_or_not_at_all(opened, index, tmp_path):
    sums, path = aggregate(opened, randomize(opened, index)), tmp_path / "a.sums"
    sums.write(path)
    assert Sums.read(path) == sums
    data = path.read_bytes()
    changed = data[:-9] + bytes(255 - byte for byte in data[-9:])
    for broken in (data[:-1], data + b"x", data[: len(data) // 2], b"", changed):
        path.write_bytes(broken)
        with pytest.raises(InputError):
            Sums.read(path)


KILLED = """
import os, signal, sys
from geodp.io.folder import atomic
atomic.os.link = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from geodp.cli import geodp
geodp(sys.argv[1:], standalone_mode=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
def test_a_killed_run_is_run_again(opened, index, tmp_path):
    path, output = tmp_path / "a.parquet", tmp_path / "a.sums"
    write_reports(path, opened.digest, randomize(opened, index))
    call = ["local", "aggregate", str(tmp_path / "round.json"), str(path), "-o", str(output)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *call], check=False)
    assert killed.returncode == -9
    assert not output.exists()
    subprocess.run([sys.executable, "-m", "geodp", *call], check=True, capture_output=True)
    assert Sums.read(output) == aggregate(opened, path)


def test_weak_protection_is_asked_for(planned):
    with refuses(UsageError, "epsilon-weak: --allow-weak"):
        open_round(replace(planned, epsilon=planned.epsilon * 17))
    weak = open_round(replace(planned, epsilon=planned.epsilon * 17, allow_weak=True))
    assert weak.allow_weak


def test_a_ledger_and_a_data_set_go_together(planned, ledger):
    for given in ({"ledger": ledger}, {"dataset": "phones"}):
        with refuses(UsageError, "ledger-needs-dataset"):
            open_round(planned, **given)
    assert _charge(open_round(planned), None, None).budget is None


def test_official_areas_end_to_end(tmp_path):
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4000000, 3000000, 4300000, 3200000))
    planned = plan(grid.with_official_order(), devices=200_000, epsilon=4)
    assert planned.released.places[0].system.name == "inspire:10km"
    opened = open_round(planned)
    rng = np.random.default_rng(0)
    index = np.stack([rng.integers(0, size, 20_000) for size in grid.shape])
    release = publish(opened, aggregate(opened, randomize(opened, index)))
    release.write(tmp_path / "release")
    assert all(check.ok for check in verify(tmp_path / "release", errors_of))
    assert all(ok for _, ok, _ in verify_alone(str(tmp_path / "release")))
    (areas,) = release.areas()
    assert areas.level == "inspire:100km"
    assert areas.count.sum() == 20_000
    assert (areas.standard_error > 0).all()
    spread = publish(opened, aggregate(opened, randomize(opened, index)), spread=True)
    spread.write(tmp_path / "spread")
    assert all(check.ok for check in verify(tmp_path / "spread", errors_of))
    assert [one.standard_error for one in spread.areas()] == [None, None]
    truth = np.bincount((index[0] // 100) * 3 + index[1] // 100, minlength=6)
    key = areas.table.grid.decode(areas.table.key)
    error = areas.count - truth[key[0] * 3 + key[1]]
    assert (np.abs(error) < 5 * areas.standard_error).all()


def test_a_stop_between_charge_and_file_waits_for_the_file(planned, ledger, tmp_path, monkeypatch):
    stopping.begin()
    charge = ledger.charge_round

    def stop_after(*given, **named):
        found = charge(*given, **named)
        stopping.request_stop(KeyboardInterrupt())
        return found

    monkeypatch.setattr(ledger, "charge_round", stop_after)
    try:
        with pytest.raises(KeyboardInterrupt):
            open_round(planned, ledger=ledger, dataset="phones", path=tmp_path / "round.json")
    finally:
        stopping.begin()
    assert read_round(tmp_path / "round.json").id == ledger.charges("phones")[0].fingerprint
