// Words and numbers of the page's language.

class Words {
  constructor(language, sentences, below) {
    Object.assign(this, { language, sentences, below });
    this.number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
    this.few = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
    this.whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
    this.percent = new Intl.NumberFormat(language, {
      maximumFractionDigits: 15,
      maximumSignificantDigits: 3,
    });
    this.exact = new Intl.NumberFormat(language, { maximumFractionDigits: 4 });
  }

  text(name, values = {}) {
    return this.sentences[name].replace(/\{(\w+)\}/g, (_, field) => String(values[field]));
  }

  /** Whether the publisher shows a count as less than some number only. */
  isFew(count) {
    return this.below !== null && count > 0 && count < this.below;
  }

  count(count) {
    return this.isFew(count)
      ? this.text("few", { below: this.number.format(this.below) })
      : this.whole.format(count);
  }

  /** The interval of a count; a dash where the count is not shown, whose middle it may be. */
  interval({ count, low, high }) {
    if (this.isFew(count)) return "–";
    const ends = [Math.floor(low), Math.ceil(high)].map((each) => this.whole.format(each));
    return this.text("interval", { low: ends[0], high: ends[1] });
  }

  /** How a sum came about; empty where the count is not shown. */
  facts({ cells, count, error, low, high }) {
    if (this.isFew(count)) return "";
    const figures = { cells, error, low: Math.floor(low), high: Math.ceil(high) };
    const texts = Object.entries(figures).map(([name, value]) => [name, this.whole.format(value)]);
    return this.text("estimate_facts", Object.fromEntries(texts));
  }

  /** A level's name by the width of its squares; in cells where no more is known. */
  level({ side }, surface) {
    const km = this.width(side, surface);
    if (km) return this.text("level_cells") + this.text("level_km", { km });
    const name = side === 1 ? "level_cells" : "level_blocks";
    return this.text(name, { side: this.number.format(side) });
  }

  /** The same within a sentence. */
  levelInside(level, surface) {
    const text = this.level(level, surface);
    return text[0].toLowerCase() + text.slice(1);
  }

  /** Kilometres along a side of squares, as a text; null where they are not known. */
  width(side, { place, units }) {
    if (place.kilometres === null || units) return null;
    const { areas, base } = place;
    const km = (side * Math.sqrt(areas[areas.length >> 1])) / base;
    return new Intl.NumberFormat(this.language, { maximumSignificantDigits: 2 }).format(km);
  }

  /** The square of a level at a cell, as a sentence names it. */
  square({ surface, projection }, { side }, [row, col], [top, left, bottom, right]) {
    if (surface.units) return this.text("place_unit", { name: surface.units.codes[col] });
    const km = this.width(side, surface);
    if (!projection.isKnown || !km) return this.text("place_cells", { row: top, col: left });
    const [a, , c, , e, f] = surface.place.transform;
    const middle = [c + (a * (left + right)) / 2, f + (e * (top + bottom)) / 2];
    const digits = Number(km) < 2 ? 3 : 2;
    const degrees = projection.toDegrees(middle).map((each) => Number(each.toFixed(digits)));
    return this.text("place_here", { km, where: this.degrees(degrees) });
  }

  point(view, at) {
    const [x, y] = view.toMap(at);
    const { projection } = view;
    if (!projection.isKnown) {
      return this.text("at_map", { x: this.exact.format(x), y: this.exact.format(y) });
    }
    return this.degrees(projection.toDegrees([x, y]));
  }

  degrees([lon, lat]) {
    return this.text("at_degrees", {
      lat: this.exact.format(Math.abs(lat)),
      lon: this.exact.format(Math.abs(lon)),
      north: this.sentences[lat < 0 ? "south" : "north"],
      east: this.sentences[lon < 0 ? "west" : "east"],
    });
  }
}
