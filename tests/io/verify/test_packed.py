"""A release that arrives packed is the one that was packed; other archives are refused."""

import shutil
import stat
import zipfile

import pytest

import geodp
from geodp.errors import VerificationError, WithdrawnWarning
from geodp.io.verify.card import public_folder, unpack_release
from geodp.io.verify.verify import verify
from tests.command import geodp as run
from tests.refusals import refuses
from tests.tools.compare.releases import released


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases") / "out"
    released("hay", 0, 50).write(folder)
    return folder


@pytest.mark.parametrize("base", ["out/public", "out", "public", "."])
def test_a_packed_release_is_read_in_whatever_folder_it_lies(folder, base, tmp_path):
    root = {"out/public": folder.parent, "out": folder.parent, "public": folder}
    path = tmp_path / "got.zip"
    shutil.make_archive(tmp_path / "got", "zip", root.get(base, folder / "public"), base)
    assert all(check.ok for check in verify(path))
    found, wanted = geodp.open(path), geodp.open(folder)
    assert found.card() == wanted.card()
    assert found.table.count.tolist() == wanted.table.count.tolist()
    assert public_folder(path) == public_folder(path)


def test_a_packed_release_has_its_notice(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "out")
    assert run("withdraw", copy, "--reason", "Wrong.").returncode == 0
    shutil.make_archive(tmp_path / "got", "zip", tmp_path, "out")
    with pytest.warns(WithdrawnWarning, match="WITHDRAWN"):
        geodp.open(tmp_path / "got.zip")


def test_a_file_more_than_is_listed_is_found(folder, tmp_path):
    shutil.make_archive(tmp_path / "got", "zip", folder / "public")
    with zipfile.ZipFile(tmp_path / "got.zip", "a") as archive:
        archive.writestr("more.txt", "more")
    assert [check.name for check in verify(tmp_path / "got.zip") if not check.ok] == ["files"]


def test_other_archives_are_refused(folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "none.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n")
    with refuses(VerificationError, "archive-holds-not-one-release: no release"):
        unpack_release(tmp_path / "none.zip")
    for name in ("one", "two"):
        shutil.copytree(folder, tmp_path / "both" / name)
    shutil.make_archive(tmp_path / "both", "zip", tmp_path / "both")
    with refuses(VerificationError, "archive-holds-not-one-release: several releases"):
        unpack_release(tmp_path / "both.zip")
    assert unpack_release(folder) == folder


@pytest.mark.parametrize("kind", ["link", "outside"])
def test_links_and_paths_that_lead_out_are_refused(kind, folder, tmp_path):
    shutil.make_archive(tmp_path / "got", "zip", folder / "public")
    entry = zipfile.ZipInfo("link" if kind == "link" else "public/../../a")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16 if kind == "link" else 0
    with zipfile.ZipFile(tmp_path / "got.zip", "a") as archive:
        archive.writestr(entry, "/etc/passwd")
    with refuses(VerificationError, "archive-has-link"):
        unpack_release(tmp_path / "got.zip")


def test_a_damaged_archive_is_refused(folder, tmp_path):
    shutil.make_archive(tmp_path / "got", "zip", folder / "public")
    data = bytearray((tmp_path / "got.zip").read_bytes())
    data[60:4000] = bytes(3940)
    (tmp_path / "got.zip").write_bytes(data)
    with pytest.raises(VerificationError):
        geodp.open(tmp_path / "got.zip")
