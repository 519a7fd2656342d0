"""The site's first guide runs, its figures are those of the code, its links lead somewhere.

Sphinx itself builds the site in ``make site``, with warnings as errors.
"""

import glob
import os
import re
import runpy
import shlex
from fractions import Fraction
from pathlib import Path

import pytest

import geodp as geodp_package
from geodp.mechanisms import mechanism
from geodp.privacy.loss import epsilon_for
from geodp.privacy.terms import Terms
from geodp.release.preview import find_crossings
from tests.command import geodp, override

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"


def commands_of(text):
    """Words of every command of the console blocks of a page."""
    blocks = "\n".join(re.findall(r"```console\n(.*?)```", text.replace("\\\n", ""), re.DOTALL))
    return [shlex.split(line[2:]) for line in blocks.splitlines() if line.startswith("$ ")]


def run_words(words, folder):
    """Run a command in a folder, with the files that a pattern finds there."""
    found = [sorted(glob.glob(w, root_dir=folder)) if "*" in w else [w] for w in words]
    return geodp(*(word for several in found for word in several), cwd=folder)


def run_page(page, folder):
    """Save the files that a page shows, and run its commands beside them; return what they said."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    (folder / "data").symlink_to(ROOT / "data")
    for name, rows in re.findall(r"lines as `([^`]+)`.*?```text\n(.*?)```", text, re.DOTALL):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(rows, encoding="utf-8")
    said = []
    for program, *words in commands_of(text):
        assert program == "geodp"
        done = run_words(words, folder)
        assert done.returncode == 0, (words, done.stderr)
        said.append(done.stdout)
    return text, said


@pytest.mark.law
def test_the_first_guide_runs_command_by_command(tmp_path):
    run_page("guides/first-release.md", tmp_path)
    for country in ("japan", "germany"):
        assert (tmp_path / country / "public" / "population.tif").exists()
    assert "<canvas" in (tmp_path / "japan.html").read_text(encoding="utf-8")
    assert "People around Tokyo" in (tmp_path / "japan.svg").read_text(encoding="utf-8")


@pytest.mark.law
@pytest.mark.usefixtures("japanese_font")
def test_the_japanese_guide_runs_command_by_command(tmp_path):
    run_page("guides/first-release-ja.md", tmp_path)
    assert "関東の人口" in (tmp_path / "japan.svg").read_text(encoding="utf-8")
    assert 'lang="ja"' in (tmp_path / "japan.html").read_text(encoding="utf-8")
    lines = (tmp_path / "for-readers" / "population.estat.txt").read_bytes().splitlines()
    assert lines[0].startswith(b"KEY_CODE")
    assert len(lines) > 50_000


@pytest.mark.law
def test_the_ledger_is_kept_command_by_command(tmp_path):
    text, said = run_page("budget.md", tmp_path)
    state = re.search(r"```text\n(census-2020.*?)```", text, re.DOTALL).group(1)
    assert any(state in words for words in said)
    first, again = (tmp_path / name / "public" / "population.csv" for name in ("first", "again"))
    assert first.read_bytes() == again.read_bytes()
    again = override(*commands_of(text)[2][1:], "--epsilon", "2", "--output", "more")
    more = run_words(again, tmp_path)
    assert more.returncode == 4
    refusal = re.search(r'command says "(.*?)"', text, re.DOTALL).group(1)
    assert refusal.split() == more.stderr.splitlines()[-1].split()[1:]


@pytest.mark.law
def test_an_account_in_rho_is_kept_command_by_command(tmp_path):
    text, said = run_page("pure-or-zcdp.md", tmp_path)
    state = re.search(r"```text\n(census-2020.*?)```", text, re.DOTALL).group(1)
    assert said[-1] == state


def test_the_page_on_rho_is_short_and_its_figures_are_those_of_the_closed_forms():
    text = (ROOT / "docs" / "pure-or-zcdp.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 450
    grid, terms = geodp_package.Grid.regular((512, 512)), Terms.of(epsilon=1, delta="1e-6")
    cell, square = find_crossings(grid, mechanism("pyramid"), terms)
    flat = " ".join(text.split())
    assert f"at {square.releases} releases for 24 by 24 cells, at {cell.releases} for a" in flat
    once, twice = (float(epsilon_for(Fraction(n, 200), Fraction(1, 10**6))) for n in (1, 2))
    assert f"twice rho 1/200 is epsilon {twice:.3f} at delta 1e-6, not 2 x {once:.2f}" in flat


@pytest.mark.law
@pytest.mark.parametrize("page", ["corrections.md", "distributed.md", "local.md"])
def test_how_tos_run_command_by_command(page, tmp_path):
    (tmp_path / "cells.csv").write_text("code\n" + "533945263\n" * 2_000, encoding="utf-8")
    _, said = run_page(page, tmp_path)
    assert any("ok" in words for words in said)


def test_figures_are_those_that_the_code_draws():
    """Else: ``python docs/site/figures.py``, and look at them."""
    drawn = runpy.run_path(str(SITE / "figures.py"))["FIGURES"]
    kept = {path.stem: path for path in (ROOT / "docs" / "figures").glob("*.svg")}
    assert kept.keys() == drawn.keys()
    changed = [name for name in drawn if drawn[name]() != kept[name].read_text(encoding="utf-8")]
    assert changed == []
    pages = [ROOT / "docs" / name for name in ("concepts.md", "pure-or-zcdp.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert {*re.findall(r"\(figures/(\w+)\.svg\)", text)} == drawn.keys()


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda path: path.stem)
def test_every_page_of_the_documents_is_on_the_site(page):
    index = (SITE / "index.rst").read_text(encoding="utf-8").splitlines()
    assert f"   /{os.path.relpath(page, ROOT).removesuffix('.md')}" in index


def test_every_public_name_is_on_the_page_of_python():
    text = (SITE / "api.rst").read_text(encoding="utf-8")
    named = set(re.findall(r"\bgeodp\.(\w+)", text))
    assert {*geodp_package.__all__} - named == {"__version__"}


@pytest.mark.parametrize(
    ("tag", "fault"),
    [
        ('<a href="b.html#there">', None),
        ('<a href="#here">', None),
        ('<a href="https://example.org/x">', None),
        ('<a href="c.html">', "a.html: no file c.html"),
        ('<a href="b.html#gone">', "a.html: no anchor b.html#gone"),
        ('<img src="gone.svg">', "a.html: no file gone.svg"),
        ('<script src="https://example.org/x.js">', "a.html: loads https://example.org/x.js"),
    ],
)
def test_links_that_lead_nowhere_are_found(tag, fault, tmp_path):
    (tmp_path / "a.html").write_text(f'<p id="here">{tag}', encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="there">', encoding="utf-8")
    find_faults = runpy.run_path(str(SITE / "check.py"))["find_faults"]
    assert find_faults(tmp_path) == ([fault] if fault else [])
