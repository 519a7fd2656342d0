"""``geodp doctor``: the versions and folders of this installation, and problems with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import click

from geodp import __version__
from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.errors import GeodpError
from geodp.options.shared import JSON

LIBRARIES = (
    "numpy",
    "numba",
    "llvmlite",
    "rasterio",
    "shapely",
    "pyproj",
    "pyarrow",
    "pillow",
    "click",
    "rich",
    "scipy",
    "platformdirs",
)
EXTRAS = (
    *("pyogrio", "openpyxl", "distributed", "matplotlib"),
    *("fsspec", "h3", "s2geometry", "pmtiles"),
)
"""Libraries of extras, which may be missing."""


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes
    ----------
    name, value : str
    wrong : str
        The problem and its remedy, in a sentence; empty without a problem.
    """

    name: str
    value: str
    wrong: str = ""


def find_versions() -> Iterator[Finding]:
    """Find the versions of geodp, Python and the libraries."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    yield Finding("geodp", __version__)
    yield Finding("Python", f"{platform.python_version()} on {platform.platform()}")
    for name in LIBRARIES:
        try:
            yield Finding(name, version(name))
        except PackageNotFoundError:
            yield Finding(name, "missing", f"{name} is not installed; install geodp once more.")
    for name in EXTRAS:
        try:
            yield Finding(name, version(name))
        except PackageNotFoundError:
            yield Finding(name, "none; pip install 'geodp[all]' has it")


def find_geography() -> Iterator[Finding]:
    """Find the versions of GDAL and PROJ, and whether each has its database of CRSs."""
    import pyproj
    import rasterio
    from pyproj.exceptions import CRSError
    from rasterio.errors import CRSError as RasterioError

    lost = "{} finds no database of coordinate systems; unset PROJ_DATA and PROJ_LIB."
    wrong = ""
    try:
        # The database is looked up only when a CRS is used, so one is made here.
        rasterio.crs.CRS.from_epsg(3035).to_wkt()
    except RasterioError:
        wrong = lost.format("GDAL")
    yield Finding("GDAL", f"{rasterio.__gdal_version__} (in rasterio)", wrong)
    wrong = ""
    try:
        pyproj.CRS.from_epsg(3035)
    except CRSError:
        wrong = lost.format("PROJ")
    yield Finding("PROJ", f"{pyproj.proj_version_str} (in pyproj)", wrong)


def find_kernels() -> Iterator[Finding]:
    """Find the compiled functions that came with geodp, and the cache of others."""
    import numba

    import geodp.mechanisms
    import geodp.table.counts  # noqa: F401  # these import all kernels of a release
    from geodp.kernels.jit import CACHE, SHIPPED, cache_folder, count_cached

    wrong = ""
    if numba.config.DISABLE_JIT:
        wrong = "NUMBA_DISABLE_JIT is set, so nothing is compiled; unset it."
    elif cache_folder() is None and not SHIPPED.target:
        wrong = (
            f"Compiled functions cannot be cached. {CACHE.wrong} Set NUMBA_CACHE_DIR to a folder "
            "that only you can write to."
        )
    yield Finding("kernel sources", CACHE.digest)
    shipped = f"{len(SHIPPED.codes)} for {SHIPPED.target}" if SHIPPED.target else SHIPPED.wrong
    yield Finding("kernels shipped", shipped)
    yield Finding("kernel cache", str(CACHE.folder or "none"), wrong)
    cached = count_cached()
    # With shipped kernels an empty cache is normal.
    none = "0" if SHIPPED.target else "0 (geodp warmup compiles them)"
    yield Finding("kernels compiled", str(cached) if cached else none)


def find_drawing() -> Iterator[Finding]:
    """Find the version of the map from key and node to noise, and the threads of a release."""
    from geodp.mechanisms.trees.parallel import processors
    from geodp.privacy.key import NOISE_FORMAT

    yield Finding("noise format", NOISE_FORMAT)
    yield Finding("threads", str(processors(0)))


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    find_versions,
    find_geography,
    find_kernels,
    find_drawing,
)


@click.command(cls=StrictCommand)
@with_options(JSON)
def doctor(as_json: bool) -> None:
    """Show the versions and folders that geodp uses here, and any problems; exit code 1 if there
    are any."""
    findings = [finding for check in CHECKS for finding in check()]
    wrong = [finding.wrong for finding in findings if finding.wrong]
    if as_json:
        report = {"ok": not wrong, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(report, indent=1))
    else:
        for finding in findings:
            click.echo(f"{finding.name} {finding.value}")
    if wrong:
        raise GeodpError(" ".join(wrong), code="installation-wrong")
