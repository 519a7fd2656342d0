"""Compound files: a stream is read whole, or refused."""

import struct

import pytest

from geodp.io.read.rows.forms.compound import read_stream
from tests.io.read.workbooks import compound

LONG = bytes(range(256)) * 100


@pytest.mark.parametrize("name", ["Workbook", "Book"])
def test_a_stream_is_found_by_its_name(name):
    assert read_stream(compound(LONG, name), ("Workbook", "Book")) == LONG


def test_short_streams_lie_in_small_sectors():
    assert read_stream(compound(LONG[:1000], short=True), ("Workbook",)) == LONG[:1000]


@pytest.mark.parametrize("place", [44, 64])
def test_more_sectors_than_the_file_has_are_refused(place):
    data = bytearray(compound(LONG[:3000], short=True))
    struct.pack_into("<L", data, place, 1 << 30)
    with pytest.raises(ValueError, match="more sectors"):
        read_stream(bytes(data), ("Workbook",))


def test_another_stream_is_none():
    with pytest.raises(ValueError, match="no such stream"):
        read_stream(compound(LONG, "WordDocument"), ("Workbook", "Book"))


@pytest.mark.parametrize("short", [False, True])
def test_a_file_that_is_cut_is_refused_at_every_sector(short):
    data = compound(LONG[:3000] if short else LONG, short=short)
    for end in range(0, len(data), 256):
        with pytest.raises((ValueError, IndexError, struct.error)):
            read_stream(data[:end], ("Workbook",))


def test_a_chain_without_end_is_refused():
    data = bytearray(compound(LONG))
    sectors = len(data) // 512 - 1
    table = (sectors) * 512
    struct.pack_into("<L", data, table + 40, 0)  # the eleventh sector leads to the first
    with pytest.raises(ValueError, match="without end"):
        read_stream(bytes(data), ("Workbook",))
