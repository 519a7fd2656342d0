"""Zip, gzip, Zstandard, Parquet and folders: whole or refused."""

import gzip
import struct
import zipfile
import zlib
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import InputError
from geodp.io.read.public.tables import read_totals
from geodp.io.read.rows.complete import BLOCKS_END, check_archive, check_blocks, check_chunks
from tests.io.read.damage import (
    CODES,
    COUNTS,
    MESH,
    RECORDS,
    N,
    by_code,
    flip,
    lines,
    parquet,
    refuse,
    zipped,
)
from tests.io.read.dialects import zipped as zip_members
from tests.refusals import refuses

TOTAL = int(COUNTS.sum())


def total(path):
    return by_code(path).count.sum()


def test_a_directory_of_fewer_members_is_refused(tmp_path):
    """As what was written over the end of an archive leaves it."""
    path = tmp_path / "a.zip"
    header, *rows = lines().splitlines(keepends=True)
    zip_members(path, {f"{n}.csv": header + b"".join(rows[n::2]) for n in range(2)})
    assert total(path) == TOTAL
    data = path.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    (size,) = struct.unpack("<L", data[end + 12 : end + 16])
    for at, value in ((end + 8, b"\1\0\1\0"), (end + 8, b"\3\0\3\0"), (end + 4, b"\2\0\2\0")):
        changed = data[:at] + value + data[at + 4 :]
        refuse(by_code, path, "archive-entries-differ|archive-volume-missing", changed)
    # The directory lost its first entry, and says so of itself.
    second = data.index(b"PK\x01\x02", end - size + 4)
    lost = data[:end] + data[end : end + 8] + struct.pack("<2H2L", 1, 1, end - second, second)
    refuse(by_code, path, "archive-members-before", lost + data[end + 20 :])


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_member_has_its_checksum_and_its_length(packing, tmp_path):
    path = zipped(tmp_path, packing)
    data = path.read_bytes()
    entry = data.rindex(b"PK\x01\x02")
    changed = [flip(data, at) for at in (entry + 16, entry + 24, len(data) // 2)]
    refuse(by_code, path, "file-damaged", *changed)
    refuse(by_code, path, "archive-members-before", data + data)
    refuse(by_code, path, "archive-volume", b"PK\x07\x08" + data)
    path.write_bytes(data + b"\n")
    assert total(path) == TOTAL


def test_an_archive_of_many_members_is_counted(tmp_path):
    path = tmp_path / "a.zip"
    zip_members(path, {f"{number}.md": b"" for number in range(0x10001)} | {"a.csv": lines()})
    with zipfile.ZipFile(path) as archive:
        check_archive(path, archive)
    assert total(path) == TOTAL


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
    path, data = tmp_path / "a.csv.gz", bgzip(lines())
    path.write_bytes(data)
    check_blocks(path)
    assert total(path) == TOTAL
    starts = [at for at in range(18, len(data)) if data.startswith(b"\x1f\x8b\x08\x04", at)]
    assert len(starts) > 10
    refuse(by_code, path, "bgzip-without-end", *(data[:at] for at in starts))


def test_what_stands_behind_a_gzip_member(tmp_path):
    path, data = tmp_path / "a.csv.gz", gzip.compress(lines())
    for more in (bytes(512), gzip.compress(b"")):
        path.write_bytes(data + more)
        assert total(path) == TOTAL
    refuse(by_code, path, "header-repeated", data + data)
    # The length and the checksum.
    refuse(by_code, path, "file-damaged", data + b"x", flip(data, -1), flip(data, -5))


def frame(text, checksum=b""):
    """A frame of blocks that are not packed, by RFC 8878."""
    found, step = b"\x28\xb5\x2f\xfd" + (b"\x04" if checksum else b"\0") + b"\x58", 100_000
    for at in range(0, len(text), step):
        block = text[at : at + step]
        found += struct.pack("<L", (at + step >= len(text)) | len(block) << 3)[:3] + block
    return found + checksum


def test_frames_of_zstandard_are_read_to_the_last(tmp_path):
    path, text = tmp_path / "a.csv.zst", lines()
    half = text.index(b"\n", len(text) // 2) + 1
    skipped = b"\x50\x2a\x4d\x18" + struct.pack("<L", 3) + b"abc"
    parts = [frame(text[:half]), skipped, pa.Codec("zstd").compress(text[half:], asbytes=True)]
    data = b"".join(parts)
    for whole in (data, frame(text)):
        path.write_bytes(whole)
        assert total(path) == TOTAL
    kept = (-1, len(data) // 2, len(parts[0]) - 1, len(parts[0]) + 9)
    changed = [frame(text, b"1234"), data + b"abcd", *(data[:keep] for keep in kept)]
    refuse(by_code, path, "file-damaged", *changed)


def test_bytes_that_were_lost_before_the_footer_are_missed(tmp_path):
    path = parquet(tmp_path)
    data, footer = path.read_bytes(), pq.read_metadata(path)
    lost = [data[:at] + data[at + n :] for n in (1, 64, 8000) for at in (4, len(data) // 2)]
    refuse(by_code, path, "file-damaged|parquet-columns-beyond-data", *lost)
    check_chunks("a", footer, len(data))
    with refuses(InputError, "parquet-columns-beyond-data"):
        check_chunks("a", footer, len(data) - 1)


@pytest.mark.parametrize("rows", [0, 3])
def test_small_parquet_files_are_whole(rows, tmp_path):
    columns = {"code": pa.array(CODES[:rows], pa.string()), "n": COUNTS[:rows]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert by_code(tmp_path / "a.parquet").count.size == rows


def test_the_checksums_of_pages_are_looked_at(tmp_path):
    """Where no packing would find it: plain numbers."""
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    path = parquet(tmp_path, **options)
    data = path.read_bytes()
    assert total(path) == TOTAL
    refuse(by_code, path, "file-damaged", flip(data, data.index(COUNTS[:4].tobytes())))


@pytest.fixture
def lake(tmp_path):
    """A folder of two parts, and the path of the second."""
    for year, part in ((2023, slice(N // 2)), (2024, slice(N // 2, N))):
        path = tmp_path / "lake" / f"year={year}" / "part-0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({name: cells[part] for name, cells in RECORDS.items()}), path)
    return tmp_path / "lake", path


def test_a_part_of_a_folder_that_was_cut_is_named(lake):
    folder, part = lake
    assert total(folder) == TOTAL
    data = part.read_bytes()
    for keep in (len(data) - 1, len(data) // 2, 0):
        part.write_bytes(data[:keep])
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
def test_a_folder_whose_log_says_what_holds_is_refused(inside, rule, lake):
    folder, _ = lake
    (folder / inside).parent.mkdir(parents=True)
    (folder / inside).write_text("{}")
    for given in (folder, folder / "year=2024", f"{folder}/year=*/*.parquet"):
        with refuses(InputError, rule):
            by_code(given)


def test_totals_have_the_same_refusals(tmp_path):
    path, data = tmp_path / "totals.csv.gz", gzip.compress(b"code,total\n5339,%d\n" % TOTAL)
    path.write_bytes(data)
    read = partial(read_totals, grid=MESH, source="a test")
    assert sum(read(path).total) == TOTAL
    refuse(read, path, "file-damaged", *(data[:keep] for keep in (-1, -9, 20)))
