"""Every code block of every document works: Python is run, and commands are ones that exist.

Blocks with prompts of Python (``>>>``) are doctests, which pytest collects from all documents.
What cannot run here is listed with its reason; its imports and its syntax are looked at all the
same. Of shell commands, every ``geodp`` is parsed by the command line itself.
"""

import ast
import importlib.util
import re
import shlex
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import click
import pytest

from geodp.cli import geodp as command_line
from geodp.cli.options import GridCommand
from geodp.cli.values import join_bounds

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

NOT_RUN = {
    'with Client("tls://scheduler:8786"': "a cluster's address and certificates are the reader's",
    'cluster.join("release", "whole")': "the folders of a run on several machines are the reader's",
}
"""How a line of a Python block begins that cannot run here, and why."""

NOT_PARSED = {
    "python -I verify_release.py": "the file is a release's own, which test_verify_release.py runs",
}
"""How a command begins that is none of those below, and why it is not looked at."""

NOT_RUNNABLE = {"toml", "json", "yaml", "text", "csv", "diff", "html", ""}
"""Languages of blocks that are no code, and pages, whose libraries come from the network."""

ELSEWHERE = {"docs/device.md": "tests/local/test_device.py"}
"""Documents with code for other languages, and the test that runs it."""


@dataclass(frozen=True)
class Block:
    """Code that stands in a document."""

    file: str
    line: int
    language: str
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}"


def blocks_of(file, text):
    """Blocks between fences, wherever they are indented to."""
    lines, start = text.splitlines(), None
    for number, line in enumerate(lines):
        fence = re.match(r"(\s*)(```+)\s*(\w*)", line)
        if fence and start is None:
            start, (indent, _, language) = number, fence.groups()
        elif fence:
            body = [inner.removeprefix(indent) for inner in lines[start + 1 : number]]
            yield Block(file, start + 2, language, "\n".join(body) + "\n")
            start = None
    assert start is None, f"{file}: a fence is not closed"


BLOCKS = [
    block
    for path in DOCUMENTS
    for block in blocks_of(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
]


def of_language(*languages):
    found = [block for block in BLOCKS if block.language in languages]
    return pytest.mark.parametrize("block", found, ids=str)


def commands_of(text):
    """Words of every command of a block, without prompts, comments and redirections."""
    joined = re.sub(r"\\\n\s*", "", text)
    for line in joined.splitlines():
        if words := shlex.split(line.strip().removeprefix("$ "), comments=True):
            yield [word for word in words if not re.match(r"\d?>", word)]


def asked_of_geodp(words):
    """Raise ClickException where a command or an option does not exist, or its value is no such.

    ``...`` stands for what else a command needs, so that nothing is missed.
    """
    command, rest = command_line, [word for word in words if word != "..."]
    while True:
        context = click.Context(command, info_name="geodp", **command_line.context_settings)
        words = join_bounds(rest) if isinstance(command, GridCommand) else rest
        given, more, _ = command.make_parser(context).parse_args(words)
        for parameter in command.get_params(context):
            value = given.get(parameter.name)
            if isinstance(parameter.type, click.Path) or not isinstance(value, (str, list, tuple)):
                continue  # files of the reader, flags, and what is not given
            parameter.type_cast_value(context, value)
        if not isinstance(command, click.Group):
            return
        if not more:
            raise click.UsageError("a command is missing")
        _, command, rest = command.resolve_command(context, more)


def asked_of_python(words):
    """A module that is there; the benchmarks' own are no part of the wheel."""
    assert words[0] == "-m", words
    module = words[1]
    if module == "geodp":
        asked_of_geodp(words[2:])
    elif (ROOT / module.partition(".")[0]).is_dir():
        assert importlib.util.find_spec(module), module
    else:
        assert module.partition(".")[0] in ("acme", "bench", "pytest", "pip", "venv"), module


def asked_of_pytest(words):
    for word in words:
        if "/" in word:
            assert (ROOT / word.partition("::")[0]).exists(), word


def asked_of_pip(words):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"(?:geodp|\.)\[([\w,-]+)\]", " ".join(words))
    assert {name for names in named for name in names.split(",")} <= {
        *extras["optional-dependencies"]
    }


def asked_of_make(words):
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", text, re.MULTILINE))
    assert {word for word in words if "=" not in word} <= targets, words


ASKED = {
    "geodp": asked_of_geodp,
    "python": asked_of_python,
    "pytest": asked_of_pytest,
    "pip": asked_of_pip,
    "make": asked_of_make,
    "git": lambda words: None,
    "cd": lambda words: None,
    "pre-commit": lambda words: None,
}
"""Programs that documents name, and what is looked at in their arguments."""


def looked_at(words):
    if any(" ".join(words).startswith(start) for start in NOT_PARSED):
        return
    assert words[0] in ASKED, f"no command that is looked at: {words}"
    ASKED[words[0]](words[1:])


def test_every_block_says_what_it_is():
    known = {"python", "console", "sh", "bash", *NOT_RUNNABLE}
    others = [block for block in BLOCKS if block.language not in known]
    assert [str(block) for block in others if block.file not in ELSEWHERE] == []
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())
    assert {"python", "console", "sh"} <= {block.language for block in BLOCKS}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a block as a module, in a folder beside the example's data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")

    def call(block):
        tree = ast.parse(block.text)
        lines = block.text.splitlines()
        if any(line.startswith(start) for line in lines for start in NOT_RUN):
            tree.body = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        module = ModuleType("document")
        monkeypatch.setitem(sys.modules, "document", module)
        exec(compile(tree, str(block), "exec"), vars(module))

    return call


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language == "python" and ">>>" not in b.text], ids=str
)
def test_python_runs(block, run):
    run(block)


@pytest.mark.parametrize("line", ["from geodp import nobody", "1 / 0", "plan("])
def test_python_that_does_not_run_is_caught(line, run):
    (block,) = blocks_of("planted.md", f"- an item\n  ```python\n  {line}\n  ```\n")
    with pytest.raises((ImportError, ZeroDivisionError, SyntaxError)):
        run(block)


def test_pytest_collects_the_doctests_of_every_document():
    """Those with prompts, wherever they stand."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    options = options["ini_options"]
    assert "--doctest-glob=*.md" in options["addopts"]
    for block in BLOCKS:
        if block.language == "python" and ">>>" in block.text:
            assert {block.file, block.file.partition("/")[0]} & {*options["testpaths"]}, block


@of_language("console", "sh", "bash")
def test_commands_are_ones_that_exist(block):
    for words in commands_of(block.text):
        looked_at(words)


@pytest.mark.parametrize(
    "line",
    [
        "geodp pubish",
        "geodp publish --epsilom 1",
        "geodp publish ... --neighbours",
        "geodp publish ... --band first",
        "geodp mesh encode --gird jis:half 1 2",
        "geodp",
        "python -m tests.nothing",
        "pytest tests/nothing/test_nothing.py",
        "pip install 'geodp[nothing]'",
        "make nothing",
        "rm -rf release",
    ],
)
def test_a_command_that_does_not_exist_is_caught(line):
    ((words),) = commands_of(f"$ {line}  # a comment\n")
    with pytest.raises((click.ClickException, AssertionError, ModuleNotFoundError)):
        looked_at(words)


def cut_tables(text):
    """Rows of tables that begin without a header, as after an empty line: renderers show bars."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    tables = re.findall(r"(?:^\|.*\n)+", prose + "\n", re.MULTILINE)
    return [table for table in tables if not re.match(r"\|.*\n\|[ :|-]+\|\n", table)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_table_has_a_header(path):
    assert cut_tables(path.read_text(encoding="utf-8")) == []


def test_a_cut_table_is_caught():
    assert cut_tables("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n") == ["| 3 | 4 |\n"]
