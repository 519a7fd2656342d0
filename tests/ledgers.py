"""Small ledgers for the tests of the ledger, of its command line and of its crashes."""

import hashlib
import json
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction as F
from types import SimpleNamespace

import pytest

from geodp.privacy import hash_chain
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP, ZeroConcentratedDP
from geodp.privacy.terms import ADD_REMOVE

FIFTH = PureDP(F(1, 5))


def fingerprint(number):
    return f"{number:064x}"


def _terms(number, **changed):
    given = {
        "mechanism": "topdown",
        "neighbours": ADD_REMOVE,
        "contribution": 1,
        "fingerprint": fingerprint(number),
    }
    return {**given, **changed}


def charge(ledger, loss=FIFTH, dataset="census", number=0, **changed):
    return ledger.charge(dataset, loss, **_terms(number, **changed))


def rehearse(ledger, loss=FIFTH, dataset="census", number=0, **changed):
    return ledger.rehearse(dataset, loss, **_terms(number, **changed))


def repeat_five(size):
    """Return an id of a ledger that is always the same."""
    return "5" * 2 * size


@contextmanager
def steady_ledgers(token_hex=repeat_five):
    """Give entries of ledgers of the block one time, and ledgers ids by a function of their size.

    Equal charges to ledgers of one id have one head.
    """
    clock = SimpleNamespace(now=lambda zone: datetime(2026, 1, 1, tzinfo=zone))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hash_chain, "datetime", clock)
        patched.setattr(hash_chain, "secrets", SimpleNamespace(token_hex=token_hex))
        yield


def small_ledger(folder):
    """One data set with a cap of 1."""
    made = Ledger.create(folder / "office.ledger")
    made.add_dataset("census", PureDP(F(1)))
    return made


def used_ledger(folder):
    """Two data sets and four charges: seven entries."""
    made = small_ledger(folder)
    made.add_dataset("trips", ZeroConcentratedDP(F(1, 2)), unit="one trip")
    for number in range(4):
        charge(made, dataset=["census", "trips"][number % 2], number=number)
    made.check()
    return made


def filled(ledger, charges, dataset="census", loss=FIFTH):
    """Charges by the ledger's own rules, all in one transaction: as many again are quick."""
    with ledger._books(write=True) as books:
        for number in range(charges):
            columns = {
                "kind": "charge",
                "loss": str(loss),
                "mechanism": "topdown",
                "contribution": 1,
                "fingerprint": fingerprint(number),
                "details": "{}",
            }
            books.enter({**columns, **books.account(dataset).charge(loss).columns()})


# -- the file, without geodp

START = 12288


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(entry):
    return json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def read_rows(path):
    """Hash and text of every entry, as they stand in the file."""
    lines = path.read_bytes()[START:].decode().split("\n")
    assert lines.pop() == ""
    return [(line[:64], line[65:]) for line in lines]


def starts(rows):
    """Where each entry begins."""
    places = [START]
    for stated, text in rows:
        places.append(places[-1] + len(f"{stated} {text}\n".encode()))
    return places[:-1]


def slot(start, stated):
    text = f"{start:020d} {stated}"
    return f"{text} {sha256(text)[:16]}\n".encode()


def write_rows(path, rows):
    """Write a ledger whose last entry is the last row."""
    opening = bytearray(b"geodp ledger 3\n".ljust(START - 1) + b"\n")
    line = slot(starts(rows)[-1], rows[-1][0])
    opening[4096 : 4096 + len(line)] = line
    text = "".join(f"{stated} {text}\n" for stated, text in rows)
    path.write_bytes(bytes(opening) + text.encode())


def forge(path, sequence, change):
    """Change one entry's text, and nothing that leads to it."""
    rows = read_rows(path)
    rows[sequence] = (rows[sequence][0], change(rows[sequence][1]))
    write_rows(path, rows)


def rewritten(path, sequences=range(99), **changed):
    """Change fields of entries, and the hashes and places of all that name them, as a forger would.

    Entries that are not among the sequences keep their hashes.
    """
    rows, new, places = read_rows(path), [], {}
    for sequence, ((stated, text), start) in enumerate(zip(rows, starts(rows), strict=True)):
        if sequence in sequences:
            entry = moved(json.loads(text), places)
            entry |= {name: change(entry) for name, change in changed.items() if name in entry}
            entry["previous"] = new[-1][0] if new else "0" * 64
            text = canonical(entry)
            new.append((sha256(text), text))
        else:
            new.append((stated, text))
        places[start] = [starts(new)[-1], new[-1][0]]
    write_rows(path, new)


def moved(entry, places):
    """Let an entry name others by their new places."""
    for name in ("by_dataset", "by_release"):
        if name in entry:
            entry[name] = [branch and places[branch[0]] for branch in entry[name]]
        if (latest := f"latest_{name}") in entry:
            entry[latest] = places[entry[latest][0]]
    return entry


def start_together(processes):
    """Tell processes that print ``ready`` and wait for a line to begin, once all are ready."""
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
