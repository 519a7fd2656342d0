"""The page in browsers without a screen, at three widths, in both languages: what it shows."""

import re
from importlib.resources import files
from importlib.util import find_spec

import numpy as np
import pytest
from pyproj import Transformer

from geodp.io.write.scale import DARK_IS_MANY, classify
from geodp.release.report.html.places import Rounded
from geodp.release.report.translation import LANGUAGES
from tests.release.report.html.browsers import BROWSERS, browser_of, run_cases
from tests.release.report.html.pages import page_of, publish

pytestmark = [pytest.mark.law, pytest.mark.timeout(600)]

WIDTHS = (360, 1024, 1920)

LOOK = """
async function look(window, one) {
  const { document } = window;
  const { view, surface } = window.geodpReport;
  window.frameElement.height = 700;
  await new Promise((done) => setTimeout(() => requestAnimationFrame(done), 50));
  const wide = (node) => node.getBoundingClientRect().width;
  const slider = document.getElementById("belief");
  slider.value = "0";
  slider.dispatchEvent(new window.Event("input"));
  const pixels = one.cells.map(([row, col]) => {
    const [x, y] = view.toPixels([col + 0.5, row + 0.5]).map(Math.floor);
    return [...view.canvas.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3);
  });
  view.canvas.focus();
  view.canvas.dispatchEvent(new window.KeyboardEvent("keydown", { key: "ArrowLeft" }));
  document.getElementById("points").value = one.points;
  document.getElementById("type").requestSubmit();
  const search = document.getElementById("search");
  const listed = document.getElementById("places").children;
  const all = listed.length;
  search.value = one.search;
  search.dispatchEvent(new window.Event("input"));
  const [first] = listed;
  const some = listed.length;
  search.dispatchEvent(new window.Event("change"));
  const isKept = listed[0] === first;
  const name = first.querySelector("button").getAttribute("aria-label");
  first.querySelectorAll("button")[1].click();
  const { cross, marked } = view;
  const pinned = document.getElementById("pinned").textContent;
  const choose = (at) => listed[at].querySelectorAll("button")[2].click();
  search.value = "";
  search.dispatchEvent(new window.Event("input"));
  choose(1);
  choose(9);
  const wholeButtons = listed[0].querySelectorAll("button").length;
  const compared = document.getElementById("compared").textContent;
  view.fit();
  const faults = window.axe ? (await window.axe.run()).violations : [];
  return {
    pixels,
    places: [all, some, isKept, name],
    cross,
    marked,
    corner: Math.min(...view.toPixels([0, 0])),
    bar: wide(document.getElementById("scale-bar")) / wide(view.canvas),
    km: view.canvas.width / view.scale,
    said: document.getElementById("scale-text").textContent,
    heading: document.querySelector("h1").textContent,
    status: document.getElementById("status").textContent,
    row: [...document.querySelectorAll("#estimates p")].map((cell) => cell.textContent),
    largest: document.getElementById("largest").children.length,
    pinned,
    compared,
    wholeButtons,
    drawn: document.getElementById("drawn-level").textContent,
    levels: document.getElementById("level").options.length,
    wide: document.documentElement.scrollWidth,
    checked: Boolean(window.axe),
    faults: faults.map(({ id, impact, nodes }) => [id, impact, nodes.map((node) => node.html)]),
  };
}
"""


def open_to(script, page):
    """The page without its policy, so that the test's own script runs in it."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    return page.replace("</body>", f"<script>{script}</script></body>")


def shown(name, release, card, folder, script=""):
    """Collect what a browser draws of a release and three of its cells, by language and width."""
    row, col = release.grid.decode(release.table.key)
    chosen = np.argsort(release.table.count)[[0, len(row) // 2, -1]]
    place = release.grid.places[0]
    move = Transformer.from_crs(place.crs, "OGC:CRS84", always_xy=True)
    west, south, east, north = move.transform_bounds(*place.bounds, densify_pts=41)
    settings = {
        "cells": np.stack([row, col], axis=1)[chosen].tolist(),
        "points": f"{west} {south}\n{east} {north}",
    }
    pages = {one: open_to(script, page_of(release, card, one)) for one in LANGUAGES}
    search = {"en": "52.64° N, 9.76", "ja": "北緯 52.64°、東経 9.76"}
    cases = [
        {"page": page, "width": width, "search": search[page]} | settings
        for page in pages
        for width in WIDTHS
    ]
    observed = run_cases(name, pages, cases, LOOK, folder)
    number = classify(release.table.count[chosen].astype(float))
    wanted = [[int(DARK_IS_MANY[n][at : at + 2], 16) for at in (1, 3, 5)] for n in number]
    return list(zip(cases, observed, strict=True)), wanted


@pytest.mark.parametrize("name", BROWSERS)
def test_the_map_shows_the_released_counts(name, tmp_path):
    if browser_of(name) is None:
        pytest.skip(f"the page is looked at by {name}")
    release, card = publish(tmp_path / "release", method="pyramid:setting=R")
    looks, wanted = shown(name, release, card, tmp_path)
    assert len(looks) == 6
    for case, look in looks:
        assert look["pixels"] == wanted, case
        assert look["heading"].count("21 × 30") == 1
        total = release.estimate(tuple(release.grid.places[0].bounds))
        assert f"{round(total.count, -1):,}" in look["row"][0]
        assert look["largest"] == 10
        assert len(look["marked"]["box"]) == 4
        assert look["pinned"]
        assert any(one in look["compared"] for one in ("the two intervals", "二つの区間"))
        assert look["wholeButtons"] == 2, "the entire area contains all others"
        assert look["levels"] == 4
        every, some, is_click_handled, name = look["places"]
        assert every == 10
        assert 0 < some < every
        assert is_click_handled, "a click on a button is not lost when the search loses the focus"
        assert "9.76" in name
        assert look["cross"] is not None
        assert -1 < look["corner"] < 2, "the whole map fills what there is of a lower window"
        assert look["bar"] == pytest.approx(float(look["said"].split()[0]) / look["km"], rel=0.03)
        assert look["wide"] <= case["width"], "nothing sticks out to the right"
    look = looks[0][1]
    rounded = Rounded.of(total)
    ends = f"{rounded.low:,} to {rounded.high:,}"
    assert look["row"][2].startswith("630 squares added up; typical error ")
    assert look["row"][2].endswith(f"95\u00a0% sure: {ends}.")
    assert "released number of the square: " in look["status"]
    assert look["drawn"] == "Shown: Squares of about 1 km."


@pytest.mark.parametrize("name", BROWSERS)
def test_axe_finds_nothing_serious(name, tmp_path):
    """Rules of WCAG that a program can check, and good practice."""
    if browser_of(name) is None:
        pytest.skip(f"the page is looked at by {name}")
    if find_spec("axe_playwright_python") is None:
        pytest.skip("axe-core comes with the extra browser")
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    looks, _ = shown(name, *publish(tmp_path / "release"), tmp_path, axe)
    for case, look in looks:
        assert look["checked"]
        serious = [one for one in look["faults"] if one[1] in ("serious", "critical")]
        assert serious == [], case


@pytest.mark.parametrize("name", BROWSERS)
def test_axe_finds_what_is_broken(name, tmp_path):
    """The control of the test above: a picture without words and pale letters."""
    if browser_of(name) is None:
        pytest.skip(f"the page is looked at by {name}")
    if find_spec("axe_playwright_python") is None:
        pytest.skip("axe-core comes with the extra browser")
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    spoil = """
    document.querySelector("main").prepend(document.createElement("img"));
    document.querySelector(".intro").style.color = "#dddddd";
    """
    looks, _ = shown(name, *publish(tmp_path / "release"), tmp_path, axe + spoil)
    ids = {one[0] for _, look in looks for one in look["faults"]}
    assert {"image-alt", "color-contrast"} <= ids
