"""Zip, gzip, Zstandard, Parquet and folders: whole or refused."""

import gzip
import struct
import zipfile
import zlib
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import InputError
from geodp.io.read.public.tables import read_totals
from geodp.io.read.rows.complete import BLOCKS_END, check_archive, check_blocks, check_chunks
from geodp.io.read.table import read_table
from tests.command import geodp
from tests.io.read.damage import CODES, COUNTS, MESH, N, by_code, lines, parquet, zipped
from tests.refusals import refuses

TOTAL = int(COUNTS.sum())


def refuse(read, path, rule):
    with refuses(InputError, rule) as caught:
        read(path)
    assert str(path) in str(caught.value.file)


# zip


def test_a_directory_of_fewer_members_is_refused(tmp_path):
    """As what was written over the end of an archive leaves it."""
    path = tmp_path / "a.zip"
    header, *rows = lines().splitlines(keepends=True)
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(2):
            archive.writestr(f"{number}.csv", header + b"".join(rows[number::2]))
    assert by_code(path).count.sum() == TOTAL
    data = path.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    (size,) = struct.unpack("<L", data[end + 12 : end + 16])
    for at, value in ((end + 8, b"\1\0\1\0"), (end + 8, b"\3\0\3\0"), (end + 4, b"\2\0\2\0")):
        path.write_bytes(data[:at] + value + data[at + 4 :])
        refuse(by_code, path, "archive-entries-differ|archive-volume-missing")
    # The directory lost its first entry, and says so of itself.
    start = end - size
    second = data.index(b"PK\x01\x02", start + 4)
    lost = struct.pack("<2H2L", 1, 1, end - second, second)
    path.write_bytes(
        data[:second] + data[second:end] + data[end : end + 8] + lost + data[end + 20 :]
    )
    refuse(by_code, path, "archive-members-before")


def test_two_archives_in_one_file_are_refused(tmp_path):
    path = zipped(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data + data)
    refuse(by_code, path, "archive-members-before")


def test_a_volume_of_an_archive_is_refused(tmp_path):
    path = zipped(tmp_path)
    path.write_bytes(b"PK\x07\x08" + path.read_bytes())
    refuse(by_code, path, "archive-volume")


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_member_has_its_checksum_and_its_length(packing, tmp_path):
    path = zipped(tmp_path, packing)
    data = path.read_bytes()
    entry = data.rindex(b"PK\x01\x02")
    for at, rule in (
        (entry + 16, "file-damaged"),
        (entry + 24, "file-damaged"),
        (len(data) // 2, "file-damaged"),
    ):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        refuse(by_code, path, rule)
    path.write_bytes(data + b"\n")
    with zipfile.ZipFile(path) as archive:
        check_archive(path, archive)
    assert by_code(path).count.sum() == TOTAL


def test_an_archive_of_many_members_is_counted(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(0x10001):
            archive.writestr(zipfile.ZipInfo(f"{number}.md"), b"")
        archive.writestr("a.csv", lines())
    with zipfile.ZipFile(path) as archive:
        check_archive(path, archive)
    assert by_code(path).count.sum() == TOTAL


# gzip


def bgzip(text, step=8000):
    """Pack as bgzip does: blocks with their lengths, and an empty one."""
    found = b""
    for at in range(0, len(text), step):
        block = text[at : at + step]
        packer = zlib.compressobj(wbits=-15)
        body = packer.compress(block) + packer.flush()
        head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
        found += head + body + struct.pack("<2L", zlib.crc32(block), len(block))
    return found + BLOCKS_END


def test_the_last_block_of_bgzip_shows_that_all_are_there(tmp_path):
    path = tmp_path / "a.csv.gz"
    data = bgzip(lines())
    path.write_bytes(data)
    check_blocks(path)
    assert by_code(path).count.sum() == TOTAL
    starts = [at for at in range(18, len(data)) if data.startswith(b"\x1f\x8b\x08\x04", at)]
    assert len(starts) > 10
    for at in starts:
        path.write_bytes(data[:at])
        refuse(by_code, path, "bgzip-without-end")


def test_what_stands_behind_a_gzip_member(tmp_path):
    path, data = tmp_path / "a.csv.gz", gzip.compress(lines())
    for more in (bytes(512), gzip.compress(b"")):
        path.write_bytes(data + more)
        assert by_code(path).count.sum() == TOTAL
    for more, rule in ((b"x", "file-damaged"), (data, "header-repeated")):
        path.write_bytes(data + more)
        refuse(by_code, path, rule)
    for at in (len(data) - 1, len(data) - 5):  # the length and the checksum
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        refuse(by_code, path, "file-damaged")


# Zstandard


def frame(text, checksum=b""):
    """A frame of blocks that are not packed, by RFC 8878."""
    found = b"\x28\xb5\x2f\xfd" + (b"\x04" if checksum else b"\0") + b"\x58"
    step = 100_000
    for at in range(0, len(text), step):
        block = text[at : at + step]
        last = at + step >= len(text)
        found += struct.pack("<L", last | len(block) << 3)[:3] + block
    return found + checksum


def test_a_frame_of_zstandard_has_its_checksum(tmp_path):
    path, text = tmp_path / "a.csv.zst", lines()
    path.write_bytes(frame(text))
    assert by_code(path).count.sum() == TOTAL
    path.write_bytes(frame(text, b"1234"))
    refuse(by_code, path, "file-damaged")


def test_frames_of_zstandard_are_read_to_the_last(tmp_path):
    path, text = tmp_path / "a.csv.zst", lines()
    half = text.index(b"\n", len(text) // 2) + 1
    skipped = b"\x50\x2a\x4d\x18" + struct.pack("<L", 3) + b"abc"
    parts = [frame(text[:half]), skipped, pa.Codec("zstd").compress(text[half:], asbytes=True)]
    data = b"".join(parts)
    path.write_bytes(data)
    assert by_code(path).count.sum() == TOTAL
    for keep in (-1, len(data) // 2, len(parts[0]) - 1, len(parts[0]) + 9):
        path.write_bytes(data[:keep])
        refuse(by_code, path, "file-damaged")
    path.write_bytes(data + b"abcd")
    refuse(by_code, path, "file-damaged")


# Parquet


def test_bytes_that_were_lost_before_the_footer_are_missed(tmp_path):
    path = parquet(tmp_path)
    data = path.read_bytes()
    for lost in (1, 64, 8000):
        for at in (4, len(data) // 2):
            path.write_bytes(data[:at] + data[at + lost :])
            refuse(by_code, path, "file-damaged|parquet-columns-beyond-data")
    path.write_bytes(data)
    footer = pq.read_metadata(path)
    check_chunks("a", footer, len(data))
    with refuses(InputError, "parquet-columns-beyond-data"):
        check_chunks("a", footer, len(data) - 1)


@pytest.mark.parametrize(
    "columns", [{"code": CODES[:0], "n": COUNTS[:0]}, {"code": CODES[:3], "n": COUNTS[:3]}]
)
def test_small_parquet_files_are_whole(columns, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"code": pa.array(columns["code"], pa.string()), "n": columns["n"]}), path
    )
    assert by_code(path).count.size == len(columns["n"])


def test_the_checksums_of_pages_are_looked_at(tmp_path):
    """Where no packing would find it: plain numbers."""
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    path = parquet(tmp_path, **options)
    data = path.read_bytes()
    at = data.index(COUNTS[:4].astype("<i8").tobytes())
    assert by_code(path).count.sum() == TOTAL
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    refuse(by_code, path, "file-damaged")


def lake(folder):
    half = N // 2
    for year, part in ((2023, slice(half)), (2024, slice(half, N))):
        (folder / f"year={year}").mkdir(parents=True)
        table = pa.table({"code": CODES[part], "n": COUNTS[part]})
        pq.write_table(table, folder / f"year={year}" / "part-0.parquet")
    return folder


def test_a_part_of_a_folder_that_was_cut_is_named(tmp_path):
    folder = lake(tmp_path / "lake")
    assert by_code(folder).count.sum() == TOTAL
    part = folder / "year=2024" / "part-0.parquet"
    data = part.read_bytes()
    for keep in (len(data) - 1, len(data) // 2, 0):
        part.write_bytes(data[:keep])
        refuse(by_code, folder, "file-empty|table-unreadable")
        with refuses(InputError, "file-empty|table-unreadable: year=2024"):
            by_code(folder)


@pytest.mark.parametrize(
    ("inside", "rule"),
    [
        ("_delta_log/0.json", "folder-has-log: Delta Lake"),
        (".hoodie/hoodie.properties", "folder-has-log: Hudi"),
        ("metadata/v1.metadata.json", "folder-has-log: Iceberg"),
        ("metadata/version-hint.text", "folder-has-log: Iceberg"),
        ("_temporary/0/part", "folder-unfinished"),
    ],
)
def test_a_folder_whose_log_says_what_holds_is_refused(inside, rule, tmp_path):
    folder = lake(tmp_path / "lake")
    (folder / inside).parent.mkdir(parents=True)
    (folder / inside).write_text("{}")
    for given in (folder, folder / "year=2024", f"{folder}/year=*/*.parquet"):
        with refuses(InputError, rule):
            by_code(given)


# Other doors


def test_totals_and_commands_have_the_same_refusals(tmp_path):
    path = tmp_path / "totals.csv.gz"
    data = gzip.compress(b"code,total\n5339,%d\n" % TOTAL)
    path.write_bytes(data)
    read = partial(read_totals, grid=MESH, source="a test")
    assert np.sum(read(path).total) == TOTAL
    for keep in (-1, -9, 20):
        path.write_bytes(data[:keep])
        refuse(read, path, "file-damaged")
    table = zipped(tmp_path)
    table.write_bytes(table.read_bytes() * 2)
    words = ("--grid", "jis:half", "--primary", "5339", "--code", "code", "--value", "n")
    done = geodp("publish", table, *words, "--contribution", "1", "--epsilon", "1", "--check")
    assert done.returncode in (2, 5)
    with refuses(InputError, "archive-members-before"):
        read_table(table, grid="jis:half", code="code", value="n")
