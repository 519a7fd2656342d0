// The page of a table of many columns: the map of a column or a share, and its numbers by area.

/** Shares of that of the whole map at which the colour of a share changes. */
const STEPS = [0.5, 0.8, 1.25, 2];

/** Half of an interval beyond which a share has no colour, for that of the whole map. */
const WIDEST = 0.5;

function parseColour(text) {
  return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
}

function make(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

/** A number in three digits, or more before the point. */
function shorten(number) {
  const options = { maximumSignificantDigits: Math.abs(number) < 1000 ? 3 : 15 };
  return new Intl.NumberFormat(language, options).format(number);
}

/** What the reader chose: a column, or a share of it in another one. */
class Chosen {
  constructor(column, share) {
    this.column = column;
    this.share = share;
    this.at = share === null ? column : data.columns.length + share;
  }

  get whole() {
    return this.share === null ? null : data.shares[this.share][1];
  }

  get name() {
    const part = data.columns[this.column];
    if (this.share === null) return part;
    const name = data.each[this.share] ? "column_each" : "column_share";
    return fill(name, { part, whole: data.columns[this.whole] });
  }
}

/** The map: blocks coloured by density, or by how a share differs from that of the whole map. */
class BlockMap {
  constructor(figure, map) {
    Object.assign(this, { figure, map });
    this.canvas = document.createElement("canvas");
    [this.canvas.height, this.canvas.width] = map.blocks;
    // Only the picture for who runs no script has colours of larger squares.
    figure.querySelectorAll("p + ul ~ p").forEach((one) => one.remove());
  }

  draw(chosen, usual) {
    const { counts, blocks, areas, northwards, look } = this.map;
    const [rows, cols] = blocks;
    const paint = chosen.share === null ? this.ofCount(chosen) : this.ofShare(chosen, usual);
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(cols, rows);
    const known = new Map();
    counts[chosen.column].forEach((count, at) => {
      const row = Math.floor(at / cols);
      const area = areas[areas.length > 1 ? row : 0];
      const colour = count || chosen.share !== null ? paint(count, at, area) : look.colours.paper;
      if (!known.has(colour)) known.set(colour, parseColour(colour));
      const to = 4 * ((northwards ? rows - 1 - row : row) * cols + (at % cols));
      image.data.set([...known.get(colour), 255], to);
    });
    context.putImageData(image, 0, 0);
    const [first] = this.figure.querySelectorAll("image");
    first.setAttribute("href", this.canvas.toDataURL());
    const label = fill("map_column", { name: chosen.name });
    this.figure.querySelector("svg").setAttribute("aria-label", label);
    this.describe(chosen, usual);
  }

  isFew(count) {
    return data.limit !== null && count > 0 && count < data.limit;
  }

  ofCount({ column }) {
    const { begins, colours } = this.map.look;
    const margin = data.errors.margins[column] ?? 0;
    return (count, _, area) => {
      if (this.isFew(count)) return colours.few;
      if (count < margin) return colours.untold;
      const nearly = (count / area) * (1 + 1e-9);
      return colours.classes[begins.filter((begin) => nearly >= begin).length];
    };
  }

  ofShare({ column, whole }, usual) {
    const { colours, shares } = this.map.look;
    const margin = data.errors.margins[column] ?? 0;
    const others = this.map.counts[whole];
    return (count, at) => {
      const all = others[at];
      if (!all) return colours.paper;
      if (this.isFew(count) || this.isFew(all)) return colours.few;
      if (margin > WIDEST * usual * all) return colours.untold;
      return shares[STEPS.filter((step) => count / all >= step * usual).length];
    };
  }

  /** The legend below the map. */
  describe(chosen, usual) {
    const { begins, colours, shares } = this.map.look;
    const rows = [];
    const heading = this.figure.querySelector("p");
    if (chosen.share === null) {
      const name = this.map.on_earth ? "legend_per_km2" : "legend_per_cell";
      heading.textContent = fill(name, { what: chosen.name });
      begins.forEach((begin, at) => {
        rows.push([colours.classes[at], at ? `${write(begins[at - 1])} – ${write(begin)}` : `< ${write(begin)}`]);
      });
      const last = begins.length;
      rows.push([colours.classes[last], `≥ ${write(begins[last - 1])}`]);
      rows.push([colours.untold, data.words.legend_untold], [colours.paper, data.words.legend_none]);
      if (data.limit !== null) rows.push([colours.few, data.few]);
    } else {
      const times = data.each[chosen.share] ? 1 : 100;
      const name = times === 1 ? "legend_each" : "legend_share";
      heading.textContent = fill(name, { name: chosen.name, share: shorten(times * usual) });
      const ends = STEPS.map((step) => step * usual * times);
      shares.forEach((colour, at) => {
        if (times === 100 && at && ends[at - 1] >= 100) return;
        const [low, high] = [ends[at - 1], ends[at]].map((end) => (end === undefined ? "" : shorten(end)));
        rows.push([colour, at ? (high ? `${low} – ${high}` : `≥ ${low}`) : `< ${high}`]);
      });
      rows.push([colours.untold, data.words.legend_vague], [colours.paper, data.words.legend_none]);
      if (data.limit !== null) rows.push([colours.few, data.words.legend_few_of]);
    }
    this.figure.querySelector(".legend").replaceChildren(
      ...rows.map(([colour, text]) => {
        const row = make("li", "");
        const box = makeShape("svg", { width: 24, height: 14, viewBox: "0 0 24 14", "aria-hidden": "true" });
        box.append(makeShape("rect", { x: 0.5, y: 0.5, width: 23, height: 13, fill: colour, stroke: "#6b6b70" }));
        row.append(box, text);
        return row;
      }),
    );
  }
}

/** The choices, and all that shows them. */
class Columns {
  constructor() {
    const figure = document.querySelector("figure.map");
    this.map = figure && data.map ? new BlockMap(figure, data.map) : null;
    this.column = byId("column");
    this.whole = byId("whole");
    this.place = byId("place");
    this.tables = [...document.querySelectorAll("#listed table")];
    byId("tools").hidden = false;
    this.column.addEventListener("change", () => this.choose());
    this.whole.addEventListener("change", () => this.show());
    this.place.addEventListener("change", () => this.showPlace());
    figure?.querySelector("svg").addEventListener("click", (event) => {
      const at = findPlace(event, data.map);
      if (at === null) return;
      this.place.value = at;
      this.showPlace();
    });
    document.querySelectorAll("[data-column]").forEach((button) => {
      button.addEventListener("click", () => {
        this.column.value = button.dataset.column;
        this.choose();
      });
    });
    this.choose();
  }

  get chosen() {
    const share = this.whole.value === "" ? null : Number(this.whole.value);
    return new Chosen(Number(this.column.value), share);
  }

  /** Another column: the wholes that it may be a share of are others. */
  choose() {
    const column = Number(this.column.value);
    const before = this.whole.selectedOptions[0]?.textContent;
    const options = data.shares
      .map(([part, whole], at) => ({ part, whole, at }))
      .filter(({ part }) => part === column)
      .map(({ whole, at }) => make("option", data.columns[whole], { value: at }));
    this.whole.replaceChildren(make("option", data.words.pick_none, { value: "" }), ...options);
    this.whole.disabled = !options.length;
    const same = options.find((option) => option.textContent === before);
    this.whole.value = same ? same.value : "";
    this.show();
  }

  show() {
    const { chosen } = this;
    if (this.map) {
      const usual = this.findUsual(chosen);
      this.map.draw(chosen, usual);
    }
    this.fillTables(chosen);
    this.fillErrors(chosen);
    document.querySelectorAll("[data-column]").forEach((button) => {
      button.setAttribute("aria-pressed", String(Number(button.dataset.column) === chosen.column));
    });
    this.showPlace();
  }

  /** The share of the whole map, as released. */
  findUsual({ column, whole }) {
    if (whole === null) return null;
    const [part, all] = [column, whole].map((at) => this.map.map.counts[at].reduce((a, b) => a + b, 0));
    return all ? part / all : 0;
  }

  fillTables(chosen) {
    const rows = data.numbers.map((numbers, at) => {
      const row = make("tr", "");
      row.append(make("th", data.places[at], { scope: "row" }), make("td", describe(numbers[chosen.at])));
      return row;
    });
    this.tables.forEach((table, number) => {
      const part = number ? rows.slice(data.shown) : rows.slice(0, data.shown);
      table.tBodies[0].replaceChildren(...part);
      const [place] = table.tHead.rows[0].cells;
      table.tHead.rows[0].replaceChildren(place, make("th", chosen.name, { scope: "col" }));
    });
  }

  fillErrors(chosen) {
    byId("error-of").textContent = chosen.name;
    byId("errors").replaceChildren(
      ...data.errors.rows
        .filter(([, told]) => told[chosen.at] !== null)
        .map(([power, told]) => {
          const [low, high] = [10 ** power, 10 ** (power + 1)].map((end) => write(end));
          const row = make("tr", "");
          const [number, half] = told[chosen.at].map((each) => shorten(each));
          row.append(make("th", fill("error_from", { low, high }), { scope: "row" }));
          row.append(make("td", number), make("td", `± ${half}`));
          return row;
        }),
    );
  }

  /** The area that is chosen: its number in a sentence, all columns in the tree, a frame. */
  showPlace() {
    const [at, { chosen }] = [Number(this.place.value), this];
    const picked = byId("picked");
    if (picked) {
      picked.hidden = false;
      const [place, name] = [make("strong", data.places[at]), chosen.name];
      picked.replaceChildren(place, ` ${name}: ${describe(data.numbers[at][chosen.at])}`);
    }
    document.querySelectorAll("[data-number]").forEach((span) => {
      span.textContent = describe(data.numbers[at][Number(span.dataset.number)]);
    });
    if (this.map) framePlace(this.map.figure, data.boxes[at], data.map);
  }
}

(async () => {
  if (data.map) data.map = await unpackAll(data.map);
  new Columns();
  document.documentElement.dataset.ready = "yes";
})();
