"""The ledger under many processes, kill -9, a full disk and a file that may only be read."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from fractions import Fraction as F
from pathlib import Path

import pytest

from geodp.errors import BudgetError, OutputError, UsageError
from geodp.privacy import hash_chain, locked_file
from geodp.privacy.ledger import Ledger
from geodp.privacy.locked_file import open_locked
from geodp.privacy.loss import PureDP
from tests.apart import exit_code
from tests.ledgers import START as FIRST
from tests.ledgers import charge, fingerprint, rehearse, small_ledger, start_together
from tests.refusals import refuses

resource = pytest.importorskip("resource", reason="signals and limits of POSIX")

START = """
import sys, secrets
from fractions import Fraction
from geodp.errors import BudgetError, GeodpError
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP

def charge(fingerprint):
    return Ledger.open(sys.argv[1]).charge(
        "census", PureDP(Fraction(1, 5)), mechanism="topdown", neighbours="add-remove-one",
        contribution=1, fingerprint=fingerprint, details={"x": "y" * 300},
    )

print("ready", flush=True)
sys.stdin.readline()
"""
ONE = """
try:
    print("replay" if charge(sys.argv[2] or secrets.token_hex(32)).replay else "charged")
except GeodpError as error:
    print(type(error).__name__)
"""
MANY = """
while True:
    fingerprint = secrets.token_hex(32)
    try:
        charge(fingerprint)
    except BudgetError:
        continue
    print(fingerprint, flush=True)
"""
TOO_EARLY = """
while True:
    fingerprint = secrets.token_hex(32)
    print(fingerprint, flush=True)
    charge(fingerprint)
"""


def start(script, path, argument="", **options):
    """A process that has imported everything and waits for a line."""
    return subprocess.Popen(
        [sys.executable, "-c", START + script, str(path), argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


def results(processes):
    return sorted(process.communicate(timeout=120)[0].strip() for process in processes)


def test_the_charging_process_imports_nothing_heavy():
    code = START.split("print(")[0] + "assert not {'click', 'numba', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# -- many at once


def test_of_eight_processes_at_once_exactly_the_five_that_the_cap_allows_succeed(tmp_path):
    ledger = small_ledger(tmp_path)
    processes = [start(ONE, ledger.path) for _ in range(8)]
    start_together(processes)
    assert results(processes) == 3 * ["BudgetError"] + 5 * ["charged"]
    account = ledger.account("census")
    assert account.spent == PureDP(sum((c.loss.epsilon for c in ledger.charges("census")), F(0)))
    assert account.remaining == PureDP(F(0))
    assert ledger.check().sequence == 1 + 5


def test_of_eight_processes_with_one_fingerprint_one_is_charged(tmp_path):
    ledger = small_ledger(tmp_path)
    processes = [start(ONE, ledger.path, fingerprint(7)) for _ in range(8)]
    start_together(processes)
    assert results(processes) == ["charged"] + 7 * ["replay"]
    assert ledger.spent("census") == PureDP(F(1, 5))


def test_eight_threads_may_share_a_ledger(tmp_path):
    ledger, outcomes = small_ledger(tmp_path), []

    def work(number):
        try:
            outcomes.append(charge(ledger, number=number).sequence)
        except BudgetError:
            outcomes.append(0)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [0, 0, 0, 2, 3, 4, 5, 6]
    ledger.check()


def test_of_several_that_create_a_ledger_at_once_one_does(tmp_path):
    outcomes = []

    def work():
        with suppress(UsageError):  # it exists
            outcomes.append(Ledger.create(tmp_path / "new").check().ledger)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [Ledger.open(tmp_path / "new").check().ledger]


def test_a_ledger_that_others_hold_for_too_long_is_busy(tmp_path, monkeypatch):
    ledger = small_ledger(tmp_path)
    monkeypatch.setattr(locked_file, "PATIENCE", 0.1)
    with open_locked(ledger.path, write=True):
        for use in (charge, Ledger.accounts):
            with refuses(OutputError, "ledger-in-use"):
                use(ledger)
    with open_locked(ledger.path, write=False):
        # Readers do not wait for readers.
        assert Ledger.open(ledger.path).spent("census") == PureDP(F(0))
        assert len(list(ledger.export())) == 2
        with refuses(OutputError, "ledger-in-use"):
            charge(ledger)
    assert not charge(ledger).replay


# -- kill -9


def kill_at_random(script, path, kills, chance):
    """Kill pairs of charging processes; return what they acknowledged."""
    acknowledged = set()
    for _ in range(kills // 2):
        processes = [start(script, path) for _ in range(2)]
        start_together(processes)
        time.sleep(chance.uniform(0, 0.06))
        for process in processes:
            process.send_signal(signal.SIGKILL)
            time.sleep(chance.choice([0, 0, 0.004]))
        for process in processes:
            lines = process.communicate(timeout=60)[0].split("\n")
            acknowledged.update(lines[:-1])  # the last one may be half a line
            assert process.returncode == -signal.SIGKILL
    return acknowledged


@pytest.mark.law
@pytest.mark.parametrize(("cap", "kills"), [(F(10**6), 60), (F(6), 40)], ids=["wide", "narrow"])
def test_kill_at_random_moments_loses_no_acknowledged_charge(tmp_path, cap, kills):
    chance = random.Random(20)
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(cap))
    acknowledged, heads, rounds, held = set(), [], 0, 0
    # On a busy machine processes die before they charge: more of them are started then.
    while rounds < 10 or (rounds < 200 and held < 30):
        acknowledged |= kill_at_random(MANY, ledger.path, kills // 10, chance)
        rounds += 1
        heads.append(Ledger.open(ledger.path).check().hash)
        held = len(Ledger.open(ledger.path).charges("census"))
    for head in heads:
        ledger.check(head)
    account = ledger.account("census")
    charged = {c.fingerprint for c in ledger.charges("census")}
    assert acknowledged <= charged
    assert len(charged) <= len(acknowledged) + rounds * (kills // 10)  # one in flight for each
    assert account.spent == PureDP(F(len(charged), 5))
    assert account.spent.epsilon <= cap
    assert len(charged) == 30 if cap == 6 else len(charged) >= 30
    assert [path.name for path in tmp_path.iterdir()] == ["office.ledger"]


@pytest.mark.law
def test_a_process_that_acknowledges_too_early_is_caught(tmp_path):
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(F(10**6)))
    acknowledged = kill_at_random(TOO_EARLY, ledger.path, 10, random.Random(21))
    assert acknowledged - {c.fingerprint for c in ledger.charges("census")}


@pytest.mark.law
def test_a_kill_while_a_ledger_is_made_leaves_one_that_can_be_made(tmp_path):
    create = "Ledger.create(sys.argv[1]).add_dataset('census', PureDP(Fraction(1)))\n"
    chance = random.Random(22)
    for number in range(10):
        path = tmp_path / str(number)
        process = start(create + "while True: pass\n", path)
        start_together([process])
        time.sleep(chance.uniform(0, 0.008))
        process.kill()
        process.communicate()
        try:
            ledger = Ledger.create(path)
        except UsageError:
            ledger = Ledger.open(path)
        if not ledger.accounts():
            ledger.add_dataset("census", PureDP(F(1)))
        charge(ledger)
        assert ledger.check().sequence == 2


@pytest.mark.parametrize("left", [0, 1, 4096, 12287, 12288, 12289, 12400])
def test_what_a_kill_left_of_a_new_ledger_is_made_anew(tmp_path, left):
    """Its opening is written before its first entry, without slots."""
    whole = Ledger.create(tmp_path / "whole").path.read_bytes()
    path = tmp_path / "office.ledger"
    blank = whole[:4096] + b" " * 4096 + whole[8192:]
    path.write_bytes(blank[:left])
    with refuses(UsageError, "ledger-expected"):
        Ledger.open(path)
    Ledger.create(path).add_dataset("census", PureDP(F(1)))
    assert Ledger.open(path).check().sequence == 1
    # Whole, its first entry counts.
    path.write_bytes(blank)
    assert Ledger.open(path).check().sequence == 0
    with refuses(UsageError, "ledger-exists"):
        Ledger.create(path)


# -- a full disk


@pytest.mark.parametrize(
    "limit",
    [
        *(0, 8192, 20000, 60000),
        *(pytest.param(n, marks=pytest.mark.law) for n in (4096, 12000, 32768, 36864, 45056)),
    ],
)
def test_a_file_that_may_not_grow_gives_a_clear_error_and_keeps_the_ledger_whole(tmp_path, limit):
    ledger = small_ledger(tmp_path)
    done = 0
    for _ in range(3):
        process = start(
            ONE,
            ledger.path,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        start_together([process])
        (outcome,) = results([process])
        assert outcome in ("charged", "OutputError")
        done += outcome == "charged"
        assert Ledger.open(ledger.path).check().sequence == 1 + done
    assert done == 0 if limit <= 4096 else True
    assert len(ledger.charges("census")) == done
    assert not charge(ledger).replay


@pytest.mark.parametrize("fits", [0, 1, 64, 300, 5000])
def test_a_full_disk_gives_a_clear_error_and_keeps_the_ledger_whole(tmp_path, monkeypatch, fits):
    ledger = small_ledger(tmp_path)
    before = ledger.path.read_bytes()

    def full(file, place, data, whole=hash_chain.write_at):
        whole(file, place, data[:fits])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(hash_chain, "write_at", full)
        with refuses(OutputError, "ledger-unwritable"):
            charge(ledger, details={"x": "y" * 4096 * 5})
    assert ledger.path.read_bytes() == before
    assert charge(ledger, details={"x": "y" * 4096 * 5}).sequence == 2
    with monkeypatch.context() as patch:
        patch.setattr(hash_chain, "write_at", full)
        with refuses(OutputError, "ledger-unwritable: disk"):
            Ledger.create(tmp_path / "new")
    assert Ledger.create(tmp_path / "new").accounts() == ()


# -- each step of a charge fails, or is the last one


STEPS = ["entry", "flush entry", "slot", "flush slot"]


def breaking(monkeypatch, step, error):
    """Let a step of the next charge be done and then fail."""
    done, whole, flush = [], hash_chain.write_at, locked_file.sync

    def write(file, place, data):
        whole(file, place, data)
        done.append("slot" if place < FIRST else "entry")
        if done[-1] == step:
            raise error

    def sync(file):
        flush(file)
        if f"flush {done[-1]}" == step:
            raise error

    monkeypatch.setattr(hash_chain, "write_at", write)
    monkeypatch.setattr(hash_chain, "sync", sync)


@pytest.mark.parametrize("step", STEPS)
def test_a_charge_that_fails_says_whether_it_is_in_the_ledger(tmp_path, monkeypatch, step):
    ledger = small_ledger(tmp_path)
    with monkeypatch.context() as patch:
        breaking(patch, step, OSError(errno.EIO, "broken"))
        with pytest.raises(OutputError) as caught:
            charge(ledger, number=1)
    counts = "slot" in step
    assert ("the charge is in it" in str(caught.value)) == counts
    assert ("nothing was charged" in str(caught.value)) != counts
    assert Ledger.open(ledger.path).check().sequence == 1 + counts
    assert charge(ledger, number=1).replay == counts
    assert Ledger.open(ledger.path).check().sequence == 2


@pytest.mark.parametrize("step", STEPS)
def test_a_charge_whose_process_ends_counts_as_soon_as_it_is_whole(tmp_path, monkeypatch, step):
    """The end of a process runs nothing that could tidy up."""
    ledger = small_ledger(tmp_path)
    with monkeypatch.context() as patch:
        breaking(patch, step, SystemExit())
        with pytest.raises(SystemExit):
            charge(ledger, number=1)
    assert Ledger.open(ledger.path).check().sequence == 2
    assert charge(Ledger.open(ledger.path), number=1).replay


@pytest.mark.parametrize("step", STEPS)
def test_a_replay_of_what_a_killed_writer_left_is_flushed_before_it_is_told(
    tmp_path, monkeypatch, step
):
    """Its writer may have been killed before the flush, so that power could take it back."""
    ledger = small_ledger(tmp_path)
    with monkeypatch.context() as patch:
        breaking(patch, step, SystemExit())
        with pytest.raises(SystemExit):
            charge(ledger, number=1)
    left, flushed = ledger.path.read_bytes(), []

    def sync(file):
        flushed.append(ledger.path.read_bytes())
        locked_file.sync(file)

    with monkeypatch.context() as patch:
        patch.setattr(hash_chain, "sync", sync)
        Ledger.open(ledger.path).accounts()
        assert not flushed  # a reader writes nothing
        assert charge(Ledger.open(ledger.path), number=1).replay
        if "slot" in step:  # written after the flush of the entry
            assert not flushed
        else:
            assert flushed[0] == left
            assert flushed[1] == ledger.path.read_bytes() != left
            assert charge(Ledger.open(ledger.path), number=1).replay
            assert len(flushed) == 2


def test_the_name_of_a_new_ledger_is_flushed_and_later_charges_leave_the_folder_alone(
    tmp_path, monkeypatch
):
    """Power may take back a file whose folder was not flushed, with all that was charged to it."""
    flushed = []
    monkeypatch.setattr(hash_chain, "sync_folder", flushed.append)
    ledger = small_ledger(tmp_path)
    charge(ledger)
    assert flushed == [ledger.path]


def test_a_long_entry_is_read_in_one_pass(tmp_path, monkeypatch):
    """Putting all pieces together again for each one takes the square of its length."""
    ledger = small_ledger(tmp_path)
    charge(ledger, details={"x": "y" * 2_000_000})
    copied = []

    class Counted(bytes):
        def __radd__(self, other):
            copied.append(len(other))
            return other + bytes(self)

    with ledger._chain.transaction() as log:
        file = log._file

        class File:
            seek = file.seek

            def read(self, size):
                return Counted(file.read(size))

        log._file = File()
        assert log.fetch(log.last.place) == log.last
    assert not copied


def test_a_charge_that_can_neither_be_written_nor_withdrawn_is_told(tmp_path, monkeypatch):
    ledger = small_ledger(tmp_path)

    with monkeypatch.context() as patch:
        breaking(patch, "entry", OSError(errno.EIO, "broken"))
        whole = hash_chain.open_locked

        @contextmanager
        def opened(path, **options):
            with whole(path, **options) as file:
                yield Wrapped(file)

        class Wrapped:
            def __init__(self, file):
                self.file, self.cuts = file, 0

            def __getattr__(self, name):
                return getattr(self.file, name)

            def truncate(self, size):
                self.cuts += 1
                if self.cuts == 2:
                    raise OSError(errno.EIO, "broken")
                return self.file.truncate(size)

        patch.setattr(hash_chain, "open_locked", opened)
        with refuses(OutputError, "ledger-unsure"):
            charge(ledger, number=1)
    assert Ledger.open(ledger.path).check().sequence == 2


# -- a file that may only be read


@pytest.fixture
def anyones_folder():
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_a_reader(function, path):
    """The function in a process without the rights of root, which ends with its exit code."""
    code = 99
    try:
        if os.getuid() == 0:
            os.setuid(65534)
        function(path)
        code = 0
    except BaseException as error:
        code = getattr(error, "exit_code", 98)
    finally:
        os._exit(code)


def look(path):
    assert Ledger.open(path).spent("census") == PureDP(F(1, 5))
    Ledger.open(path).check()


def spend(path):
    charge(Ledger.open(path), number=2)


def ask_to_spend(path):
    rehearse(Ledger.open(path), number=2)


@pytest.mark.law
@pytest.mark.parametrize("mode", [0o555, 0o777])
def test_who_may_only_read_can_look_but_not_charge(anyones_folder, mode):
    ledger = small_ledger(anyones_folder)
    charge(ledger)
    ledger.path.chmod(0o444)
    anyones_folder.chmod(mode)
    assert exit_code(as_a_reader, look, ledger.path) == 0
    assert exit_code(as_a_reader, spend, ledger.path) == OutputError.exit_code
    # Before anything is drawn for it, too.
    assert exit_code(as_a_reader, ask_to_spend, ledger.path) == OutputError.exit_code
    ledger.path.chmod(0o000)
    assert exit_code(as_a_reader, Ledger.open, ledger.path) == OutputError.exit_code
    anyones_folder.chmod(0o755)
    assert ledger.check().sequence == 2


@pytest.mark.law
def test_a_witness_that_may_only_be_read_is_found_before_anything_is_drawn(anyones_folder):
    place = anyones_folder / "witness"
    ledger = Ledger.create(anyones_folder / "office.ledger", witness=place)
    ledger.add_dataset("census", PureDP(F(1)))
    ledger.path.chmod(0o666)
    assert exit_code(as_a_reader, ask_to_spend, ledger.path) == OutputError.exit_code
    place.chmod(0o666)
    assert exit_code(as_a_reader, ask_to_spend, ledger.path) == 0
    assert ledger.check().sequence == 1
