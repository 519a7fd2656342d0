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

  /** The interval of a count as sentences round it; a dash where the count is not shown. */
  interval(estimate) {
    // The count may be the middle of the interval, which would show it.
    if (this.isFew(estimate.count)) return "–";
    const { low, high } = roundEstimate(estimate);
    return this.text("interval", { low: this.whole.format(low), high: this.whole.format(high) });
  }

  /** How a sum came about; empty where the count is not shown. */
  facts(estimate) {
    if (this.isFew(estimate.count)) return "";
    const { low, high } = roundEstimate(estimate);
    const figures = { cells: estimate.cells, error: estimate.error, low, high };
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
  square(view, level, cell, box) {
    const { surface } = view;
    if (surface.units) return this.text("place_unit", { name: surface.units.codes[cell[1]] });
    const where = this.middle(view, level, box);
    if (!where) return this.text("place_cells", { row: box[0], col: box[1] });
    const km = this.width(level.side, surface);
    const town = nearestTown(view, box);
    return this.text(town ? "place_here_near" : "place_here", { km, where, town });
  }

  /** The middle of a square in degrees; null where it is not known. */
  middle({ surface, projection }, { side }, [top, left, bottom, right]) {
    const km = this.width(side, surface);
    if (!projection.isKnown || !km) return null;
    const [a, , c, , e, f] = surface.place.transform;
    const middle = [c + (a * (left + right)) / 2, f + (e * (top + bottom)) / 2];
    const digits = Number(km) < 2 ? 3 : 2;
    return this.degrees(projection.toDegrees(middle).map((each) => Number(each.toFixed(digits))));
  }

  /** The heading over the numbers of a square that was chosen. */
  chosen(view, level, cell, box) {
    const { units } = view.surface;
    const where = units ? units.codes[cell[1]] : this.middle(view, level, box);
    const town = units ? null : nearestTown(view, box);
    if (where) return this.text(town ? "pin_square_near" : "pin_square", { where, town });
    return this.text("pin_place", { place: this.square(view, level, cell, box) });
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
