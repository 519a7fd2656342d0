"""Workbooks of both forms with the same cells."""

import datetime
import zipfile
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

import openpyxl

FORMS = ("xlsx", "ods")


@dataclass(frozen=True)
class Error:
    """An error that stands in a cell without a formula."""

    shown: str = "#N/A"


@dataclass(frozen=True)
class Formula:
    """A formula and what it gave; None: nothing that is kept."""

    value: object = None


@dataclass(frozen=True)
class Percent:
    """A number that is shown as a percentage."""

    value: float


@dataclass(frozen=True)
class Amount:
    """A number that is shown as an amount of money."""

    value: float


YEN = '"¥"#,##0'


def write(path, *sheets, names=None, hidden=()):
    """Write sheets of rows into a workbook of the form that the path ends in."""
    names = names or [f"sheet {number}" for number in range(len(sheets))]
    {".xlsx": _xlsx, ".ods": _ods}[path.suffix](path, dict(zip(names, sheets, strict=True)), hidden)
    return path


def _xlsx(path, sheets, hidden):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
        for number, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                cell = sheet.cell(number, column)
                match value:
                    case Error():
                        cell.value, cell.data_type = value.shown, "e"
                    case Formula():
                        cell.value = "=1+1"
                    case Percent():
                        cell.value, cell.number_format = value.value, "0%"
                    case Amount():
                        cell.value, cell.number_format = value.value, YEN
                    case datetime.timedelta():
                        cell.value, cell.number_format = value, "[h]:mm:ss"
                    case _:
                        cell.value = value
    made.save(path)


NAMES = " ".join(
    f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"'
    for one in ("office", "table", "text", "style")
)
NAMES += ' xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0"'
CALC = 'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'


def _ods(path, sheets, hidden):
    tables = "".join(
        f"<table:table table:name={quoteattr(name)}>"
        + "".join(
            f"<table:table-row>{''.join(map(ods_cell, row))}</table:table-row>" for row in rows
        )
        + '<table:table-row table:number-rows-repeated="1048000">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>'
        for name, rows in sheets.items()
    )
    write_ods(path, tables)


def write_ods(path, tables, packing=zipfile.ZIP_DEFLATED, styles="", others=None):
    """Write a spreadsheet of OpenDocument of the XML of its tables, its styles, and others."""
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {NAMES} {CALC}>'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    with zipfile.ZipFile(path, "w", packing) as archive:
        kind = "application/vnd.oasis.opendocument.spreadsheet"
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        archive.writestr("content.xml", content)
        if others is not None:
            archive.writestr(
                "styles.xml",
                f"<office:document-styles {NAMES}><office:styles>{others}</office:styles>"
                "</office:document-styles>",
            )
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
    return path


def ods_cell(value):
    """Return the XML of a cell."""
    typed = 'office:value-type="{}" office:{}="{}"'.format
    match value:
        case None:
            return "<table:table-cell/>"
        case Error():
            said = 'office:value-type="string" office:string-value="" calcext:value-type="error"'
            return f"<table:table-cell {said}><text:p>{value.shown}</text:p></table:table-cell>"
        case Formula():
            formula = 'table:formula="of:=1+1"'
            return ods_cell(value.value).replace(
                "<table:table-cell", f"<table:table-cell {formula}"
            )
        case Percent():
            said = typed("percentage", "value", value.value)
        case Amount():
            said = typed("currency", "value", value.value) + ' office:currency="JPY"'
        case bool():
            said = typed("boolean", "boolean-value", str(value).lower())
        case int() | float():
            said = typed("float", "value", value)
        case datetime.datetime() | datetime.date():
            said = typed("date", "date-value", value.isoformat())
        case datetime.time():
            said = typed("time", "time-value", value.strftime("PT%HH%MM%SS"))
        case datetime.timedelta():
            said = typed("time", "time-value", f"PT{int(value.total_seconds())}S")
        case _:
            text = f"<text:p>{escape(str(value))}</text:p>"
            return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'
    return f"<table:table-cell {said}><text:p>shown</text:p></table:table-cell>"
