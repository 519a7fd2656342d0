"""The index in the entries: against a dictionary, and in few steps."""

import random

import pytest

from geodp.privacy.books import Index, digest_key
from geodp.privacy.hash_chain import EntryPlace, Head, LedgerEntry

INDEX = Index("by_name", lambda content: content.get("key"))


class Entries:
    """Entries in memory, by their place."""

    def __init__(self):
        self.last, self.by_place, self.fetched = None, {}, 0

    def fetch(self, place):
        self.fetched += 1
        return self.by_place[place]

    def add(self, key):
        content = {} if key is None else {"key": key}
        content |= INDEX.columns(content, self.last, self.fetch)
        number = len(self.by_place)
        self.last = LedgerEntry(Head("", number, f"{number:064x}", number, number + 1), content)
        self.by_place[self.last.place] = self.last

    def find(self, key):
        found = INDEX.find(key, self.last, self.fetch)
        return None if found is None else found.head.sequence


@pytest.mark.parametrize("seed", range(10))
def test_the_latest_entry_of_every_key_is_found_and_no_other(seed):
    chance, entries, latest = random.Random(seed), Entries(), {}
    bits = chance.choice([3, 6, 256])  # few bits: keys that share all but the last ones
    for number in range(120):
        key = None if chance.random() < 0.1 else chance.getrandbits(bits) % 2**256
        entries.add(key)
        if key is not None:
            latest[key] = number
        assert {e.head.sequence for e in INDEX.entries(entries.last, entries.fetch)} == {
            *latest.values()
        }
    for key in {*latest, *range(2 ** min(bits, 6))}:
        assert entries.find(key) == latest.get(key)


def test_nothing_is_found_where_nothing_was_entered():
    entries = Entries()
    entries.add(None)
    assert entries.find(5) is None
    assert entries.last.content == {}
    assert list(INDEX.entries(entries.last, entries.fetch)) == []


def test_an_entry_that_is_none_of_the_index_names_the_latest_that_is():
    entries = Entries()
    entries.add(5)
    first = entries.last.place
    entries.add(None)
    entries.add(None)
    assert entries.last.content == {"latest_by_name": [*first]}
    assert entries.find(5) == 0


def test_what_was_written_is_never_changed():
    entries = Entries()
    entries.add(digest_key("a"))
    before = repr(entries.last)
    for number in range(99):
        entries.add(digest_key("b", str(number)))
    assert repr(entries.by_place[EntryPlace(0, f"{0:064x}")]) == before


def test_a_search_takes_half_of_the_logarithm_of_steps():
    steps = {}
    for size in (64, 4096):
        entries = Entries()
        for number in range(size):
            entries.add(digest_key(str(number)))
        entries.fetched = 0
        for number in range(200):
            entries.find(digest_key("other", str(number)))
        steps[size] = entries.fetched / 200
    assert 3 < steps[64] < 6
    assert 2 < steps[4096] - steps[64] < 4  # 6 more bits


def test_keys_are_digests_of_all_parts():
    keys = {digest_key("a", "b"), digest_key("ab"), digest_key("b", "a"), digest_key("a")}
    assert len(keys) == 4
    assert all(0 <= key < 2**256 for key in keys)


def test_a_branch_that_leads_out_of_the_index_is_an_error():
    """Only a forger can make one: every branch has the hash of its entry."""
    entries = Entries()
    entries.add(None)
    outside = entries.last.place
    content = {"key": 1, "by_name": [None] * 255 + [list(outside)]}
    forged = LedgerEntry(Head("", 1, "f" * 64, 1, 2), content)
    entries.by_place[forged.place] = forged
    with pytest.raises(ValueError, match="outside of the index"):
        INDEX.find(0, forged, entries.fetch)
