"""Measurements of 400 releases as statisticians read them: by pandas alone, from the files."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import geodp
from geodp.io.write.measurements import MeasurementsFile
from geodp.mechanisms import mechanism
from geodp.release.measurements import choose_measurements

pytestmark = pytest.mark.law

GRID = geodp.Grid.regular((8, 8))
COUNTS = np.random.default_rng(3).integers(0, 40, GRID.shape)
COUNTS[2:] *= np.random.default_rng(4).random((6, 8)) < 0.1
TRIALS = 400

READ = """
import json, sys
import numpy as np
import pandas as pd

folder = sys.argv[1]
truth = pd.read_csv(f"{folder}/truth.csv").set_index("key")["people"].sort_index()
below = np.concatenate([[0], truth.cumsum()])
files = [f"{folder}/{number}.parquet" for number in range(int(sys.argv[2]))]
rows = pd.concat([pd.read_parquet(one) for one in files])
levels = pd.DataFrame(json.load(open(f"{folder}/book.json"))["levels"]).set_index("level")
rows = rows.join(levels[["keys", "variance"]], on="level")
first, last = rows["key"].astype(int), rows["key"].astype(int) + rows["keys"]
middle = (first + last) // 2
whole = below[last] - below[first]
halves = 2 * below[middle] - below[first] - below[last]
rows["error"] = rows["value"] - np.where(rows["measures"] == "count", whole, halves)
found = {}
for (level, complete), part in rows.groupby(["level", "complete"]):
    nodes = part.groupby("key")["error"].agg(["mean", "size", "var"])
    away = nodes["mean"] / (part["variance"].iloc[0] / nodes["size"]) ** 0.5
    found[level] = {
        "complete": bool(complete),
        "nodes": len(nodes),
        "releases": [int(nodes["size"].min()), int(nodes["size"].max())],
        "farthest": float(away.abs().max()),
        "mean": float(away.sum() / len(nodes) ** 0.5),
        "variance": float(nodes["var"].mean() / part["variance"].iloc[0]),
    }
print(json.dumps({
    "levels": found,
    "modules": [name for name in sys.modules if name.startswith("geodp")],
}))
"""


@pytest.mark.parametrize("spec", ["pyramid:setting=flat", "topdown"])
def test_complete_levels_are_unbiased_by_pandas_alone(tmp_path, spec):
    """The control is a level that is not complete: not all of its nodes are always there."""
    table = geodp.CountTable.from_dense(COUNTS, GRID)
    kept = [geodp.NoiseKey(n.to_bytes(32, "little")) for n in range(TRIALS)]
    release = geodp.publish(
        table, method=spec, epsilon="1/5", key=kept[0], measurements=4, contribution=1
    )
    asked = choose_measurements(mechanism(spec), GRID, release.event, 4)
    for number, key in enumerate(kept):
        drawn = asked.method.release(table, asked.event, key)
        found = asked.complete(asked.measure(table, drawn, key))
        said = replace(release, table=drawn, measurements=found).view()
        said = replace(said, card=replace(said.card, release_id="0" * 16))
        assert len([*MeasurementsFile().write(said, tmp_path)]) == 2
        for file, name in (("parquet", f"{number}.parquet"), ("json", "book.json")):
            (tmp_path / f"{said.card.name}.measurements.{file}").replace(tmp_path / name)
    cells = "".join(f"{k},{n}\n" for k, n in enumerate(_people(table).tolist()))
    (tmp_path / "truth.csv").write_text(f"key,people\n{cells}")
    done = subprocess.run(
        [sys.executable, "-c", READ, tmp_path, str(TRIALS)],
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(done.stdout)
    assert document["modules"] == []
    levels = [*document["levels"].values()]
    complete = [level for level in levels if level["complete"]]
    assert len(complete) == len(asked.sizes) >= 3
    for level in complete:
        assert level["releases"] == [TRIALS, TRIALS]
        assert level["farthest"] < 4.5
        assert abs(level["mean"]) < 4
        assert 0.7 < level["variance"] < 1.3
    assert not levels[-1]["complete"]
    assert levels[-1]["releases"][0] < TRIALS


def _people(table):
    dense = np.zeros(GRID.size, np.int64)
    dense[table.key.astype(np.int64)] = table.count
    return dense
