"""Files at URLs: fetched whole, read as any file, and gone; secrets of addresses are unsaid."""

import http.server
import json
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import InputError, OutputError, UsageError
from geodp.io.opening import SEALED
from geodp.io.read.rows.forms import locations
from geodp.io.read.rows.forms.locations import Fetched, fetch_urls, is_url
from geodp.io.read.rows.pixels import grid_like
from tests.command import geodp as run
from tests.io.files import tiff
from tests.refusals import refuses

ROWS = "code,people\n533946113,12\n533946114,7\n"
SECRETS = "hunter2", "QUERYTOKEN", "someone"


class Handler(http.server.BaseHTTPRequestHandler):
    """One file in all the ways in which a server may end it."""

    def do_GET(self) -> None:
        path, body = self.path.partition("?")[0], ROWS.encode()
        if path == "/stores/year=2024/rows.parquet":
            sink = pa.BufferOutputStream()
            table = {"code": ["533946113", "533946114"], "people": [12, 7]}
            pq.write_table(pa.table(table), sink)
            body = sink.getvalue().to_pybytes()
        if path == "/gone.csv":
            self.send_error(404)
            return
        if path == "/kept.csv" and not self.headers.get("Authorization", "").startswith("Basic "):
            self.send_error(401)
            return
        self.send_response(200)
        if path == "/cut.csv":
            self.send_header("Content-Length", str(len(body) + 13))
        elif path == "/huge.csv":
            self.send_header("Content-Length", str(1 << 60))
        elif path != "/unsized.csv":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{serving.server_port}"
    serving.shutdown()


@pytest.fixture
def memory() -> Iterator[str]:
    store = fsspec.filesystem("memory")
    store.pipe("/rows.csv", ROWS.encode())
    yield "memory://rows.csv"
    store.rm("/rows.csv")


ASKED = {"grid": "jis:half", "code": "code", "value": "people"}


def test_readers_take_urls_and_leave_nothing(memory, server, tmp_path):
    parquet = f"http://{server}/stores/year=2024/rows.parquet"
    for given in (memory, f"http://{server}/rows.csv", f"http://someone:hunter2@{server}/kept.csv"):
        table = geodp.read_table(given, **ASKED, scratch=tmp_path)
        assert {*table.count.tolist()} == {12, 7}
        table = geodp.read(given, "jis:half", code="code", value="people", scratch=tmp_path)
        assert {*table.count.tolist()} == {12, 7}
    for year, counts in (("2024", [7, 12]), ("2023", [])):
        table = geodp.read_table(parquet, **ASKED, where={"year": year}, scratch=tmp_path)
        assert sorted(table.count.tolist()) == counts
    assert not [*tmp_path.iterdir()]
    one = tmp_path / "one.csv"
    one.write_text("code,people\n533946121,5\n")
    table = geodp.read_table([one, memory], **ASKED, scratch=tmp_path)
    assert sorted(table.count.tolist()) == [5, 7, 12]
    assert [*tmp_path.iterdir()] == [one]


def test_a_raster_at_a_url(tmp_path):
    counts = np.arange(6, dtype=np.int32).reshape(2, 3)
    path = tiff(counts, (1000, 0, 0, 0, -1000, 2000))(tmp_path)
    fsspec.filesystem("memory").pipe("/counts.tif", path.read_bytes())
    for read in (geodp.read_raster, geodp.read):
        table = read("memory://counts.tif", grid=grid_like(path), scratch=tmp_path)
        assert sorted(table.count.tolist()) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "given",
    [
        *("file:///etc/passwd", "local:///etc/passwd", "file:/etc/passwd", "python://os.system"),
        *("simplecache::https://host/a.csv", "zip://a.csv::https://host/a.zip", "reference://a"),
        *("https://host/a.csv::file:///etc/passwd", "ftp://host/a.csv", "sftp://host/a.csv"),
        *("github://a:b@c/d", "https:///a.csv", "https://host:port/a.csv"),
        "https://someone:hun/ter2@host/a.csv",
    ],
)
def test_other_protocols_and_chains_are_refused(given, monkeypatch):
    monkeypatch.setattr(locations, "_download", lambda *_: pytest.fail("it was fetched"))
    assert is_url(given)
    with refuses(UsageError, "url-form") as caught:
        geodp.read_table(given, **ASKED)
    assert not any(part in str(caught.value) for part in (given, "passwd", "ter2"))
    done = run("inspect", given)
    assert (done.returncode, done.stdout) == (2, "")
    assert "This URL is not read" in done.stderr


@pytest.mark.parametrize(
    ("path", "error", "rule"),
    [
        ("cut.csv", InputError, "url-cut"),
        ("unsized.csv", InputError, "url-size-unknown"),
        ("gone.csv", InputError, "url-not-found"),
        ("huge.csv", OutputError, "scratch-no-room-for-url"),
        ("kept.csv", InputError, "url-denied"),
    ],
)
def test_a_part_of_a_file_is_no_file(path, error, rule, server, tmp_path, capfd):
    given = f"http://{server}/{path}?token=QUERYTOKEN"
    with refuses(error, rule) as caught, fetch_urls(given, tmp_path):
        pass
    said = f"{caught.value}{capfd.readouterr()}{caught.value.__context__}"
    assert not any(secret in said for secret in SECRETS)
    assert caught.value.__context__ is None
    assert not [*tmp_path.iterdir()], "nothing is left of it"


def test_what_a_store_does_not_give(memory, tmp_path, monkeypatch):
    """Whatever its library raises: folders, and credentials that are not there or not enough."""
    fsspec.filesystem("memory").pipe("/many/rows.csv", ROWS.encode())
    with refuses(InputError, "url-is-folder"), fetch_urls("memory://many"):
        pass

    class NoCredentialsError(Exception):
        pass

    class RefusedError(Exception):
        status_code = 403

    refused = [PermissionError(), NoCredentialsError(), RefusedError(), ValueError("no account")]
    for error in refused:
        monkeypatch.setattr(fsspec.filesystem("memory").__class__, "info", fails_with(error))
        rule = "url-denied"
        with refuses(InputError, rule), fetch_urls(memory, tmp_path):
            pass
    monkeypatch.setattr(fsspec.filesystem("memory").__class__, "info", fails_with(KeyError()))
    with refuses(InputError, "url-cut"), fetch_urls(memory, tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


def fails_with(error):
    def fail(*_, **__):
        raise error

    return fail


def test_no_server_is_an_error_without_the_address(tmp_path):
    given = "http://someone:hunter2@127.0.0.1:9/a.csv?QUERYTOKEN#hunter2"
    with (
        refuses(InputError, "url-cut") as caught,
        fetch_urls(given, tmp_path),
    ):
        pass
    assert caught.value.file == "http://127.0.0.1:9/a.csv"
    assert not [*tmp_path.iterdir()]


def test_a_fetched_file_is_private_and_has_its_name(memory, tmp_path):
    with fetch_urls(memory, tmp_path) as found:
        path = Path(found)
        assert isinstance(found, Fetched)
        assert (path.name, str(found), path.read_text()) == ("rows.csv", memory, ROWS)
        assert repr(found) == repr(memory)
        assert path.parent.stat().st_mode & 0o077 == 0
        assert not is_url(found)
    assert not path.parent.exists()


@pytest.mark.parametrize("name", ["..%2F..%2Fa.csv", ".hidden", "a" * 300 + ".csv", "人口.csv"])
def test_names_that_a_disk_does_not_take(name, tmp_path):
    store = fsspec.filesystem("memory")
    store.pipe(f"/{name}", ROWS.encode())
    with fetch_urls(f"memory://{name}", tmp_path) as found:
        path = Path(found)
        assert path.parent.parent == tmp_path
        assert path.read_text() == ROWS
        assert path.suffix == (".csv" if name.endswith("csv") else "")
    store.rm(f"/{name}")


def test_two_urls_that_differ_in_secrets_alone_are_refused(server, tmp_path):
    given = [f"http://{server}/rows.csv?{one}" for one in ("a", "b")]
    with refuses(InputError, "urls-of-one-name"), fetch_urls(given, tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


def test_local_files_and_frames_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "http:").mkdir()
    (tmp_path / "http:" / "a.csv").write_text(ROWS)
    for given in (pa.table({"a": [1]}), "C:/a.csv", ["a", Path("b")], "http:/a.csv"):
        with fetch_urls(given) as found:
            assert found is given, "a file of such a name is that file"


def test_without_the_extra_a_url_is_refused_with_the_remedy(monkeypatch):
    for missing in ("fsspec", "aiohttp"):
        monkeypatch.setattr(
            locations, "find_spec", lambda name, m=missing: None if name == m else find_spec(name)
        )
        with refuses(UsageError, r"library-missing: geodp\[url\]"):
            geodp.read_table("https://someone:hunter2@host/a.csv", **ASKED)
    monkeypatch.setattr(locations, "find_spec", lambda name: None if name == "s3fs" else True)
    with refuses(UsageError, "library-missing: s3://.*pip install s3fs"):
        geodp.read_table("s3://bucket/a.csv", **ASKED)


CALL = (
    *("--grid", "jis:half", "--bounds", "139", "35", "140", "36", "--code", "code"),
    *("--value", "people", "--contribution", "1", "--epsilon", "1"),
)


def texts(folder: Path) -> str:
    """All bytes of a folder, as text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return "".join(path.read_bytes().decode("latin-1") for path in files)


def test_the_command_publishes_a_url_without_its_secrets(server, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    given = f"http://someone:hunter2@{server}/kept.csv?token=QUERYTOKEN"
    few = *CALL[2:7], *CALL[-4:]
    done = run("publish", given, *few, "--output", tmp_path / "out", "--scratch", scratch)
    assert done.returncode == 0, done.stderr
    assert f"Read as: geodp publish http://{server}/kept.csv" in done.stderr
    assert not [*scratch.iterdir()]
    said = done.stdout + done.stderr + texts(tmp_path / "out")
    assert not any(secret in said for secret in SECRETS)
    record = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert [*record["inputs"]] == [f"http://{server}/kept.csv"]
    refused = run("publish", given, *CALL, "--workers", "1", "--output", tmp_path / "two")
    assert refused.returncode == 2
    assert "read no URLs" in refused.stderr
    inspected = run("inspect", f"http://{server}/rows.csv?token=QUERYTOKEN")
    assert inspected.returncode == 0, inspected.stderr
    assert f"geodp publish http://{server}/rows.csv " in inspected.stdout
    assert "QUERYTOKEN" not in inspected.stdout + inspected.stderr


def test_households_in_a_file_of_their_own_are_fetched(server, tmp_path):
    given = f"http://{server}/rows.csv?token=QUERYTOKEN"
    words = ("households", "publish", given, "--households-file", given, *CALL)
    done = run(*words, "--protect", "person", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert [*record["inputs"]] == [f"http://{server}/rows.csv"]
    assert "QUERYTOKEN" not in done.stdout + done.stderr + texts(tmp_path / "out")


def test_readers_of_fetched_files_open_no_address():
    assert SEALED["CPL_VSIL_CURL_ALLOWED_FILENAME"] == "none"
    with refuses(InputError, "urls-not-read"):
        geodp.io.read.rows.input_files.kind_of("https://host/a.csv")


def test_a_series_reads_no_urls(tmp_path):
    given = "2024=https://someone:hunter2@host/a.csv", "2025=https://host/b.csv"
    call = "--grid", "jis:half", "--code", "code", "--value", "people", "--epsilon", "1"
    done = run("publish-series", *given, *call, "--output", str(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (5, "")
    assert "URLs are not read here" in done.stderr
    assert "hunter2" not in done.stderr
