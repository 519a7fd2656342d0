"""Look of a map: requested options, colours of light and dark paper, and words in two languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from geodp.errors import UsageError
from geodp.io.read.public.background import QUARTERS
from geodp.io.write.drawing.fonts import find_families
from geodp.io.write.drawing.sheet import Colour, mix, parse_colours
from geodp.io.write.frame import LONG_SIDE
from geodp.io.write.map.panel import Bounds, Panel
from geodp.io.write.qgis_style import BELOW, FEW
from geodp.io.write.scale import DARK_IS_MANY, LIGHT_IS_MANY
from geodp.table.card import Card

Language = Literal["en", "ja"]


@dataclass(frozen=True)
class Captions:
    """Sentences of one language, with places for `str.format`; those of English by default.

    Attributes
    ----------
    names : mapping
        Translations of names that the card has in English: guarantees, units.
    titles : mapping
        Titles in place of ``title``, by names of tables and of what is counted; "lines": that of a
        map on which flows are lines.
    """

    title: str = "{what} by place"
    titles: Mapping[str, str] = field(
        default_factory=lambda: {
            "origins": "Where trips begin",
            "destinations": "Where trips end",
            "flows": "Where trips begin and end",
            "lines": "The largest flows between places",
        }
    )
    cells: str = "{rows:,} × {cols:,} cells"
    units: str = "{units:,} units"
    blocks: str = "drawn in blocks of {block} × {block} cells"
    pairs: str = "origins left, destinations right"
    private: str = "Differentially private release: {variant}."
    fixed: str = "Not a private release: the noise was made with a fixed key."
    flag: str = "NOT PRIVATE"
    withdrawn: str = "WITHDRAWN"
    withdrawn_on: str = "Withdrawn on {date}: not to be used any more."
    per_area: str = "{what} per km²"
    per_cell: str = "{what} per cell"
    counts: str = "counts"
    zero: str = "0"
    faded: str = "faded: within the 95 % margin of {margin}"
    untold: str = "fewer than {margin}: cannot be told from none"
    untold_plain: str = "within the 95 % margin: cannot be told from none"
    water: str = "water"
    land: str = "land"
    flows: str = "flows between squares of {side} × {side} cells, heads at the destinations"
    flows_drawn: str = (
        "Drawn: the {drawn} largest of {all} flows that reach their 95 % margin of "
        "{margin}; they carry {share} % of all counts."
    )
    flows_all: str = (
        "Drawn: the {all} flows that reach their 95 % margin of {margin}; they carry "
        "{share} % of all counts."
    )
    flows_left: str = (
        "Not drawn: flows below their margin, which cannot be told from none, and flows "
        "within a square."
    )
    flows_known: str = (
        "Drawn: those of the largest flows that noise does not hide, {drawn} in all; they carry "
        "{share} % of all counts."
    )
    flows_hidden: str = (
        "Not drawn: smaller flows, those that cannot be told from none, and flows within a square."
    )
    around: str = "lower row: mean of a larger square, where smaller ones cannot be told from none"
    coast: str = "paler at the shore, by the share of land"
    ground: str = (
        "Land, shore and places: Natural Earth 1:10m (public domain), off by a kilometre or "
        "more in places; small islands may be missing."
    )
    below: str = "below 0"
    few: str = "count <{limit:,}"
    outside: str = "outside the domain"
    cell: str = "a cell"
    unit: str = "a unit"
    pixel: str = "a pixel, which sums {cells:,} counts"
    block: str = "a pixel"
    unknown: str = "The margin of a cell depends on the data: there is no closed form."
    no_form: str = "There is no closed form of the margin of {what}."
    margin: str = "95 % margin of {what}: {margins}{where}."
    where: str = " where counts are well above the noise"
    join: str = " and "
    signed: str = "Values below 0 are noise, and belong in the sums over areas."
    isolated: str = "Isolated cells come out too low."
    total: str = "Even the total tells no more than zeros would, on average."
    floor: str = "Blocks below {cells:,} cells tell no more than zeros would, on average."
    answer_squares: str = (
        "What this map can answer: the numbers of squares of about {km:g} km and larger, which "
        "hold half of all counts."
    )
    answer_cells: str = (
        "What this map can answer: the numbers of squares of {side:,} × {side:,} cells and "
        "larger, which hold half of all counts."
    )
    answer_part: str = (
        "What this map can answer: the numbers of the coloured squares; they hold less than half "
        "of all counts."
    )
    answer_none: str = (
        "What this map can answer: nothing about any square, as the noise is larger than the "
        "counts."
    )
    date: str = "Date: {text}"
    source: str = "Source: {text}"
    credit: str = "{text}"
    crs: str = "Coordinate reference system: {crs}"
    earlier: str = "Earlier: {name}"
    later: str = "Later: {name}"
    change: str = "Change: later less earlier"
    changed: str = "change of {unit}"
    change_margin: str = "95 % margin of a change: {margin}, of the noise of both."
    hatched: str = "hatched: beyond the 95 % margin of {margin}"
    names: Mapping[str, str] = field(
        default_factory=lambda: {
            "origins": "trips that begin",
            "destinations": "trips that end",
            "count": "records",
            "flows": "trips",
            "households_by_size": "households",
            "persons_outside_households": "persons outside households",
        }
    )

    def name(self, text: str) -> str:
        """Translate a name that a card has in English; unknown names stay as they are."""
        return self.names.get(text, text)


JAPANESE = Captions(
    title="{what}の分布",
    titles={
        "origins": "出発地の分布",
        "destinations": "到着地の分布",
        "flows": "出発地と到着地の分布",
        "lines": "最も大きい流動",
        "persons": "人口の分布",
    },
    cells="{rows:,} × {cols:,} セル",
    units="{units:,}地域",
    blocks="{block} × {block} セルごとに集計して表示",
    pairs="左: 出発地、右: 到着地",
    private="差分プライバシーにより保護した公表値（{variant}）。",
    fixed="保護された公表値ではありません。雑音は固定鍵で生成しました。",
    flag="保護なし",
    withdrawn="撤回済み",
    withdrawn_on="{date} に撤回されました。今後は使わないでください。",
    per_area="{what}／km²",
    per_cell="{what}／セル",
    counts="計数",
    zero="0",
    faded="淡色: 95%誤差幅 {margin} の範囲内",
    untold="{margin}未満: 0と区別できません",
    untold_plain="95%誤差幅の範囲内: 0と区別できません",
    water="水域",
    land="陸地",
    flows="{side} × {side} セルの区画間の流動（矢印の先が到着地）",
    flows_drawn="図示: 95%誤差幅 {margin} に達する{all}本の流動のうち大きい{drawn}本"
    "（全体の{share}%）。",
    flows_all="図示: 95%誤差幅 {margin} に達する{all}本の流動（全体の{share}%）。",
    flows_left="誤差幅に届かず0と区別できない流動と、区画内の流動は示していません。",
    flows_known="図示: 大きい流動のうち、雑音に隠れない{drawn}本（全体の{share}%）。",
    flows_hidden="小さい流動、0と区別できない流動、区画内の流動は示していません。",
    around="下段: 小さい区画では0と区別できないため、より大きい区画の平均で示した値",
    coast="海岸では陸地の割合に応じて淡色",
    ground="陸地・海岸線・地名: Natural Earth 1:10m（パブリックドメイン）。"
    "1 km以上ずれる所や、含まれない小島があります。",
    below="0未満",
    few="数が{limit:,}未満",
    outside="対象地域外",
    cell="1セル",
    unit="1地域",
    pixel="{cells:,}件の値を合計した1画素",
    block="1画素",
    unknown="セルの誤差幅はデータに依存し、閉じた式はありません。",
    no_form="{what}の誤差幅には、ここでは閉じた式がありません。",
    margin="{what}の95%誤差幅: {margins}{where}。",
    where="（値が雑音より十分大きい場合）",
    join="、",
    signed="0未満の値は雑音ですが、地域の合計には含めてください。",
    isolated="孤立したセルは実際より小さくなります。",
    total="合計でさえ、平均的にはすべて0とするより正確ではありません。",
    floor="{cells:,}セル未満の区画は、平均的には0とするより正確ではありません。",
    answer_squares="この地図から分かること: 一辺およそ{km:g} km以上の区画の値"
    "（全体の半分を占めます）。",
    answer_cells="この地図から分かること: {side:,} × {side:,} セル以上の区画の値"
    "（全体の半分を占めます）。",
    answer_part="この地図から分かること: 色の付いた区画の値のみ（全体の半分に届きません）。",
    answer_none="この地図から分かること: 雑音が値を上回るため、区画ごとの値は分かりません。",
    date="時点: {text}",
    source="出典: {text}",
    credit="{text}",
    crs="座標参照系: {crs}",
    earlier="前: {name}",
    later="後: {name}",
    change="変化: 後 − 前",
    changed="{unit}の変化",
    change_margin="変化の95%誤差幅（両方の雑音による）: {margin}。",
    hatched="斜線: 95%誤差幅 {margin} を超える",
    names={
        "pure epsilon-differential privacy": "純粋 ε-差分プライバシー",
        "persons": "人",
        "households": "世帯",
        "households_by_size": "世帯",
        "persons_outside_households": "世帯外の人",
        "flows": "トリップ",
        "trips": "トリップ",
        "people": "人口",
        "population": "人口",
        "count": "件数",
        "origins": "出発トリップ",
        "destinations": "到着トリップ",
    },
)

LANGUAGES: Mapping[Language, Captions] = {"en": Captions(), "ja": JAPANESE}


def describe_margin(card: Card, panels: list[Panel], captions: Captions) -> list[str]:
    """Describe the margin of a pixel's count and where it holds, in one or two sentences."""
    error, floor = card.expected_error, card.expected_error.floor
    signed = not card.mechanism.nonnegative
    cells = panels[0].cells
    if panels[0].frame.units is not None:
        what = captions.unit
    elif cells is None:
        what = captions.block
    else:
        what = captions.cell if cells == 1 else captions.pixel.format(cells=cells)
    margins_of_panels = [panel.margin for panel in panels]
    # Without closed forms, a number would only hold for the data at hand.
    if not error.known:
        lines = [captions.unknown]
    elif None in margins_of_panels:
        lines = [captions.no_form.format(what=what)]
    else:
        where = "" if signed else captions.where
        margins = captions.join.join(dict.fromkeys(f"±{each:,.0f}" for each in margins_of_panels))
        lines = [captions.margin.format(what=what, margins=margins, where=where)]
    if signed:
        # Clamping them to 0 would bias the sums over areas upwards.
        lines.append(captions.signed)
    elif error.isolated_cell is not None:
        lines.append(captions.isolated)
    # Which squares stand out of the noise, a reader of the map should know.
    resolved = {panel.resolved for panel in panels}
    if None not in resolved:
        lines[1:] = [" ".join([*lines[1:], *_tell(panels, captions)])]
    elif floor is not None and (size := floor.cells) != 1:
        sentence = captions.total if size is None else captions.floor.format(cells=size)
        lines[1:] = [" ".join([*lines[1:], sentence])]
    return lines


def _tell(panels: list[Panel], captions: Captions) -> list[str]:
    """Write which squares of a map stand out of the noise; nothing where half of them do."""
    frame, resolved = panels[0].frame, [panel.resolved or 0 for panel in panels]
    # Of two maps, the sentence holds for both.
    if max(resolved) < 0:
        return [captions.answer_none]
    if min(resolved) <= 0:
        return [captions.answer_part]
    if max(resolved) <= frame.block:
        return []
    if frame.kilometres is None:
        return [captions.answer_cells.format(side=max(resolved))]
    return [
        captions.answer_squares.format(km=float(f"{float(max(resolved) * frame.kilometres):.2g}"))
    ]


PALE = 0.65
"""Share of paper in the colours of a change that lies within its margin."""

KEPT = 0.38
"""Share of its class in the paler colour of a mean of a larger square."""

UNTOLD = "#e9e5da"
"""Colour of counts not distinguishable from 0: neither on the scale nor that of the outside."""


@dataclass(frozen=True)
class Theme:
    """Colours of a page: the classes, zero, paper and ink."""

    paper: Colour
    ink: Colour
    soft: Colour
    line: Colour
    alarm: Colour
    outside: Colour
    below: Colour
    few: Colour
    untold: Colour
    shore: Colour
    classes: tuple[Colour, ...]

    @cached_property
    def colours(self) -> tuple[Colour, ...]:
        """Paper, outside, below 0, classes, untold by quarters of land, few, paler classes."""
        # The colour fades to paper with the share of water, so that shores look soft.
        water = [1 - quarter / QUARTERS for quarter in range(1, QUARTERS + 1)]
        untold = mix([self.untold], [self.paper], water)
        paler = mix(self.classes, [self.paper], [1 - KEPT])
        return (
            *(self.paper, self.outside, self.below, *self.classes),
            *(*untold, self.few, *paler),
        )


def _theme(classes: tuple[str, ...], *others: str) -> Theme:
    paper, ink, soft, line, alarm, *tints = parse_colours(others)
    outside, below, few, untold, shore = tints
    shown = parse_colours(classes)
    return Theme(paper, ink, soft, line, alarm, outside, below, few, untold, shore, shown)


LIGHT = _theme(
    DARK_IS_MANY,
    *("#ffffff", "#1d1c1a", "#5a5855", "#b4b4b9", "#b80f2a", "#c9c9d0", BELOW, FEW),
    *(UNTOLD, "#8a8781"),
)
DARK = _theme(
    LIGHT_IS_MANY,
    *("#000000", "#e8e6e3", "#9a9894", "#3a3a3f", "#ff4d4d", "#17171a", "#0e4a4c", "#5c5418"),
    *("#33322f", "#7a7772"),
)

PAPER, OUTSIDE, NEGATIVE, CLASSES, UNTOLD_LAND = 0, 1, 2, 3, 3 + len(DARK_IS_MANY)
"""Positions in `Theme.colours`; the last is that of a quarter of land."""

SMALL_COUNT = UNTOLD_LAND + QUARTERS
"""Position of the colour of counts that an office shows as ``<k``."""

AROUND = SMALL_COUNT + 1
"""Position of the first class in its paler colour, for means of larger squares."""


@dataclass(frozen=True)
class Look:
    """Appearance of a map; all of it is public.

    Attributes
    ----------
    title : str or None
        Title, in place of the count's name.
    date, source, credit : str or None
        Texts printed under the map.
    unit : str or None
        What is counted, in place of the count's name or the unit of privacy.
    language : {"en", "ja"}
    bounds : (float, float, float, float) or None
        West, south, east and north of the map, in the grid's CRS.
    size : int
        Pixels up to which the longer side of the map is enlarged, by integer factors; a block of
        cells has at least one pixel.
    dark : bool
        Whether colours are light on black paper, not dark on white.
    fade : bool
        Whether counts within their 95 % margin are drawn as not distinguishable from 0.
    graticule : bool
        Whether lines of latitude and longitude lie over the map, with the CRS named under it.
    ground : bool
        Whether the shore and names of places lie over the map.
    flows : bool
        Whether origins and destinations are drawn as the largest flows between them, not as two
        maps.
    """

    title: str | None = None
    date: str | None = None
    source: str | None = None
    credit: str | None = None
    unit: str | None = None
    language: Language = "en"
    bounds: Bounds | None = None
    size: int = LONG_SIDE
    dark: bool = False
    fade: bool = True
    graticule: bool = False
    ground: bool = True
    flows: bool = True

    @cached_property
    def captions(self) -> Captions:
        """Captions of the language."""
        return LANGUAGES[self.language]

    @cached_property
    def theme(self) -> Theme:
        """Colours of the page."""
        return DARK if self.dark else LIGHT

    def require_fonts(self) -> None:
        """Raise UsageError if no font has the letters of the requested texts."""
        texts = [self.title, self.date, self.source, self.credit, self.unit]
        captions = self.captions
        texts += [
            captions.private,
            captions.isolated,
            captions.per_cell,
            captions.blocks,
            captions.floor,
        ]
        for text in texts:
            if text is not None and find_families(text) is None:
                raise UsageError(
                    "The map was not drawn, as no installed font has all letters of its words; "
                    "install one that has them, such as Noto Sans CJK.",
                    code="font-lacks-letters",
                )
