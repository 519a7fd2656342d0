"""A card that says something else of the errors of cells than follows from the release."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
import rasterio

import geodp
from geodp.io.verify.card import read_table_card
from geodp.io.verify.readback import open_map
from geodp.io.verify.verify import verify
from geodp.io.write import geotiff, tables
from geodp.release.opening import errors_of

FEW = 20


def publish(simulate=0):
    people = np.zeros((24, 24), int)
    people[:, :10] = 700
    people[20, 20] = 900
    table = geodp.CountTable.from_dense(people, geodp.Grid.regular(people.shape))
    key = geodp.NoiseKey(bytes(32))
    return geodp.publish(table, epsilon="1/10", contribution=1, key=key, simulate=simulate)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    found = tmp_path_factory.mktemp("simulated") / "out"
    publish(FEW).write(found)
    return found


def test_what_a_card_says_of_cells_not_listed_is_worked_out_again_without_simulation(
    tmp_path,
):
    publish().write(tmp_path / "out")
    path = tmp_path / "out/public/release.json"
    card = json.loads(path.read_text(encoding="utf-8"))
    card["expected_error"]["cells"]["high"] /= 2
    path.write_text(json.dumps(card), encoding="utf-8")
    (check,) = (one for one in verify(tmp_path / "out", errors_of) if one.name == "intervals")
    assert (check.ok, "cells.high" in check.detail) == (False, True)


@pytest.fixture(scope="module")
def errors_again():
    """Work the same out once for all."""
    known = {}

    def found(view):
        cells = view.card.expected_error.cells
        given = cells and cells.simulated
        if given not in known:
            known[given] = errors_of(view)
        return known[given]

    return found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda said: said["cells"].update(simulated=21), "settlements.meaning"),
        (lambda said: said["cells"].update(version=99), "another version"),
        (lambda said: said["cells"].update(simulated=10**9), "too many releases"),
        (lambda said: said["cells"].update(low=1.0), "cells.low"),
        (lambda said: said["cells"].update(high=said["cells"]["high"] / 2), "cells.high"),
        (lambda said: said["cells"].pop("high"), "cells"),
        (lambda said: said["cells"].pop("simulated"), "were not simulated"),
        (lambda said: said.pop("cells"), "were not simulated"),
        (lambda said: said.pop("settlements"), "expected_error.settlements"),
        (lambda said: said["settlements"].update(meaning="None"), "settlements.meaning"),
        (lambda said: said["settlements"]["settlements"].pop(), "settlements.settlements"),
        (lambda said: said["settlements"]["settlements"][3].update(own=0.0), "settlements[3].own"),
        (
            lambda said: said["settlements"]["settlements"][3].update(below=7),
            "settlements[3].below",
        ),
        (lambda said: said["cells"]["tree"]["variances"].__setitem__(1, 2.5), "cells.tree"),
        (lambda said: said["cells"]["tree"].update(dropped=[[1.0, 1.0]]), "cells.tree"),
        (lambda said: said["cells"].pop("tree"), "cells"),
    ],
)
def test_a_card_that_says_something_else_of_them_is_found_or_not_followed(
    change, words, written, errors_again, tmp_path
):
    shutil.copytree(written, tmp_path / "out")
    path = tmp_path / "out/public/release.json"
    card = json.loads(path.read_text(encoding="utf-8"))
    change(card["expected_error"])
    path.write_text(json.dumps(card), encoding="utf-8")
    (check,) = (one for one in verify(tmp_path / "out", errors_again) if one.name == "intervals")
    assert words in check.detail
    assert check.ok == ("computed again, as" in check.detail)


def test_memory_is_that_of_a_chunk_of_rows_and_of_few_blocks(written, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK", 50)
    public, asked = written / "public", []
    card = read_table_card(public)

    def count(view):
        found = errors_of(view)
        kind = type(found.intervals())
        of = kind.of
        monkeypatch.setattr(kind, "of", lambda self, key: asked.append(key.size) or of(self, key))
        return found

    (check,) = (one for one in verify(public, count) if one.name == "intervals")
    assert check.detail == "those of the released counts, computed again"
    rows = pq.read_metadata(public / "population.parquet").num_rows
    assert asked[: -(-rows // 50)] == [50] * (rows // 50) + [rows % 50] * (rows % 50 > 0)
    with open_map(public, card):
        assert rasterio.env.getenv()["GDAL_CACHEMAX"] == geotiff.CACHE
