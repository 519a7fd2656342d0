"""The second place of a ledger's head: what it refuses, and what a crash leaves."""

import os
import shutil
from fractions import Fraction as F
from pathlib import Path

import pytest

from geodp.errors import GeodpError, OutputError, UsageError, VerificationError
from geodp.privacy import locked_file
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.witness import Witness
from tests.ledgers import charge
from tests.refusals import refuses

TENTH = PureDP(F(1, 10))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere" / "witness"


@pytest.fixture
def ledger(tmp_path, place):
    made = Ledger.create(tmp_path / "office.ledger", witness=place)
    made.add_dataset("census", PureDP(F(1)))
    return made


def last(place):
    return place.read_text().splitlines()[-1].split()


def reopened(ledger):
    return Ledger.open(ledger.path)


def test_every_entry_is_in_both_places(ledger, place):
    assert ledger.witness == place
    made = [charge(ledger, TENTH, number=number) for number in range(3)]
    lines = [line.split() for line in place.read_text().splitlines()]
    assert [line[0] for line in lines] == ["0", "1", "2", "3", "4"]
    assert {line[1] for line in lines} == {made[0].ledger}
    assert [line[2] for line in lines[2:]] == [charge.hash for charge in made]
    assert charge(ledger, TENTH, number=0).replay  # and adds nothing
    assert last(place)[2] == ledger.check().hash == made[-1].hash
    assert ledger.spent("census") == PureDP(F(3, 10))


USES = {
    "charge": lambda ledger: charge(ledger, TENTH, number=9),
    "replay": lambda ledger: charge(ledger, TENTH, number=0),
    "add": lambda ledger: ledger.add_dataset("other", PureDP(1)),
    "check": lambda ledger: ledger.check(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_restored_ledger_is_refused_at_once(ledger, place, tmp_path, use):
    charge(ledger, TENTH, number=0)
    older = shutil.copy(ledger.path, tmp_path / "older")
    made = charge(ledger, TENTH, number=1)
    shutil.copy(older, ledger.path)
    with refuses(VerificationError, f"ledger-behind-witness: {made.hash}"):
        use(reopened(ledger))
    assert ledger.path.read_bytes() == Path(older).read_bytes()


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_copy_of_which_the_other_was_charged_is_refused(ledger, tmp_path, use):
    charge(ledger, TENTH, number=0)
    copy = Ledger.open(shutil.copy(ledger.path, tmp_path / "copy"))
    charge(ledger, TENTH, number=1)
    with refuses(VerificationError, "ledger-behind-witness"):
        use(copy)
    copy.check(witness=False)  # the chain itself is whole
    assert not charge(ledger, TENTH, number=2).replay


def bring_back(ledger, place, here, elsewhere):
    """Charge two copies in two places of one path, and bring back the ledger of one of them."""
    charge(ledger, TENTH, number=0)
    files = [(path, path.read_bytes()) for path in (ledger.path, place)]
    for number in range(here):
        charge(reopened(ledger), TENTH, number=10 + number)
    seen = place.read_bytes()
    for path, content in files:
        path.write_bytes(content)
    for number in range(elsewhere):
        charge(reopened(ledger), TENTH, number=20 + number)
    place.write_bytes(seen)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(
    ("here", "elsewhere", "rule"),
    [
        (1, 1, "ledger-behind-witness"),  # only the hash tells them apart
        (1, 2, "witness-behind"),  # the witness's successor by its number, and by no hash
        (1, 3, "witness-behind"),
        (2, 1, "ledger-behind-witness"),
    ],
)
def test_a_copy_that_was_charged_elsewhere_is_refused(ledger, place, here, elsewhere, rule, use):
    bring_back(ledger, place, here, elsewhere)
    before = ledger.path.read_bytes(), place.read_bytes()
    with refuses(VerificationError, rule):
        use(reopened(ledger))
    assert (ledger.path.read_bytes(), place.read_bytes()) == before


@pytest.mark.parametrize("elsewhere", [1, 2, 3])
def test_a_copy_that_was_charged_elsewhere_gets_no_other_witness(
    ledger, place, tmp_path, elsewhere
):
    """Its own head is no proof beside a witness that has seen another one of the same number."""
    bring_back(ledger, place, 1, elsewhere)
    own = reopened(ledger).check(witness=False).hash
    for new in (tmp_path / "new", place):
        with refuses(VerificationError, "ledger-behind-witness"):
            reopened(ledger).set_witness(new, head=own)


def test_a_witness_with_the_hash_of_another_number_is_refused(ledger, place):
    """Also where it is one entry behind, as a crash leaves it."""
    for number in range(2):
        charge(ledger, TENTH, number=number)
    lines = place.read_text().splitlines(keepends=True)
    for kept, wrong in ((lines[:-1], "1"), (lines[:-1], "3"), (lines, "2"), (lines, "4")):
        sequence, rest = kept[-1].split(" ", 1)
        assert sequence != wrong
        place.write_text("".join(kept[:-1]) + f"{wrong} {rest}")
        with refuses(VerificationError, "witness-behind|ledger-behind-witness"):
            reopened(ledger).check()
        with refuses(VerificationError, "ledger-behind-witness"):
            reopened(ledger).set_witness(
                place.with_name("new"), head=ledger.check(witness=False).hash
            )
        place.write_text("".join(kept))
        reopened(ledger).check()


def test_looking_needs_no_witness(ledger, place):
    charge(ledger, TENTH)
    place.unlink()
    assert reopened(ledger).remaining("census") == PureDP(F(9, 10))
    assert len(reopened(ledger).charges()) == 1
    assert reopened(ledger).check(witness=False).sequence == 2


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_witness_that_is_not_there_is_asked_for(ledger, place, use):
    charge(ledger, TENTH)
    content = ledger.path.read_bytes()
    for gone in (place.unlink, place.parent.rmdir):
        gone()
        with refuses(VerificationError, "witness-missing"):
            use(reopened(ledger))
    place.parent.touch()  # a file where its folder was
    with refuses(VerificationError, "witness-missing"):
        use(reopened(ledger))
    assert ledger.path.read_bytes() == content


@pytest.mark.parametrize(
    "change", [b"", b"\0", b"1 a\0", b"x", b"1 x", b"\n", b"9 a b\n", b"\xff\n"]
)
def test_a_witness_with_other_content_is_refused(ledger, place, change):
    """A killed process may leave the begin of a first line, and a file system zeros behind it."""
    charge(ledger, TENTH)
    place.write_bytes(change)
    begun = change in (b"", b"\0", b"1 a\0")
    with refuses(VerificationError, "witness-behind" if begun else "witness-damaged"):
        charge(reopened(ledger), TENTH, number=1)


def test_a_flipped_bit_of_the_witness_is_refused_or_harmless(ledger, place):
    """The last line says the head; others are history, as is an end of a line that is lost."""
    charge(ledger, TENTH)
    before, content = place.read_bytes(), ledger.path.read_bytes()
    start = before.rstrip().rfind(b"\n") + 1
    outcomes = {True: 0, False: 0}
    for at in range(start - 1, len(before)):
        damaged = bytearray(before)
        damaged[at] ^= 1 << at % 8
        place.write_bytes(damaged)
        ledger.path.write_bytes(content)
        try:
            charge(reopened(ledger), TENTH, number=1)
        except VerificationError:
            outcomes[False] += 1
        else:
            outcomes[True] += 1
            assert last(place)[2] == reopened(ledger).check().hash
            assert at in (start - 1, len(before) - 1)
    assert outcomes[False] > 90


def test_a_witness_that_was_set_back_is_refused(ledger, place, tmp_path):
    older = shutil.copy(place, tmp_path / "older")
    charge(ledger, TENTH, number=0)
    charge(ledger, TENTH, number=1)
    shutil.copy(older, place)
    with refuses(VerificationError, "witness-behind"):
        charge(reopened(ledger), TENTH, number=2)


def test_the_witness_of_another_ledger_is_refused(ledger, place, tmp_path):
    other = Ledger.create(tmp_path / "other.ledger", witness=tmp_path / "other")
    other.add_dataset("census", PureDP(F(1)))
    shutil.copy(tmp_path / "other", place)
    with refuses(VerificationError, "witness-of-other-ledger"):
        charge(reopened(ledger), TENTH)
    with refuses(VerificationError, "witness-of-other-ledger"):
        Ledger.create(tmp_path / "third.ledger").set_witness(tmp_path / "other")


# -- crashes


def test_a_crash_before_the_witness_is_made_good_by_the_next_charge(ledger, place, monkeypatch):
    charge(ledger, TENTH, number=0)
    with monkeypatch.context() as patch:
        patch.setattr(Witness, "write", crash_at(1))
        with pytest.raises(SystemExit):
            charge(ledger, TENTH, number=1)
    head = Ledger.open(ledger.path).check()  # one ahead of its witness: nothing is wrong
    assert (head.sequence, last(place)[0]) == (3, "2")
    # The charge that nobody heard of stays, and a second crash changes nothing.
    with monkeypatch.context() as patch:
        patch.setattr(Witness, "write", crash_at(1))
        with pytest.raises(SystemExit):
            charge(reopened(ledger), TENTH, number=2)
    assert last(place)[0] == "3"
    assert charge(reopened(ledger), TENTH, number=1).replay
    assert not charge(reopened(ledger), TENTH, number=3).replay
    assert last(place)[2] == reopened(ledger).check().hash
    assert ledger.spent("census") == PureDP(F(4, 10))


def crash_at(call, whole=Witness.write):
    """The end of the process at a call that would write."""
    calls = []

    def write(self, head):
        calls.append(head)
        if len(calls) > call:
            raise SystemExit
        whole(self, head)

    return write


def test_a_witness_of_the_same_length_with_another_head_is_refused(ledger, place):
    """As a copy leaves it that was charged as often."""
    made = charge(ledger, TENTH)
    place.write_text(place.read_text().replace(made.hash, "0" * 64))
    with refuses(VerificationError, "ledger-behind-witness"):
        charge(reopened(ledger), TENTH, number=1)


def test_a_new_witness_has_its_name_on_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("geodp.privacy.witness.sync_folder", synced.append)
    ledger = Ledger.create(tmp_path / "ledger", witness=tmp_path / "witness")
    assert synced == [tmp_path / "witness"]
    ledger.add_dataset("census", PureDP(F(1)))
    assert synced == [tmp_path / "witness"]


@pytest.mark.parametrize("cut", [1, 50, 98])
def test_a_first_line_that_was_cut_short_is_none(tmp_path, cut):
    place = tmp_path / "witness"
    ledger = Ledger.create(tmp_path / "ledger", witness=place)
    place.write_bytes(place.read_bytes()[:cut])
    ledger.add_dataset("census", PureDP(F(1)))
    assert [line.split()[0] for line in place.read_text().splitlines()[1:]] == ["0", "1"]
    assert last(place)[2] == ledger.check().hash


@pytest.mark.parametrize("cut", [1, 5, 50, 98])
def test_a_line_that_was_cut_short_is_a_crash_before_it(ledger, place, cut):
    charge(ledger, TENTH, number=0)
    before = place.read_bytes()
    charge(ledger, TENTH, number=1)
    line = place.read_bytes()[len(before) :]
    place.write_bytes(before + line[:cut])
    charge(reopened(ledger), TENTH, number=2)
    assert last(place)[2] == reopened(ledger).check().hash
    assert [text.split()[0] for text in place.read_text().splitlines()[4:]] == ["3", "4"]


def test_the_longest_lines_are_read_whole_beside_one_that_was_cut_short(tmp_path):
    line = b"%d %s %s\n" % (10**17, b"a" * 32, b"b" * 64)
    (tmp_path / "witness").write_bytes(line + line[:-1])
    with Witness.held(tmp_path / "witness", tmp_path / "ledger", write=False) as witness:
        assert witness._read() == (10**17, "a" * 32, "b" * 64)


def test_a_crash_while_a_ledger_is_made_leaves_one_that_can_be_used(tmp_path, monkeypatch):
    place = tmp_path / "witness"
    with monkeypatch.context() as patch:
        patch.setattr(Witness, "write", crash_at(0))
        with pytest.raises(SystemExit):
            Ledger.create(tmp_path / "ledger", witness=place)
    assert place.read_bytes() == b""
    ledger = Ledger.open(tmp_path / "ledger")
    ledger.add_dataset("census", PureDP(F(1)))
    charge(ledger)
    assert last(place)[2] == ledger.check().hash


def test_a_witness_that_cannot_be_written_is_told_before_a_charge(ledger, place, monkeypatch):
    content = ledger.path.read_bytes()
    whole = os.open

    def refuse(path, flags, mode=0o777):
        if Path(path) == place and flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return whole(path, flags, mode)

    monkeypatch.setattr(locked_file.os, "open", refuse)
    with refuses(OutputError, "witness-unusable"):
        charge(ledger, TENTH)
    assert ledger.path.read_bytes() == content


def test_a_full_disk_of_the_witness_leaves_a_charge_that_is_a_replay(ledger, place, monkeypatch):
    def full(file, at, data):
        raise OSError(28, "No space left on device")

    charge(ledger, TENTH, number=0)
    with monkeypatch.context() as patch:
        patch.setattr("geodp.privacy.witness.write_at", full)
        with refuses(OutputError, "witness-unwritten"):
            charge(ledger, TENTH, number=1)
    assert charge(reopened(ledger), TENTH, number=1).replay
    assert last(place)[2] == reopened(ledger).check().hash


# -- a witness for a ledger that is there, and another one


def test_a_ledger_gets_a_witness_later(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("census", PureDP(F(1)))
    assert ledger.witness is None
    ledger.set_witness(tmp_path / "witness")
    charge(ledger, TENTH)
    assert ledger.witness == tmp_path / "witness"
    assert last(tmp_path / "witness")[2] == ledger.check().hash
    assert [account.name for account in ledger.accounts()] == ["census"]
    assert charge(ledger, TENTH).replay


def test_a_witness_is_moved_and_its_former_place_stops_copies(ledger, place, tmp_path):
    copy = Ledger.open(shutil.copy(ledger.path, tmp_path / "copy"))
    ledger.set_witness(tmp_path / "new")
    assert ledger.witness == tmp_path / "new"
    assert last(tmp_path / "new") == last(place)
    assert last(place)[2] == ledger.check().hash  # both have the entry of the move
    charge(ledger, TENTH)
    assert last(tmp_path / "new")[2] == ledger.check().hash
    with refuses(VerificationError, "ledger-behind-witness"):
        charge(copy, TENTH)


def test_a_witness_that_was_renamed_is_named_anew(ledger, place, tmp_path):
    charge(ledger, TENTH, number=0)
    place.rename(tmp_path / "renamed")
    with refuses(VerificationError, "witness-missing"):
        charge(ledger, TENTH, number=1)
    ledger.set_witness(tmp_path / "renamed")
    charge(ledger, TENTH, number=1)
    assert last(tmp_path / "renamed")[2] == ledger.check().hash


def test_the_same_witness_again_changes_nothing(ledger, place):
    before = ledger.check()
    ledger.set_witness(place)
    assert ledger.check() == before


def test_a_lost_witness_needs_the_head_of_the_latest_card(ledger, place, tmp_path):
    older = charge(ledger, TENTH, number=0)
    copy = Ledger.open(shutil.copy(ledger.path, tmp_path / "copy"))
    latest = charge(ledger, TENTH, number=1)
    place.unlink()
    with refuses(VerificationError, "witness-missing"):
        ledger.set_witness(tmp_path / "new")
    (tmp_path / "empty").touch()
    for new in (place, tmp_path / "empty"):
        with refuses(VerificationError, "witness-missing"):
            ledger.set_witness(new)
    assert not place.exists()
    with refuses(VerificationError, "head-not-in-ledger"):
        copy.set_witness(tmp_path / "newer", head=latest.hash)
    ledger.set_witness(tmp_path / "newest", head=latest.hash)
    charge(ledger, TENTH, number=2)
    assert last(tmp_path / "newest")[2] == ledger.check().hash
    assert older.hash != latest.hash


def test_a_ledger_of_one_entry_gets_another_witness_with_its_head(tmp_path, place):
    ledger = Ledger.create(tmp_path / "ledger", witness=place)
    ledger.set_witness(tmp_path / "new", head=ledger.check().hash)
    assert last(tmp_path / "new")[2] == ledger.check().hash


def test_a_witness_that_was_set_back_is_set_anew_with_a_head(ledger, place, tmp_path):
    older = shutil.copy(place, tmp_path / "older")
    latest = [charge(ledger, TENTH, number=number) for number in range(2)][-1]
    shutil.copy(older, place)
    ledger.set_witness(place, head=latest.hash)
    charge(ledger, TENTH, number=2)
    assert last(place)[2] == ledger.check().hash


def test_a_witness_that_is_there_is_believed_also_beside_a_head(ledger, place, tmp_path):
    """A head on an older card is in a restored ledger, too; what the witness saw is not."""
    noted = charge(ledger, TENTH, number=0)
    older = shutil.copy(ledger.path, tmp_path / "older")
    charge(ledger, TENTH, number=1)
    shutil.copy(older, ledger.path)
    seen = place.read_bytes()
    moved = shutil.copy(place, tmp_path / "moved")
    for new in (tmp_path / "new", place, Path(moved)):
        with refuses(VerificationError, "ledger-behind-witness"):
            reopened(ledger).set_witness(new, head=noted.hash)
    assert place.read_bytes() == Path(moved).read_bytes() == seen
    place.unlink()
    with refuses(VerificationError, "ledger-behind-witness"):
        reopened(ledger).set_witness(moved, head=noted.hash)
    with refuses(VerificationError, "witness-missing"):
        charge(reopened(ledger), TENTH, number=2)


def test_a_head_writes_to_no_file_that_is_not_the_ledgers_witness(ledger, tmp_path):
    latest = charge(ledger, TENTH, number=0)
    other = Ledger.create(tmp_path / "other.ledger", witness=tmp_path / "other")
    (tmp_path / "key").write_text("a key\n")
    (tmp_path / "half").write_text("a key without an end")
    for name, words in {
        "other": "witness-of-other-ledger",
        "key": "witness-damaged",
        "half": "witness-damaged",
    }.items():
        before = (tmp_path / name).read_bytes()
        with refuses(VerificationError, words):
            ledger.set_witness(tmp_path / name, head=latest.hash)
        assert (tmp_path / name).read_bytes() == before
    other.add_dataset("census", PureDP(F(1)))


@pytest.mark.skipif(locked_file.fcntl is None, reason="locks on files themselves are of POSIX")
def test_a_check_and_a_move_with_a_head_only_read_the_witness(ledger, place, tmp_path, monkeypatch):
    monkeypatch.setattr(locked_file, "PATIENCE", 0.05)
    with locked_file.open_locked(place, write=False):
        ledger.check()
        with refuses(OutputError, "ledger-in-use"):
            charge(ledger, TENTH)
        ledger.set_witness(tmp_path / "new", head=ledger.check().hash)
    made = charge(ledger, TENTH)
    assert last(tmp_path / "new")[2] == made.hash


@pytest.mark.skipif(locked_file.fcntl is None, reason="locks on files themselves are of POSIX")
def test_another_name_of_the_ledger_or_the_witness_is_recognised(
    ledger, place, tmp_path, monkeypatch
):
    monkeypatch.setattr(locked_file, "PATIENCE", 0.05)
    (tmp_path / "link").hardlink_to(ledger.path)
    (tmp_path / "empty").touch()
    (tmp_path / "same").hardlink_to(tmp_path / "empty")
    with refuses(UsageError, "witness-is-ledger"):
        ledger.set_witness(tmp_path / "link")
    with refuses(UsageError, "witness-is-ledger"):
        Ledger.create(tmp_path / "empty", witness=tmp_path / "same")
    (tmp_path / "second").hardlink_to(place)
    for head in (None, ledger.check().hash):
        ledger.set_witness(tmp_path / "second", head=head)
        ledger.set_witness(place, head=head)
    assert ledger.witness == place
    charge(ledger, TENTH, number=0)
    assert last(place)[2] == ledger.check().hash


def test_places_that_are_no_witness_are_refused(ledger, place, tmp_path):
    for path, error in (
        (ledger.path, UsageError),
        (tmp_path / "nowhere" / "witness", VerificationError),
        (tmp_path, GeodpError),
    ):
        with pytest.raises(error):
            ledger.set_witness(path)
    with refuses(UsageError, "witness-path-not-text"):
        ledger.set_witness(tmp_path / "w\udcff")
    (tmp_path / "text").write_text("not a witness\n")
    with refuses(UsageError, "witness-not-empty"):
        Ledger.create(tmp_path / "new.ledger", witness=tmp_path / "text")
    assert (tmp_path / "new.ledger").read_bytes() == b""
    with refuses(VerificationError, "witness-damaged"):
        ledger.set_witness(tmp_path / "text")
    assert (tmp_path / "text").read_text() == "not a witness\n"
    assert ledger.witness == place
