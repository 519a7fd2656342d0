"""The law of variants: an official table that is written otherwise is the same one, or refused.

Where the other writing is one by the rules of the format, such as another order of rows or a byte
order mark, it is the same one. No refusal quotes a value of the data.
"""

import os
import random
from dataclasses import replace
from pathlib import Path

import click
import pytest

from geodp.errors import GeodpError
from geodp.io.read.layout.presets import presets
from geodp.table.counts import CountTable
from geodp.table.reading import require_rows
from tests.io.read.official.made import MADE
from tests.io.read.official.test_more_options import read_as, same
from tests.io.read.official.variants import (
    PICTURES,
    SHEETS,
    Picture,
    Sheet,
    Variant,
    scale,
    variants,
)

TEXTS = (*SHEETS, *MADE)
PLAIN = (*TEXTS, *PICTURES)
LARGE = tuple(scale(sheet) for sheet in TEXTS)
SAMPLE = 8
"""Variants of a layout that the law takes where a run must be like the one before; else all."""

FEW = 4
NAMES = [f"{plain.layout} {number}" for number, plain in enumerate(PLAIN)]
BUDGET = ["--epsilon", "0.1", "--output", "out"]
EVERY = pytest.mark.parametrize("plain", PLAIN, ids=NAMES)


def read(variant: Variant, folder: Path, monkeypatch: pytest.MonkeyPatch) -> CountTable | str:
    """Return the table that would be published, or the sentence of the refusal."""
    folder.mkdir()
    words = variant.write(folder)
    with monkeypatch.context() as here:
        here.chdir(folder)
        try:
            table = read_as([*words, *BUDGET])[0]
            require_rows(table.rows, table.reading, allow_empty=False)
        except GeodpError as error:
            return str(error)
        except click.ClickException as error:
            return error.format_message()
    if table.bound is None and "--contribution" not in words:
        return "How often a person is counted is asked for before anything is published."
    return table


def fault_of(variant: Variant, found: CountTable | str, right: CountTable) -> str:
    """Return what breaks the law; empty for nothing."""
    if not isinstance(found, str):
        return "" if same(found, right) else "another table"
    if variant.same:
        return f"refused: {found}"
    made = variant.made
    codes = made.column(made.code) if isinstance(made, Sheet) else []
    quoted = [code for code in codes if len(code) > 6 and code in found and code != made.code]
    if quoted or len(found) < 20:
        return f"no clear sentence: {found}"
    return ""


def require_law(
    plain: Sheet | Picture, chosen: list[Variant], folder: Path, patch: pytest.MonkeyPatch
) -> None:
    right = read(Variant("plain", True, plain), folder / "plain", patch)
    assert not isinstance(right, str), right
    faults = {}
    for number, variant in enumerate(chosen):
        found = read(variant, folder / str(number), patch)
        if fault := fault_of(variant, found, right):
            faults[variant.name] = fault
    assert not faults


def sample(every: list[Variant], size: int, layout: str) -> list[Variant]:
    return random.Random(layout).sample(every, min(size, len(every)))


def test_every_layout_has_variants_of_every_kind() -> None:
    # Squares of Brazil's are added up by their rule, so that a doubled row is another table.
    read = {one.name for one in presets() if not one.refused} - {"ibge", "ibge2022"}
    assert {plain.layout for plain in PLAIN} == read
    for plain in PLAIN:
        every = list(variants(plain))
        assert len(every) >= 100
        assert len({variant.name for variant in every}) >= 100
        assert sum(variant.same for variant in every) >= SAMPLE


@EVERY
def test_a_few_variants_are_the_same_table_or_refused(
    plain: Sheet | Picture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_law(plain, sample(list(variants(plain)), FEW, plain.layout), tmp_path, monkeypatch)


@pytest.mark.law
@EVERY
def test_every_variant_is_the_same_table_or_refused(
    plain: Sheet | Picture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = list(variants(plain))
    if os.environ.get("CI"):
        every = sample(every, SAMPLE, f"{plain.layout} law")
    require_law(plain, every, tmp_path, monkeypatch)


@pytest.mark.law
@pytest.mark.parametrize("plain", LARGE, ids=NAMES[: len(LARGE)])
def test_large_counts_are_the_same_table_or_refused(
    plain: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = list(variants(plain, seed=37))
    if os.environ.get("CI"):
        every = sample(every, SAMPLE // 2, f"{plain.layout} large")
    require_law(plain, every, tmp_path, monkeypatch)


def test_the_law_finds_rows_that_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing tells parts of a cell apart, and the operator has copies added up."""
    cbs = next(sheet for sheet in MADE if sheet.layout == "cbs")
    plain = replace(cbs, words=(*cbs.words, "--duplicates", "sum", "--contribution", "1"))
    right = read(Variant("plain", True, plain), tmp_path / "plain", monkeypatch)
    doubled = Variant("doubled", False, replace(plain, rows=plain.rows * 2))
    found = read(doubled, tmp_path / "doubled", monkeypatch)
    assert isinstance(right, CountTable)
    assert fault_of(doubled, found, right) == "another table"
