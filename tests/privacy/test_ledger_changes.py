"""Every change of a ledger from outside is found, as far as it can be."""

import hashlib
import json
import shutil
from fractions import Fraction as F

import pytest

from geodp.errors import GeodpError, UsageError, VerificationError
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.ledgers import (
    START,
    canonical,
    charge,
    fingerprint,
    forge,
    read_rows,
    rewritten,
    sha256,
    slot,
    starts,
    used_ledger,
    write_rows,
)
from tests.refusals import refuses


@pytest.fixture
def busy(tmp_path):
    return used_ledger(tmp_path)


def test_the_file_is_what_its_format_says(busy):
    """Written anew by the rules of the tests, without the slot that is older."""
    content = busy.path.read_bytes()
    write_rows(busy.path, read_rows(busy.path))
    again = busy.path.read_bytes()
    assert content[START:] == again[START:]
    assert content[:4096] == again[:4096]
    assert content[4096:8192] == again[4096:8192]  # the last entry is number 6
    assert Ledger.open(busy.path).check() == busy.check()


@pytest.mark.parametrize("sequence", range(7))
def test_a_change_of_any_field_of_any_entry_is_found(busy, tmp_path, sequence):
    for name in json.loads(read_rows(busy.path)[sequence][1]):
        forged = tmp_path / "forged"
        shutil.copy(busy.path, forged)

        def change(text, name=name):
            entry = json.loads(text)
            value = entry[name]
            entry[name] = value + 1 if isinstance(value, int) else f"{value}x"
            return canonical(entry)

        forge(forged, sequence, change)
        with pytest.raises(VerificationError):
            Ledger.open(forged).check()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("rho 1/25", "rho 1/99"),
        lambda text: text + " ",
        lambda text: "",
    ],
)
def test_a_change_of_the_last_entry_is_found_before_the_next_charge(busy, change):
    forge(busy.path, 6, change)
    for use in (charge, Ledger.accounts, lambda ledger: ledger.spent("trips")):
        with refuses(VerificationError, "ledger-unreadable"):
            use(Ledger.open(busy.path))


@pytest.mark.parametrize("sequence", range(7))
def test_an_entry_taken_out_is_found(busy, sequence):
    rows = read_rows(busy.path)
    del rows[sequence]
    write_rows(busy.path, rows)
    if sequence < 6:  # that the last one was cut off, only a noted head tells
        with refuses(VerificationError, "ledger-chain-broken"):
            Ledger.open(busy.path).check()
    else:
        assert Ledger.open(busy.path).check().sequence == 5


def test_a_ledger_without_entries_is_none(busy):
    busy.path.write_bytes(busy.path.read_bytes()[:START])
    for use in (Ledger.accounts, Ledger.check, charge):
        with refuses(VerificationError, "ledger-unreadable"):
            use(Ledger.open(busy.path))


@pytest.mark.parametrize("sequence", [3, 4])
def test_an_entry_that_is_there_twice_is_found(busy, sequence):
    rows = read_rows(busy.path)
    write_rows(busy.path, [*rows[: sequence + 1], *rows[sequence:]])
    with refuses(VerificationError, "ledger-chain-broken"):
        Ledger.open(busy.path).check()


@pytest.mark.parametrize("name", ["by_dataset", "by_release"])
@pytest.mark.parametrize("branches", [[], [None], "one", 7, [[1]]])
def test_branches_that_are_wrong_are_found_even_with_new_hashes(busy, name, branches):
    """What a release is recognised by is under the chain, as sums are."""
    last = json.loads(read_rows(busy.path)[6][1])
    assert last[name]
    rewritten(busy.path, [6], **{name: lambda entry: branches})
    with pytest.raises(VerificationError):
        Ledger.open(busy.path).check()


@pytest.mark.parametrize("branches", ["one", 7, [[1]], [5] * 256])
def test_branches_that_are_none_refuse_a_charge_in_a_sentence(busy, branches):
    rewritten(busy.path, [6], **dict.fromkeys(["by_dataset", "by_release"], lambda _: branches))
    with refuses(VerificationError, "ledger-end-foreign"):
        charge(Ledger.open(busy.path), number=99)


@pytest.mark.parametrize("cap", [1, None, "much", "epsilon 1/0", []])
def test_an_account_that_is_none_is_refused_in_a_sentence(busy, cap):
    rewritten(busy.path, [6], cap=lambda _: cap)
    for use in (Ledger.accounts, lambda ledger: charge(ledger, dataset="trips", number=99)):
        with refuses(VerificationError, "ledger-end-foreign"):
            use(Ledger.open(busy.path))


@pytest.mark.parametrize("name", ["cap", "dataset", "kind", "by_dataset", "by_release"])
def test_an_entry_that_lacks_a_field_is_refused_in_a_sentence(busy, name):
    """Whichever way it is used; an export shows it as it is."""
    rows = read_rows(busy.path)
    last = json.loads(rows[6][1])
    del last[name]
    write_rows(busy.path, [*rows[:6], (sha256(canonical(last)), canonical(last))])
    with refuses(VerificationError, "ledger-end-foreign"):
        charge(Ledger.open(busy.path), dataset="trips", number=99)
    with refuses(VerificationError, "ledger-lists-differ|ledger-sums-differ"):
        Ledger.open(busy.path).check()
    assert name not in json.loads(list(busy.export())[6])


def test_a_branch_to_another_entry_is_no_replay(busy):
    """An entry with a branch that leads elsewhere: its hash does not agree."""
    rows = read_rows(busy.path)
    last = json.loads(rows[6][1])
    start, stated = starts(rows)[3], rows[4][0]
    last["by_release"] = [branch and [start, stated] for branch in last["by_release"]]
    rows[6] = (sha256(canonical(last)), canonical(last))
    write_rows(busy.path, rows)
    content, refused = busy.path.read_bytes(), 0
    for number in range(4):
        busy.path.write_bytes(content)
        dataset = ["census", "trips"][number % 2]
        try:
            assert charge(Ledger.open(busy.path), dataset=dataset, number=number).replay
        except VerificationError:
            refused += 1
    assert refused


def test_a_replay_is_verified_with_what_leads_to_it(busy):
    assert charge(Ledger.open(busy.path), number=0).replay
    rewritten(busy.path, [3], details=lambda entry: '{"x":1}')
    with refuses(VerificationError, "ledger-unreadable"):
        charge(Ledger.open(busy.path), number=0)


def test_every_damaged_sector_is_found_or_changes_nothing(busy, tmp_path):
    content = busy.path.read_bytes()
    for at in range(0, len(content), 512):
        damaged = tmp_path / "damaged"
        damaged.write_bytes(content[:at] + bytes(64) + content[at + 64 :])
        try:
            assert Ledger.open(damaged).check() == busy.check()
        except GeodpError:
            continue
        assert START > at > 0
        assert charge(Ledger.open(damaged), number=0).replay


def test_a_changed_byte_is_found_wherever_a_fingerprint_stands(busy):
    content = busy.path.read_bytes()
    place = content.find(fingerprint(2).encode())
    damaged = busy.path.with_name("damaged")
    damaged.write_bytes(content[: place + 9] + b"1" + content[place + 10 :])
    with pytest.raises(VerificationError):
        Ledger.open(damaged).check()
    with pytest.raises(VerificationError):
        charge(Ledger.open(damaged), number=2)
    assert content.find(fingerprint(2).encode(), place + 1) < 0  # it stands nowhere else


def test_an_older_copy_passes_for_whole_unless_a_head_was_noted(busy, tmp_path):
    older = tmp_path / "older"
    shutil.copy(busy.path, older)
    noted = charge(busy, number=9).hash
    Ledger.open(older).check()  # what cannot be known
    with refuses(VerificationError, "head-not-in-ledger"):
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
    with refuses(VerificationError, "head-not-in-ledger"):
        busy.check(there.hash)


def test_a_file_replaced_or_cut_back_while_in_use_is_found(busy, tmp_path):
    older, other = tmp_path / "older", Ledger.create(tmp_path / "other")
    shutil.copy(busy.path, older)
    other.add_dataset("census", PureDP(F(1)))
    charge(busy, number=8)
    busy.check(), busy.spent("census")
    for source in (older, other.path):
        shutil.copy(source, busy.path)
        with refuses(VerificationError, "ledger-replaced"):
            charge(busy, number=9)


def test_an_entry_with_a_new_hash_is_found_by_its_successor(busy):
    rewritten(busy.path, [1], at=lambda entry: "2000-01-01T00:00:00+00:00")
    with refuses(VerificationError, r"ledger-chain-broken: \b2\b"):
        Ledger.open(busy.path).check()


def test_a_ledger_written_anew_with_new_hashes_is_found_by_a_noted_head_alone(busy):
    noted = busy.check().hash
    rewritten(busy.path, at=lambda entry: "2000-01-01T00:00:00+00:00")
    forged = Ledger.open(busy.path)
    forged.check()  # what cannot be known
    with pytest.raises(VerificationError):
        forged.check(noted)


@pytest.mark.parametrize(
    "changed",
    [
        {"cap": lambda entry: "epsilon 99" if entry["kind"] == "dataset" else entry["cap"]},
        {"spent": lambda entry: "epsilon 1/5"},
        {"loss": lambda entry: "epsilon 1/9"},
        {"loss": lambda entry: "much"},
        {"loss": lambda entry: 1},
        {"dataset": lambda entry: []},
        {"dataset": lambda entry: [] if entry["kind"] == "charge" else entry["dataset"]},
        {"releases": lambda entry: 1},
        {"entered": lambda entry: 9},
        {"neighbours": lambda e: "replace-one" if e["kind"] == "charge" else e["neighbours"]},
        {"dataset": lambda entry: "census"},
        {"dataset": lambda entry: " x"},
        {"unit": lambda entry: "one person"},
        {"dataset": lambda entry: "nobody"},
        {"kind": lambda entry: "genesis"},
        {"version": lambda entry: 1},
        {"kind": lambda entry: "else"},
        {"kind": lambda entry: "else" if entry["kind"] == "charge" else entry["kind"]},
    ],
)
def test_sums_that_are_wrong_are_found_even_with_new_hashes(busy, changed):
    rewritten(busy.path, **changed)
    with refuses(VerificationError, "ledger-sums-differ"):
        Ledger.open(busy.path).check()


def test_charges_above_a_cap_are_found_also_where_all_else_agrees(busy, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("geodp.privacy.accounts.within", lambda loss, cap: True)
        charge(busy, PureDP(F(1)), number=9)
    with refuses(VerificationError, "charges-above-cap"):
        busy.check()


@pytest.mark.parametrize("identity", [None, 0, "f" * 31])
def test_entries_of_another_ledger_or_of_none_are_found_even_with_new_hashes(busy, identity):
    rewritten(busy.path, range(identity == "f" * 31, 99), ledger=lambda entry: identity)
    with refuses(VerificationError, "ledger-chain-broken"):
        Ledger.open(busy.path).check()


@pytest.mark.parametrize("text", ["x", "1", "[]", "[" * 100_000, '{"sequence":"6"}'])
def test_a_text_that_is_no_entry_is_found_also_with_its_hash(busy, text):
    rows = read_rows(busy.path)
    write_rows(busy.path, [*rows[:6], (sha256(text), text)])
    for use in (Ledger.accounts, Ledger.check):
        with refuses(VerificationError, "ledger-unreadable"):
            use(Ledger.open(busy.path))


@pytest.mark.parametrize("content", ["1", "x"])
def test_an_entry_that_is_no_entry_any_more_cannot_be_exported(busy, content):
    forge(busy.path, 3, lambda text: content)
    with refuses(VerificationError, "ledger-entry-not-json"):
        busy.export()


def test_bytes_that_are_no_letters_are_exported_as_such(busy):
    """An auditor sees where they stand, and that the hash is not that of the text any more."""
    content, rows = busy.path.read_bytes(), read_rows(busy.path)
    before, stated = starts(rows)[3], rows[3][0].encode()
    for old, new in ((stated, b"\xff" + stated[1:]), (b"topdown", b"t\xffpdown")):
        busy.path.write_bytes(content[:before] + content[before:].replace(old, new, 1))
        entry = json.loads(list(busy.export())[3])
        assert new.decode(errors="replace") in (entry["hash"], entry["mechanism"])


def test_the_lines_of_a_ledger_are_those_of_its_file(busy):
    with busy._chain.transaction() as log:
        assert [(stated, text) for text, stated in log.lines()] == read_rows(busy.path)


def test_an_auditor_can_verify_the_export_without_geodp(busy):
    entries = [json.loads(line) for line in busy.export()]
    previous = "0" * 64
    for sequence, entry in enumerate(entries):
        stated = entry.pop("hash")
        assert (entry["sequence"], entry["previous"]) == (sequence, previous)
        assert sha256(canonical(entry)) == stated
        previous = stated
    assert previous == busy.check().hash
    spent = [
        F(e["loss"].split()[1]) for e in entries if e.get("dataset") == "census" and "loss" in e
    ]
    assert sum(spent) == busy.spent("census").epsilon


def test_an_auditor_can_look_up_a_release_without_geodp(busy):
    """By the branches, from the last entry: the latest one with each key is met."""
    rows = read_rows(busy.path)
    by_start = {
        start: (row[0], json.loads(row[1])) for start, row in zip(starts(rows), rows, strict=True)
    }

    def key(name, entry):
        names = ["dataset", entry["dataset"]]
        if name == "by_release":
            names = ["release", entry["dataset"], entry["fingerprint"]]
        return f"{int(hashlib.sha256(canonical(names).encode()).hexdigest(), 16):0256b}"

    for name, kinds in (("by_dataset", ("dataset", "charge")), ("by_release", ("charge",))):
        latest = {}
        for _, entry in by_start.values():
            if entry["kind"] in kinds:
                latest[key(name, entry)] = entry["sequence"]
        for wanted, sequence in latest.items():
            entry = by_start[max(by_start)][1]
            while (here := key(name, entry)) != wanted:
                bit = next(i for i in range(256) if here[i] != wanted[i])
                start, stated = entry[name][bit]
                assert by_start[start][0] == stated
                entry = by_start[start][1]
            assert entry["sequence"] == sequence


# -- one flipped bit


def outcomes(path, content, place, bit):
    """What becomes of a replay and of a new charge after a flipped bit; what they spend."""
    damaged = bytearray(content)
    damaged[place] ^= 1 << bit
    for number in (1, 99):
        path.write_bytes(damaged)
        try:
            yield charge(Ledger.open(path), PureDP(F(1, 10)), number=number).replay
        except VerificationError:
            yield None
        except UsageError:
            if place >= START:  # only what tells a ledger from another file may do that
                raise
            yield None


def flipped(tmp_path, bits):
    """Flip bits of a ledger of which all is spent but one charge."""
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(F(1)))
    for number in range(9):
        charge(ledger, PureDP(F(1, 10)), number=number)
    content, path = ledger.path.read_bytes(), tmp_path / "flipped"
    kinds = {}
    for place, bit in bits(content):
        replay, new = outcomes(path, content, place, bit)
        assert replay in (True, None), f"bit {bit} of byte {place} had a replay charged again"
        assert new in (False, None), f"bit {bit} of byte {place} took a charge for a replay"
        kinds[replay, new] = kinds.get((replay, new), 0) + 1
        if new is False:  # nothing was lost: the tenth charge was the last that the cap allows
            assert Ledger.open(path).spent("census") == PureDP(F(1))
    return kinds


def test_a_flipped_bit_of_any_byte_never_has_a_replay_charged_again(tmp_path):
    """A bit of every 29th byte of entries and slots; of padding fewer."""

    def bits(content):
        used = [place for place in range(len(content)) if content[place] not in b" "]
        return [(place, place % 8) for place in used[::29]]

    kinds = flipped(tmp_path, bits)
    assert kinds[None, None] > 10
    assert kinds[True, False] > 10


@pytest.mark.law
def test_no_flipped_bit_of_any_byte_has_a_replay_charged_again(tmp_path):
    """Every byte of the entries and slots, and one of eight of the padding."""

    def bits(content):
        slots = range(4096, 4096 + 128), range(8192, 8192 + 128)
        padding = range(0, START, 8)
        places = {*padding, *range(64), *slots[0], *slots[1], *range(START, len(content))}
        return [(place, bit) for place in sorted(places) for bit in {place % 8, (place + 3) % 8}]

    kinds = flipped(tmp_path, bits)
    assert kinds[None, None] > 1000
    assert kinds[True, False] > 1000


def test_a_damaged_slot_hides_no_charge(busy):
    """The newest slot is damaged: the entry that it named is found behind the other one's."""
    content = bytearray(busy.path.read_bytes())
    older = read_rows(busy.path)[5][0].encode()
    assert older in content[8192:START]
    content[4096 + 30] ^= 1
    busy.path.write_bytes(content)
    assert Ledger.open(busy.path).check() == busy.check()
    content[8192 + 30] ^= 1
    busy.path.write_bytes(content)
    with refuses(VerificationError, "ledger-unreadable"):
        Ledger.open(busy.path)


@pytest.mark.parametrize("left", [1, 60, 64, 65, 66, 200, -2, -1])
def test_what_a_killed_writer_left_of_an_entry_is_overwritten(busy, tmp_path, left):
    before = busy.path.read_bytes()
    other = tmp_path / "other"
    other.write_bytes(before)
    lost = charge(Ledger.open(other), number=98, details={"x": "y" * 999})
    line = other.read_bytes()[len(before) :]
    assert lost.hash.encode() == line[:64]
    busy.path.write_bytes(before + line[:left])
    assert Ledger.open(busy.path).check().sequence == 6
    made = charge(Ledger.open(busy.path), number=99)
    assert Ledger.open(busy.path).check().hash == made.hash
    assert busy.path.stat().st_size < len(before) + len(line)
    # A whole entry counts, though nobody heard of it.
    busy.path.write_bytes(before + line)
    assert Ledger.open(busy.path).check().hash == lost.hash
    assert charge(Ledger.open(busy.path), number=98, details={"x": "y" * 999}).replay


@pytest.mark.parametrize("sequence", [0, 3, 6])
def test_an_older_entry_behind_the_last_one_does_not_count(busy, sequence):
    """It is whole and of this ledger, but not the next one."""
    head, content = busy.check(), busy.path.read_bytes()
    line = "{} {}\n".format(*read_rows(busy.path)[sequence])
    busy.path.write_bytes(content + line.encode())
    assert Ledger.open(busy.path).check() == head
    assert charge(Ledger.open(busy.path), number=99).sequence == 7


def test_a_slot_that_names_another_place_is_found(busy):
    rows = read_rows(busy.path)
    content = bytearray(busy.path.read_bytes())
    line = slot(starts(rows)[6], rows[5][0])
    content[4096 : 4096 + len(line)] = line
    busy.path.write_bytes(content)
    with refuses(VerificationError, "ledger-unreadable"):
        Ledger.open(busy.path)
