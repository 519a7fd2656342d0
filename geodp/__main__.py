"""``python -m geodp``, and the command ``geodp``."""

from __future__ import annotations

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; Ctrl-C while it is still being imported ends without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from geodp.cli import main as run

    run()


if __name__ == "__main__":
    main()
