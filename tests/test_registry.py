"""What parts offer is found by the names of files, and imported only where it is asked for."""

import subprocess
import sys

import pytest

from geodp import registry

PARTS = ["cluster", "kinds", "literature", "local", "tools"]
LIST = (
    "print(sorted(name for name in sys.modules"
    f" if name.count('.') > 1 and name.split('.')[1] in {PARTS}))"
)


def test_every_part_is_found_and_its_files_by_their_names():
    assert {"local", "plan", "selection", "series"} <= {*registry.list_parts()}
    commands = registry.list_files("commands")
    assert commands["publish_series"] == "geodp.kinds.series.commands.publish_series"
    assert "__init__" not in commands
    kinds = [module.__name__ for module in registry.find_modules("kind")]
    parts = ("amounts", "census", "flows", "households", "selection", "series")
    assert kinds == [f"geodp.kinds.{one}.kind" for one in parts]
    assert list(registry.find_modules("there is none")) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "people.csv").write_text("x,y,n\n0,0,5000\n1,1,7000\n", encoding="utf-8")
    return folder


def run(folder, code):
    """Run code and then LIST in a process of its own; return the lines that it printed."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{LIST}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


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


PYTHON = """
import numpy as np, geodp
table = geodp.CountTable.from_dense(np.full((4, 4), 90), geodp.Grid.regular((4, 4)))
geodp.publish(table, epsilon=1, contribution=1).write("python")
geodp.open("python").table.total
"""


def test_a_plain_release_loads_no_feature(folder):
    """By commands, and in Python."""
    assert run(folder, PYTHON + COMMANDS)[-1] == "[]"


HOMES = {
    **{one: f"geodp.tools.{one}" for one in ("audit", "compare", "explain")},
    **{one: f"geodp.{one}" for one in ("cluster", "literature", "local")},
    "select": "geodp.kinds.selection",
}
NAMESPACES = f"""
from importlib import import_module
for name, home in {HOMES}.items():
    for one in [one for one in sys.modules if one.partition(".")[0] == "geodp"]:
        del sys.modules[one]
    namespace = import_module(f"geodp.{{name}}")
    {LIST}
    dir(namespace)
    print(f"{{home}}.api" in sys.modules)
"""


def test_a_namespace_imports_as_it_reads(folder):
    """Nothing of any part is loaded before somebody looks into it."""
    assert run(folder, NAMESPACES)[:-1] == ["[]", "True"] * len(HOMES)
