"""Commands that answer the questions of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geodp.cli.output import quote
from geodp.errors import UsageError
from geodp.options.file_question import COUNTS
from geodp.registry import list_of_parts

if TYPE_CHECKING:
    from geodp.cli.options import StrictCommand
    from geodp.release.file_answers import FileAnswer


def write_command(
    answer: FileAnswer, inputs: Sequence[str], more: Mapping[str, tuple[str, ...]]
) -> str:
    """Write the command of an answer, quoted for a shell, with further options at its end."""
    options = {**answer.options, **more}
    words = [word for flag, values in options.items() for word in (flag, *values)]
    return " ".join(["geodp", answer.command, *map(quote, [*inputs, *words])])


def find_command(words: str) -> StrictCommand | None:
    """Return the command of a kind that answers a question; None for that of counts.

    UsageError for one that answers no question.
    """
    from geodp.cli import geodp

    if words == COUNTS:
        return None
    known = sorted({one.command for one in list_of_parts("options", "FILE_QUESTIONS")})
    if words not in known:
        listed = ", ".join(map(quote, (COUNTS, *known)))
        raise UsageError(
            f"--question names the command that answers it: {listed}.", code="question-unknown"
        )
    command: Any = geodp
    for word in words.split():
        command = command.commands[word]
    found: StrictCommand = command
    return found
