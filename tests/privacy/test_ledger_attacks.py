"""What must never go over a cap: older files, second names, look-alikes, flipped bits."""

import os
import random
import shutil
import sqlite3
import stat
import unicodedata
from contextlib import closing, suppress
from fractions import Fraction as F
from pathlib import Path

import pytest

from geodp.errors import BudgetError, GeodpError, OutputError, UsageError, VerificationError
from geodp.privacy import hash_chain, locked_file
from geodp.privacy.accounts import Account
from geodp.privacy.books import Books
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP
from tests.ledgers import charge, filled, forge, small_ledger
from tests.refusals import refuses

# -- older files


USES = {
    "charge": lambda ledger: charge(ledger, number=9),
    "replay": lambda ledger: charge(ledger, number=1),
    "account": lambda ledger: ledger.account("census"),
    "accounts": lambda ledger: ledger.accounts(),
    "charges": lambda ledger: ledger.charges("census"),
    "add": lambda ledger: ledger.add_dataset("other", PureDP(1)),
    "check": lambda ledger: ledger.check(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("seen", ["charge", "add", "account", "check"])
def test_a_file_set_back_by_one_entry_is_refused_by_who_saw_the_entry(ledger, tmp_path, seen, use):
    charge(ledger, number=1)
    older = tmp_path / "older"
    shutil.copy(ledger.path, older)
    live = ledger if seen in ("charge", "add") else Ledger.open(ledger.path)
    if seen == "add":
        ledger.add_dataset("new", PureDP(1))
    else:
        charge(ledger, number=2)
    if seen in ("account", "check"):
        USES[seen](live)
    shutil.copy(older, ledger.path)
    with refuses(VerificationError, "ledger-replaced"):
        use(live)


def test_a_new_ledger_that_is_replaced_at_once_is_refused(tmp_path):
    one, two = (Ledger.create(tmp_path / name) for name in ("one", "two"))
    shutil.copy(two.path, one.path)
    with refuses(VerificationError, "ledger-replaced"):
        one.add_dataset("census", PureDP(1))


def test_what_others_added_since_is_verified(ledger):
    other = Ledger.open(ledger.path)
    for number in range(4):
        charge(other, PureDP(F(1, 10)), number=number)
    assert ledger.spent("census") == PureDP(F(2, 5))
    for number in range(4, 8):
        charge(other, PureDP(F(1, 10)), number=number)
    forge(ledger.path, 7, lambda text: text + " ")
    with refuses(VerificationError, r"ledger-chain-broken: \b7\b"):
        charge(ledger, PureDP(F(1, 10)), number=8)


# -- second names


def test_a_file_with_two_names_is_one_ledger_where_locks_are_on_files(ledger, tmp_path):
    other = tmp_path / "other.ledger"
    os.link(ledger.path, other)
    if locked_file.fcntl is None:  # locks go by name
        for use in USES.values():
            with refuses(UsageError, "ledger-hard-link"):
                use(ledger)
        for verb in (Ledger.open, Ledger.create):
            with refuses(UsageError, "ledger-hard-link"):
                verb(other)
        other.unlink()
        assert not charge(ledger).replay
        return
    for number in range(5):
        charge(Ledger.open([ledger.path, other][number % 2]), number=number)
    for path in (ledger.path, other):
        with pytest.raises(BudgetError):
            charge(Ledger.open(path), number=9)


posix = pytest.mark.skipif(
    locked_file.fcntl is None, reason="locks on files themselves are of POSIX"
)


@posix
@pytest.mark.parametrize("change", [Path.unlink, os.replace, os.rename])
def test_a_file_that_loses_its_name_during_a_charge_is_not_charged(
    ledger, tmp_path, monkeypatch, change
):
    """The charge would be in a file that nobody will open again."""
    other = Ledger.create(tmp_path / "other").path
    whole, content = Books.enter, ledger.path.read_bytes()
    kept = tmp_path / "kept"
    os.link(ledger.path, kept)

    def enter(books, columns):
        if change is os.replace:
            os.replace(other, ledger.path)
        elif change is os.rename:
            ledger.path.rename(tmp_path / "renamed")
        else:
            ledger.path.unlink()
        return whole(books, columns)

    monkeypatch.setattr(Books, "enter", enter)
    with refuses(OutputError, "ledger-moved-while-charged"):
        charge(ledger)
    assert kept.read_bytes() == content


@posix
def test_a_file_without_a_name_is_not_charged_under_a_bind_mount(ledger, monkeypatch):
    """There its path still leads to it, though it was replaced outside."""
    status = os.fstat

    def fstat(handle):
        found = list(status(handle))
        found[stat.ST_NLINK] = 0
        return os.stat_result(found)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", fstat)
        with refuses(OutputError, "ledger-file-moved"):
            charge(ledger)
    assert ledger.check().sequence == 1


def test_a_symbolic_link_is_the_same_ledger(ledger, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(ledger.path)
    linked = Ledger.open(link)
    assert linked.path == ledger.path
    for number in range(5):
        charge([ledger, linked][number % 2], number=number)
    with pytest.raises(BudgetError):
        charge(linked, number=5)


# -- look-alikes


ALIKE = ["Census", "ＣＥＮＳＵＳ", "ｃensus", "cen sus", "cenſus", "CENſUS"]
ALIKE += ["census.", "census。", "'census'", "cen-sus", "(census)", "cеnsus", "сensus"]
"""The last two with a letter of Cyrillic."""


@pytest.mark.parametrize("name", ALIKE)
def test_a_name_that_reads_like_another_gets_no_cap_of_its_own(ledger, name):
    with refuses(
        UsageError, "dataset-looks-alike|name-mixes-scripts: reads like census|scripts Cyrillic"
    ):
        ledger.add_dataset(name, PureDP(1))
    with refuses(UsageError, "dataset-spelt-otherwise"):
        charge(ledger, dataset=name)


@pytest.mark.parametrize("name", ["census ", " census", "census"])
def test_blanks_around_a_name_are_no_part_of_it(ledger, name):
    with refuses(UsageError, "dataset-exists"):
        ledger.add_dataset(name, PureDP(1))
    assert charge(ledger, dataset=name).dataset == "census"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("stored", ["NFC", "NFD"])
def test_all_compositions_of_a_name_are_one(ledger, form, stored):
    name = "Zürich ガザ 2020"
    ledger.add_dataset(unicodedata.normalize(stored, name), PureDP(1))
    given = unicodedata.normalize(form, name)
    with refuses(UsageError, "dataset-exists"):
        ledger.add_dataset(given, PureDP(1))
    assert charge(ledger, dataset=given).dataset == unicodedata.normalize("NFC", name)


def test_half_width_letters_and_other_dashes_are_no_other_name(ledger):
    ledger.add_dataset("ガザ-2020", PureDP(1))
    for name in ("ｶﾞｻﾞ-2020", "ガザ–2020", "ガザ－２０２０"):
        with refuses(UsageError, "dataset-looks-alike"):
            ledger.add_dataset(name, PureDP(1))


@pytest.mark.parametrize("mark", ["\ufe0f", "\u034f", "\u3164", "\u2800", "\u200b", "\U000e0100"])
def test_characters_that_nobody_sees_are_refused(ledger, mark):
    for use in (lambda n: ledger.add_dataset(n, PureDP(1)), lambda n: charge(ledger, dataset=n)):
        with refuses(UsageError, "name-length|name-unseen-characters"):
            use(f"cen{mark}sus")


@pytest.mark.parametrize("unit", ["person", "one person", " One  person", "one one person"])
def test_a_unit_has_one_form(ledger, unit):
    assert ledger.add_dataset("new", PureDP(1), unit=unit).unit == "person"
    assert ledger.account("new").unit == "person"


@pytest.mark.parametrize(
    ("unit", "form"),
    [
        ("person one", "person one"),
        ("oner", "oner"),
        ("Mu\u0308tter", "M\u00fctter"),
        ("x" * 200, "x" * 200),
    ],
)
def test_nothing_else_of_a_unit_is_changed(ledger, unit, form):
    assert ledger.add_dataset("new", PureDP(1), unit=unit).unit == form


@pytest.mark.parametrize("unit", ["", " ", "one", "a\nb", "x" * 201, None])
def test_what_is_no_unit_is_refused(ledger, unit):
    with refuses(UsageError, "unit-missing"):
        ledger.add_dataset("new", PureDP(1), unit=unit)


# -- sums


@pytest.mark.parametrize(
    ("cap", "loss"),
    [
        (PureDP(1), PureDP(F(1, 7))),
        (ZeroConcentratedDP(1), PureDP(F(1, 3))),
        (ZeroConcentratedDP(1), ZeroConcentratedDP(F(1, 7))),
        (ApproximateDP(1, F(1, 10)), ApproximateDP(F(1, 7), F(1, 1000))),
        (ApproximateDP(1, F(1, 10)), ApproximateDP(F(1, 1000), F(1, 70))),
    ],
)
def test_running_sums_of_every_kind_are_those_of_all_charges(ledger, cap, loss):
    ledger.add_dataset("new", cap)
    done = 0
    with suppress(BudgetError):
        while done < 99:
            charge(ledger, loss, "new", done)
            done += 1
    assert done in (7, 18)
    charges = ledger.charges("new")
    assert [c.earlier for c in charges] == list(range(done))
    assert charges[-1].spent == ledger.spent("new")
    amounts = [loss.epsilon**2 / 2] if type(loss) is not type(cap) else loss.amounts
    assert ledger.spent("new").amounts == tuple(done * amount for amount in amounts)
    ledger.check()


def test_a_sum_too_long_to_be_written_is_refused_before_it_is_charged(ledger):
    ledger.add_dataset("new", PureDP(9))
    before = ledger.check()
    for long in (F(1, 3**9999), F(1, 3**2600)):
        with refuses(UsageError, "sum-too-long"):
            charge(ledger, PureDP(long), "new")
        with refuses(UsageError, "sum-too-long"):
            ledger.add_dataset("other", PureDP(long))
    assert ledger.check() == before
    charge(ledger, PureDP(F(1, 3**1200)), "new", 1)
    with refuses(UsageError, "sum-too-long"):
        charge(ledger, PureDP(F(1, 5**900)), "new", 2)
    assert charge(ledger, PureDP(F(1, 3**1200)), "new", 3).spent == PureDP(F(2, 3**1200))


def test_the_longest_loss_and_the_longest_sum(ledger):
    ledger.add_dataset("new", PureDP(9))
    longest, longer = PureDP(F(1, 2**4094)), PureDP(F(1, 2**4095))  # 4096 bits and one more
    with refuses(UsageError, "sum-too-long"):
        charge(ledger, longer, "new", 1)
    assert charge(ledger, longest, "new", 1).spent == longest
    with refuses(UsageError, "sum-too-long"):
        ledger.add_dataset("other", longer)
    assert ledger.add_dataset("other", longest).cap == longest


# -- flipped bits


@pytest.mark.law
def test_no_flipped_bit_takes_the_ledger_over_its_cap(tmp_path):
    """A sample; GEODP_BITS=1000000 tries all of them in some minutes."""
    ledger = small_ledger(tmp_path)
    ledger.add_dataset("other", PureDP(F(1, 5)))
    for number in range(9):
        charge(ledger, PureDP(F(1, 10)), number=number)
    content = ledger.path.read_bytes()
    filled_bytes = [place for place, byte in enumerate(content) if byte]
    chance = random.Random(os.environ.get("GEODP_BITS_SEED", "bits"))
    bits = [(place, bit) for place in filled_bytes for bit in range(8)]
    trials = int(os.environ.get("GEODP_BITS", "700"))
    refused = dict.fromkeys(("UsageError", "VerificationError", "OutputError", "BudgetError"), 0)
    for place, bit in chance.sample(bits, min(trials, len(bits))):
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        path = tmp_path / "damaged"
        for rest in tmp_path.glob("damaged*"):
            rest.unlink()
        path.write_bytes(damaged)
        for dataset, loss in (("census", F(1, 5)), ("other", F(1, 4))):
            try:
                charge(Ledger.open(path), PureDP(loss), dataset, number=99)
            except GeodpError as error:
                refused[type(error).__name__] += 1
            else:
                raise AssertionError(f"bit {bit} of byte {place} opened the cap of {dataset}")
    assert refused["BudgetError"] > trials / 4  # most bits are old entries, which change no sum
    assert refused["VerificationError"] > trials / 10


def test_a_sector_that_is_older_than_the_rest_is_found_or_was_never_needed(tmp_path):
    """A write that the disk lost: each sector of the last charge, alone, as it was before."""
    ledger = small_ledger(tmp_path)
    for number in range(30):
        charge(ledger, PureDP(F(1, 50)), number=number)
    before = ledger.path.read_bytes()
    charge(ledger, PureDP(F(2, 5)), number=30)  # all is spent
    after = ledger.path.read_bytes()
    before += bytes(len(after) - len(before))
    sectors = range(0, len(after), 512)
    changed = [at for at in sectors if before[at : at + 512] != after[at : at + 512]]
    assert len(changed) >= 3
    for at in changed:
        stale = tmp_path / f"stale-{at}"
        stale.write_bytes(after[:at] + before[at : at + 512] + after[at + 512 :])
        with pytest.raises((BudgetError, VerificationError)):
            charge(Ledger.open(stale), PureDP(F(1, 50)), number=99)


# -- work


def work(ledger, monkeypatch, use):
    """Bytes that were read, and entries that were hashed."""
    counted = {"bytes": 0, "hashes": 0}
    line, hashed = hash_chain.Log._line, hash_chain._hash

    def read(log, start):
        found = line(log, start)
        counted["bytes"] += len(found)
        return found

    def hash_(text):
        counted["hashes"] += 1
        return hashed(text)

    with monkeypatch.context() as patch:
        patch.setattr(hash_chain.Log, "_line", read)
        patch.setattr(hash_chain, "_hash", hash_)
        use(Ledger.open(ledger.path))
    return counted


@pytest.mark.law
@pytest.mark.parametrize(
    "use",
    [
        lambda ledger: charge(ledger, PureDP(F(1, 10**6)), number=10**6),
        lambda ledger: charge(ledger, PureDP(F(1, 10**6)), number=20),
        lambda ledger: ledger.remaining("census"),
    ],
    ids=["charge", "replay", "remaining"],
)
def test_the_work_of_a_charge_grows_with_the_logarithm_of_the_ledger(tmp_path, monkeypatch, use):
    counted = []
    for number in (50, 10_000):
        ledger = Ledger.create(tmp_path / str(number))
        ledger.add_dataset("census", PureDP(1))
        filled(ledger, number, loss=PureDP(F(1, 10**6)))
        counted.append(work(ledger, monkeypatch, use))
    few, many = counted
    assert many["hashes"] <= few["hashes"] + 16 <= 40  # an eighth of the bits of 10,000 / 50 more
    assert many["bytes"] <= 70_000


def test_the_count_of_work_sees_a_walk(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("census", PureDP(1))
    filled(ledger, 400, loss=PureDP(F(1, 10**6)))
    counted = work(ledger, monkeypatch, lambda ledger: ledger.charges("census"))
    assert counted["hashes"] >= 402
    assert counted["bytes"] > 400 * 500
    assert work(ledger, monkeypatch, Ledger.accounts)["hashes"] <= 6
    assert work(ledger, monkeypatch, lambda ledger: charge(ledger, number=999))["hashes"] < 40
    # Who has seen the ledger before verifies what is new since, and no more.
    assert work(ledger, monkeypatch, lambda _: charge(ledger, number=1000))["hashes"] < 40


def test_an_account_is_found_without_a_look_at_all_others(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger")
    with ledger._books(write=True) as books:
        for number in range(64):
            account = Account.open(f"set {number}", PureDP(1), "person", "add-remove-one")
            books.enter({"kind": "dataset", **account.columns()})
    assert work(ledger, monkeypatch, Ledger.accounts)["hashes"] >= 64
    assert work(ledger, monkeypatch, lambda ledger: ledger.account("set 7"))["hashes"] <= 20


# -- other versions


@pytest.mark.parametrize(("version", "words"), [(2, "ledger-older"), (4, "ledger-newer")])
def test_a_ledger_of_another_version_is_refused_in_a_sentence(ledger, version, words):
    content = ledger.path.read_bytes().replace(b"geodp ledger 3", b"geodp ledger %d" % version, 1)
    ledger.path.write_bytes(content)
    with refuses(UsageError, words):
        Ledger.open(ledger.path)
    with refuses(UsageError, "ledger-exists"):
        Ledger.create(ledger.path)
    assert ledger.path.read_bytes() == content


def test_a_ledger_of_the_versions_that_were_databases_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "office.ledger"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE entry (sequence INTEGER PRIMARY KEY)")
        db.execute(f"PRAGMA application_id = {int.from_bytes(b'geod', 'big')}")
        db.execute("PRAGMA user_version = 2")
        db.execute("CREATE TABLE release (sequence INTEGER PRIMARY KEY)")
        db.execute("CREATE TABLE account (sequence INTEGER PRIMARY KEY)")
    with refuses(UsageError, r"ledger-older: \b2\b"):
        Ledger.open(path)
