"""Talk to ``geodp new`` as somebody at a terminal does: files, answers, and what was said."""

import shlex

from geodp.tools.new import interview
from tests.command import geodp

ROWS = ((53394611, 5), (53394526, 9))
BOX = "139 35.333333333333336 140 36 degrees"
"""The primary mesh 5339, as somebody types it."""

ANSWERED = ("--area", BOX, "--contribution", 1, "--epsilon", 1)


def write_table(path, rows=ROWS, header="mesh;n"):
    """Write a table of meshes of 1 km."""
    path.write_text("\n".join([header, *(";".join(map(str, row)) for row in rows), ""]))
    return path


def talk(monkeypatch, *words, answers=(), cwd):
    """Run the command with somebody who types the answers, one after another."""
    monkeypatch.setattr(interview, "_is_terminal", lambda: True)
    return geodp("new", *words, cwd=cwd, input="".join(f"{one}\n" for one in answers))


def commands_of(done):
    """Return the words of the two commands that stand last."""
    return [shlex.split(line)[1:] for line in done.stdout.splitlines()[-2:]]
