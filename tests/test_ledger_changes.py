"""Every change of a ledger from outside is found, as far as it can be."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction as F

import pytest

from geodp.errors import VerificationError
from geodp.ledger import Ledger
from geodp.loss import PureDP
from tests.ledgers import charge, fingerprint, forge, used_ledger


@pytest.fixture
def busy(tmp_path):
    return used_ledger(tmp_path)


COLUMNS = {
    "entry": ["sequence", "kind", "at", "previous", "hash"],
    "genesis": ["sequence", "id", "version"],
    "dataset": ["sequence", "name", "cap", "unit", "neighbours"],
    "charge": [
        *["sequence", "dataset", "loss", "mechanism", "neighbours", "contribution"],
        *["fingerprint", "details"],
    ],
}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, names in COLUMNS.items() for column in names]
)
def test_a_change_of_any_column_of_any_row_is_found(busy, tmp_path, table, column):
    with closing(sqlite3.connect(busy.path)) as db:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        rows = [row[0] for row in db.execute(f"SELECT sequence FROM {table}")]
        whole = isinstance(db.execute(f"SELECT {column} FROM {table}").fetchone()[0], int)
    assert columns == COLUMNS[table]
    changes = [f"{column} + 100", f"-1 - {column}"] if whole else [f"{column} || 'x'", "''"]
    changes += [] if column == "sequence" else [f"CAST({column} AS BLOB)"]
    for row in rows:
        for change in changes:
            forged = tmp_path / "forged"
            shutil.copy(busy.path, forged)
            forge(forged, f"UPDATE {table} SET {column} = {change} WHERE sequence = {row}")
            with pytest.raises(VerificationError):
                Ledger.open(forged).check()
            if column != "sequence" or table == "entry":
                with pytest.raises(VerificationError):
                    charge(Ledger.open(forged), number=99)


@pytest.mark.parametrize("sequence", range(6))
def test_an_entry_taken_out_is_found(busy, sequence):
    forge(
        busy.path,
        *(
            f"DELETE FROM {table} WHERE sequence = {sequence}"
            for table in ("entry", "genesis", "dataset", "charge")
        ),
    )
    with pytest.raises(VerificationError):
        Ledger.open(busy.path).check()


def test_a_charge_taken_out_alone_is_found_before_the_next_charge(busy):
    forge(busy.path, "DELETE FROM charge WHERE sequence = 6")
    with pytest.raises(VerificationError, match="entry 6"):
        charge(Ledger.open(busy.path), number=99)


@pytest.mark.parametrize("sequence", [1, 99])
def test_rows_outside_of_the_chain_are_found(busy, sequence):
    columns = "dataset, loss, mechanism, neighbours, contribution, 'aa', details"
    forge(
        busy.path,
        f"INSERT INTO charge SELECT {sequence}, {columns} FROM charge WHERE sequence = 3",
    )
    with pytest.raises(VerificationError):
        busy.check()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER charge_delete",
        "CREATE TRIGGER more AFTER INSERT ON charge BEGIN SELECT 1; END",
        "CREATE VIEW more AS SELECT 1",
        "ALTER TABLE dataset ADD COLUMN more TEXT",
    ],
)
def test_other_tables_and_triggers_are_found(busy, statement):
    with closing(sqlite3.connect(busy.path)) as db:
        db.execute(statement)
    with pytest.raises(VerificationError):
        busy.check()


def test_the_file_itself_refuses_changes_by_accident(busy):
    with closing(sqlite3.connect(busy.path)) as db:
        for statement in ("DELETE FROM charge", "UPDATE dataset SET cap = 'epsilon 9'"):
            with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                db.execute(statement)


def test_a_damaged_page_is_found(busy):
    content = bytearray(busy.path.read_bytes())
    for at in range(4096, len(content), 4096):
        damaged = busy.path.with_name(f"damaged-{at}")
        damaged.write_bytes(content[:at] + bytes(64) + content[at + 64 :])
        with pytest.raises(VerificationError):
            Ledger.open(damaged).check()


def test_a_changed_byte_is_found_also_in_an_index(busy):
    content = busy.path.read_bytes()
    place, found = content.find(fingerprint(2).encode()), 0
    while place >= 0:
        damaged = busy.path.with_name(f"damaged-{place}")
        damaged.write_bytes(content[: place + 9] + b"1" + content[place + 10 :])
        with pytest.raises(VerificationError):
            Ledger.open(damaged).check()
        place, found = content.find(fingerprint(2).encode(), place + 1), found + 1
    assert found >= 2  # the table and the index


def test_an_older_copy_passes_for_whole_unless_a_head_was_noted(busy, tmp_path):
    older = tmp_path / "older"
    shutil.copy(busy.path, older)
    noted = charge(busy, number=9).hash
    Ledger.open(older).check()  # what cannot be known
    with pytest.raises(VerificationError, match="older copy"):
        Ledger.open(older).check(noted)
    assert busy.check(noted).hash == noted
    charge(busy, number=10)
    assert busy.check(noted).sequence == 8


def test_two_copies_charged_side_by_side_are_told_apart_by_their_heads(busy, tmp_path):
    other = tmp_path / "other"
    shutil.copy(busy.path, other)
    here = charge(busy, number=8)
    there = charge(Ledger.open(other), number=9)
    assert (here.ledger, here.sequence) == (there.ledger, there.sequence)
    assert here.hash != there.hash
    with pytest.raises(VerificationError, match="charged separately"):
        busy.check(there.hash)


def test_a_file_replaced_or_cut_back_while_in_use_is_found(busy, tmp_path):
    older, other = tmp_path / "older", Ledger.create(tmp_path / "other")
    shutil.copy(busy.path, older)
    other.add_dataset("census", PureDP(F(1)))
    charge(busy, number=8)
    busy.check(), busy.spent("census")
    for source in (older, other.path):
        shutil.copy(source, busy.path)
        with pytest.raises(VerificationError, match="while it was in use"):
            charge(busy, number=9)


def rehash(ledger, sequences, cap):
    """Change the cap of a data set and the hashes of some entries, as a forger would."""
    previous = "0" * 64
    statements = [f"UPDATE dataset SET cap = '{cap}' WHERE name = 'census'"]
    for line in ledger.export():
        entry = json.loads(line)
        stated = entry.pop("hash")
        if entry.get("name") == "census":
            entry["cap"] = cap
        if entry["sequence"] in sequences:
            entry["previous"], stated = previous, sha256({**entry, "previous": previous})
            statements.append(
                f"UPDATE entry SET previous = '{previous}', hash = '{stated}' "
                f"WHERE sequence = {entry['sequence']}"
            )
        previous = stated
    forge(ledger.path, *statements)


def test_an_entry_with_a_new_hash_is_found_by_its_successor(busy):
    rehash(busy, [1], "epsilon 99")
    with pytest.raises(VerificationError, match="entry 2"):
        Ledger.open(busy.path).check()


def test_a_ledger_written_anew_with_new_hashes_is_found_by_a_noted_head_alone(busy):
    noted = busy.check().hash
    rehash(busy, range(7), "epsilon 99")
    forged = Ledger.open(busy.path)
    forged.check()  # what cannot be known
    with pytest.raises(VerificationError):
        forged.check(noted)


def test_charges_above_a_cap_are_found_even_with_new_hashes(busy):
    rehash(busy, range(7), "epsilon 1/5")
    with pytest.raises(VerificationError, match="above its cap"):
        Ledger.open(busy.path).check()


def sha256(entry):
    text = json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def test_an_auditor_can_verify_the_export_without_geodp(busy):
    entries = [json.loads(line) for line in busy.export()]
    previous = "0" * 64
    for sequence, entry in enumerate(entries):
        stated = entry.pop("hash")
        assert (entry["sequence"], entry["previous"]) == (sequence, previous)
        assert sha256(entry) == stated
        previous = stated
    assert previous == busy.check().hash
    spent = [F(e["loss"].split()[1]) for e in entries if e.get("dataset") == "census"]
    assert sum(spent) == busy.spent("census").epsilon
