"""The key of a release is in no graph, log, spill file or memory but where noise is drawn."""

import contextlib
import mmap
import os
import pickle
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager, nullcontext
from operator import mul
from pathlib import Path

import distributed
import numpy as np
import pytest

import geodp
from geodp.cluster import secret
from geodp.cluster.api import publish
from geodp.cluster.secret import KeyFile, key_file
from geodp.errors import UsageError
from geodp.mechanisms.trees.layer import Roots, Subtrees
from geodp.mechanisms.trees.traversal import PassRecords
from geodp.privacy.noise.draws import Draws
from geodp.release.noise_identity import release_digest
from tests.bits import has_bits
from tests.cluster.tables import KEY, ONCE, kept, split, town
from tests.refusals import refuses

# It takes that long on no machine; some are busy.
pytestmark = [pytest.mark.law, pytest.mark.timeout(900)]

PAGE = mmap.PAGESIZE

TINY = {  # a store spills from its first bytes on, and everything is logged
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "1e-6",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL_COMPRESSION": "False",
    "DASK_LOGGING__DISTRIBUTED": "debug",
}


class Graph(distributed.SchedulerPlugin):
    """Writes all that a scheduler is told about every task that it starts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def start(self, scheduler):
        self.scheduler = scheduler

    def transition(self, key, start, finish, *args, **kwargs):
        if finish in ("processing", "memory"):
            task = self.scheduler.tasks[key]
            told = (key, task.run_spec, task.annotations, args, kwargs)
            try:
                text = pickle.dumps(told)
            except Exception:
                text = pickle.dumps((key, pickle.dumps(task.run_spec), repr(told)))
            with open(Path(self.folder, f"{key}-{finish}"), "wb") as file:
                file.write(text)


@contextmanager
def processes(folder: Path):
    """A scheduler and two workers, each a process of its own with a log."""
    running, logs = [], folder / "logs"
    logs.mkdir()
    where = folder / "scheduler.json"
    common = ["--scheduler-file", str(where), "--host", "127.0.0.1"]
    server = ["--port", "0", "--dashboard-address", "127.0.0.1:0"]
    local = [
        "--no-dashboard",
        "--local-directory",
        str(folder / "spill"),
        "--no-nanny",
        "--nthreads",
        "1",
    ]
    commands = {
        "scheduler": ["dask_scheduler", *common, *server],
        "worker-0": ["dask_worker", *common, *local, "--memory-limit", "1GB"],
        "worker-1": ["dask_worker", *common, *local, "--memory-limit", "1GB"],
    }
    try:
        for name, (command, *options) in commands.items():
            with open(logs / name, "wb") as log:
                call = [sys.executable, "-m", f"distributed.cli.{command}", *options]
                env = {**os.environ, **TINY}
                running.append(subprocess.Popen(call, stdout=log, stderr=log, env=env))
        deadline = time.monotonic() + 600
        while not where.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        with distributed.Client(scheduler_file=str(where)) as client:
            client.wait_for_workers(2, timeout=600)
            yield client, running
    finally:
        for process in running[::-1]:
            process.terminate()
        for process in running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:  # a worker may wait for a scheduler that is gone
                process.kill()
                process.wait()


@contextmanager
def copies(folder: Path, target: Path):
    """Keeps every file that appears under a folder, however short it is there."""
    target.mkdir()
    stop = threading.Event()

    def keep():
        while not stop.is_set():
            for parent, _, names in os.walk(folder):
                for name in names:
                    path = Path(parent, name)
                    try:
                        os.link(path, target / f"{path.stat().st_ino}-{name[-40:]}")
                    except OSError:
                        continue
            time.sleep(0.002)

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def memory(process: int) -> bytes:
    """What a process can write to of its own memory, page by page where it has one."""
    found = []
    where = Path("/proc", str(process))
    with (
        open(where / "maps") as maps,
        open(where / "mem", "rb", 0) as mem,
        open(where / "pagemap", "rb", 0) as pagemap,
    ):
        for line in maps:
            low, high, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            first, stop = int(low, 16) // PAGE, int(high, 16) // PAGE
            if not mode.startswith("rw"):
                continue
            try:
                pagemap.seek(8 * first)
                pages = np.frombuffer(pagemap.read(8 * (stop - first)), np.uint64)
                held = np.flatnonzero(pages >> np.uint64(62))  # in memory, or swapped out
                for run in np.split(held, np.flatnonzero(np.diff(held) > 1) + 1):
                    mem.seek((first + int(run[0])) * PAGE if run.size else 0)
                    found.append(mem.read(run.size * PAGE))
            except (OSError, ValueError, OverflowError):
                continue
    return b"\0".join(found)


def shows(secret: bytes, *texts: bytes) -> bool:
    """Whether one of the texts holds half of a secret in some form."""
    halves = [secret[:16], secret[16:]]
    forms = [form for h in halves for form in (h, h.hex().encode(), h.hex().upper().encode())]
    words = [int.from_bytes(secret[i : i + 4], "little") for i in range(0, 16, 4)]
    forms.append(", ".join(map(str, words)).encode())
    return any(form in text for form in forms for text in texts)


PAGES = (
    "info/main/workers.html",
    "info/task/{task}.html",
    "info/call-stacks/{worker}.html",
    "info/logs/{worker}.html",
    "info/logs.html",
    "json/index.html",
    "json/counts.json",
    "json/identity.json",
    "metrics",
)


def pages(client) -> list[bytes]:
    """What the scheduler's web server shows of tasks, workers and logs."""
    port, tasks, addresses = client.run_on_scheduler(
        lambda dask_scheduler: (
            dask_scheduler.http_server.port,
            [*map(str, dask_scheduler.tasks)],
            [*dask_scheduler.workers],
        )
    )
    place = f"http://127.0.0.1:{port}"
    workers = [urllib.parse.quote(address, safe="") for address in addresses]
    asked = {
        page.format(task=task, worker=worker)
        for page in PAGES
        for task in (tasks[:5] or [""])
        for worker in workers
    }
    found = []
    for page in sorted(asked):
        with (
            contextlib.suppress(urllib.error.HTTPError),
            urllib.request.urlopen(f"{place}/{page}", timeout=300) as answer,
        ):
            found.append(answer.read())
    return found


def files_under(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


@pytest.mark.skipif(not Path("/proc/self/pagemap").exists(), reason="reads memory through /proc")
def test_the_key_is_nowhere_but_in_its_file(tmp_path):
    # Made here: the processes import this module, and what it holds.
    planted, own = secrets.token_bytes(32), geodp.NoiseKey(secrets.token_bytes(32))
    files = split(town(), tmp_path / "files", 5)
    graph, hidden = tmp_path / "graph", tmp_path / "hidden"
    graph.mkdir()
    hidden.mkdir()
    kept_files = tmp_path / "kept"
    with processes(tmp_path) as (client, running), copies(tmp_path / "spill", kept_files):
        client.register_plugin(Graph(str(graph)))
        shown = []

        def look(done, of):
            if done in (of // 3, of - 1):  # before and after noise was drawn
                shown.extend(pages(client))

        release = publish(
            client,
            files,
            key=own,
            parts=6,
            key_folder=hidden,
            progress=look,
            **{"contribution": 1, **ONCE},
        )
        assert list(hidden.iterdir()) == []
        memories = [memory(process.pid) for process in running]
        # The same search finds what is hidden less well.
        task = client.submit(mul, planted, 1000, key="planted", pure=False)
        distributed.wait(task)
        control = [memory(process.pid) for process in running]
    logs = files_under(tmp_path / "logs")
    graphs, spilled = files_under(graph), files_under(kept_files)
    assert len(graphs) > 60
    assert sum(map(len, spilled)) > 100_000
    assert any(b"geodp-begin" in log for log in logs)
    digest = release_digest(town(), release.method, release.event)
    assert sum(map(len, shown)) > 10_000
    assert any(b"geodp-" in page for page in shown)
    places = {"pages": shown, "graph": graphs, "spill": spilled, "logs": logs, "memory": memories}
    for whose, key in {"kept": own, "release": own.derive(digest)}.items():
        secret = key.words().tobytes()
        found = [(whose, name) for name, texts in places.items() if shows(secret, *texts)]
        assert found == []
    assert shows(planted, control[0])
    assert shows(planted, *control[1:])
    assert shows(planted, *graphs)
    assert shows(planted, *spilled)
    assert any(b"release-key" in text for text in graphs)  # the path, and no more


def test_what_tasks_pass_on_shows_nothing_of_itself(cluster, tmp_path):
    from geodp.cluster import tasks

    piece = tasks.Piece(town().key, town().count)
    assert repr(piece) == "Piece(confidential)"
    assert repr(tasks.Job(split(town(), tmp_path, 2), None)) == "Job(Partitions(2 files))"
    roots = Roots.of_counts(town().key, town().count)
    assert repr(roots) == "Roots(noisy)"
    assert (
        repr(Subtrees(roots, (town().key, town().count), PassRecords([], 0))) == "Subtrees(noisy)"
    )
    with pytest.raises(TypeError, match="Could not serialize"):
        cluster(2).submit(repr, kept()).result()


def test_the_key_file_is_its_owners_alone(tmp_path):
    with key_file(geodp.NoiseKey(KEY), tmp_path) as secret:
        path = Path(secret.path)
        assert has_bits(path, 0o600)
        assert has_bits(path.parent, 0o700)
        again = path.with_name("again")
        os.link(path, again)
        with secret.open(Draws()) as key:
            assert key.words().tobytes() == KEY
        with refuses(UsageError, "key-forgotten"):
            key.words()
        path.chmod(0o640)
        with refuses(UsageError, "key-file-shared"), secret.open(Draws()):
            pass
        path.chmod(0o600)
        link = tmp_path / "link"
        link.symlink_to(path)
        with (
            refuses(UsageError, "key-file-is-link"),
            KeyFile(str(link)).open(Draws()),
        ):
            pass
        path.write_bytes(KEY[:31])
        with refuses(UsageError, "key-file-form"), secret.open(Draws()):
            pass
        path.write_text(KEY.hex())
    assert not path.exists()
    assert again.read_bytes() == bytes(64)  # overwritten, not only unlinked


KILLED = """
import os, signal, sys
import geodp
from geodp.cluster.secret import key_file
with key_file(geodp.NoiseKey.generate(), sys.argv[1]) as secret:
    assert os.path.getsize(secret.path) == 65
    print(secret.path, flush=True)
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))
"""


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_the_key_file_goes_where_the_driver_is_killed(tmp_path, how):
    call = [sys.executable, "-c", KILLED, str(tmp_path), how]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout.startswith(str(tmp_path))
    deadline = time.monotonic() + 300
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []


def test_the_key_file_goes_where_a_run_fails(cluster, tmp_path, monkeypatch):
    def fail(*arguments):
        raise KeyboardInterrupt

    hidden = tmp_path / "hidden"
    hidden.mkdir()
    monkeypatch.setattr("geodp.cluster.run.Run._refine", fail)
    with pytest.raises(KeyboardInterrupt):
        publish(
            cluster(2),
            split(town(), tmp_path / "files", 2),
            key_folder=hidden,
            **{"contribution": 1, **ONCE},
        )
    assert list(hidden.iterdir()) == []


def test_a_worker_that_sees_no_key_file_says_so(cluster, tmp_path, monkeypatch):
    nowhere = nullcontext(KeyFile("/no/such/key"))
    monkeypatch.setattr("geodp.cluster.run.key_file", lambda key, folder: nowhere)
    with refuses(UsageError, "key-file-unreadable: key_folder"):
        publish(cluster(2), split(town(), tmp_path, 2), parts=2, **{"contribution": 1, **ONCE})


def test_a_key_lies_in_memory_where_there_is_some(monkeypatch):
    for writable in ("/run/user/1", "/dev/shm", None):
        monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
        monkeypatch.setattr(os, "access", lambda path, _, only=writable: path == only)
        assert secret._home() == (writable or tempfile.gettempdir())
