"""A process that has nothing of POSIX, as far as a POSIX system can be made one.

``python windows.py`` reads a JSON list a line: arguments of ``geodp``, a file that another program
has open (or null), and the name of a file at whose writing the process ends as if killed (or null).
It answers with exit code, standard output and error. ``python -P windows.py tests/privacy -q`` runs
tests in such a process instead: the arguments are pytest's.

What only POSIX has is gone before geodp, or a library that it uses, is imported. What Windows
refuses is refused: to open or flush a folder, to flush what is open for reading, to rename or
remove what is open, and to rename over what is there. A text has its ends of lines unless the
writer says otherwise.
"""

import builtins
import contextlib
import errno
import io
import json
import os
import signal
import sys
from importlib import import_module

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
NAMES = """
    O_ASYNC O_CLOEXEC O_DIRECTORY O_DSYNC O_NOATIME O_NOCTTY O_NOFOLLOW O_PATH O_SYNC
    O_TMPFILE chown copy_file_range fchdir fchmod fchown fdatasync fork forkpty fstatvfs getegid
    geteuid getgid getgroups getpgid getpgrp getsid getuid initgroups killpg lchown lockf
    memfd_create mkfifo mknod openpty posix_fadvise posix_fallocate posix_spawn posix_spawnp pread
    preadv pwrite pwritev readv register_at_fork sched_getaffinity sendfile seteuid setgid setpgid
    setsid setuid sync sysconf wait wait3 wait4 writev
"""
LIBRARIES = ("filelock", "numba", "numpy", "platformdirs")
"""They go by the system's name, which stays."""

TESTERS = ("asyncio", "distributed", "hypothesis", "pandas", "pytest", "xdist")
"""So do those that tests need."""

SIGNALS = ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "pthread_sigmask", "setitimer", "sigwait")

PROBE = ".filelock-probe-"
"""What a library makes on POSIX alone, to see if a folder has locks, and removes while open."""

elsewhere = None
"""What another program has open."""

last = None
"""The name of the file at whose writing this process ends."""


def refuse(number, path):
    raise OSError(number, os.strerror(number), str(path))


def is_held(path, listed=os.listdir, opened=open):
    """Whether a file is open or mapped that is the path or lies below it."""
    place, held = os.path.realpath(path), [elsewhere or ""]
    for handle in listed("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the list itself
            held.append(os.readlink(f"/proc/self/fd/{handle}"))
    with opened("/proc/self/maps", encoding="utf-8") as file:
        held += [words[5].strip() for line in file if len(words := line.split(maxsplit=5)) == 6]
    return any(one == place or one.startswith(f"{place}/") for one in held)


def change_names():
    """Rename and remove as Windows does."""
    rename, replace, unlink = os.rename, os.replace, os.unlink
    rmdir, mkdir = os.rmdir, os.mkdir

    def renamed(source, destination):
        if is_held(source):
            refuse(errno.EACCES, source)
        if os.path.lexists(destination):
            refuse(errno.EEXIST, destination)
        rename(source, destination)

    def replaced(source, destination):
        if is_held(source) or is_held(destination) or os.path.isdir(destination):
            refuse(errno.EACCES, destination)
        replace(source, destination)

    def unlinked(path):
        if is_held(path) and not os.path.basename(path).startswith(PROBE):
            refuse(errno.EACCES, path)
        unlink(path)

    os.rename, os.replace, os.unlink, os.remove = renamed, replaced, unlinked, unlinked
    os.rmdir = lambda path: rmdir(path)  # no handle of a folder to begin at
    os.mkdir = lambda path, _mode=0o777: mkdir(path)  # no permission bits


def change_handles():
    """Open and flush files alone, as Windows does."""
    from fcntl import F_GETFL, fcntl

    opens, flushes, reads, texts = os.open, os.fsync, os.O_RDONLY, open
    access = os.O_ACCMODE

    def opened(path, flags, _mode=0o777):
        if os.path.isdir(path):
            refuse(errno.EACCES, path)
        return opens(path, flags)  # no permission bits

    def flushed(file):
        handle = file if isinstance(file, int) else file.fileno()
        if fcntl(handle, F_GETFL) & access == reads:
            refuse(errno.EBADF, handle)
        flushes(handle)

    def text(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **more):
        if "r" not in mode and last is not None and str(file).endswith(last):
            os._exit(9)
        if newline is None and "b" not in mode and "r" not in mode:
            newline = "\r\n"
        return texts(file, mode, buffering, encoding, errors, newline, **more)

    os.open, os.fsync, io.open, builtins.open = opened, flushed, text, text


def forget(libraries=LIBRARIES):
    """Take away what only POSIX has."""
    change_names()
    change_handles()
    for names in (os.supports_dir_fd, os.supports_fd):
        names.clear()
    # What libraries look for once, when they are imported.
    take(os, [name for name in NAMES.split() if name.startswith(("O_", "sendfile"))])
    import tempfile

    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # none has no name
    for name in libraries:
        import_module(name)
    change_locks()
    take(os, NAMES.split())
    take(signal, SIGNALS)
    for name in MODULES:
        sys.modules[name] = None


def change_locks():
    """Let a lock of the library take its file with it, as that of Windows does."""
    import filelock

    class Lock(filelock.FileLock):
        def release(self, force=False):
            held = self.is_locked
            super().release(force=force)
            if held:
                # Whoever waited may have it by now, and then it goes with his lock.
                with contextlib.suppress(OSError):
                    os.unlink(self.lock_file)

    filelock.FileLock = Lock


def take(module, names):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


def run_tests(arguments):
    """Run pytest, with a folder of its own for what tests write: another would need an owner."""
    forget(LIBRARIES + TESTERS)
    import tempfile

    import pytest

    with tempfile.TemporaryDirectory() as scratch:
        return pytest.main([f"--basetemp={scratch}/tests", *arguments])


def main():
    global elsewhere, last
    assert "shutil" not in sys.modules, "it takes the handles of folders when it is imported"
    if len(sys.argv) > 1:
        sys.exit(run_tests(sys.argv[1:]))
    forget()
    from geodp import cli

    cli._show_warnings()
    for line in sys.stdin:
        arguments, elsewhere, last = json.loads(line)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = cli.geodp.main(arguments, "geodp", standalone_mode=False) or 0
            except Exception as error:
                code = cli._explain(error, 0)
        print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)


if __name__ == "__main__":
    main()
