"""Tiny files after the layouts of official publishers, made anew for every test.

Every function of ``FORMS`` writes one form of input into a folder under the name that its publisher
gives it; tables that are plain texts are files of the folder ``tables``. Counts are made up; every
form that can be published holds ``PEOPLE`` persons, households or jobs.
"""

import gzip
import json
import shutil
import tempfile
import zipfile
from pathlib import Path

import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import shapely

from tests.io.files import write_netcdf, write_tiff
from tests.io.read.dialects import write_rows

TABLES = sorted(Path(__file__).parent.glob("tables/*/*"))
"""Texts in UTF-8, in a folder for each layout, and the public lists of units beside some."""

PEOPLE = 12
LAEA = [(2_689_000, 4_337_000, 4), (2_690_000, 4_338_000, 8)]
"""Northing and easting of cells of 1 km in EPSG:3035, and counts."""

PINGS = [(139.767125, 35.681236)] * 5 + [(139.70, 35.69)] * 7
COUNTS = np.array([[4, 0], [0, 8]], np.int32)


def _rows(*lines, encoding="utf-8", end="\r\n"):
    return "".join(line + end for line in lines).encode(encoding)


def _zensus(value="Einwohner", *rows):
    lines = rows or [f"CRS3035RES1000mN{n}E{e};{e + 500};{n + 500};{count}" for n, e, count in LAEA]
    return [f"GITTER_ID_1km;x_mp_1km;y_mp_1km;{value}", *lines]


def zensus_1km(folder):
    name = "Zensus2022_Bevoelkerungszahl_1km-Gitter.csv"
    (folder / name).write_bytes(_rows(*_zensus()))


def zensus_ages(folder):
    rows = _zensus(
        "Insgesamt_Bevoelkerung;Unter18;a18bis29;a30bis49;a50bis64;a65undaelter;"
        "werterlaeuternde_Zeichen",
        "CRS3035RES1000mN2689000E4337000;4337500;2689500;4;–;4;–;–;–;",
        "CRS3035RES1000mN2690000E4338000;4338500;2690500;8;3;–;–;–;5;KLAMMERN",
    )
    (folder / "Zensus2022_Alter_in_5_Altersklassen_1km-Gitter.csv").write_bytes(_rows(*rows))


def zensus_mean_age(folder):
    rows = _zensus("Durchschnittsalter", "CRS3035RES1000mN2689000E4337000;4337500;2689500;43,27")
    (folder / "Zensus2022_Durchschnittsalter_1km-Gitter.csv").write_bytes(_rows(*rows))


def zensus_excel(folder):
    """Excel's "Unicode text": UTF-16 with tabs, thousands with the point of German Windows."""
    rows = [line.replace(";", "\t") for line in _zensus()]
    (folder / "Zensus2022_Excel.txt").write_bytes(_rows(*rows, encoding="utf-16"))


def zensus_cp1252(folder):
    rows = _zensus(
        "Insgesamt;Fernwärme;Öl",
        "CRS3035RES1000mN2689000E4337000;4337500;2689500;4;–;4",
        "CRS3035RES1000mN2690000E4338000;4338500;2690500;12;12;–",
    )
    path = folder / "Zensus2022_Energietraeger_1km-Gitter.csv"
    path.write_bytes(_rows(*rows, encoding="cp1252"))


def zensus_2011(folder):
    rows = [f"100mN{n // 100}E{e // 100};{e + 50};{n + 50};{count}" for n, e, count in LAEA]
    lines = ["Gitter_ID_100m;x_mp_100m;y_mp_100m;Einwohner", *rows]
    lines.append("100mN26841E43371;4337150;2684150;-1")
    (folder / "Zensus_Bevoelkerung_100m-Gitter.csv").write_bytes(_rows(*lines))


def _short(n, e):
    return f"1kmN{n // 1000}E{e // 1000}"


def geostat_2011(folder):
    """A cell of two countries has a row for each."""
    first, second = (_short(n, e) for n, e, _ in LAEA)
    rows = [f"4,{first},DE", f"3,{second},DE", f"5,{second},LU"]
    lines = ["TOT_P,GRD_ID,CNTR_CODE,METHD_CL,YEAR,DATA_SRC", *(f"{r},A,2011,NSI" for r in rows)]
    (folder / "GEOSTAT_grid_POP_1K_2011_V2_0_1.csv").write_bytes(_rows(*lines))


def geostat_2018(folder):
    rows = [f"{i},{_short(n, e)},DE,{count},2018/01/01" for i, (n, e, count) in enumerate(LAEA)]
    lines = ["OBJECTID,GRD_ID,CNTR_ID,TOT_P_2018,Date", *rows]
    (folder / "JRC_POPULATION_2018.csv").write_bytes(_rows(*lines))


def _census_2021():
    return {
        "GRD_ID": [f"CRS3035RES1000mN{n}E{e}" for n, e, _ in LAEA],
        "T": [4, 8],
        "M": [1, 5],
        "F": [3, 3],
        "Y_LT15": [1, 2],
        "Y_1564": [3, 1],
        "Y_GE65": [0, 5],
        "T_CI": [None, -9999],
        "LAND_SURFACE": [1, 1],
        "POPULATED": [1, 1],
    }


def census_csv(folder):
    pyarrow.csv.write_csv(pa.table(_census_2021()), folder / "ESTAT_Census_2021_V2.csv")


def census_parquet(folder):
    pq.write_table(pa.table(_census_2021()), folder / "ESTAT_Census_2021_V2.parquet")


def _boxes(corners, side):
    return [shapely.box(x, y, x + side, y + side) for y, x, *_ in corners]


def census_gpkg(folder):
    frame = geopandas.GeoDataFrame(_census_2021(), geometry=_boxes(LAEA, 1000), crs=3035)
    frame.to_file(folder / "ESTAT_Census_2021_V2.gpkg", layer="census2021")


CBS = {
    "crs28992res100m": ["E85900N436000", "E86000N436100"],
    "aantal_inwoners": [5, 7],
    "aantal_mannen": [5, -99997],
    "aantal_vrouwen": [-99997, 7],
    "aantal_woningen": [-99997, 5],
}


def cbs_csv(folder):
    pyarrow.csv.write_csv(pa.table(CBS), folder / "cbs_vk100_2023_v1.csv")


def cbs_gpkg(folder):
    boxes = _boxes([(436_000, 85_900), (436_100, 86_000)], 100)
    frame = geopandas.GeoDataFrame(CBS, geometry=boxes, crs=28992)
    frame.to_file(folder / "cbs_vk100_2023_v1.gpkg", layer="vierkant_100m")


def statpop(folder):
    ages = [f"BB{sex}{age:02d}" for sex in "MW" for age in range(1, 20)]
    rows = [f"E_KOORD;N_KOORD;RELI;BBTOT;BBMTOT;BBWTOT;{';'.join(ages)}"]
    few = ["0"] * 36
    rows += [f"2600000;1200000;60002000;5;2;3;2;3;{';'.join(few)}"]
    rows += [f"2600100;1200000;60012000;7;3;4;{';'.join(few)};3;4"]
    (folder / "STATPOP2023.csv").write_bytes(_rows(*rows))


def _blocks(folder):
    """Write the list of blocks, and return their codes."""
    codes = ("090010101011000", "090010101011001")
    rows = ["block,tract,county", *(f"{code},{code[:11]},{code[:5]}" for code in codes)]
    (folder / "blocks.csv").write_bytes(_rows(*rows, end="\n"))
    return codes


def lodes(folder):
    work, home = _blocks(folder)
    rows = [
        "w_geocode,h_geocode,S000,SA01,SA02,SA03,createdate",
        f"{work},{home},12,4,4,4,20230321",
    ]
    (folder / "ct_od_main_JT00_2021.csv.gz").write_bytes(gzip.compress(_rows(*rows, end="\n")))


def _jobs(folder, kind, key):
    parts = ["CA01", "CA02", "CA03", "CE01", "CE02", "CE03"]
    rows = [",".join([key, "C000", *parts, "createdate"])]
    for code, count in zip(_blocks(folder), (5, 7), strict=True):
        rows.append(f"{code},{count},{count},0,0,0,0,{count},20230321")
    path = folder / f"ct_{kind}_S000_JT00_2021.csv.gz"
    path.write_bytes(gzip.compress(_rows(*rows, end="\n")))


def lodes_rac(folder):
    _jobs(folder, "rac", "h_geocode")


def lodes_wac(folder):
    _jobs(folder, "wac", "w_geocode")


def gus(folder):
    parts = {name: [0, 0] for name in GUS}
    counts = {"TOT": [5, 7], "TOT_0_14": [5, 0], "TOT_15_64": [0, 7], "TOT_65__": [0, 0]}
    counts |= {"TOT_MALE": [5, 3], "TOT_FEM": [0, 4], **parts, "MALE_0_14": [5, 0]}
    counts |= {"MALE_15_64": [0, 3], "FEM_15_64": [0, 4], "FEM_RATIO": [0.0, 133.3]}
    cells = [(3_229_000, 5_104_000), (3_230_000, 5_105_000)]
    counts |= {"CODE": [f"CRS3035RES1000mN{n}E{e}" for n, e in cells]}
    frame = geopandas.GeoDataFrame(counts, geometry=_boxes(cells, 1000), crs=3035)
    frame.to_file(folder / "PD_STAT_GRID_CELL_2011.shp")


GUS = ("MALE_0_14", "MALE_15_64", "MALE_65__", "FEM_0_14", "FEM_15_64", "FEM_65__")


def _tiff(path, values, crs, corner, cell, nodata=None):
    place = (cell, 0, corner[0], 0, -cell, corner[1])
    write_tiff(path, values, crs=crs, transform=place, nodata=nodata)


def ghsl(folder):
    values = np.array([[3.6, -200], [0, 8.2]])
    name = "GHS_POP_E2025_GLOBE_R2023A_54009_100_V1_0_R5_C19.tif"
    _tiff(folder / name, values, "ESRI:54009", (959_000, 6_000_000), 100, -200)


def worldpop(folder):
    values = np.array([[3.6, -99999], [0, 8.2]], np.float32)
    _tiff(folder / "deu_ppp_2020.tif", values, "EPSG:4326", (6, 51), 1 / 1200, -99999)


def geotiff(folder):
    _tiff(folder / "persons.tif", COUNTS, "EPSG:3035", (4_337_000, 2_691_000), 1000)


def ascii_grid(folder):
    head = "ncols 2\nnrows 2\nxllcorner 4337000\nyllcorner 2689000\ncellsize 1000\n"
    (folder / "persons.asc").write_text(head + "NODATA_value -9999\n4 -9999\n0 8\n")


def netcdf(folder):
    """CF-1.8 in the classic format, as scipy and xarray's scipy engine write it."""
    axes = {"y": [2_690_500.0, 2_689_500.0], "x": [4_337_500.0, 4_338_500.0]}
    write_netcdf(folder / "persons.nc", COUNTS, axes, 3035)


def _estat(folder, name, codes):
    rows = ["KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001100001,T001100002"]
    rows += [",,,,　人口（総数）,　人口（総数）　男"]
    rows += [f"{codes[0]},0,,,5,2", f"{codes[1]},2,{codes[0]},,7,*"]
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        archive.writestr(f"{name}.txt", _rows(*rows, encoding="cp932"))


def estat_1km(folder):
    _estat(folder, "tblT001100S5339", ["53394611", "53394526"])


def estat_250m(folder):
    _estat(folder, "tblT001142Q5339", ["5339461132", "5339452611"])


def _mesh_shapefile(folder):
    boxes = [shapely.box(139.7625 + i, 35.675, 139.775 + i, 35.675 + 1 / 120) for i in (0, 1)]
    columns = {
        "KEY_CODE": ["53394611", "53404611"],
        "都道府県": ["東京都", "千葉県"],
        "人口": [5, 7],
    }
    frame = geopandas.GeoDataFrame(columns, geometry=boxes, crs=6668)
    frame.to_file(folder / "MESH05339.shp", encoding="cp932")
    (folder / "MESH05339.cpg").unlink()


def estat_shapefile(folder):
    _mesh_shapefile(folder)


def estat_dbf(folder):
    """The table of the shapefile alone."""
    with tempfile.TemporaryDirectory() as other:
        _mesh_shapefile(Path(other))
        shutil.move(Path(other, "MESH05339.dbf"), folder / "MESH05339_table.dbf")


def ksj_geojson(folder):
    features = [
        {
            "type": "Feature",
            "properties": {"MESH_ID": code, "SHICODE": "13101", "PTN_2020": people},
            "geometry": shapely.geometry.mapping(shapely.box(139, 35, 139.00625, 35 + 1 / 240)),
        }
        for code, people in ((533946113, 5.1374), (533945261, 6.8123))
    ]
    document = {"type": "FeatureCollection", "features": features}
    (folder / "500m_mesh_2018_13.geojson").write_text(json.dumps(document))


def mesh_thousands(folder):
    rows = ["KEY_CODE,T001100001", '53394611,"1,005"', "53394526,7"]
    (folder / "mesh_excel.csv").write_bytes(_rows(*rows, encoding="cp932"))


def mesh_exponents(folder):
    rows = ["KEY_CODE,T001100001", "5.33940E+07,5", "5.33940E+07,7"]
    (folder / "mesh_broken.csv").write_bytes(_rows(*rows, encoding="cp932"))


def mlit_flow(folder):
    rows = ["mesh1kmid,prefcode,citycode,year,month,dayflag,timezone,population"]
    rows += [f"53394611,13,13101,2021,{month},1,0,{n}" for month, n in (("01", 12), ("02", 99))]
    path = folder / "monthly_mdp_mesh1km.csv.gz"
    path.write_bytes(gzip.compress(_rows(*rows, end="\n")))


def pings(folder):
    """Points of persons, in every form."""
    xs, ys = zip(*PINGS, strict=True)
    table = pa.table({"id": range(PEOPLE), "lon": xs, "lat": ys})
    points = geopandas.GeoDataFrame({"id": range(PEOPLE)}, geometry=shapely.points(PINGS), crs=4326)
    metres = points.to_crs(3857)
    moved = {"x": metres.geometry.x.to_numpy(), "y": metres.geometry.y.to_numpy()}
    pyarrow.csv.write_csv(table, folder / "pings.csv")
    (folder / "pings.csv.gz").write_bytes(gzip.compress((folder / "pings.csv").read_bytes()))
    pq.write_table(table, folder / "pings.parquet")
    pyarrow.csv.write_csv(pa.table(moved), folder / "pings_3857.csv")
    swapped = table.rename_columns(["id", "lat", "lon"])
    pyarrow.csv.write_csv(swapped, folder / "pings_swapped.csv")
    points.to_file(folder / "pings.geojson")
    points.to_crs(6668).to_file(folder / "pings.gpkg")
    points.to_file(folder / "pings.shp")
    metres.to_file(folder / "pings.fgb")
    points.to_parquet(folder / "pings_geo.parquet")


CODES = {
    "quadkey": ("13300211230", "13300211231"),
    "h3": ("882f5a3639fffff", "882f5a363bfffff"),
    "geohash": ("xn76urx", "xn76ury"),
    "s2": ("60188bfb", "60188bfd"),
}


def other_cells(folder):
    """Tables of cells of systems that no office publishes, and of pairs of cells."""
    for name, (one, other) in CODES.items():
        (folder / f"{name}.csv").write_text(f"{name},count\n{one},5\n{other},7\n")
    rows = [{"mesh": "53394611", "count": 5}, {"mesh": "53394526", "count": 7}]
    (folder / "mesh.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    write_rows(folder / "mesh.xlsx", [("mesh", "count"), (53394611, 5), ("53394526", 7)])
    header = "from_row,from_col,to_row,to_col,trips"
    (folder / "taxi.csv").write_text(f"{header}\n0,1,1,1,5\n1,1,0,0,7\n")


FORMS = (
    *(zensus_1km, zensus_ages, zensus_mean_age, zensus_excel, zensus_cp1252),
    *(zensus_2011, geostat_2011, geostat_2018),
    *(census_csv, census_parquet, census_gpkg, cbs_csv, cbs_gpkg, statpop),
    *(lodes, lodes_rac, lodes_wac, gus),
    *(ghsl, worldpop, geotiff, ascii_grid, netcdf),
    *(estat_1km, estat_250m, estat_shapefile, estat_dbf, ksj_geojson),
    *(mesh_thousands, mesh_exponents, mlit_flow),
    *(pings, other_cells),
)


def write_all(folder: Path) -> None:
    """Write every form."""
    for form in FORMS:
        form(folder)
    for path in TABLES:
        shutil.copy(path, folder)
