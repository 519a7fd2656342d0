"""Releases to look at, their pages, and what the pages' scripts work out, run by Node."""

import json
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.release.report.html.page import write_page
from geodp.tools.explain.card import explain_people
from tests.keys import keep

NODE = pytest.mark.skipif(shutil.which("node") is None, reason="the page's code is run by Node")

PLACE = {"crs": "EPSG:3035", "transform": (1000, 0, 4_300_000, 0, -1000, 3_300_000)}


@cache
def towns(rows, cols):
    """Settlements with empty land between them: int64[rows, cols]."""
    random = np.random.default_rng(rows)
    counts = np.zeros((rows, cols), np.int64)
    for _ in range(8):
        at = random.normal(random.integers([[rows], [cols]]), 2, (2, 40)).astype(int)
        inside = ((at >= 0) & (at < [[rows], [cols]])).all(axis=0)
        np.add.at(counts, tuple(at[:, inside]), random.integers(1, 300, inside.sum()))
    return counts


def publish(path, grid=None, counts=None, **terms):
    """Write the release of a grid's towns and read it back from its public folder."""
    grid = grid or geodp.Grid.regular((21, 30), **PLACE)
    counts = towns(*grid.shape[:2]) if counts is None else counts
    name = terms.pop("name", "population")
    table = geodp.CountTable.from_dense(counts, grid)
    terms = {
        "epsilon": "1/2",
        "key": geodp.NoiseKey.from_file(keep(path.with_suffix(".key"))),
    } | terms
    geodp.publish(table, **{"contribution": 1, **terms}).write(path, name=name)
    return read(path)


def read(path):
    """Return a release as the command reads it, and its card."""
    release = geodp.open(path)
    return release, release.card()


def page_of(release, card, language="en", record=None, places=None):
    """Return the page of a release."""
    explained = explain_people(card, language)
    return write_page(release.view(), explained, card.guarantee.unit, language, record, places)


def data_of(page):
    """Read the packed data of a page's script."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(text)


def script_of(page):
    """Return the page's script."""
    (text,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return text


def run(page, driver, argument=None):
    """Run JavaScript on the page's script in Node, with ``surface`` and ``given`` in scope."""
    return drive(page, f"const surface = new api.Surface(all.surface); {driver}", argument)


def drive(page, driver, argument, data=None):
    """Run JavaScript in Node on ``all``, the page's unpacked data or others, and ``given``."""
    program = f"""
    {script_of(page)}
    const api = globalThis.geodpReport;
    const {{ data, given }} = JSON.parse(require("node:fs").readFileSync(0));
    api.unpackAll(data).then((all) => console.log(JSON.stringify((() => {{ {driver} }})())));
    """
    text = json.dumps({"data": data_of(page) if data is None else data, "given": argument})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.cjs")
        file.write_text(program, encoding="utf-8")
        done = subprocess.run(["node", file], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-800:]
    return json.loads(done.stdout)
