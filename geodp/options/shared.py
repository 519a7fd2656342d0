"""Options that commands share: the domain, the request, the run; an option is one entry here.

A command has those of the tables that it names; :mod:`geodp.cli.options` makes them for it, and the
checks of ``needs``, ``excludes`` and ranges come with the entry.
"""

from __future__ import annotations

from pathlib import Path

from geodp.options.option import Option, grouped, joined

ORDERS = ("morton", "official")

ENGINES = ("duckdb", "spark", "bigquery", "postgres", "snowflake")
"""Names of ``geodp.grid.codes.sql.ENGINES``, so that ``--help`` imports nothing heavy."""

NEIGHBOURS = ("add-remove-one", "replace-one")
"""Values of the library, repeated so that ``--help`` imports nothing heavy."""

RECORDS = ("all", "fresh-sample", "same-sample")

DOMAIN = grouped(
    "Domain",
    Option(
        "--grid",
        "Public grid: jis:half, inspire:1km, cbs:100m, statpop:100m, national:3067:1km, "
        "quadkey:16, geohash:6, h3:7, s2:13, file:GRID.toml (your own), regular:ROWSxCOLS, "
        "like:RASTER.tif, units:TABLE.csv ...",
        name="spec",
        everyday=True,
    ),
    Option(
        "--bounds",
        "West south east north, along cell edges, in units of the grid's CRS; or in degrees, "
        "widened to whole cells, with the word degrees after them (5.1 52 5.2 52.1 degrees); or a "
        "public area by name: germany, bayern, 東京都 (countries in English, Länder, prefectures "
        "of Japan).",
        type="bounds",
        everyday=True,
        excludes=("primary",),
    ),
    Option("--primary", "JIS primary mesh of the domain; repeatable.", many=True),
    Option(
        "--mask",
        "File of the domain: codes, polygons or a raster; or land by name: land:world, "
        "land:europe, land:japan, with a buffer of 10 km, or of 5 km: land:japan:5km.",
        type=Path,
        everyday=True,
    ),
    Option(
        "--mask-source",
        "Source of the mask, which the card quotes. By naming it you assert that the mask is "
        "public and not made from the inputs.",
        needs=("mask",),
    ),
    Option(
        "--order",
        "Order of the cells. official: every published area of the code system (80, 10, 1 km "
        "for jis:, 100, 10, 1 km for inspire:) is a node of the tree, so that pyramid "
        "measures these areas.",
        choices=ORDERS,
        default="morton",
        excludes=("regions",),
    ),
    Option(
        "--regions",
        "Public table of your own areas, instead of --order, with one row per cell: its "
        "code, then its regions from the finest level to the coarsest (cell, municipality, "
        "prefecture). The domain consists of these cells, and pyramid measures these areas.",
        type=Path,
    ),
    Option(
        "--regions-source",
        "Source of the table of regions, which the card quotes. By naming it you assert that "
        "the table is public and not made from the inputs.",
        needs=("regions",),
    ),
    Option(
        "--regions-columns",
        "Columns of the table of --regions in this order, separated by commas. Default: all, "
        "in the order of the file.",
        needs=("regions",),
    ),
    Option(
        "--units-source",
        "Source of the table of --grid units:TABLE, which the card quotes. By naming it you "
        "assert that the table is public and not made from the inputs.",
    ),
    Option(
        "--units-columns",
        "Columns of the table of --grid units: from the finest level to the coarsest "
        "(block,tract,county), separated by commas. Default: all, in the order of the file; "
        "for a file of outlines, such as a Shapefile of tracts, the only column whose values "
        "are unique.",
    ),
    Option(
        "--units-name",
        "Column of the table of --grid units: with the names of the finest units beside their "
        "codes. Tables of the release have them, and areas can be named by them.",
        metavar="COLUMN",
    ),
    Option(
        "--public-file",
        "How to open a public file, with the options that INPUTS have: "
        "units.member=list.csv, regions.header-row=4, public-totals.layer=Sheet1, "
        "prior.last-row=90, labels.encoding=cp1252; repeatable.",
        many=True,
    ),
    Option(
        "--attribute-order",
        "Where the tree splits the attributes of --by: below the cells, above all areas, "
        "interleaved with the bits of places (morton), or under a level of areas, by its "
        "name. The method parts needs below.  [default: below]",
    ),
    Option("--crs", "CRS of a regular grid (EPSG:3035), or datum of a jis: grid (EPSG:4612)."),
    Option("--origin", "X Y of the lower left corner of a regular grid.", type=float, values=2),
    Option("--cell", "Cell size of a regular grid in units of its CRS.", type=float),
    Option(
        "--domain-is-public",
        "Assert that the extent of like:INPUT may be public: it was not chosen by looking at "
        "where people are.",
        type=bool,
    ),
    Option("--pairs", "Publish an origin-destination table on the grid.", type=bool),
    Option(
        "--labels",
        "All labels of an attribute, from a public source and never from the inputs: "
        "NAME=LABEL,LABEL..., or a public list as NAME=FILE or FILE: one label per line, a "
        "table of attribute and label or of code and name, TOML or JSON; repeatable. Needs a "
        "--contribution, unless --person enforces one.",
        many=True,
    ),
)
"""Options of the public grid, which :mod:`geodp.cli.inputs` reads; a layout may know the grid."""

GIVEN_DOMAIN = joined(DOMAIN.one("spec", required=True), DOMAIN)
"""Options of the public grid where nothing proposes one."""

REQUEST = joined(
    grouped(
        "Privacy",
        Option("--epsilon", "Privacy budget, read exactly: 0.1 or 1/10.", everyday=True),
        Option(
            "--rho",
            "Budget of zero-concentrated differential privacy, instead of --epsilon: "
            "Gaussian noise.",
        ),
        Option(
            "--delta",
            "With --epsilon: use Gaussian noise for this epsilon and delta. With --rho: also "
            "state the epsilon for this delta.",
            everyday=True,
        ),
        Option(
            "--method",
            "Method, as NAME or NAME:SETTING=VALUE (see geodp methods). pyramid suits cells, "
            "municipalities and polygons, pyramid:setting=R aligned blocks of all sizes.  "
            "[default: parts on a grid with attributes below its cells, otherwise pyramid]",
        ),
        Option(
            "--marginals",
            "Sums over attributes that the method parts also measures directly, separated by "
            "commas: sex,age,sex*age. Each gets as much of the budget as all parts together.",
            field="method",
        ),
        Option(
            "--neighbours",
            "What the guarantee protects: whether any one person is in the data, or which "
            "person it is.",
            choices=NEIGHBOURS,
            default="add-remove-one",
        ),
        Option(
            "--contribution",
            "How often one person is counted at most in all inputs together, which you "
            "assert. Required unless --person enforces it, or the layout of one official "
            "table states it.",
            low=1,
            everyday=True,
        ),
        Option(
            "--unit", "Unit of privacy: whom the guarantee protects, as a noun.", default="person"
        ),
        Option(
            "--people",
            "A public guess of the sum of all counts, never taken from the data, for the "
            "resolution floor.",
            type=float,
        ),
        Option("--key-file", "File of a stored noise key (see geodp key).", type=Path, field="key"),
        Option(
            "--ledger",
            "Ledger file, charged once, before any file is written.",
            type=Path,
            everyday=True,
        ),
        Option(
            "--dataset", "Name of the data set in the ledger (see: geodp budget).", everyday=True
        ),
        Option(
            "--records",
            "What the inputs are, once a table of a secret sample of the data set was "
            "charged to the ledger (see geodp audit): all records, a fresh sample, or the "
            "same sample, which is refused.",
            choices=RECORDS,
        ),
    ),
    Option(
        "--allow-empty",
        "Publish even if no row of a file is selected and in the domain, which is "
        "refused otherwise.",
        type=bool,
        group="Run",
    ),
    grouped(
        "Output",
        Option(
            "--measurements",
            "Also publish the noisy measurements before clamping, as tidy Parquet with a "
            "codebook; this costs nothing extra.",
            type=bool,
        ),
        Option(
            "--measurements-complete-to",
            "With --measurements: the smallest areas that are all measured: a level such as "
            "jis:basic, cell, or the number of cells of a block.  [default: levels of up to "
            "65,536 areas]",
            field="measurements",
            needs=("measurements",),
        ),
    ),
    grouped(
        "Input",
        Option(
            "--public-totals",
            "Totals of areas that are already public and that the table has: columns code "
            "and total, or with --regions its levels and total. The release matches them exactly.",
            type=Path,
            field="totals",
        ),
        Option(
            "--public-totals-source",
            "Where the totals were published, which the card quotes. By naming it you assert "
            "that they are public.",
            field="totals",
            needs=("public_totals",),
        ),
        Option(
            "--prior",
            "Where people are likely to be: a public file that is read like INPUTS, such as "
            "an earlier census, or the folder of an earlier release. The measurements stay "
            "the same; estimates use it as far as the noisy counts show that it can be "
            "trusted.",
            type=Path,
        ),
        Option(
            "--prior-source",
            "Where the prior was published, which the card quotes. A release that was charged to "
            "a ledger needs none.",
            field="prior",
            needs=("prior",),
        ),
        Option(
            "--prior-is-public",
            "Assert that everybody may already have the prior, which is used without noise: it is "
            "published where --prior-source says. A release that was charged to a ledger needs no "
            "such assertion.",
            type=bool,
            field="prior",
            needs=("prior",),
        ),
        Option(
            "--prior-value",
            "Label or name of the column of counts in the prior, if it differs; repeatable.",
            many=True,
            field="prior",
            needs=("prior",),
        ),
    ),
    grouped(
        "Output",
        Option(
            "--simulate",
            "Number of releases to simulate for the card's figures on settlements; 0: none.",
            type=int,
            default=0,
        ),
        Option(
            "--metadata",
            "TOML file of the office's metadata for the card: title, publisher, licence and "
            "so on (docs/outputs.md lists all).",
            type=Path,
        ),
        Option(
            "--display-below",
            "Show released counts above 0 and below K as <K on maps, on pages and in printed "
            "estimates. This display rule gives no protection: the files contain the counts.",
            low=2,
            high=1 << 31,
            metavar="K",
        ),
        Option(
            "--supersedes",
            "Folder of a published release of the same kind that this one corrects: it stays "
            "in place, and the card names its id.",
            type=Path,
        ),
    ),
)
"""Options of a request, each with the field of it, or of its terms, that it sets."""

GUESSED_PEOPLE = REQUEST.one("people", everyday=True)
"""The guess of the sum of all counts, for commands that plan."""

LAYOUT = grouped(
    "Input",
    Option(
        "--preset",
        "Layout of a publisher's files: the name of a preset, or your own TOML file.  [default: "
        "the one that fits]",
    ),
    Option(
        "--recipe",
        "TOML file of options, from an earlier run (restricted/recipe.toml) or geodp new; "
        "options on the command line take precedence.",
        type=Path,
    ),
)
"""Options of presets and recipes."""

RECIPE = LAYOUT.one("recipe")
"""The option of a recipe, for commands that find no layout."""

OUTPUT = Option(
    "--output",
    "New folder for the release.",
    group="Output",
    type=Path,
    required=True,
    everyday=True,
)

PAD_TIME = Option(
    "--pad-time",
    "Minimum duration of the run in seconds, since its own duration depends on the data; "
    "nothing is printed earlier. Not with --profile.",
    group="Run",
    low=0.0,
    high=1e6,
    default=0.0,
)

JSON = Option(
    "--json", "Print one JSON document to stdout.", name="as_json", group="Output", type=bool
)

AS_FILE = (
    Option(
        "--output",
        "CSV file to write instead of printing.",
        type=Path,
        group="Output",
        excludes=("as_json",),
    ),
    Option(
        "--overwrite", "Replace the file of --output.", type=bool, group="Output", needs=("output",)
    ),
)
"""Options of the file of an answer."""

POLYGONS = grouped(
    "Domain",
    Option(
        "--polygons",
        "File of areas to sum over, in any CRS: GeoJSON, GeoPackage, Shapefile, FlatGeobuf "
        "or GeoParquet. Units with outlines are never split.",
        type=Path,
        everyday=True,
    ),
    Option(
        "--polygon-name",
        "Field that names the polygons; default: name, id or code.",
        needs=("polygons",),
    ),
)
"""Polygons of a file."""

AREAS = joined(
    POLYGONS,
    Option(
        "--area",
        "Code of an area of the grid, or of a region or unit; on a grid without codes ROW_COL, or "
        "ROW_COL:ROW_COL for the box between two cells; for pairs of units ORIGIN:DESTINATION; "
        "repeatable.",
        many=True,
        everyday=True,
        group="Domain",
    ),
    Option(
        "--box",
        "West south east north of a rectangle, in the grid's CRS; repeatable.",
        type=float,
        values=4,
        many=True,
        everyday=True,
        group="Domain",
    ),
)
"""Areas of which a release is asked."""

WITHIN = Option(
    "--within",
    "Public map of land or people that is finer than the cells: polygons, a raster in the grid's "
    "CRS, or land:NAME (land:japan). Cells that a polygon cuts count by the part of it that lies "
    "inside, and intervals include the error of cutting.",
    type=Path,
    group="Domain",
    needs=("polygons", "box"),
    excludes=("changes",),
)

INTERVAL = Option(
    "--interval",
    "Which 95 % intervals: worst-case is a bound that assumes nothing of the map, and is several "
    "times as wide.",
    # Names of `geodp.accuracy.interval`, whose import takes longer than help may.
    choices=("usual", "worst-case"),
    default="usual",
    group="Output",
)

SIMULTANEOUS = Option(
    "--simultaneous",
    "Wider intervals: all numbers of a region lie in theirs together in 95 % of cases.",
    type=bool,
    excludes=("changes",),
    group="Output",
)

TIME = Option(
    "--time",
    "Period of a series, such as 2020; repeatable.",
    name="times",
    many=True,
    everyday=True,
    group="Domain",
)

CHANGES = Option(
    "--changes",
    "Of a series: also estimate changes, from the period before each or from the first one.",
    choices=("previous", "first"),
    everyday=True,
    group="Output",
)

LABEL = Option(
    "--label",
    "Of this label alone, such as sex=f; of several labels of one attribute together; repeatable.",
    name="labels_of",
    many=True,
    everyday=True,
    metavar="NAME=LABEL",
    group="Domain",
)

AGAINST = Option(
    "--against",
    "Compare two groups in one release: the second has this label in place of those of --label; "
    "repeatable.",
    many=True,
    everyday=True,
    metavar="NAME=LABEL",
    group="Domain",
)

RUN = joined(
    PAD_TIME,
    OUTPUT,
    Option(
        "--name",
        "Name of the column of counts and of the files.",
        default="population",
        group="Output",
    ),
)
"""Options of a publishing run, apart from its request."""

FOLDER = joined(
    PAD_TIME,
    OUTPUT,
    Option("--overwrite", "Replace an earlier release.", type=bool, everyday=True, group="Output"),
    Option(
        "--resume",
        "Complete an interrupted run of the same command from what it was charged for; "
        "nothing is read, drawn or charged.",
        type=bool,
        group="Run",
    ),
    JSON,
)
"""Options of a release of several tables in one folder, charged once."""

DEFAULT_SIZE = 7
"""Default of ``max_size``: most offices publish sizes up to 7 and more."""

MAX_SIZE = Option(
    "--max-size",
    "Most persons of a household. Larger households by size are counted as of this size.",
    low=2,
    high=100,
    default=DEFAULT_SIZE,
    everyday=True,
)

PERSON_IN = Option(
    "--person-in",
    "In how many snapshots one person may be, which you assert: in all, which then share the "
    "budget, or in one.",
    group="Privacy",
    choices=("all", "one"),
    required=True,
)

SNAPSHOTS = Option(
    "--snapshots",
    "Plan a series of this many snapshots (publish-series): the budget is for all of them, the "
    "errors are for one.",
    low=2,
    everyday=True,
)
"""How many snapshots a planned series has."""

PLANNED_PERSON_IN = Option(
    "--person-in",
    "With --snapshots: in how many snapshots a person is.",
    choices=("all", "one"),
    everyday=True,
    needs=("snapshots",),
)
"""In how many of them a person is."""

PERIODS = grouped(
    "Input",
    Option(
        "--period",
        "Column of periods, or several with commas, such as year,month, if INPUTS are plain files "
        "with all snapshots: the rows of each period are a snapshot.",
        metavar="COLUMN",
        needs=("periods",),
        everyday=True,
    ),
    Option(
        "--periods",
        "With --period or --period-columns: the first and the last period, such as "
        "2024-01..2024-12. They are public and never taken from the rows; rows of other periods "
        "are not read.",
        metavar="FIRST..LAST",
        needs=("period", "period_columns"),
        everyday=True,
    ),
    Option(
        "--period-columns",
        "Columns of counts, one for each period, with a * for it: 'pop_*' for pop_202301, or '*' "
        "for 2023-01 or 1月. Periods are those that the names say, or those of --periods.",
        metavar="PATTERN",
        excludes=("period",),
    ),
)
"""Options of a series that stands in one table: in a column of periods, or in one for each."""

WEIGHTS = joined(
    Option(
        "--weight",
        "Column of weights of a survey: a record counts as so many. The guarantee takes a "
        "weight as it is given.",
        metavar="COLUMN",
        group="Input",
    ),
    Option(
        "--max-weight",
        "With --weight: the largest weight, public and chosen without the data; larger ones "
        "count as this.",
        low=2,
        needs=("weight",),
        group="Privacy",
    ),
    Option(
        "--raked-to",
        "With --weight: to which totals of the same data the weights were raked. They are "
        "invariants outside the guarantee, and stand on the card.",
        metavar="TEXT",
        needs=("weight",),
        group="Input",
    ),
)
"""Options of weights, which :mod:`geodp.io.read.rows.decimals` describes."""

MEMORY = Option(
    "--memory",
    "Memory limit for the release's data, such as 512MiB, in addition to about 320 MB of "
    "libraries; a release that needs more is refused.  [default: none]",
)

PART = grouped(
    "Input",
    Option(
        "--time",
        "Period of a series, such as 2020 or 2024-05.",
        metavar="TIME",
    ),
    Option(
        "--table",
        "One of the tables of a release of several, such as origins.",
        metavar="NAME",
    ),
    everyday=True,
)
"""Options that name a part of a written release."""

PLACES = grouped(
    "Domain",
    Option(
        "--places",
        "Public list of places for a page: polygons with names, as of estimate --polygons; or a "
        "table with the columns name and code, or name, longitude, latitude and km. A column "
        "region or prefecture distinguishes places with the same name.",
        type=Path,
        everyday=True,
    ),
    Option(
        "--place-name",
        "Field or column that names the places; default: name.",
        needs=("places",),
    ),
)
"""Options of the places that a page lists."""

LANGUAGE = Option(
    "--language",
    "Language of the texts.",
    group="Output",
    choices=("en", "ja"),
    default="en",
)

EVALUATED_REQUEST = REQUEST.of("epsilon", "rho", "delta", "neighbours", "contribution")
"""Fields of a request that an evaluation takes."""

EVALUATION = joined(
    Option(
        "--key-file",
        "File of a stored noise key, which makes the result reproducible.",
        type=Path,
        group="Privacy",
    ),
    Option(
        "--public-input",
        "Assert that the inputs are public.",
        type=bool,
        everyday=True,
        group="Input",
    ),
    Option(
        "--output",
        "JSON file to write; confidential, with permissions 0600.",
        type=Path,
        everyday=True,
        group="Output",
    ),
)
"""Options of a command that measures errors on confidential inputs."""

CHECK = joined(
    Option(
        "--check",
        "Dry run: refuse what publishing would refuse, and write a summary of what would be "
        "counted to OUTPUT/restricted, for the operator. Draws and charges nothing, and needs "
        "no budget; publishing to the same OUTPUT replaces it.",
        type=bool,
        everyday=True,
        excludes=("resume",),
        group="Output",
    ),
    Option(
        "--profile",
        "Print the seconds of each phase to stderr, for the operator only: they depend on the "
        "data.",
        type=bool,
        excludes=("pad_time",),
        group="Run",
    ),
)
"""Options of a dry run and of its seconds, of commands that publish."""

ALONE = (
    *("check", "resume", "stop_at", "measurements", "public_totals", "simulate"),
    *("formats", "profile"),
)
"""Options that need a single machine: no process of a cluster holds the entire table."""

CLUSTER = grouped(
    "Cluster",
    Option(
        "--cluster",
        "Address of a Dask scheduler, such as tls://host:8786: its workers read INPUTS, "
        "tables of cells or records (--person), and write parts, which geodp join combines.",
        excludes=("workers", *ALONE),
    ),
    Option(
        "--workers",
        "Like --cluster, with this many processes on this machine, which nobody else can reach.",
        low=1,
        excludes=ALONE,
    ),
    Option(
        "--key-folder",
        "Folder that only the workers of --cluster can read, for the key of this release "
        "while it runs.  [default: this machine's memory]",
        type=Path,
        needs=("cluster",),
    ),
    Option(
        "--trust-cluster",
        "Assert that everyone who can reach the scheduler and workers of --cluster is trusted.",
        type=bool,
        needs=("cluster",),
    ),
)
"""Options of a cluster."""

QUERY = joined(
    grouped(
        "Domain",
        Option(
            "--grid", "Code system, such as jis:quarter or inspire:1km.", name="spec", required=True
        ),
        Option(
            "--bounds",
            "West south east north of the public domain, along cell edges, in units of the grid's "
            "CRS; in degrees with the word degrees after them; or a public area by name (germany, "
            "東京都). Records outside are left out.  [default: the code system's extent]",
            type="bounds",
        ),
    ),
    Option("--engine", "SQL dialect of the query.", choices=ENGINES, required=True, group="Output"),
    grouped(
        "Input",
        Option(
            "--points",
            "Columns of x and y of the record, in the grid's CRS.",
            default=("lon", "lat"),
            values=2,
        ),
        Option(
            "--table", "Table expression for the records, inserted as it is.", default="records"
        ),
        Option(
            "--person",
            "Column of person ids. Records without one are left out.",
            everyday=True,
            metavar="COLUMN",
        ),
    ),
)
"""Options of a query for the engine where the data are: its grid, its dialect and its columns."""
