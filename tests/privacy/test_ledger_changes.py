"""Every change of a ledger from outside is found, as far as it can be."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction as F

import pytest

from geodp.errors import VerificationError
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.ledgers import charge, fingerprint, forge, used_ledger


@pytest.fixture
def busy(tmp_path):
    return used_ledger(tmp_path)


COLUMNS = {
    "entry": ["sequence", "content", "hash"],
    "account": ["number", "state"],
    "release": ["dataset", "fingerprint", "sequence"],
}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, names in COLUMNS.items() for column in names]
)
def test_a_change_of_any_column_of_any_row_is_found(busy, tmp_path, table, column):
    with closing(sqlite3.connect(busy.path)) as db:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        rows = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        whole = isinstance(db.execute(f"SELECT {column} FROM {table}").fetchone()[0], int)
    assert columns == COLUMNS[table]
    changes = [f"{column} + 100", f"-1 - {column}"] if whole else [f"{column} || 'x'", "''"]
    changes += [] if column in ("sequence", "number") else [f"CAST({column} AS BLOB)"]
    for row in range(rows):
        for change in changes:
            forged = tmp_path / "forged"
            shutil.copy(busy.path, forged)
            keys = f"'{fingerprint(row)}'" if table == "release" else row
            place = f"{'fingerprint' if table == 'release' else columns[0]} = {keys}"
            forge(forged, f"UPDATE {table} SET {column} = {change} WHERE {place}")
            with pytest.raises(VerificationError):
                Ledger.open(forged).check()
            if table == "account":
                with pytest.raises(VerificationError):
                    charge(Ledger.open(forged), number=99)


@pytest.mark.parametrize(
    "change", ["content || ' '", "replace(content, 'rho 1/25', 'rho 1/99')", "x'00'"]
)
def test_a_change_of_the_last_entry_is_found_before_the_next_charge(busy, change):
    forge(busy.path, f"UPDATE entry SET content = {change} WHERE sequence = 6")
    for use in (charge, Ledger.accounts, lambda ledger: ledger.spent("trips")):
        with pytest.raises(VerificationError, match="broken at entry 6"):
            use(Ledger.open(busy.path))


@pytest.mark.parametrize("sequence", range(7))
def test_an_entry_taken_out_is_found(busy, sequence):
    forge(busy.path, f"DELETE FROM entry WHERE sequence = {sequence}")
    with pytest.raises(VerificationError):
        Ledger.open(busy.path).check()
    if sequence >= 5:  # the ones that a charge stands on
        with pytest.raises(VerificationError):
            charge(Ledger.open(busy.path), number=99)


def test_a_ledger_without_entries_is_found(busy):
    forge(busy.path, "DELETE FROM entry")
    for use in (Ledger.accounts, Ledger.check, charge):
        with pytest.raises(VerificationError, match="lost its entries"):
            use(Ledger.open(busy.path))


ROWS = [
    "INSERT INTO entry SELECT {}, content, hash FROM entry WHERE sequence = 3",
    "INSERT INTO account SELECT {}, replace(state, 'census', 'new') FROM account LIMIT 1",
    "INSERT INTO release SELECT 'census', 'aa', {} FROM release LIMIT 1",
]


@pytest.mark.parametrize("statement", ROWS)
@pytest.mark.parametrize("number", [-3, 3, 99])
def test_rows_outside_of_the_chain_are_found(busy, statement, number):
    if number != 3 or not statement.startswith("INSERT INTO entry"):
        forge(busy.path, statement.format(number))
        with pytest.raises(VerificationError):
            busy.check()


@pytest.mark.parametrize("number", [-3, 9])
def test_a_data_set_outside_of_the_chain_cannot_be_charged(busy, number):
    forge(busy.path, ROWS[1].format(number))
    for dataset in ("new", "census"):
        with pytest.raises(VerificationError, match="accounts"):
            charge(Ledger.open(busy.path), dataset=dataset, number=99)


@pytest.mark.parametrize("at", [3, 4, 99, -1])
def test_a_release_that_the_chain_does_not_know_is_no_replay(busy, at):
    forge(busy.path, f"INSERT INTO release VALUES ('census', '{fingerprint(99)}', {at})")
    with pytest.raises(VerificationError, match="releases"):
        charge(Ledger.open(busy.path), number=99)


def test_a_release_of_another_data_set_is_no_replay(busy):
    forge(busy.path, f"INSERT INTO release VALUES ('census', '{fingerprint(1)}', 4)")
    assert charge(Ledger.open(busy.path), dataset="trips", number=1).replay
    with pytest.raises(VerificationError, match="releases"):
        charge(Ledger.open(busy.path), number=1)


def test_a_replay_is_verified_with_the_entry_that_follows_it(busy):
    assert charge(Ledger.open(busy.path), number=0).replay
    rewritten(busy, [3], details=lambda entry: '{"x":1}')
    with pytest.raises(VerificationError, match="entry 4"):
        charge(Ledger.open(busy.path), number=0)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER release_delete",
        "CREATE TRIGGER more AFTER INSERT ON entry BEGIN SELECT 1; END",
        "CREATE VIEW more AS SELECT 1",
        "ALTER TABLE account ADD COLUMN more TEXT",
    ],
)
def test_other_tables_and_triggers_are_found(busy, statement):
    with closing(sqlite3.connect(busy.path)) as db:
        db.execute(statement)
    with pytest.raises(VerificationError):
        busy.check()


def test_the_file_itself_refuses_changes_by_accident(busy):
    with closing(sqlite3.connect(busy.path)) as db:
        for statement in ("DELETE FROM release", "UPDATE entry SET content = '{}'"):
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


def rewritten(book, sequences=range(99), **changed):
    """Change a ledger's entries and the hashes of some, as a forger would."""
    previous, statements = "0" * 64, []
    for line in book.export():
        entry = json.loads(line)
        stated = entry.pop("hash")
        if entry["sequence"] in sequences:
            entry |= {name: change(entry) for name, change in changed.items() if name in entry}
            entry["previous"], stated = previous, sha256({**entry, "previous": previous})
            text = json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            change = f"content = '{text}', hash = '{stated}'"
            statements.append(f"UPDATE entry SET {change} WHERE sequence = {entry['sequence']}")
        previous = stated
    forge(book.path, *statements)


def test_an_entry_with_a_new_hash_is_found_by_its_successor(busy):
    rewritten(busy, [1], at=lambda entry: "2000-01-01T00:00:00+00:00")
    with pytest.raises(VerificationError, match="entry 2"):
        Ledger.open(busy.path).check()


def test_a_ledger_written_anew_with_new_hashes_is_found_by_a_noted_head_alone(busy):
    noted = busy.check().hash
    rewritten(busy, at=lambda entry: "2000-01-01T00:00:00+00:00")
    forged = Ledger.open(busy.path)
    forged.check()  # what cannot be known
    with pytest.raises(VerificationError):
        forged.check(noted)


@pytest.mark.parametrize(
    "changed",
    [
        {"cap": lambda entry: "epsilon 99" if entry["name"] == "census" else entry["cap"]},
        {"spent": lambda entry: "epsilon 1/5"},
        {"loss": lambda entry: "epsilon 1/9"},
        {"loss": lambda entry: "much"},
        {"loss": lambda entry: 1},
        {"dataset": lambda entry: []},
        {"releases": lambda entry: 1},
        {"accounts": lambda entry: "0" * 64},
        {"neighbours": lambda entry: "replace-one"},
        {"name": lambda entry: "census"},
        {"name": lambda entry: " x"},
        {"unit": lambda entry: "one person"},
        {"dataset": lambda entry: "nobody"},
        {"kind": lambda entry: "genesis"},
        {"version": lambda entry: 1},
        {"kind": lambda entry: "else"},
    ],
)
def test_sums_that_are_wrong_are_found_even_with_new_hashes(busy, changed):
    rewritten(busy, **changed)
    with pytest.raises(VerificationError, match="states other sums"):
        Ledger.open(busy.path).check()


def test_charges_above_a_cap_are_found_also_where_all_else_agrees(busy, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("geodp.privacy.accounts.within", lambda loss, cap: True)
        charge(busy, PureDP(F(1)), number=9)
    with pytest.raises(VerificationError, match="census are above its cap"):
        busy.check()


def sha256(entry):
    text = json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("identity", [None, 0, "f" * 31])
def test_entries_of_another_ledger_or_of_none_are_found_even_with_new_hashes(busy, identity):
    rewritten(busy, range(identity == "f" * 31, 99), ledger=lambda entry: identity)
    with pytest.raises(VerificationError, match="chain is broken"):
        Ledger.open(busy.path).check()


def test_a_page_of_nobody_is_found(busy):
    content = bytearray(busy.path.read_bytes()) + bytes(4096)
    content[28:32] = (len(content) // 4096).to_bytes(4, "big")  # pages, as the header says
    busy.path.write_bytes(content)
    assert len(Ledger.open(busy.path).accounts()) == 2
    with pytest.raises(VerificationError, match="damaged"):
        busy.check()


@pytest.mark.parametrize("text", ["x", "1", "[]", "[" * 100_000])
def test_a_text_that_is_no_entry_is_found_also_with_its_hash(busy, text):
    hash_ = hashlib.sha256(text.encode()).hexdigest()
    forge(busy.path, f"UPDATE entry SET content = '{text}', hash = '{hash_}' WHERE sequence = 6")
    for use in (Ledger.accounts, Ledger.check):
        with pytest.raises(VerificationError, match="broken at entry 6"):
            use(Ledger.open(busy.path))


@pytest.mark.parametrize("content", ["1", "x"])
def test_an_entry_that_is_no_entry_any_more_cannot_be_exported(busy, content):
    forge(busy.path, f"UPDATE entry SET content = '{content}' WHERE sequence = 3")
    with pytest.raises(VerificationError, match="no JSON text"):
        busy.export()


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


def test_an_auditor_can_make_the_digest_of_the_accounts_without_geodp(busy):
    accounts = {}
    for line in busy.export():
        entry = json.loads(line)
        if entry["kind"] == "dataset":
            terms = {name: entry[name] for name in ("name", "unit", "neighbours", "cap")}
            start = entry["cap"].split()[0] + " 0"
            accounts[entry["name"]] = {**terms, "spent": start, "releases": 0}
        if entry["kind"] == "charge":
            account = accounts[entry["dataset"]]
            account["releases"] += 1
            account["spent"] = entry["spent"]
            assert account["releases"] == entry["releases"]
        hashes = [bytes.fromhex(sha256(account)) for account in accounts.values()]
        assert hashlib.sha256(b"".join(hashes)).hexdigest() == entry["accounts"]
