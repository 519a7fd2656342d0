"""More tiny tables after the layouts of publishers: their names of columns, and made-up rows.

Every table that can be published holds twelve persons, households or jobs. Beside tables of areas
there is the public table that lists these areas.
"""

import gzip

import geopandas
import shapely

LAEA = [(2_689_000, 4_337_000), (2_690_000, 4_338_000)]
"""Northing and easting of cells of 1 km in EPSG:3035."""


def _write(folder, name, rows, *, delimiter=",", encoding="utf-8"):
    text = "".join(delimiter.join(map(str, row)) + "\n" for row in rows).encode(encoding)
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


def _zensus(folder, subject, **counts):
    places = {
        "GITTER_ID_1km": [f"CRS3035RES1000mN{n}E{e}" for n, e in LAEA],
        "x_mp_1km": [e + 500 for _, e in LAEA],
        "y_mp_1km": [n + 500 for n, _ in LAEA],
    }
    table = places | counts
    rows = [[*table], *zip(*table.values(), strict=True)]
    _write(folder, f"Zensus2022_{subject}_1km-Gitter.csv", rows, delimiter=";")


def _parts(*names):
    """Columns side by side: the first cell counts in the first of them, the second in the last."""
    return {name: [5 * (name == names[0]) or "–", 7 * (name == names[-1]) or "–"] for name in names}


def _zensus_of(subject, names, total="Insgesamt_Bevoelkerung"):
    """Return what writes a table of the census: all of a cell, and its parts side by side."""

    def write(folder):
        _zensus(folder, subject, **{total: [5, 7]}, **_parts(*names.split()))

    write.__name__ = subject
    return write


zensus_decades = _zensus_of(
    "Alter_in_10er-Jahresgruppen",
    "Unter10 a10bis19 a20bis29 a30bis39 a40bis49 a50bis59 a60bis69 a70bis79 a80undaelter",
)
zensus_infrastructure_ages = _zensus_of(
    "Alter_INFR",
    "Unter3 a3bis5 a6bis9 a10bis15 a16bis18 a19bis24 a25bis39 a40bis59 a60bis66 a67bis74 "
    "a75undaelter",
)
zensus_marital = _zensus_of(
    "Familienstand",
    "Ledig Verheiratet Verwitwet Geschieden EingetrLebenspartnerschaft "
    "EingetrLebenspartVerstorben EingetrLebenspartAufgehoben OhneAngabe",
)
zensus_religion = _zensus_of(
    "Religion", "Roemisch_katholisch Evangelisch Sonstige_keine_ohneAngabe"
)
zensus_citizens = _zensus_of("Staatsangehoerigkeit", "Deutschland Ausland_Sonstige")
zensus_citizenships = _zensus_of(
    "Zahl_der_Staatsangehoerigkeiten",
    "EineStaatsang Mehrere_deutsch_und_auslaendisch Mehrere_nur_auslaendisch Nicht_bekannt",
)
zensus_households = _zensus_of(
    "Groesse_des_privaten_Haushalts",
    "1_Person 2_Personen 3_Personen 4_Personen 5_Personen 6_Personen_und_mehr",
    "Insgesamt_Haushalte",
)
zensus_families = _zensus_of(
    "Grosse_Kernfamilie_bis6undmehrPers",
    "a2Personen a3Personen a4Personen a5Personen a6Pers_und_mehr",
    "Insgesamt_Familien",
)


def zensus_birth(folder):
    """Abroad and others together stand beside their four parts."""
    abroad = ("EU27_Land", "Sonstiges_Europa", "Sonstige_Welt", "Sonstige")
    counts = {"Deutschland": [5, "–"], "Ausland_Sonstige": ["–", 7]}
    counts |= {name: ["–", 7 * (name == abroad[0]) or "–"] for name in abroad}
    _zensus(folder, "Geburtsland_Gruppen", Insgesamt_Bevoelkerung=[5, 7], **counts)


def zensus_adults(folder):
    _zensus(folder, "Deutsche_Staatsangehoerige_ab18", Deutsche_ab18=[5, 7])


def zensus_rents(folder):
    counts = {"durchschnMieteQM": ["6,26", "11,67"], "AnzahlWohnungen": [5, 7]}
    _zensus(folder, "Durchschn_Nettokaltmiete_Anzahl_der_Wohnungen", **counts)


def zensus_shares(folder):
    _zensus(folder, "Anteil_unter_18", AnteilUnter18=["12,50", "20,00"])


def zensus_joined(folder):
    """Two tables that somebody joined, one of persons and one of means."""
    _zensus(folder, "joined", Einwohner=[5, 7], Durchschnittsalter=["43,27", "40,00"])


def zensus_atlas(folder):
    """Exact values; the table of classes has the same header."""
    rows = [
        ["Gitter_ID_1km", "x_mp_1km", "y_mp_1km", "Einwohner", "Frauen_A", "Alter_D", "unter18_A"]
    ]
    for (n, e), count in zip([*LAEA, (2_691_000, 4_339_000)], (5, 7, -1), strict=True):
        rows.append([f"1kmN{n // 1000}E{e // 1000}", e + 500, n + 500, count, "51,2", "44,1", -9])
    _write(folder, "Zensus_spitze_Werte_1km-Gitter.csv", rows, delimiter=";")


def census_v3(folder):
    names = "T,M,F,Y_LT15,Y_1564,Y_GE65,EMP,NAT,EU_OTH,OTH,SAME,CHG_IN,CHG_OUT,LAND_SURFACE"
    first, second = LAEA
    rows = [
        ["GRD_ID", *names.split(","), "POPULATED", "CNTR_ID"],
        [_code(1000, first), 5, 2, 3, 1, 3, 1, 2, 4, 1, 0, 5, 0, 0, 0.903667, 1, "DE-LU"],
        [_code(1000, second), 7, 4, 3, 2, 4, 1, 3, 5, 1, 1, 4, 2, 1, 1, 1, "DE"],
    ]
    _write(folder, "ESTAT_Census_2021_V3.csv", rows)


def _code(side, place):
    return f"CRS3035RES{side}mN{place[0]}E{place[1]}"


def census_sdmx(folder):
    names = (
        "DATAFLOW,FREQ,STAT,SPATIAL,TIME_PERIOD,OBS_VALUE,NOT_COUNTED_PROPORTION,GENERAL_STATUS,"
        "OBS_STATUS,STATUS,LAND_SURFACE,SPECIAL_VALUE,APPROXIMATELY_LOCATED_POPULATION_PROPORTION,"
        "OBS_NOTE,MEASURE,MEASUREMENT_METHOD,UNIT_MEASURE,CONVENTIONALLY_LOCATED_PROPORTION,"
        "UNIVERSE,POPULATED,AREA_OF_DISSEMINATION,INSPIREID"
    )
    rows = [names.split(",")]
    for stat, place, count, special in (
        ("T", LAEA[0], 5, ""),
        ("T", LAEA[1], 7, ""),
        ("M", LAEA[0], 2, ""),
        ("CHG_IN", LAEA[1], "", "confidential"),
    ):
        flow = ["ESTAT:DF_CENSUS_GRID_2021(2.0)", "A10", stat, _code(1000, place), 2021, count]
        rows.append([*flow, 0, "final", "", "final", 1, special, 0, "", *RESIDENTS])
    _write(folder, "CENSUS_GRID_N_EU_2021_0000_V0001.csv", rows)


RESIDENTS = ("populationAtResidencePlace", "count", "PS", 0, "", 1, "EU", "")

AGES = ["0_3", "4_5", "6_10", "11_17", "18_24", "25_39", "40_54", "55_64", "65_79", "80p", "inc"]
HOMES = ["log_av45", "log_45_70", "log_70_90", "log_ap90", "log_inc", "log_soc"]
HOUSEHOLDS = "men men_pauv men_1ind men_5ind men_prop men_fmp ind_snv men_surf men_coll men_mais"


def _filosofi(codes, ages=AGES):
    """Header and rows of INSEE after the codes: persons in fractions, of the first and last age."""
    names = [*codes, "ind", *HOUSEHOLDS.split(), *HOMES, *(f"ind_{age}" for age in ages)]
    rows = [names]
    for at, count in enumerate((5.4, 6.6)):
        people = [count if place == at * (len(ages) - 1) else 0 for place in range(len(ages))]
        rows.append([*(of[at] for of in codes.values()), count, 2, *[0] * 15, *people])
    return rows


def filosofi_200m(folder):
    first, second = (2_689_000, 4_337_200), (2_690_400, 4_338_000)
    codes = {
        "idcar_200m": [_code(200, first), _code(200, second)],
        "idcar_1km": [_code(1000, place) for place in LAEA],
        "idcar_nat": [_code(1000, place) for place in LAEA],
        "i_est_200": [1, 0],
        "i_est_1km": [0, 0],
        "lcog_geo": ["57001", "5700157002"],
    }
    _write(folder, "carreaux_200m_met.csv", _filosofi(codes))


def filosofi_1km(folder):
    codes = {
        "idcar_1km": [_code(1000, place) for place in LAEA],
        "i_est_1km": [1, 0],
        "lcog_geo": ["57001", "5700157002"],
    }
    _write(folder, "carreaux_1km_met.csv", _filosofi(codes))


def filosofi_2017(folder):
    """The names of columns had capitals, and stood in another order."""
    first, second = (2_689_000, 4_337_200), (2_690_400, 4_338_000)
    codes = {
        "idcar_200m": [_code(200, first), _code(200, second)],
        "i_est_200": [1, 0],
        "idcar_1km": [_code(1000, place) for place in LAEA],
        "i_est_1km": [0, 0],
        "idcar_nat": [_code(8000, (2_688_000, 4_336_000)), _code(1000, LAEA[1])],
        "groupe": [14863, 14864],
    }
    names, *rows = _filosofi(codes)
    head = [name.capitalize() for name in names]
    _write(folder, "Filosofi2017_carreaux_200m_met.csv", [[*head, "lcog_geo"], *_ended(rows)])


def filosofi_2015(folder):
    first, second = (2_689_000, 4_337_200), (2_690_400, 4_338_000)
    codes = {
        "IdINSPIRE": [_code(200, first), _code(200, second)],
        "Id_carr1km": [_code(1000, place) for place in LAEA],
        "I_est_cr": [1, 0],
        "Id_carr_n": [_code(8000, (2_688_000, 4_336_000)), _code(1000, LAEA[1])],
        "Groupe": [14863, 14864],
        "Depcom": ["57001", "57002"],
        "I_pauv": [0, 0],
        "Id_car2010": [_code(200, first), _code(200, second)],
    }
    names, *rows = _filosofi(codes)
    head = [name if name in codes else name.capitalize() for name in names]
    _write(folder, "Filosofi2015_carreaux_200m_metropole.csv", [head, *rows])


def _ended(rows):
    return [[*row, "57001"] for row in rows]


def filosofi_natural(folder):
    codes = {"idcar_nat": [_code(1000, LAEA[0]), _code(2000, (2_690_000, 4_338_000))]}
    _write(folder, "carreaux_nivNaturel_met.csv", _filosofi(codes))


def gus(folder):
    parts = {name: [0, 0] for name in GUS}
    counts = {"TOT": [5, 7], "TOT_0_14": [5, 0], "TOT_15_64": [0, 7], "TOT_65__": [0, 0]}
    counts |= {"TOT_MALE": [5, 3], "TOT_FEM": [0, 4], **parts, "MALE_0_14": [5, 0]}
    counts |= {"MALE_15_64": [0, 3], "FEM_15_64": [0, 4], "FEM_RATIO": [0.0, 133.3]}
    cells = [(3_229_000, 5_104_000), (3_230_000, 5_105_000)]
    counts |= {"CODE": [_code(1000, cell) for cell in cells]}
    boxes = [shapely.box(e, n, e + 1000, n + 1000) for n, e in cells]
    frame = geopandas.GeoDataFrame(counts, geometry=boxes, crs=3035)
    frame.to_file(folder / "PD_STAT_GRID_CELL_2011.shp")


GUS = ("MALE_0_14", "MALE_15_64", "MALE_65__", "FEM_0_14", "FEM_15_64", "FEM_65__")


def ssb(folder):
    codes = ("22450006449000", "22460006450000")
    parts = zip(codes, (5, 7), (5, 3), (0, 4), strict=True)
    _write(
        folder,
        "Ruter1000m_beftett_2023.csv",
        [("SSBID1000M", "pop_tot", "pop_mal", "pop_fem"), *parts],
        delimiter=";",
    )


def ibge(folder):
    """Cells of 200 m in a town and one of 1 km."""
    squares = [("200ME53002N96008", "1KME5300N9600", 2), ("200ME53004N96008", "1KME5300N9600", 3)]
    squares += [("1KME5301N9601", "1KME5301N9601", 7)]
    rows = [(cell, square, count, 0, count) for cell, square, count in squares]
    _write(folder, "grade_id45.csv", [("ID_UNICO", "nome_1KM", "MASC", "FEM", "POP"), *rows])


def ibge_2022(folder):
    """The names of columns are those of 2022: of squares of 1 km in small letters alone."""
    squares = [("200ME53000N96322", "1KME5300N9632", 2), ("200ME53002N96322", "1KME5300N9632", 3)]
    squares += [("1KME5301N9633", "1KME5301N9633", 7)]
    names = ("ID_UNICO", "nome_1km", "nome_5KM", "nome_10KM", "nome_50KM", "nome_100KM")
    rows = [(*names, "nome_500KM", "QUADRANTE", "TOTAL", "TOTAL_DOM")]
    for cell, square, count in squares:
        wider = ("5KME5300N9630", "10KME5300N9630", "50KME5300N9600", "100KME5300N9600")
        rows.append((cell, square, *wider, "500KME5000N9500", "ID_57", count, 1))
    _write(folder, "grade_id57.csv", rows)


def statfi(folder):
    """Squares with fewer than ten inhabitants have only their number."""
    names = "kunta,grd_id,id_nro,xkoord,ykoord,vaesto,miehet,naiset,ika_0_14,ika_15_64,ika_65_"
    rows = [
        names.split(","),
        ("091", "1kmN6672E0385", 2024385, 385000, 6672000, 10, 4, 6, 1, 8, 1),
        ("091", "1kmN6671E0384", 2023384, 384000, 6671000, 2, -1, -1, -1, -1, -1),
    ]
    _write(folder, "vaki2023_1km.csv", rows)


def scb(folder):
    """Sexes are perturbed apart from the total, and need not add up to it."""
    names = "objectid,rutid_inspire,rutid_scb,rutstorl,beftotalt,man,kvinna,referenstid"
    rows = [names.split(",")]
    for at, (east, north, *counts) in enumerate(
        ((394000, 6133000, 7, 4, 4), (395000, 6134000, 5, 2, 2)), 1
    ):
        inspire = f"SE_CRS3006RES1000mN{north}E{east}"
        rows.append([at, inspire, f"{east}{north}", 1000, *counts, "20251231"])
    _write(folder, "befolkning_1km_2025.csv", rows)


def scb_ages(folder):
    """All columns of the layer: ages in classes of five years, of which ald0_5 is 0 to 4."""
    ages = [f"ald{age}_{age + 5}" for age in range(0, 100, 5)] + ["ald100w"]
    names = ["objectid", "rutid_inspire", "rutid_scb", "rutstorl", "beftotalt", "kvinna", "man"]
    rows = [[*names, *ages, "referenstid"]]
    for at, (east, north, *some) in enumerate(
        ((394000, 6133000, 5, 0, 0), (395000, 6134000, 4, 1, 2)), 1
    ):
        inspire = f"SE_CRS3006RES1000mN{north}E{east}"
        counts = [0] * len(ages)
        counts[0], counts[6], counts[13] = some
        rows.append([at, inspire, f"{east}{north}", 1000, sum(some), 3, 3, *counts, "20241231"])
    _write(folder, "befolkning_1km_2024.csv", rows)


def census_v1(folder):
    first, second = LAEA
    rows = [("GRD_ID", "OBS_VALUE_T"), (_code(1000, first), 5), (_code(1000, second), 7)]
    _write(folder, "ESTAT_Census_2021_V1-0.csv", rows)


def ine_grid(folder):
    names = ("GRD_ID2021_OFICIAL", "N_INDIVIDUOS", "N_INDIVIDUOS_H", "N_INDIVIDUOS_M")
    rows = [names]
    for place, counts in zip(LAEA, ((5, 5, 0), (7, 3, 4)), strict=True):
        rows.append((f"PT_{_code(1000, place)}", *counts))
    _write(folder, "GRID1K21_CONT.csv", rows)


def ine_bgri(folder):
    names = "OBJECTID,BGRI2021,DT21,DTMN21,DTMNFR21,SUBSECCAO,N_EDIFICIOS_CLASSICOS,N_INDIVIDUOS"
    parts = ["H", "M", "0_14", "15_24", "25_64", "65_OU_MAIS"]
    rows = [[*names.split(","), *(f"N_INDIVIDUOS_{part}" for part in parts)]]
    codes = ("11060300101", "11060300102")
    for at, (code, counts) in enumerate(
        zip(codes, ((5.0, 5.0, 0.0), (7.0, 3.0, 4.0)), strict=True), 1
    ):
        where = [at, code, code[:2], code[:4], code[:6], code[6:], 2.0]
        rows.append([*where, *counts, 0.0, 0.0, counts[0], 0.0])
    _write(folder, "BGRI2021_1106.csv", rows)
    listed = [("subsection", "municipality"), *((code, code[:4]) for code in codes)]
    _write(folder, "subsections.csv", listed)


def istat(folder):
    """The youngest boys and the oldest women, of columns of five years for each sex."""
    codes = (580911000001, 580911000002)
    ages = [*range(30, 46), *range(67, 83)]
    rows = [("PROCOM", "SEZ21_ID", "P1", *(f"P{age}" for age in ages))]
    for code, count, of in zip(codes, (5, 7), (30, 82), strict=True):
        rows.append((58091, code, count, *(count * (age == of) for age in ages)))
    _write(folder, "R12_sezioni_2021.csv", rows, delimiter=";")
    listed = [("section", "municipality"), *((code, 58091) for code in codes)]
    _write(folder, "sections.csv", listed)


def ine_indicators(folder):
    rows = [
        ["ccaa", "cpro", "cmun", "dist", "secc", "t1_1", "t2_1", "t2_2", "t3_1", "t4_1"],
        ("14", "30", "024", "01", "001", 5, "0.60", "0.40", "41.5", "0.20"),
        ("14", "30", "024", "01", "002", 7, "0.43", "0.57", "39.0", "0.14"),
    ]
    _write(folder, "C2021_Indicadores.csv", rows)


def ine_tracts(folder):
    names = ["Provincias", "Municipios", "Secciones", "Sexo", "Nacionalidad", "Periodo", "Total"]
    where = ("30 Murcia", "30024 Lorca")
    rows = [
        names,
        (*where, "", "Total", "Total", 2023, "1.507"),
        (*where, "3002401001 Lorca sección 01001", "Total", "Total", 2023, "1.507"),
    ]
    _write(folder, "69178.csv", rows, delimiter=";", encoding="utf-8-sig")


def statcan(folder):
    names = "CENSUS_YEAR DGUID ALT_GEO_CODE GEO_LEVEL GEO_NAME TNR_SF TNR_LF DATA_QUALITY_FLAG"
    names += " CHARACTERISTIC_ID CHARACTERISTIC_NAME CHARACTERISTIC_NOTE C1_COUNT_TOTAL SYMBOL"
    names += " C2_COUNT_MEN+ SYMBOL C3_COUNT_WOMEN+ SYMBOL C10_RATE_TOTAL SYMBOL C11_RATE_MEN+"
    names += " SYMBOL C12_RATE_WOMEN+ SYMBOL"
    rows = [names.split()]
    for level, codes in (("Territory", ["60"]), ("Dissemination area", ["60010188", "60010189"])):
        for code, count in zip(codes, (5, 7), strict=False):
            for number, name, value in ((1, "Population", count), (2, "Change", "...")):
                where = [2021, f"2021S0512{code}", code, level, code, 11.1, 30.9, "01030"]
                rest = ["", "", "...", "", "...", "", "...", "", "...", "", "...", ""]
                rows.append([*where, number, f'"{name}, 2021"', 1, value, *rest[:11]])
    _write(folder, "98-401-X2021006_English_CSV_data.csv", rows, encoding="latin-1")
    listed = ["area,territory", "2021S051260010188,60", "2021S051260010189,60"]
    _write(folder, "areas.csv", [line.split(",") for line in listed])


def abs_g01(folder):
    ages = "0_4_yr 5_14_yr 15_19_yr 20_24_yr 25_34_yr 35_44_yr 45_54_yr 55_64_yr 65_74_yr 75_84_yr"
    parts = {f"Age_{age}_{sex}": [0, 0] for age in [*ages.split(), "85ov"] for sex in "MFP"}
    parts |= {"Age_0_4_yr_M": [5, 3], "Age_0_4_yr_P": [5, 3], "Age_85ov_F": [0, 4]}
    parts |= {"Age_85ov_P": [0, 4]}
    codes = {"SA1_CODE_2021": ["10102100701", "10102100702"]}
    table = {**codes, "Tot_P_M": [5, 3], "Tot_P_F": [0, 4], "Tot_P_P": [5, 7], **parts}
    rows = [[*table], *zip(*table.values(), strict=True)]
    _write(folder, "2021Census_G01_AUST_SA1.csv", rows)
    listed = [("sa1", "sa2"), *((code, "101021007") for code in codes["SA1_CODE_2021"])]
    _write(folder, "sa1.csv", listed)


def abs_mesh_blocks(folder):
    """A sheet of the workbook, as it is saved without its title and notes."""
    rows = [
        [
            "MB_CODE_2021",
            "MB_CATEGORY_NAME_2021",
            "AREA_ALBERS_SQKM",
            "Dwelling",
            "Person",
            "State",
        ],
        ("10000010000", "Residential", 0.0209, 2, 5, 1),
        ("10000021000", "Commercial", 0.0034, 3, 7, 1),
    ]
    _write(folder, "Mesh_Block_Counts_2021.csv", rows)
    listed = [("block", "state"), ("10000010000", 1), ("10000021000", 1)]
    _write(folder, "mesh_blocks.csv", listed)


def _blocks(folder):
    codes = ("090010101011000", "090010101011001")
    rows = [("block", "tract", "county"), *((code, code[:11], code[:5]) for code in codes)]
    _write(folder, "blocks.csv", rows)
    return codes


def _jobs(folder, kind, key):
    parts = ["CA01", "CA02", "CA03", "CE01", "CE02", "CE03"]
    rows = [[key, "C000", *parts, "createdate"]]
    for code, count in zip(_blocks(folder), (5, 7), strict=True):
        rows.append([code, count, count, 0, 0, 0, 0, count, 20230321])
    _write(folder, f"ct_{kind}_S000_JT00_2021.csv.gz", rows)


def lodes_rac(folder):
    _jobs(folder, "rac", "h_geocode")


def lodes_wac(folder):
    _jobs(folder, "wac", "w_geocode")


def mobaku(folder):
    rows = [["date", "time", "area", "residence", "age", "gender", "population"]]
    for time, area, residence, age, gender, count in (
        ("0100", "533946113", -1, -1, -1, 5),
        ("0100", "533945261", -1, -1, -1, 7),
        ("0100", "533945261", 13101, -1, -1, 7),
        ("0100", "533945261", -1, 20, 1, 7),
        ("0200", "533946113", -1, -1, -1, 9),
    ):
        rows.append(["20240101", time, area, residence, age, gender, count])
    _write(folder, "clipped_mesh_pop_202401010100_00000.csv", rows)


FORMS = (
    *(zensus_decades, zensus_infrastructure_ages, zensus_marital, zensus_religion, zensus_birth),
    *(zensus_citizens, zensus_citizenships, zensus_adults, zensus_households, zensus_families),
    *(zensus_rents, zensus_shares, zensus_joined, zensus_atlas, census_v3, census_sdmx),
    *(filosofi_200m, filosofi_1km, filosofi_2017, filosofi_2015, filosofi_natural, gus, istat),
    *(ibge_2022, statfi, scb, scb_ages, census_v1, ine_grid, ine_bgri),
    *(ssb, ibge, ine_indicators, ine_tracts, statcan, abs_g01, abs_mesh_blocks),
    *(lodes_rac, lodes_wac, mobaku),
)
