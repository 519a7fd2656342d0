"""A process for the tests of faults: runs commands whose n-th change of a folder fails or kills.

Reads one JSON list a line: arguments, folder, from, to, errno; answers with exit code, changes
seen, standard output and error. Every command runs in a child of its own. The process itself runs
those that it is started with, between which stands the word "then".
"""

import contextlib
import ctypes
import io
import json
import os
import sys
import tempfile
import traceback

import click

from geodp.cli import _explain, geodp


def run(arguments, folder, first, last, number, told):
    """Run one command; what it says goes to an open file, as its process may be killed."""
    shim = ctypes.CDLL(None)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        shim.fault_arm(os.fsencode(folder), first, last, number)
        try:
            code = geodp.main(arguments, standalone_mode=False) or 0
        except (Exception, click.exceptions.Abort) as error:
            code = _explain(error, 0)
            if code == 1 and "unforeseen" in err.getvalue():
                traceback.print_exception(error, file=err)
    json.dump([code, shim.fault_seen(), out.getvalue(), err.getvalue()], told)
    told.flush()


if __name__ == "__main__":
    for words in " ".join(sys.argv[1:]).split(" then "):  # children have all modules and kernels
        run(words.split(" "), "", 0, 0, 0, io.StringIO())
    print("ready", flush=True)
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as told:
            child = os.fork()
            if child == 0:
                run(*json.loads(line), told)
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            told.seek(0)
            answer = json.load(told) if os.WIFEXITED(status) else [-os.WTERMSIG(status), 0, "", ""]
            print(json.dumps(answer), flush=True)
