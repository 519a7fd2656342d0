// Words and numbers of the page's language.

class Words {
  constructor(language, sentences, below) {
    Object.assign(this, { sentences, below });
    this.number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
    this.few = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
    this.exact = new Intl.NumberFormat(language, { maximumFractionDigits: 4 });
  }

  say(name, values = {}) {
    return this.sentences[name].replace(/\{(\w+)\}/g, (_, field) => String(values[field]));
  }

  /** Whether the publisher shows a count as less than some number only. */
  isFew(count) {
    return this.below !== null && count > 0 && count < this.below;
  }

  count(count) {
    return this.isFew(count)
      ? this.say("few", { below: this.number.format(this.below) })
      : this.number.format(count);
  }

  /** The interval of a count; a dash where the count is not shown, whose middle it may be. */
  interval({ count, low, high }) {
    if (this.isFew(count)) return "–";
    return this.say("interval", { low: this.count(low), high: this.count(high) });
  }

  /** A level's name, with its width where it is known. */
  level({ side, area }, { kilometres }) {
    const name = side === 1 ? "level_cells" : "level_blocks";
    let text = this.say(name, { side: this.number.format(side) });
    if (area) text += this.say("level_area", { area });
    if (kilometres) text += this.say("level_km", { km: this.few.format(side * kilometres) });
    return text;
  }

  point(view, at) {
    const [x, y] = view.toMap(at);
    const { projection } = view;
    if (!projection.isKnown) {
      return this.say("at_map", { x: this.exact.format(x), y: this.exact.format(y) });
    }
    const [lon, lat] = projection.toDegrees([x, y]);
    return this.say("at_degrees", {
      lat: this.exact.format(Math.abs(lat)),
      lon: this.exact.format(Math.abs(lon)),
      north: this.sentences[lat < 0 ? "south" : "north"],
      east: this.sentences[lon < 0 ? "west" : "east"],
    });
  }
}
