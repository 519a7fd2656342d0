"""Run the notebooks and keep their outputs: ``python notebooks/execute.py [NAME ...]``.

Each runs in a copy of the project's data that has nothing beside it, so that the outputs come
from the embedded example alone, and loses times, versions and colours of the terminal.
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).resolve().parent


def run(notebook: nbformat.NotebookNode, root: Path) -> nbformat.NotebookNode:
    """Execute a notebook in the folder ``root`` and return it clean.

    Raises nbclient's CellExecutionError with the traceback of a cell that fails.
    """
    client = NotebookClient(
        notebook,
        timeout=240,
        record_timing=False,
        kernel_name="python3",
        resources={"metadata": {"path": str(root)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = smaller(data["image/png"])
            if {"image/png", "text/html", "text/markdown"} & set(data):
                data.pop("text/plain", None)  # a repr says nothing beside a picture or a table
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
    return notebook


def smaller(png: str) -> str:
    """Return a picture in 256 colours: a third of the size, and nobody sees it."""
    file = BytesIO()
    with Image.open(BytesIO(base64.b64decode(png))) as picture:
        dpi = picture.info.get("dpi", (110, 110))
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(file, "PNG", optimize=True, dpi=dpi)
    return base64.b64encode(file.getvalue()).decode()


def copy_of_project(folder: Path) -> Path:
    """Return a folder with what the notebooks read, and nothing else."""
    root = folder / "project"
    for name in ("data", "notebooks"):
        shutil.copytree(
            HERE.parent / name, root / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    return root


def main(names: list[str]) -> None:
    """Execute the named notebooks, or all, in place."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IPYTHONDIR"] = str(Path(folder, "ipython"))
        root = copy_of_project(Path(folder))
        for path in sorted(HERE.glob("*.ipynb")):
            if names and not any(name in path.name for name in names):
                continue
            notebook = run(nbformat.read(path, as_version=4), root)
            nbformat.write(notebook, path)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
