"""The command line, in a process that gets a signal at an event of its own, not after some time.

``python signalled.py NUMBER EVENT TEXT ARGUMENT ...`` runs ``geodp ARGUMENT ...`` and sends the
signal at the first event of Python's audit (``import``, ``open``, ``os.rename`` ...) one of whose
arguments ends with the text.
"""

import os
import signal
import subprocess
import sys

MOMENTS = {
    "the command line is imported": ("import", "geodp.cli"),
    "numbers are imported": ("import", "numpy"),
    "kernels are imported": ("import", "numba"),
    "pictures are imported": ("import", "PIL"),
    "the input is opened": ("open", "H5339.zip"),
    "a table is written": ("open", "population.csv"),
    "the card is written": ("open", "release.json"),
    "the release gets its name": ("os.rename", "/out"),
}
LAST = "the release gets its name"
"""From here on the run is complete."""

BEFORE = "the command line is imported"
"""Until here nothing takes a signal."""


def run(number, moment, *arguments):
    """The process, ended."""
    words = [str(int(number)), *MOMENTS[moment], *map(str, arguments)]
    return subprocess.run(
        [sys.executable, __file__, *words], capture_output=True, text=True, check=False
    )


def main():
    number, event, text, *arguments = sys.argv[1:]
    armed = True

    def hook(name, given):
        nonlocal armed
        if armed and name == event and any(str(part).endswith(text) for part in given):
            armed = False
            os.kill(os.getpid(), int(number))

    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts the tests
    sys.argv = ["geodp", *arguments]
    sys.addaudithook(hook)
    from geodp.__main__ import main as start

    start()


if __name__ == "__main__":
    main()
