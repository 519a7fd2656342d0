"""The page for those who write a device: its test vectors, and its code beside geodp's own."""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.local.coins import FixedCoins

PAGE = Path(__file__).parents[2] / "docs" / "device.md"

VECTORS = (
    ((0, 0), "e38e38e3 00000000 80000000"),
    ((511, 511), "12345678 0000000b 0badcafe"),
    ((255, 256), "ffffffff 00000001 9e3779b9 4452d1a2"),
    ((3, 500), "0f0f0f0f deadbeef 44d8e1c2"),
    ((128, 77), "00000004 000000ff f0000000"),
)
"""Row and column of a device, and the units that it draws; the third tries a first one again."""


NODE = pytest.mark.skipif(shutil.which("node") is None, reason="the page's code is run by Node")


@cache
def opened(shape, devices, epsilon):
    return geodp.local.open_round(
        geodp.local.plan(geodp.Grid.regular(shape), devices=devices, epsilon=epsilon)
    )


def sent(round_, place, units):
    """What geodp sends, and how many units it used up."""
    coins = FixedCoins(units)
    (report,) = geodp.local.randomize(round_, np.array(place)[:, None], coins)
    return {name: int(report[name]) for name in report.dtype.names}, coins


def in_javascript(round_, cases):
    """What the page's code sends for places and units."""
    driver = """
    const { round, cases } = JSON.parse(require("node:fs").readFileSync(0));
    const found = cases.map(([[row, col], units]) => {
      let at = 0;
      return report(round, row, col, () => units[at++]);
    });
    console.log(JSON.stringify(found));
    """
    return json.loads(run(driver, {"round": round_.to_json(), "cases": cases}))


def run(driver, given):
    """What the page's code prints when it is driven with JSON."""
    (code,) = re.findall(r"^```javascript\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    done = subprocess.run(
        ["node", "-e", code + driver],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_vectors_of_the_page():
    round_ = opened((512, 512), 10**6, 1)
    lines = ["| row, column | units | report |", "|---|---|---|"]
    for place, text in VECTORS:
        report, coins = sent(round_, place, [int(unit, 16) for unit in text.split()])
        assert not coins.ahead(0).size  # all of them were needed
        said = ", ".join(f"{name} {value}" for name, value in report.items())
        lines.append(f"| {place[0]}, {place[1]} | `{text}` | {said} |")
    (kept,) = re.findall("<!-- vectors -->\n(.*?)\n<!-- /vectors -->", PAGE.read_text(), re.DOTALL)
    assert kept == "\n".join(lines)


@NODE
@pytest.mark.parametrize(
    ("shape", "devices", "epsilon", "oracles"),
    [
        ((512, 512), 10**6, 1, ["hadamard", "hadamard"]),
        ((100, 60), 10**4, 1, ["hadamard"]),
        ((512, 512), 10**5, "1/2", ["grr", "hadamard"]),
    ],
)
def test_the_code_of_the_page_sends_what_geodp_sends(shape, devices, epsilon, oracles):
    round_ = opened(shape, devices, epsilon)
    assert [oracle.name for oracle in round_.oracles] == oracles
    draw = np.random.default_rng(14)
    places = np.stack([draw.integers(0, size, 300) for size in shape], axis=1).tolist()
    units = draw.integers(0, 1 << 32, (300, 60), dtype=np.uint64)
    # Ties of coins, and numbers that are drawn again.
    units[:50, 1:] = np.array(round_.to_json()["chances"][-1][0] * 15, np.uint64)[:59]
    units[50:60, 0] = (1 << 32) - 1
    ours = [sent(round_, *case)[0] for case in zip(places, units.tolist(), strict=True)]
    theirs = in_javascript(round_, list(zip(places, units.tolist(), strict=True)))
    assert theirs[50:] == ours[50:]
    # After 128 digits geodp goes on, and the page's code says that the coin is turned.
    assert [one | {"bit": 0} for one in theirs] == [one | {"bit": 0} for one in ours]


@NODE
def test_the_code_of_the_page_refuses_a_place_outside():
    round_ = opened((512, 512), 10**6, 1)
    for place in ((512, 0), (-1, 0), (0, 512)):
        with pytest.raises(AssertionError, match="outside: nothing is sent"):
            in_javascript(round_, [(place, [1, 2, 3, 4, 5])])


@NODE
def test_a_file_as_the_page_says_is_added_up(tmp_path):
    round_ = opened((512, 512), 10**6, 1)
    driver = """
    const round = JSON.parse(require("node:fs").readFileSync(0)), reports = [];
    for (let i = 0; i < 100; i++) reports.push(report(round, i, 7));
    console.log(fileOf(round, reports));
    """
    (tmp_path / "a.jsonl").write_text(run(driver, round_.to_json()).rstrip("\n") + "\n")
    assert geodp.local.aggregate(round_, tmp_path / "a.jsonl").reports == 100


@pytest.mark.law
@NODE
@pytest.mark.parametrize(
    ("change", "epsilon", "refused"),
    [
        ("", 1, False),
        ("", 2, False),
        ("", 0.5, True),
        ("round.chances[1][0][0] -= 9", 1, True),
        ("round.chances[1][0][0] = 0", 1, True),
        ("round.chances[1][0][0] = 2 ** 32 - 1", 1, True),
        ("round.chances.pop()", 1, True),
        ("round.oracles.push({ cells: 16 })", 1, True),
        ("round.domain.key_bits = 10", 1, True),
        ("round.depth = 10", 1, True),
        ("round.domain.axes.row = 1024", 1, True),
        ("round.oracles[0].cells = 8", 1, True),
        ("round.oracles[1].cells = 128", 1, True),
        ("round.oracles[0].oracle = 'pgr'", 1, True),
        ("round.levels.pop()", 1, True),
        ("round.epsilon = '3'; round.epsilon_decimal = 0.5", 1, False),
    ],
)
def test_the_code_of_the_page_goes_by_no_epsilon_but_the_owners(change, epsilon, refused):
    driver = f"""
    const {{ round, epsilon }} = JSON.parse(require("node:fs").readFileSync(0));
    {change};
    let refused = false;
    try {{ check(round, epsilon); }} catch {{ refused = true; }}
    console.log(JSON.stringify(refused));
    """
    given = {"round": opened((512, 512), 10**6, 1).to_json(), "epsilon": epsilon}
    assert json.loads(run(driver, given)) == refused


@NODE
def test_the_code_of_the_page_sends_one_report_a_period():
    driver = """
    const kept = {}, found = ["2026-11-22", "2026-11-22", "2026-11-23", "2026-11-23"].map((day) => {
      try { once(kept, day); return "sent"; } catch (error) { return error.message; }
    });
    console.log(JSON.stringify(found));
    """
    refused = "one report a period: nothing is sent"
    assert json.loads(run(driver, {})) == ["sent", refused, "sent", refused]
