"""Give a wheel its compiled kernels and translations: the hook of hatchling."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGETS = os.environ.get("GEODP_TARGETS", "host")
"""For which processors: host, the best that this machine has; all, of its kind; none."""
NEEDED = ("numba", "numpy", "platformdirs")
KERNELS = "geodp/kernels/compiled"


class Compiled(BuildHookInterface):  # type: ignore[misc]
    """Compiles translations and kernels.

    A wheel with kernels is named after the Python and the system that they are for.
    """

    def dependencies(self) -> list[str]:
        """Return what compiles; nothing where nothing is compiled, and the wheel is for all."""
        if TARGETS == "none" or sys.platform != "linux":
            return []
        return [one for one in self.metadata.core.dependencies if one.startswith(NEEDED)]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the tree, from where an editable installation takes them too."""
        self.compile_catalogues(build_data)
        if TARGETS not in ("host", "all", "none"):
            raise ValueError(f"GEODP_TARGETS is {TARGETS!r}; it is host, all or none.")
        missing = [name for name in NEEDED if find_spec(name) is None]
        if TARGETS == "none" or missing:
            why = f"{missing[0]} is not installed" if missing else "GEODP_TARGETS is none"
            self.app.display_warning(f"No inner loops are compiled, as {why}.")
            return
        command = [sys.executable, "-m", "geodp.kernels.build", *["--all"] * (TARGETS == "all")]
        subprocess.run(command, cwd=self.root, check=True)
        made = sorted(Path(self.root, KERNELS).glob(f"{sys.implementation.cache_tag}*.kernels"))
        if made and version != "editable":
            build_data["force_include"] |= {str(path): f"{KERNELS}/{path.name}" for path in made}
            build_data |= {"pure_python": False, "tag": tag_of(distribution("numba"))}

    def compile_catalogues(self, build_data: dict[str, Any]) -> None:
        """Compile the translations, which git does not keep and hatchling therefore leaves out."""
        command = [sys.executable, "packaging/catalogues.py"]
        subprocess.run(command, cwd=self.root, check=True)
        build_data["artifacts"].append("geodp/cli/locale/**/*.mo")


def tag_of(numba: Distribution) -> str:
    """Return that of the Numba that compiled: where it runs, its code does."""
    lines = (numba.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")]
    python, abi, _ = tags[0].split("-")
    return f"{python}-{abi}-" + ".".join(tag.split("-")[2] for tag in tags)
