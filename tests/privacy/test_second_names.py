"""One ledger under two names, charged from both at once, and killed: exact, or refused."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction as F
from functools import cache

import pytest

from geodp.errors import GeodpError, VerificationError
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.ledgers import charge, start_together

pytest.importorskip("resource", reason="signals and limits of POSIX")

CHILD = """
import secrets, sys
from fractions import Fraction
from geodp.errors import BudgetError, GeodpError
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP

path, loss, tries = sys.argv[1], PureDP(Fraction(sys.argv[2])), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(tries):
    fingerprint = secrets.token_hex(32)
    try:
        Ledger.open(path).charge(
            "census", loss, mechanism="topdown", neighbours="add-remove-one",
            contribution=1, fingerprint=fingerprint,
        )
    except BudgetError:
        break
    except GeodpError as error:
        print(type(error).__name__, str(error), flush=True)
        continue
    print(fingerprint, flush=True)
"""
MOUNT = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
ROUNDS = [pytest.param(2, id="few"), pytest.param(10, id="ten", marks=pytest.mark.law)]


@cache
def can_mount():
    """Whether a process of its own may bind one file to the name of another."""
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$1"', "sh", __file__],
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def bind(ledger, folder):
    """Bind the file, as ``docker -v file:file`` does, in the child's own table of mounts."""
    if not can_mount():
        pytest.skip("nothing can be mounted here")
    name = folder / "bound.ledger"
    name.touch()
    return name, ["unshare", "-m", "sh", "-c", MOUNT, "sh", str(ledger), str(name)]


def hard_link(ledger, folder):
    name = folder / "linked.ledger"
    os.link(ledger, name)
    return name, []


def symbolic_link(ledger, folder):
    name = folder / "symbolic.ledger"
    name.symlink_to(ledger)
    return name, []


SECOND = pytest.mark.parametrize("second", [bind, hard_link, symbolic_link])


def start(path, loss, tries, prefix=()):
    command = [*prefix, sys.executable, "-c", CHILD, str(path), str(loss), str(tries)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def acknowledged(child):
    """The charges of which a child heard, and what else it was told."""
    lines = child.communicate(timeout=120)[0].split("\n")[:-1]  # the last may be half a line
    return {line for line in lines if " " not in line}, [line for line in lines if " " in line]


def new_ledger(folder, cap=F(1), **options):
    folder.mkdir()
    ledger = Ledger.create(folder / "office.ledger", **options)
    ledger.add_dataset("census", PureDP(cap))
    return ledger


@SECOND
@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_ledger_of_two_names_is_charged_up_to_its_cap_exactly(tmp_path, second, rounds):
    for number in range(rounds):
        folder = tmp_path / str(number)
        ledger = new_ledger(folder)
        name, prefix = second(ledger.path, folder)
        sides = [start(ledger.path, F(1, 20), 20), start(name, F(1, 20), 20, prefix)]
        start_together(sides)
        results = [acknowledged(side) for side in sides]
        assert [told for _, told in results] == [[], []]
        heard = results[0][0] | results[1][0]
        assert len(heard) == 20
        assert heard == {c.fingerprint for c in ledger.charges("census")}
        assert ledger.spent("census") == PureDP(F(1))
        ledger.check()


@SECOND
@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_kill_under_one_name_loses_nothing_under_the_other(tmp_path, second, rounds):
    ledger = new_ledger(tmp_path / "ledger", F(10**6))
    name, prefix = second(ledger.path, tmp_path)
    chance, heard, kills = random.Random(34), set(), 0
    for _ in range(rounds):
        sides = [
            start(ledger.path, F(1, 20), 10**6),
            start(name, F(1, 20), 10**6, prefix),
        ]
        start_together(sides)
        for side in chance.sample(sides, 2):
            time.sleep(chance.uniform(0.01, 0.08))
            side.send_signal(signal.SIGKILL)
        for side in sides:
            charged, told = acknowledged(side)
            heard |= charged
            kills += side.returncode == -signal.SIGKILL
            assert told == []
        charged = {c.fingerprint for c in ledger.charges("census")}
        assert heard <= charged
        assert len(charged) <= len(heard) + kills  # one in flight for each
        assert ledger.spent("census") == PureDP(F(len(charged), 20))
        ledger.check()
    assert kills == 2 * rounds
    assert len(heard) > rounds


def test_a_bind_mount_of_a_file_that_was_replaced_is_refused(tmp_path):
    """Its path there still leads to the former file, which nobody else will open."""
    ledger = new_ledger(tmp_path / "ledger")
    name, prefix = bind(ledger.path, tmp_path)
    side = start(name, F(1, 20), 1, prefix)
    assert side.stdout.readline() == "ready\n"
    shutil.copy(ledger.path, tmp_path / "restored")
    os.replace(tmp_path / "restored", ledger.path)
    side.stdin.write("go\n")
    side.stdin.flush()
    heard, (told,) = acknowledged(side)
    assert not heard
    assert "mount its folder" in told
    assert ledger.check().sequence == 1


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_ledger_that_is_renamed_while_it_is_charged_keeps_every_charge(tmp_path, rounds):
    total = 0
    for number in range(rounds):
        ledger = new_ledger(tmp_path / str(number), F(10**6))
        other = ledger.path.with_name("renamed.ledger")
        sides = [start(path, F(1, 20), 150) for path in (ledger.path, other)]
        start_together(sides)
        place, moves = ledger.path, 0
        while any(side.poll() is None for side in sides) and moves < 4000:
            target = other if place == ledger.path else ledger.path
            place.rename(target)
            place, moves = target, moves + 1
            time.sleep(0.005)
        results = [acknowledged(side) for side in sides]
        heard = results[0][0] | results[1][0]
        told = [line for _, lines in results for line in lines]
        assert all("exist" in line or "renamed" in line for line in told)
        charges = {c.fingerprint for c in Ledger.open(place).charges("census")}
        assert heard == charges
        Ledger.open(place).check()
        total += len(heard)
    assert total > rounds


# -- copies, with a witness


def refusals(ledger, number):
    """How the next charge and the check end, each of a ledger opened anew."""
    for use in (lambda book: charge(book, PureDP(F(1, 20)), number=number), Ledger.check):
        try:
            use(Ledger.open(ledger))
        except GeodpError as error:
            yield type(error)
        else:
            yield None


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_restored_ledger_stops_at_its_next_charge(tmp_path, rounds):
    chance = random.Random(35)
    for number in range(rounds):
        folder = tmp_path / str(number)
        ledger = new_ledger(folder, F(10), witness=folder / "witness")
        for n in range(chance.randrange(4)):
            charge(ledger, PureDP(F(1, 20)), number=n)
        older = shutil.copy(ledger.path, folder / "older")
        for n in range(10, 11 + chance.randrange(3)):
            charge(ledger, PureDP(F(1, 20)), number=n)
        latest = ledger.path.read_bytes()
        for restore in (shutil.copy, os.replace):
            restore(older, ledger.path)
            assert [*refusals(ledger.path, 99)] == [VerificationError] * 2
        ledger.path.write_bytes(latest)
        assert [*refusals(ledger.path, 99)] == [None, None]


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("killed", [False, True])
def test_of_two_copies_at_once_one_stops_at_its_next_charge(tmp_path, rounds, killed):
    chance, refused = random.Random(36), 0
    for number in range(rounds):
        folder = tmp_path / str(number)
        ledger = new_ledger(folder, F(10**6), witness=folder / "witness")
        copy = shutil.copy(ledger.path, folder / "copy")
        sides = [start(path, F(1, 20), 10**6 if killed else 10) for path in (ledger.path, copy)]
        start_together(sides)
        if killed:
            for side in chance.sample(sides, 2):
                time.sleep(chance.uniform(0.01, 0.08))
                side.send_signal(signal.SIGKILL)
        heard, told = zip(*[acknowledged(side) for side in sides], strict=True)
        # The one that was there first goes on; the other one was never charged.
        assert min(map(len, heard)) == 0
        refused += any(told)
        assert all("VerificationError" in line for lines in told for line in lines)
        for path, charged in zip((ledger.path, copy), heard, strict=True):
            if charged:
                assert charged <= {c.fingerprint for c in Ledger.open(path).charges("census")}
                Ledger.open(path).check()
    assert refused or killed


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_kill_between_ledger_and_witness_is_resolved_by_the_next_charge(tmp_path, rounds):
    ledger = new_ledger(tmp_path / "ledger", F(10**6), witness=tmp_path / "witness")
    chance, heard = random.Random(37), set()
    for _ in range(rounds):
        sides = [start(ledger.path, F(1, 20), 10**6) for _ in range(2)]
        start_together(sides)
        for side in sides:
            time.sleep(chance.uniform(0.01, 0.05))
            side.send_signal(signal.SIGKILL)
        for side in sides:
            charged, told = acknowledged(side)
            heard |= charged
            assert told == []
        Ledger.open(ledger.path).check()
        charge(ledger, PureDP(F(1, 20)), number=10**6 + len(heard))
        assert (tmp_path / "witness").read_text().splitlines()[-1].endswith(ledger.check().hash)
    assert heard <= {c.fingerprint for c in ledger.charges("census")}
    assert len(heard) > rounds


def test_threads_under_two_names_share_one_lock(tmp_path):
    ledger = new_ledger(tmp_path / "ledger")
    name, _ = hard_link(ledger.path, tmp_path)
    outcomes = []

    def work(path, first):
        for number in range(first, first + 20):
            try:
                charge(Ledger.open(path), PureDP(F(1, 20)), number=number)
            except GeodpError as error:
                outcomes.append(type(error).__name__)
            else:
                outcomes.append("charged")

    threads = [
        threading.Thread(target=work, args=arguments)
        for arguments in ((ledger.path, 0), (name, 100))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["BudgetError"] * 20 + ["charged"] * 20
    ledger.check()
