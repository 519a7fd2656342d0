"""``python -m geodp``: the command line."""

from geodp.cli import main

main()
