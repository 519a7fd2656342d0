"""Help in another language: complete, laid out for wide letters, and nothing of it in English."""

import ast
import gettext
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from babel.messages.pofile import read_po
from click.testing import CliRunner

from geodp.cli import geodp
from geodp.cli.help import GROUPS, STEPS
from geodp.cli.translation import (
    DOMAIN,
    FOLDER,
    _Formatter,
    format_error,
    paragraphs,
    translate_message,
    translate_option,
    wrap,
)
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.layout.presets import presets
from geodp.privacy.event import Measurement
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.release.publish import publish
from geodp.table.counts import CountTable
from tests.command import commands, context_of
from tests.command import geodp as run
from tests.sources import walk

SOURCES = sorted(FOLDER.glob(f"*/LC_MESSAGES/{DOMAIN}.po"))
MIN_TRANSLATED = 0.98
"""The share of help that a language must have: a new option may come before its translation."""


def sentences(source):
    """Return the translated sentences of a catalogue's source."""
    with source.open("rb") as file:
        return {one.id: one.string for one in read_po(file) if one.id and one.string}


def help_sentences():
    """Yield every sentence of help, as catalogues have it; examples need no translation."""
    yield from STEPS
    yield from GROUPS
    for command in (geodp, *dict(commands()).values(), *groups(geodp)):
        first, *others = paragraphs(command.help or "")
        yield from (command.get_short_help_str(limit=300), first)
        yield from (one for one in others if not one.startswith("\b\ngeodp "))
        for option in command.get_params(context_of(command)):
            if getattr(option, "help", None):
                yield option.help


def groups(group):
    found = [one for one in group.commands.values() if isinstance(one, click.Group)]
    return [*found, *(below for one in found for below in groups(one))]


def call(*words, **environment):
    """Run geodp in a language."""
    clean = {k: v for k, v in os.environ.items() if k not in ("LANGUAGE", "LC_ALL", "LANG")}
    done = subprocess.run(
        [sys.executable, "-m", "geodp", *words],
        env=clean | {"PYTHONIOENCODING": "utf-8"} | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parts[-3])
def test_the_help_of_every_command_is_translated(source):
    asked, known = set(help_sentences()), sentences(source)
    missing = sorted(one for one in asked if one not in known)
    assert 1 - len(missing) / len(asked) >= MIN_TRANSLATED, "\n".join(["no translation:", *missing])


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parts[-3])
def test_the_compiled_catalogue_is_that_of_the_source(source):
    with source.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    known = sentences(source)
    assert {one: compiled.gettext(one) for one in known} == known, "say: make catalogues"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parts[-3])
def test_a_translation_keeps_options_and_names(source):
    """Options, grids and files that a sentence names are in its translation, too."""
    named = re.compile(r"--[a-z][a-z-]+|\{[a-z_!]+\}|\b[a-z]+:[a-z0-9]+\b")
    lost = {
        one: missing
        for one, translated in sentences(source).items()
        if (missing := set(named.findall(one)) - set(named.findall(translated)))
    }
    assert lost == {}


@pytest.mark.parametrize("name", ["LANGUAGE", "LC_ALL", "LANG"])
@pytest.mark.law
def test_the_environment_chooses_the_language(name):
    shown = call("budget", "init", "--help", **{name: "ja_JP.UTF-8"})
    assert shown.startswith("使い方: ")
    assert "台帳のファイル。  [必須]" in shown
    assert "[既定: person]" in shown


@pytest.mark.law
def test_a_wrong_call_is_told_in_the_language():
    assert "エラー: " in call("budget", "init", "--no-such-option", LANGUAGE="ja")


@pytest.mark.law
@pytest.mark.parametrize(
    "environment",
    [
        {"LANGUAGE": "en"},
        {"LC_ALL": "C"},
        {"LANGUAGE": "xx"},
        {"LANGUAGE": "ja", "PYTHONIOENCODING": "ascii"},
    ],
    ids=lambda one: "-".join(one.values()),
)
def test_elsewhere_it_is_english(environment):
    assert call("budget", "--help", **environment) == call("budget", "--help", LANGUAGE="C")


def test_a_sentence_without_translation_stays(monkeypatch):
    monkeypatch.setenv("LANGUAGE", "ja")
    with_default = "Nobody has translated this.  [default: 1]"
    assert translate_option(with_default) == with_default


def test_lines_fit_and_no_line_begins_with_a_full_stop():
    text = "台帳のファイルを（geodp budget で）作ります。上限は変わりません。" * 3
    lines = wrap(text, 20)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert not any(line.startswith(("。", "）", "、")) or line.endswith("（") for line in lines)
    widths = [sum(1 + (ord(one) > 0x2000) for one in line) for line in lines]
    assert max(widths) <= 20


def test_a_word_that_is_too_long_stands_alone():
    assert wrap("a verylongwordindeed 台帳", 8) == ["a", "verylongwordindeed", "台帳"]


def templates(folder):
    """Every text of a package, with {} for what stands in it."""
    for path in Path(folder).rglob("*.py"):
        for node in walk(path):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(getattr(one, "value", "")) if isinstance(one, ast.Constant) else "{}"
                    for one in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield re.sub(r"\{[^{}]*\}", "{}", node.value)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parts[-3])
def test_every_message_of_a_catalogue_is_one_that_is_said(source):
    said = {*templates(Path(click.__file__).parent), *templates(FOLDER.parents[1])}
    said |= {f"state {words}" for preset in presets() for words in preset.asks}
    said |= {f"{{}} {one}" for one in said}  # a sentence behind another
    others = sentences(source).keys() - {*help_sentences()}
    kept = {one for one in others if re.sub(r"\{[^{}]*\}", "{}", one) not in said}
    assert sorted(kept) == []


@pytest.mark.parametrize("name", ["census", "{name}", "a; geodp budget show", "国勢調査 100%"])
@pytest.mark.usefixtures("japanese")
def test_values_of_a_message_stay_as_they_are(name):
    said = f"{name} is not a ledger; geodp budget init makes one."
    assert format_error(UsageError(said)) == (
        f"エラー: {name} は台帳ではありません。台帳は geodp budget init で作れます。"
    )


@pytest.mark.usefixtures("japanese")
def test_lists_of_a_message_are_joined_in_the_language():
    said = "--about goes with --output or --json only."
    assert translate_message(said) == "--about は --output または --json とともにだけ使えます。"
    said = "--gap is for releases of a and b or c, and this is one of counts."
    # Only the word of this list is.
    assert "a と b or c の公開物" in translate_message(said)


@pytest.mark.usefixtures("japanese")
def test_an_error_in_a_file_names_it():
    error = InputError("No column is named 'n'; there are a, b.", file="a.csv", row=1)
    said = "エラー: a.csv, row 1: 'n' という列はありません。あるのは a, b です。"
    assert format_error(error) == said


@pytest.mark.usefixtures("japanese")
def test_an_error_without_translation_is_told_in_english():
    assert format_error(UsageError("Nobody translated this {x}.")).endswith(
        "Nobody translated this {x}."
    )


def test_an_error_is_english_elsewhere():
    assert (
        format_error(UsageError("A charge must be above 0.")) == "Error: A charge must be above 0."
    )


@pytest.mark.usefixtures("japanese")
def test_what_budget_says_is_japanese_and_json_is_not(tmp_path, monkeypatch):
    ledger = str(tmp_path / "l")
    said = CliRunner().invoke(
        geodp, ["budget", "init", "--ledger", ledger, "--dataset", "d", "--epsilon", "1"]
    )
    assert said.output == f"{ledger}: d のすべての公開は合わせて epsilon 1 まで使えます。\n"
    shown = ["budget", "show", "--ledger", ledger]
    assert "  残り       epsilon 1\n" in CliRunner().invoke(geodp, shown).output
    asked = CliRunner().invoke(geodp, [*shown, "--json"]).output
    monkeypatch.setenv("LANGUAGE", "C")
    assert asked == CliRunner().invoke(geodp, [*shown, "--json"]).output


def spent(**terms):
    return Measurement.of("m", Terms.of(**{"contribution": 1, **terms}), 1)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("contribution", [1, 3])
@pytest.mark.parametrize(
    "amount", [{"epsilon": "1/10"}, {"rho": "1/8"}, {"rho": "1/8", "delta": "0.001"}], ids=str
)
@pytest.mark.usefixtures("japanese")
def test_the_guarantee_is_japanese_with_its_numbers(neighbours, contribution, amount):
    event = spent(neighbours=neighbours, contribution=contribution, **amount)
    said = translate_message(event.statement)
    assert {*re.findall("[A-Za-z]+", said)} <= {"exp", "a"}
    assert set(re.findall(r"[0-9./]*[0-9]", event.statement)) <= set(re.findall(r"[0-9./]+", said))
    assert "（人）" in said


@pytest.mark.usefixtures("japanese")
def test_a_unit_without_translation_stays_in_the_guarantee():
    assert "（lorry）" in translate_message(spent(epsilon="1", unit="lorry").statement)


@pytest.mark.parametrize("said", ["none: " * 600 + "none", "none: " * 10**5])
@pytest.mark.usefixtures("japanese")
def test_a_quoted_text_that_repeats_a_sentence_ends(said):
    assert translate_message(said).endswith(said[-6:])


@pytest.mark.usefixtures("japanese")
def test_what_verify_says_is_japanese_and_json_is_not(tmp_path):
    table = CountTable(Grid.regular((2, 2)), np.arange(2, dtype=np.uint64), np.array([3, 5]))
    publish(table, epsilon=1, contribution=1).write(tmp_path / "r")
    words = ["verify", str(tmp_path / "r")]
    lines = CliRunner().invoke(geodp, words).output.splitlines()
    assert "合格    ファイル: 一覧にないものはフォルダーにありません" in lines
    english = [line for line in lines if not re.search("[ぁ-ん]|なし|公開物|整数", line)]
    assert english == []
    assert CliRunner().invoke(geodp, [*words, "--json"]).output.isascii()


def test_meanings_stand_in_one_column_and_long_names_on_lines_of_their_own():
    formatter = _Formatter(width=50)
    long = "--" + "name-" * 8 + "end"
    formatter.write_dl([("--a", "word " * 12), (long, "other " * 12)])
    lines = formatter.getvalue().splitlines()
    assert lines[0].split()[:2] == ["--a", "word"]
    column = lines[0].index("word")
    name = lines.index(long)
    assert name > 1
    for number, line in enumerate(lines):
        if number != name:
            words = line[column:].split()
            assert {*words} == {"word" if number < name else "other"}
            assert line[:column].strip() == ("--a" if number == 0 else "")


@pytest.mark.usefixtures("japanese")
def test_a_beginners_first_steps_are_told_in_the_language(tmp_path):
    (tmp_path / "long.csv").write_text("mesh,sex,n\n53394611,f,5\n53394611,m,7\n")
    path, plan = tmp_path / "long.csv", ("plan", "--grid", "jis:basic", "--epsilon", 1)
    plan += ("--bounds", 139, 35, 140, 36, "--people", 1e6)
    for words, told in (
        (("inspect", path), "公開するには（大文字のところを埋めてください）:\ngeodp publish"),
        (("inspect", path), "まだ必要なこと: 一人が最大で何回数えられるか"),
        (
            ("publish", path, "--epsilon", 1, "--output", tmp_path / "out"),
            "公開するには、まだ次のことが必要です。一人が",
        ),
        (plan, "標準誤差"),
        (
            (*plan, "--neighbours", "both"),
            "'both' は使えません。使えるのは 'add-remove-one', 'replace-one' です。",
        ),
    ):
        done = run(*words)
        assert told in done.stdout + done.stderr
        assert "Before it can be published" not in done.stdout + done.stderr
