"""The command line, in this process: what a process of its own would say, without its start."""

import contextlib
import io
import json
import sys
import warnings
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner

from geodp import cli
from geodp.cli.running import COMPILING, COMPILING_MORE
from geodp.errors import GeodpError
from geodp.io.folder import stopping


class Done(NamedTuple):
    """What is left of a command."""

    returncode: int
    stdout: str
    stderr: str


def geodp(*arguments, cwd=None, input=""):  # noqa: A002
    """Run a command; ``input`` is what its standard input holds."""
    out, err, given = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oei")
    given.write(input)
    given.seek(0)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(sys, "stdin", given)
        stack.enter_context(contextlib.chdir(cwd or "."))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("default")
        cli._show_warnings()
        stopping.begin()
        try:
            code = cli.geodp.main([*map(str, arguments)], "geodp", standalone_mode=False)
        except Exception as error:
            code = cli._explain(error, 0)
        except SystemExit as end:
            code = end.code
        finally:
            stopping.begin()
    said, told = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))
    for once in (COMPILING, COMPILING_MORE):  # told by whichever test comes first
        told = told.replace(f"{once}\n", "")
    return Done(code if isinstance(code, int) else 0, said, told)


def override(*words):
    """Return a call in which only the last of several values of an option is left."""
    words = [*map(str, words)]
    command = cli.geodp
    for word in words:
        if not isinstance(command, click.Group):
            break
        command = command.commands[word]
    params = command.get_params(context_of(command))
    single = {one.opts[-1] for one in params if not (one.multiple or getattr(one, "is_flag", 0))}
    kept = []
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        if word in single & {*words[at + 1 :]} or before in single & {*words[at:]}:
            continue
        kept.append(word)
    return kept


def commands(group=cli.geodp, name=""):
    """Yield every command of the command line by its words."""
    for word, one in group.commands.items():
        if isinstance(one, click.Group):
            yield from commands(one, f"{name}{word} ")
        else:
            yield f"{name}{word}", one


def context_of(command):
    """Return a context that asks a command for its parameters, as ``geodp`` itself does.

    Click makes a command's option of help once, for the first context that asks for it.
    """
    return click.Context(command, info_name=command.name, **cli.geodp.context_settings)


class Runner:
    """Runs one command with click's runner, for tests that look at its error or its document."""

    def __init__(self, command):
        self.command = command

    def run(self, *arguments):
        """Return the result of click's runner, the exception of a refusal among it."""
        return CliRunner().invoke(self.command, [*map(str, arguments)])

    def error_of(self, *arguments):
        """Return the one sentence of a refusal."""
        done = self.run(*arguments)
        assert isinstance(done.exception, GeodpError), done.output
        text = str(done.exception)
        assert "\n" not in text
        return text

    def document_of(self, *arguments):
        """Return what ``--json`` prints."""
        done = self.run(*arguments, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)


def figures_of(text: str) -> list[dict[str, Any]]:
    """Return the numbers of each region in a document of ``estimate`` or ``compare``.

    Those of a region are under the names of their quantities, beside the columns of its place.
    """
    document = json.loads(text)
    regions: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in document.get("estimates", document.get("differences")):
        place = {name: row[name] for name in ("name", "from", "to", "time") if name in row}
        regions.setdefault((*place.values(),), place)[row["quantity"]] = row
    return [*regions.values()]
