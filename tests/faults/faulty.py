"""A process for the tests of faults: runs commands whose n-th change of a folder fails or kills.

Reads one JSON list a line: arguments, folder, from, to, errno, whether files need names; answers
with exit code, changes seen, standard output and error. Every command runs in a child of its own.
The process itself runs those that it is started with, a JSON list of their words.
"""

import contextlib
import ctypes
import faulthandler
import gc
import io
import json
import os
import sys
import tempfile
import traceback

import click

from geodp.cli import _explain, geodp
from geodp.io.write.geotiff import COPY

WAITED = 99
"""Exit code of a command that did not end."""


def run(arguments, folder, first, last, number, named, told):
    """Run one command; what it says goes to an open file, as its process may be killed."""
    shim = ctypes.CDLL(None)
    shim.fault_seen.restype = ctypes.c_char_p
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        shim.fault_arm(os.fsencode(folder), first, last, number, named)
        try:
            code = geodp.main(arguments, standalone_mode=False) or 0
        except (Exception, click.exceptions.Abort) as error:
            code = _explain(error, 0)
            if code == 1 and "unforeseen" in err.getvalue():
                traceback.print_exception(error, file=err)
    seen = shim.fault_seen().decode(errors="replace").splitlines()
    shim.fault_arm(b"", 0, 0, 0, 0)
    json.dump([code, seen, out.getvalue(), err.getvalue()], told)
    told.flush()


if __name__ == "__main__":
    COPY["NUM_THREADS"] = "1"  # in a fork nobody works for a pool of threads from before
    for words in json.loads(sys.argv[1]):  # children have all modules and kernels
        said = io.StringIO()
        run(words, "", 0, 0, 0, False, said)
        if json.loads(said.getvalue())[0]:
            sys.exit(said.getvalue())
    gc.collect()
    gc.freeze()  # what all forks share is copied when it is looked at for garbage
    print("ready", flush=True)
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as told:
            child = os.fork()
            if child == 0:
                faulthandler.dump_traceback_later(
                    60, exit=True
                )  # whoever waits for ever is told of
                run(*json.loads(line), told)
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            told.seek(0)
            silent = json.dumps([-os.WTERMSIG(status) or WAITED, [], "", ""])
            print(told.read() or silent, flush=True)
