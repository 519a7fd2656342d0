import errno
import json
import os
import signal
import threading
import time

import pytest

from geodp.errors import OutputError, UsageError
from geodp.io.folder import atomic, staging
from geodp.io.folder.atomic import hold
from geodp.io.folder.manifest import sha256, sums_text
from geodp.io.folder.staging import find_interrupted, is_release, stage
from geodp.privacy.key import has_owners
from geodp.table.card import SCHEMA
from tests.apart import exit_code
from tests.bits import has_bits
from tests.refusals import refuses


def fill(folder, text):
    public = folder / "public"
    public.mkdir()
    (public / "release.json").write_text(json.dumps({"schema": SCHEMA, "text": text}))
    (public / "SHA256SUMS").write_text(sums_text({"release.json": sha256(public / "release.json")}))


def put(target, text, **options):
    with stage(target, **options) as folder:
        fill(folder, text)


def text_of(target):
    return json.loads((target / "public" / "release.json").read_text())["text"]


def killed_between_the_renames(target):
    rename = os.rename

    def kill_after(source, destination):
        rename(source, destination)
        if ".replaced-" in str(destination):
            os.kill(os.getpid(), signal.SIGKILL)

    os.rename = kill_after
    put(target, "killed", overwrite=True)


def killed_while_it_writes(target):
    with stage(target) as folder:
        fill(folder, "half")
        os.kill(os.getpid(), signal.SIGKILL)


def test_the_folder_appears_complete(tmp_path):
    target = tmp_path / "deep" / "er" / "out"
    with stage(target) as folder:
        assert folder.parent == target.parent
        assert folder.name == ".out.partial"
        fill(folder, "new")
        assert not target.exists()
    assert text_of(target) == "new"
    assert os.listdir(target.parent) == ["out"]
    assert is_release(target)


def test_the_umask_decides_who_may_read(tmp_path):
    before = os.umask(0o027)
    try:
        put(tmp_path / "out", "new")
    finally:
        os.umask(before)
    assert has_bits(tmp_path / "out", 0o750)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "release-unwritten: disk"),
        (errno.EDQUOT, "release-unwritten: quota"),
        (errno.EACCES, r"release-unwritten: \bfolder folder\b"),
        (errno.ENOTEMPTY, r"release-unwritten: \brun\b writes"),
        (errno.EIO, "release-unwritten: Input/output error"),
    ],
)
def test_errors_of_the_file_system_are_one_sentence(tmp_path, number, words):
    with refuses(OutputError, words), stage(tmp_path / "out"):
        raise OSError(number, os.strerror(number), "folder/file")
    assert os.listdir(tmp_path) == []


def test_an_error_without_a_number_still_tells_a_full_disk(tmp_path):
    with refuses(OutputError, "release-unwritten: disk"), stage(tmp_path / "out"):
        raise OSError("write failed: No space left on device")


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "out").mkdir()
    put(tmp_path / "out", "new")
    assert text_of(tmp_path / "out") == "new"


@pytest.mark.parametrize("content", [None, "{}", "not json", '{"schema": "another"}'])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_is_no_release_is_never_replaced(tmp_path, content, overwrite):
    target = tmp_path / "photos"
    (target / "public").mkdir(parents=True)
    if content is not None:
        (target / "public" / "release.json").write_text(content)
    with refuses(UsageError, "output-is-no-release"):
        put(target, "new", overwrite=overwrite)
    assert target.exists()
    assert os.listdir(tmp_path) == ["photos"]


def test_what_appears_meanwhile_is_not_replaced(tmp_path):
    target = tmp_path / "out"

    def overtaken():
        with stage(target) as folder:
            fill(folder, "new")
            target.mkdir()
            (target / "letter").write_text("dear")

    with refuses(UsageError, "output-is-no-release"):
        overtaken()
    assert (target / "letter").exists()
    assert os.listdir(tmp_path) == ["out"]


# Where folders cannot be opened, the lock is a file beside them, which no rename takes along.
@pytest.mark.parametrize("after", ["mkdir", *["lock"] * atomic.OPENS_FOLDERS])
def test_a_folder_that_another_run_has_just_completed_is_held(tmp_path, monkeypatch, after):
    """The other run gives its folder the target's name between two steps of this one."""
    target, partial = tmp_path / "out", tmp_path / ".out.partial"
    partial.mkdir()
    module, name = (staging, "hold") if after == "mkdir" else (atomic, "lock")
    step = getattr(module, name)

    def overtaken(*arguments, **options):
        if partial.exists():
            partial.rename(target)
        return step(*arguments, **options)

    monkeypatch.setattr(module, name, overtaken)
    with refuses(OutputError, "release-unwritten: another run writes to the same folder"):
        put(target, "new")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "out").write_text("")
    with refuses(UsageError, "output-is-file"):
        put(tmp_path / "out", "new", overwrite=True)
    with refuses(UsageError, "output-not-writable: Not a directory"):
        put(tmp_path / "out" / "below", "new")


def test_the_current_folder_and_mount_points_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refuses(UsageError, "output-is-current-folder"):
        put(".", "new")
    with refuses(UsageError, "output-is-mount-point"):
        put("/", "new")


@pytest.mark.skipif(not has_owners(), reason="permissions of POSIX")
@pytest.mark.skipif(has_owners() and os.geteuid() == 0, reason="root may write everywhere")
def test_a_parent_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with refuses(OutputError, "release-unwritten: may not be written"):
            put(tmp_path / "out", "new")
    finally:
        tmp_path.chmod(0o700)


def test_a_link_leads_to_the_folder_that_is_replaced(tmp_path):
    put(tmp_path / "out", "old")
    (tmp_path / "latest").symlink_to(tmp_path / "out")
    put(tmp_path / "latest", "new", overwrite=True)
    assert (tmp_path / "latest").is_symlink()
    assert text_of(tmp_path / "out") == "new"


def test_the_old_release_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    target = tmp_path / "out"
    put(target, "old")
    rename = os.rename

    def refuse(source, destination):
        if str(source).endswith(".partial"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(source, destination)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OutputError):
        put(target, "new", overwrite=True)
    assert text_of(target) == "old"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.law
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
def test_a_run_killed_between_the_renames_loses_no_release(tmp_path, overwrite):
    target = tmp_path / "out"
    put(target, "old")
    assert exit_code(killed_between_the_renames, target) == -signal.SIGKILL
    assert not target.exists()
    if overwrite:
        put(target, "new", overwrite=True)
    else:
        with refuses(UsageError, "output-exists: --overwrite"):
            put(target, "new")
    assert text_of(target) == ("new" if overwrite else "old")
    put(target, "later", overwrite=True)
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.law
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
def test_what_killed_runs_left_is_removed(tmp_path):
    target = tmp_path / "a[b]*"  # characters of a pattern
    assert exit_code(killed_while_it_writes, target) == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    put(target, "new")
    assert os.listdir(tmp_path) == [target.name]


def test_one_run_at_a_time_has_the_name_of_a_target(tmp_path):
    target = tmp_path / "out"
    with stage(target, overwrite=True) as first:
        fill(first, "first")
        with (
            refuses(OutputError, "release-unwritten: another run"),
            stage(target, overwrite=True),
        ):
            raise AssertionError("a second run began")
        assert find_interrupted(target) is None
    assert text_of(target) == "first"
    put(target, "second", overwrite=True)
    assert text_of(target) == "second"
    assert os.listdir(tmp_path) == ["out"]


def test_who_takes_the_name_after_a_run_has_ended_is_asked_again(tmp_path, monkeypatch):
    """Between the first question and the name, another run may have put its release there."""
    target, asked = tmp_path / "out", []

    def ask(*given, **more):
        real(*given, **more)
        if not asked:
            asked.append(given)
            put(target, "first")

    real = staging._require_free
    monkeypatch.setattr(staging, "_require_free", ask)
    with refuses(UsageError, "output-exists: --overwrite"), stage(target):
        raise AssertionError("the release of another run would be in the way")
    assert text_of(target) == "first"
    assert os.listdir(tmp_path) == ["out"]


def test_a_run_waits_for_the_last_steps_of_the_one_that_it_replaces(tmp_path):
    target = tmp_path / "out"
    put(target, "first")
    with stage(target, overwrite=True) as folder:
        fill(folder, "second")
        holding, told = threading.Event(), []

        def last_steps():
            with hold(target):
                holding.set()
                time.sleep(0.3)
                told.append(text_of(target))

        thread = threading.Thread(target=last_steps)
        thread.start()
        holding.wait()
    thread.join()
    assert told == ["first"]
    assert text_of(target) == "second"


def test_a_folder_that_is_given_up_leaves_its_name_at_once(tmp_path, monkeypatch):
    """Whoever takes the name next does not see what is left being removed."""
    target, seen = tmp_path / "out", []

    def remove(folder):
        seen.append((folder.name, (tmp_path / ".out.partial").exists()))
        return removed(folder)

    removed = staging._remove
    monkeypatch.setattr(staging, "_remove", remove)

    def fail():
        with stage(target) as folder:
            fill(folder, "first")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    ((name, there),) = seen
    assert name.startswith(".out.removed-")
    assert not there
    assert os.listdir(tmp_path) == []
    (tmp_path / ".out.removed-0123abcd" / "public").mkdir(parents=True)
    put(target, "second")
    assert os.listdir(tmp_path) == ["out"]


def use_up(held, target):
    """Open files in a staged folder until there are no handles."""
    with stage(target) as folder:
        fill(folder, "new")
        while True:
            held.append(os.open(folder / "public" / "release.json", os.O_RDONLY))


def test_handles_that_run_out_leave_nothing(tmp_path):
    """Removing a folder takes file handles too, which are held for it."""
    resource = pytest.importorskip("resource", reason="signals and limits of POSIX")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = []
    highest = max(map(int, os.listdir("/dev/fd")))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 60, limits[1]))
        with refuses(OutputError, "release-unwritten: ulimit -n") as caught:
            use_up(held, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for handle in held:
            os.close(handle)
    assert "could not be removed" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_removed_is_named(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(staging, "_remove", lambda folder: False)
        with (
            refuses(OutputError, "release-unwritten: disk") as caught,
            stage(tmp_path / "out"),
        ):
            raise OSError(errno.ENOSPC, "No space left on device")
    (rest,) = tmp_path.iterdir()
    assert rest.name.startswith(".out.removed-")
    assert f"{rest} could not be removed" in str(caught.value)
    put(tmp_path / "out", "new")  # the next run removes it
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["is_release", "foreign"])
def test_a_look_at_a_release_that_another_run_replaces_is_taken_again(tmp_path, monkeypatch, name):
    """Half of the look is at nothing, or at the release before."""
    target, other = tmp_path / "out", tmp_path / "other"
    put(target, "old")
    put(other, "new")
    real, looks = getattr(staging, name), []

    def replaced_meanwhile(folder):
        looks.append(folder)
        if len(looks) == 1:
            target.rename(tmp_path / "aside")
            other.rename(target)
            return False if name == "is_release" else "public/x, which was changed"
        return real(folder)

    monkeypatch.setattr(staging, name, replaced_meanwhile)
    staging.require_free(target, overwrite=True)
    staging.require_only_release_files(target)
    assert text_of(target) == "new"
    assert len(looks) >= 2


def test_what_is_no_release_of_geodp_is_refused_at_the_first_look(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("kept")
    with refuses(UsageError, "output-is-no-release"):
        staging.require_free(tmp_path / "out", overwrite=True)
    put(tmp_path / "release", "old")
    (tmp_path / "release" / "mine.txt").write_text("kept")
    with refuses(UsageError, r"output-holds-other-files: mine\.txt"):
        staging.require_only_release_files(tmp_path / "release")
