"""The opening of a ledger's file."""

import io

import pytest

from geodp.errors import UsageError
from geodp.privacy.hash_chain import (
    SECTOR,
    START,
    EntryPlace,
    empty_ledger,
    format_slot,
    parse_slot,
    read_opening,
    recognise,
)
from tests.refusals import refuses

PLACE = EntryPlace(12345, "ab" * 32)


def opening(number, line):
    content = bytearray(empty_ledger())
    at = (number + 1) * SECTOR
    content[at : at + len(line)] = line
    return bytes(content)


@pytest.mark.parametrize("number", [0, 1])
def test_a_slot_is_read_as_it_was_written(number):
    content = opening(number, format_slot(PLACE))
    assert parse_slot(content, number) == PLACE
    assert parse_slot(content, 1 - number) is None


def test_no_changed_byte_of_a_slot_is_taken_for_a_slot():
    line = format_slot(PLACE)
    for at in range(len(line)):
        for bit in range(8):
            changed = bytearray(line)
            changed[at] ^= 1 << bit
            assert parse_slot(opening(0, bytes(changed)), 0) is None, (at, bit)
    for cut in range(len(line)):
        assert parse_slot(opening(0, line[:cut]), 0) is None


def test_an_opening_is_recognised_by_its_first_line(tmp_path):
    assert len(empty_ledger()) == START
    recognise(empty_ledger(), tmp_path)
    for content in (b"", empty_ledger()[:-1], b"x" * START, empty_ledger().replace(b"3", b"x")):
        with refuses(UsageError, "ledger-expected"):
            recognise(content, tmp_path)


def test_an_opening_is_read_from_short_files_and_in_small_pieces():
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 7))

    for content in (b"", b"abc", empty_ledger(), empty_ledger() + b"more"):
        assert read_opening(Slow(content)) == content[:START]
