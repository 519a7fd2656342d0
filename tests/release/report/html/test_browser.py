"""The page in a browser without a screen: its text, a cell's pixel, the level that is drawn."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from geodp.io.write.scale import DARK_IS_MANY, classify
from tests.release.report.html.pages import page_of, publish

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the page is drawn by Chromium without a screen"
)

DRIVER = """
const wait = setInterval(() => {
  if (document.documentElement.dataset.ready !== "yes") return;
  clearInterval(wait);
  const { view, surface } = globalThis.geodpReport;
  const slider = document.getElementById("belief");
  slider.value = "0";
  slider.dispatchEvent(new Event("input"));
  const cells = JSON.parse(document.getElementById("asked").textContent);
  const pixels = cells.map(([row, col]) => {
    const [x, y] = view.toPixels([col + 0.5, row + 0.5]).map(Math.floor);
    return [...view.canvas.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3);
  });
  view.canvas.focus();
  view.canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
  document.getElementById("points").value = given.points;
  document.getElementById("type").requestSubmit();
  const found = {
    pixels,
    status: document.getElementById("status").textContent,
    row: [...document.querySelectorAll("#estimates tbody td")].map((cell) => cell.textContent),
    drawn: document.getElementById("drawn-level").textContent,
    levels: document.getElementById("level").options.length,
  };
  const said = document.createElement("p");
  said.id = "found";
  said.textContent = JSON.stringify(found);
  document.body.append(said);
}, 20);
"""


def look(page, path, given, cells):
    """What a driver finds in the page, once its policy lets the driver run."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    asked = f'<script type="application/json" id="asked">{json.dumps(cells)}</script>'
    driver = f"<script>const given = {json.dumps(given)};{DRIVER}</script>"
    path.write_text(page.replace("</body>", f"{asked}{driver}</body>"), encoding="utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
    profile = f"--user-data-dir={path.parent / 'profile'}"
    command = [CHROMIUM, *options, profile, "--virtual-time-budget=8000", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (text,) = re.findall(r'<p id="found">(.*?)</p>', done.stdout)
    return json.loads(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.mark.law
def test_the_map_shows_the_released_counts(tmp_path):
    release, card = publish(tmp_path / "release")
    row, col = release.grid.decode(release.table.key)
    chosen = np.argsort(release.table.count)[[0, len(row) // 2, -1]]
    cells = np.stack([row, col], axis=1)[chosen].tolist()
    west, south, east, north = release.grid.places[0].bounds
    points = f"{west} {south}\n{east} {north}"
    found = look(page_of(release, card), tmp_path / "page.html", {"points": points}, cells)
    number = classify(release.table.count[chosen].astype(float))
    wanted = [[int(DARK_IS_MANY[n][at : at + 2], 16) for at in (1, 3, 5)] for n in number]
    assert found["pixels"] == wanted
    whole = release.estimate((west, south, east, north))
    assert found["row"][:2] == ["630", f"{whole.count:,}"]
    assert found["row"][3] == f"{whole.low:,.1f} to {whole.high:,.1f}".replace(".0", "")
    assert "released count of the cell: " in found["status"]
    assert found["drawn"] == "Drawn: Cells (about 1 km)."
    assert found["levels"] == 4
