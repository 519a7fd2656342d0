"""``python -m geodp``, and the command ``geodp``."""

from __future__ import annotations

import os
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; Ctrl-C while it is still being imported ends without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The threads of NumPy's linear algebra are started with it and would wait for work in a loop,
    # for 0.15 s of every further core; so they sleep until there is any.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from geodp.cli import main as run

    run()


if __name__ == "__main__":
    main()
