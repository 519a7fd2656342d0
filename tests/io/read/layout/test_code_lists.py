"""Lists of labels in the forms of offices: codebooks of DDI, code lists of SDMX, CSVW metadata."""

import json

import pandas as pd
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.read.layout.code_lists import MAX_BYTES, read_xml
from geodp.io.read.layout.labels import read_lists
from tests.command import geodp as command
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))

CODEBOOK = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5">
 <stdyDscr><citation><titlStmt><titl>Census</titl></titlStmt></citation></stdyDscr>
 <dataDscr>
  <var ID="V1" name="SEX" files="F1" dcml="0" intrvl="discrete">
   <labl>Sex</labl>
   <valrng><range UNITS="REAL" min="1" max="2"/></valrng>
   <catgry><catValu>1</catValu><labl>Male</labl><catStat type="freq">812</catStat></catgry>
   <catgry><catValu> 2 </catValu><labl>Female</labl><catStat type="freq">790</catStat></catgry>
   <catgry missing="Y"><catValu>9</catValu><labl>Not stated</labl></catgry>
  </var>
  <var ID="V2" name="AGEP" intrvl="contin">
   <valrng><range min="0" max="120"/></valrng>
   <catgry><catValu>120</catValu><labl>120 and more</labl></catgry>
  </var>
  <var ID="V3" name="INCOME">
   <catgry missing="Y"><catValu>999</catValu><labl>Unknown</labl></catgry>
  </var>
  <var ID="V4" name="NOTE"><labl>Remarks</labl></var>
 </dataDscr>
</codeBook>
"""
OLD_CODEBOOK = """<?xml version="1.0"?>
<!DOCTYPE codeBook SYSTEM "http://www.icpsr.umich.edu/DDI/Version1-2-2.dtd">
<codeBook><dataDscr><var ID="sex"><catgry><catValu>m</catValu></catgry>
<catgry><catValu>f</catValu></catgry></var></dataDscr></codeBook>
"""
SDMX = """<?xml version="1.0" encoding="UTF-8"?>
<mes:Structure
 xmlns:mes="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"
 xmlns:str="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure"
 xmlns:com="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common">
 <mes:Header><mes:ID>IDREF1</mes:ID></mes:Header>
 <mes:Structures>{lists}{structures}</mes:Structures>
</mes:Structure>
"""
SEX = """<str:Codelists><str:Codelist id="CL_SEX" agencyID="OFFICE" version="1.0">
<com:Name xml:lang="en">Sex</com:Name>
<str:Code id="M"><com:Name xml:lang="en">Male</com:Name></str:Code>
<str:Code id="F"><com:Name xml:lang="en">Female</com:Name></str:Code>
</str:Codelist>{more}</str:Codelists>"""
AGE = """<str:Codelist id="CL_AGE5" agencyID="OFFICE">
<str:Code id="Y0"/><str:Code id="Y5"/></str:Codelist>"""
STRUCTURE = """<str:DataStructures><str:DataStructure id="D"><str:DataStructureComponents>
<str:DimensionList>
<str:Dimension id="GENDER"><str:ConceptIdentity><Ref id="SEX" package="conceptscheme"/>
</str:ConceptIdentity><str:LocalRepresentation><str:Enumeration>
<Ref id="CL_SEX" agencyID="OFFICE" package="codelist" class="Codelist"/></str:Enumeration>
</str:LocalRepresentation></str:Dimension>
<str:Dimension id="B"><str:LocalRepresentation><str:Enumeration>
urn:sdmx:org.sdmx.infomodel.codelist.Codelist=OFFICE:CL_AGE5(1.0)
</str:Enumeration></str:LocalRepresentation></str:Dimension>
</str:DimensionList></str:DataStructureComponents></str:DataStructure></str:DataStructures>"""
OLD_SDMX = """<Structure xmlns="http://www.SDMX.org/resources/SDMXML/schemas/v2_0/message"
 xmlns:s="http://www.SDMX.org/resources/SDMXML/schemas/v2_0/structure">
<CodeLists><s:CodeList id="CL_SEX"><s:Code value="M"><s:Description>Male</s:Description></s:Code>
<s:Code value="F"/></s:CodeList></CodeLists>
<KeyFamilies><s:KeyFamily id="K"><s:Components>
<s:Dimension conceptRef="SEXE" codelist="CL_SEX"/></s:Components></s:KeyFamily></KeyFamilies>
</Structure>
"""
SDMX_JSON = {
    "meta": {"id": "x"},
    "data": {
        "codelists": [
            {"id": "CL_SEX", "codes": [{"id": "M", "name": "Male"}, {"id": "F"}]},
            {"id": "CL_AGE5", "codes": [{"id": "Y0"}, {"id": "Y5"}]},
        ],
        "dataStructures": [
            {
                "dataStructureComponents": {
                    "dimensionList": {
                        "dimensions": [
                            {
                                "id": "B",
                                "localRepresentation": {
                                    "enumeration": "urn:sdmx:x.codelist.Codelist=O:CL_AGE5(1.0)"
                                },
                            },
                            {"id": "FREE"},
                        ]
                    }
                }
            }
        ],
    },
}
CSVW = {
    "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
    "url": "population.csv",
    "tableSchema": {
        "columns": [
            {"titles": "code", "datatype": "string"},
            {"name": "s", "titles": {"en": "sex"}, "datatype": {"format": "^(m|f)$"}},
            {"titles": "employed", "datatype": {"base": "boolean", "format": "Y|N"}},
            {"titles": "n", "datatype": {"base": "integer", "format": "#,##0"}},
            {"titles": "id", "datatype": {"base": "string", "format": "[a-z]+|x"}},
        ]
    },
}
SEX_LISTS = {"SEX": ("M", "F"), "AGE5": ("Y0", "Y5")}


def written(folder, name, said):
    path = folder / name
    path.write_text(said if isinstance(said, str) else json.dumps(said), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "said", "lists"),
    [
        ("a.xml", CODEBOOK, {"SEX": ("1", "2", "9")}),
        ("a.xml", CODEBOOK.replace(' xmlns="ddi:codebook:2_5"', ""), {"SEX": ("1", "2", "9")}),
        ("a.xml", OLD_CODEBOOK, {"sex": ("m", "f")}),
        ("a.XML", SDMX.format(lists=SEX.format(more=""), structures=""), {"": ("M", "F")}),
        ("a.xml", SDMX.format(lists=SEX.format(more=AGE), structures=""), SEX_LISTS),
        (
            "a.xml",
            SDMX.format(lists=SEX.format(more=AGE), structures=STRUCTURE),
            {**SEX_LISTS, "GENDER": ("M", "F"), "B": ("Y0", "Y5")},
        ),
        ("a.xml", OLD_SDMX, {"SEX": ("M", "F"), "SEXE": ("M", "F")}),
        ("a.json", SDMX_JSON, {**SEX_LISTS, "B": ("Y0", "Y5")}),
        ("a.json", CSVW, {"s": ("m", "f"), "sex": ("m", "f"), "employed": ("Y", "N")}),
        (
            "a.json",
            {"@context": "http://www.w3.org/ns/csvw", "tables": [CSVW]},
            {"s": ("m", "f"), "sex": ("m", "f"), "employed": ("Y", "N")},
        ),
    ],
)
def test_every_published_form_is_read(name, said, lists, tmp_path):
    assert read_lists({"": written(tmp_path, name, said)}) == lists


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_xml_says_its_encoding(encoding, tmp_path):
    named = "iso-8859-1" if encoding == "iso-8859-1" else "utf-16" if "16" in encoding else "utf-8"
    text = CODEBOOK.replace("UTF-8", named).replace("<catValu>1<", "<catValu>größer<")
    text = text.replace('<valrng><range UNITS="REAL" min="1" max="2"/></valrng>', "")
    path = tmp_path / "a.xml"
    path.write_bytes(text.encode(encoding))
    assert read_lists({"sex": path})["sex"] == ("größer", "2", "9")


ENTITIES = '<?xml version="1.0"?><!DOCTYPE codeBook [<!ENTITY a "aaaa">]>'
OUTER = '<?xml version="1.0"?><!DOCTYPE codeBook [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
PARENT = SEX.format(more="").replace(
    '<str:Code id="F">', '<str:Code id="F"><str:Parent><Ref id="M"/></str:Parent>'
)


@pytest.mark.parametrize(
    ("name", "said", "rule"),
    [
        ("a.xml", f"{ENTITIES}<codeBook>&a;</codeBook>", "code-list-broken: declares entities"),
        ("a.xml", f"{OUTER}<codeBook>&a;</codeBook>", "code-list-broken: declares entities"),
        ("a.xml", CODEBOOK[:700], r"code-list-broken: \bXML\b document"),
        ("a.xml", "", r"code-list-broken: \bXML\b document"),
        ("a.xml", "code,name\n1,men\n", r"code-list-broken: \bXML\b document"),
        (
            "a.xml",
            "<kml><Placemark/></kml>",
            "code-list-broken: has the root kml; XML is read as a codebook of DDI",
        ),
        ("a.xml", "<codeBook><dataDscr/></codeBook>", "codebook-incomplete"),
        ("a.xml", SDMX.format(lists="", structures=""), "code-lists-missing"),
        ("a.xml", SDMX.format(lists=PARENT, structures=""), r"code-list-unfit: \(Parent\)"),
        (
            "a.xml",
            SDMX.format(
                lists=SEX.format(more="").replace(
                    "<str:Codelist ", '<str:Codelist isPartial="true" '
                ),
                structures="",
            ),
            r"code-list-unfit: \(isPartial\)",
        ),
        (
            "a.xml",
            SDMX.format(lists=SEX.format(more=AGE.replace("CL_AGE5", "CL_SEX")), structures=""),
            "code-lists-differ: CL_SEX",
        ),
        ("a.json", {"data": {"codelists": [{"id": "A"}]}}, "sdmx-broken"),
        (
            "a.json",
            {"data": {"codelists": [{"id": "A", "codes": [{"id": "x", "parent": "y"}]}]}},
            r"code-list-unfit: \(Parent\)",
        ),
        (
            "a.json",
            {"@context": "http://www.w3.org/ns/csvw", "url": "a.csv"},
            "code-list-format-unknown",
        ),
        (
            "a.json",
            {
                "structure": {
                    "dimensions": {"observation": [{"id": "SEX", "values": [{"id": "M"}]}]}
                }
            },
            "labels-not-a-list",
        ),
    ],
)
def test_what_is_no_whole_list_is_refused(name, said, rule, tmp_path):
    with refuses(UsageError, rule):
        read_lists({"": written(tmp_path, name, said)})


def test_a_file_that_is_too_large_or_not_there_is_refused(tmp_path):
    path = tmp_path / "large.xml"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with refuses(UsageError, "code-list-broken: 256 MiB"):
        read_xml(path)
    with refuses(UsageError, "code-list-broken: cannot be read"):
        read_xml(tmp_path / "none.xml")


def test_a_list_is_found_by_the_name_of_the_column_or_a_word_for_the_attribute(tmp_path):
    codebook = written(tmp_path, "a.xml", CODEBOOK.replace('name="SEX"', 'name="B4"'))
    rows = pd.DataFrame({"code": ["53394611"] * 2, "B4": ["1", "2"], "n": [3, 4]})
    found = geodp.read_table(
        rows, grid=GRID, code="code", value="n", columns={"sex": "B4"}, by=["sex"], labels=codebook
    )
    assert found.grid.attributes[0].labels == ("1", "2", "9")
    words = written(tmp_path, "b.xml", CODEBOOK.replace('name="SEX"', 'name="Geschlecht"'))
    plain = rows.rename(columns={"B4": "sex"})
    again = geodp.read_table(plain, grid=GRID, code="code", value="n", by=["sex"], labels=words)
    assert again.count.tolist() == found.count.tolist() == [3, 4]
    two = CODEBOOK.replace('name="SEX"', 'name="SEXE"').replace('name="NOTE">', 'name="Gender">')
    two = two.replace("<labl>Remarks</labl>", "<catgry><catValu>x</catValu></catgry>")
    with refuses(UsageError, "lists-ambiguous: sex: SEXE, Gender"):
        read_lists({"sex": written(tmp_path, "c.xml", two)})
    with refuses(UsageError, "list-for-attribute-missing: age.*SEX"):
        read_lists({"age": written(tmp_path, "d.xml", CODEBOOK)})


def test_a_command_takes_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "lists.xml", SDMX.format(lists=SEX.format(more=AGE), structures=STRUCTURE))
    (tmp_path / "n.csv").write_text("code,sex,B,n\n53394611,M,Y0,3\n53394612,F,Y5,4\n")
    words = ("n.csv", "--grid", "jis:basic", "--primary", 5339, "--by", "sex,B", "--value", "n")
    more = ("--labels", "lists.xml", "--contribution", 1, "--epsilon", 1, "--output", "out")
    done = command("publish", *words, *more)
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "out" / "public" / "release.json").read_text()
    assert '"Y5"' in card
