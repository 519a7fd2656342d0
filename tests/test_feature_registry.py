"""What features offer is found by the names of files, and imported only where it is asked for."""

import subprocess
import sys

import pytest

from geodp import feature_registry

LIST = "print(sorted(name for name in sys.modules if name.startswith('geodp.features.')))"


def test_every_feature_is_found_and_its_files_by_their_names():
    assert {"local", "plan", "select", "series"} <= {*feature_registry.list_features()}
    commands = feature_registry.list_files("commands")
    assert commands["publish_series"] == "geodp.features.series.commands.publish_series"
    assert "__init__" not in commands
    kinds = [module.__name__ for module in feature_registry.find_modules("kind")]
    features = ("amounts", "flows", "households", "select", "series")
    assert kinds == [f"geodp.features.{one}.kind" for one in features]
    assert list(feature_registry.find_modules("there is none")) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "people.csv").write_text("x,y,n\n0,0,5000\n1,1,7000\n", encoding="utf-8")
    return folder


def modules(folder, code):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{LIST}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


COMMANDS = """
from geodp.cli import geodp as run
from geodp.io.folder import stopping
for words in (
    "publish people.csv --grid regular:2x2 --x x --y y --anchor index --value n --epsilon 1"
    " --contribution 1 --output out",
    "verify out",
    "map out --output map.png",
    "publish people.csv --grid regular:2x2 --x x --y y --anchor index --value n --epsilon 1"
    " --contribution 1 --output out --overwrite",
    "withdraw out --reason Wrong.",
):
    stopping.begin()
    run.main(words.split(), standalone_mode=False)
"""


def test_commands_of_a_plain_release_load_no_feature(folder):
    assert modules(folder, COMMANDS) == "[]"


def test_a_plain_release_loads_no_feature_in_python(folder):
    code = (
        "import numpy as np, geodp\n"
        "table = geodp.CountTable.from_dense(np.full((4, 4), 90), geodp.Grid.regular((4, 4)))\n"
        "geodp.publish(table, epsilon=1, contribution=1).write('python')\n"
        "geodp.open('python').table.total\n"
    )
    assert modules(folder, code) == "[]"


@pytest.mark.parametrize("name", ["audit", "cluster", "compare", "explain", "local", "select"])
def test_a_namespace_imports_as_it_reads(folder, name):
    assert modules(folder, f"import geodp.{name}") == "[]"
    assert f"geodp.features.{name}.api" in modules(folder, f"import geodp.{name} as it; dir(it)")
