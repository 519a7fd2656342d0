// Sums of areas that the reader draws, types or loads.

/** The list of sums, and the area that is being drawn; `show` moves the map to one. */
class Areas {
  constructor(view, who, words, show) {
    Object.assign(this, { view, who, words, show });
    this.isDrawing = false;
    const turn = () => (this.isDrawing ? this.finish() : this.begin());
    ["draw", "draw-here"].forEach((name) => byId(name).addEventListener("click", turn));
    byId("draw-finish").addEventListener("click", () => this.finish());
    byId("draw-cancel").addEventListener("click", () => this.stop());
    byId("clear").addEventListener("click", () => this.clear());
    byId("type").addEventListener("submit", (event) => {
      event.preventDefault();
      this.take(() => this.readTyped(byId("points").value));
    });
    byId("file").addEventListener("change", (event) => this.load(event.target));
  }

  begin() {
    this.isDrawing = true;
    this.view.sketch = [];
    this.label("draw_finish");
    this.explain();
    this.view.canvas.focus({ preventScroll: true });
    const box = byId("drawing");
    const { top, bottom } = box.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight / 2) box.scrollIntoView({ block: "start" });
  }

  label(name) {
    byId("drawing").hidden = !this.isDrawing;
    ["draw", "draw-here"].forEach((each) => {
      byId(each).textContent = this.words.text(name);
      byId(each).setAttribute("aria-pressed", String(this.isDrawing));
    });
  }

  /** Explain at the map how to draw; `first` is a sentence on what was drawn so far. */
  explain(first = "") {
    const gap = this.words.language === "ja" || !first ? "" : " ";
    byId("draw-status").textContent = first + gap + this.words.text("draw_help");
  }

  /** A corner of the area that is being drawn, in columns and rows from the top. */
  add(at) {
    if (!this.isDrawing) return false;
    this.view.sketch.push(this.view.toMap(at));
    this.explain(this.words.text("corners", { n: this.view.sketch.length }));
    this.view.draw();
    return true;
  }

  finish() {
    const ring = this.view.sketch;
    if (ring.length < 3) {
      this.explain(this.words.text("few_corners"));
      return;
    }
    // The cross belongs to the square that was chosen before.
    this.view.cross = null;
    this.stop();
    const [{ place, text, box, isExact }] = this.estimate([{ name: null, rings: [ring] }]);
    // Beside the map, where the reader looks; the list of areas is far below.
    showPin({ heading: this.words.text("pin_place", { place }), text, isFit: Boolean(box), isExact });
    byId("pin").focus();
  }

  stop() {
    this.isDrawing = false;
    this.view.sketch = [];
    this.label("draw_begin");
    this.view.draw();
  }

  key(name) {
    if (!this.isDrawing) return false;
    if (name === "Escape") this.stop();
    else if (name === "Enter") this.finish();
    else if (name === " " && this.view.cross) this.add(this.view.cross);
    else return false;
    return true;
  }

  /** Areas of a text: GeoJSON, or two numbers a line, in degrees where these are known. */
  readTyped(text) {
    if (text.trim().startsWith("{")) return this.moveAll(readGeoJSON(text));
    const typed = [{ name: null, rings: [readPoints(text)] }];
    return this.view.projection.isKnown ? this.moveAll(typed) : typed;
  }

  /** Areas in degrees, in the map's coordinates. Throws where none of them lies on the map. */
  moveAll(areas) {
    const { projection } = this.view;
    if (!projection.isKnown) throw new Error("no_polygons");
    const swap = ({ rings }) => ({ rings: rings.map((ring) => ring.map(([x, y]) => [y, x])) });
    if (!areas.some((one) => projection.meets(one.rings))) {
      const isSwapped = areas.map(swap).some((one) => projection.meets(one.rings));
      throw new Error(isSwapped ? "swapped" : "off_map");
    }
    return areas.map(({ name, rings }) => ({
      name,
      rings: rings.map((ring) => projection.moveRing(ring)),
    }));
  }

  async load(input) {
    const [file] = input.files;
    if (!file) return;
    const text = await file.text();
    this.take(() => this.moveAll(readGeoJSON(text)));
    input.value = "";
  }

  take(read) {
    let areas = null;
    try {
      areas = read();
    } catch (error) {
      const name = ["swapped", "off_map"].find((each) => each === error.message);
      byId("area-status").textContent = this.words.text(name || "no_polygons");
      return;
    }
    this.estimate(areas);
  }

  estimate(areas) {
    const listed = areas.map(({ name, rings }) => {
      const number = 1 + Math.max(0, ...this.view.shapes.map((each) => each.number));
      const place = name ?? this.words.text("drawn_name", { n: number });
      return { place, ...this.list({ place, rings, number }) };
    });
    byId("area-status").textContent = this.words.text("estimated", { n: areas.length });
    this.view.draw();
    return listed;
  }

  /** Whether some of an area lies off the map, or on squares that are no part of the release. */
  isPart(rings, cells, found) {
    const { surface } = this.view;
    if (surface.units) return false;
    const { rows, cols } = surface.place;
    const isOff = rings.flat().some((point) => {
      const [col, row] = toCells(surface.place, point);
      return Math.min(col, row, cols - col, rows - row) < -1e-6;
    });
    return isOff || found.cells < cells.length * surface.labelsChosen();
  }

  /** The sentence on an area, and the facts behind it. */
  describe({ place, rings }) {
    const { surface } = this.view;
    const cells = surface.cellsInside(rings);
    const found = cells && surface.estimate(cells);
    if (!found) {
      const name = cells ? "no_cells_inside" : "too_many_cells";
      return { text: this.words.text(name, { place }), facts: "", box: null };
    }
    const where = this.isPart(rings, cells, found) ? "part" : "in";
    const judged = { ...judge(found, this.words), place, where };
    const text = quote(this.words, this.who, judged);
    const isExact = judged.sentence === "quote_exact";
    return { text, facts: this.words.facts(found), box: boxOfCells(cells), isExact };
  }

  /** Add an area to the list, under its number on the map; return its sentence and its box. */
  list(one) {
    const { words, view } = this;
    const shape = { rings: one.rings, number: one.number };
    const { text, facts, box, isExact } = this.describe(one);
    const item = makeItem(text, (sentence) => {
      const button = (name, longer, act) => makeButton(words, name, longer, one.place, act);
      const found = [
        button("remove", "remove_of", () => {
          view.shapes = view.shapes.filter((each) => each !== shape);
          item.remove();
          byId("estimates").hidden = !view.shapes.length;
          byId("draw").focus();
          view.draw();
        }),
      ];
      if (!box) return found;
      const copied = () => copyText(words, sentence, byId("area-status"), isExact);
      const around = view.surface.units ? boxOfUnits(view, one.rings) : box;
      const shown = () => this.show({ place: one.place, box: around, isArea: true, isExact }, text);
      return [button("copy", "copy_of", copied), button("show", "show_of", shown), ...found];
    });
    if (facts) {
      const small = document.createElement("p");
      small.className = "small facts";
      small.textContent = bind(facts);
      item.append(small);
    }
    item.value = one.number;
    view.shapes.push(shape);
    byId("estimates").append(item);
    byId("estimates").hidden = false;
    return { text, box, isExact };
  }

  clear() {
    byId("estimates").replaceChildren();
    byId("estimates").hidden = true;
    byId("area-status").textContent = "";
    this.view.shapes = [];
    this.stop();
  }
}

/** The first row and column of some cells, and those after their last. */
function boxOfCells(cells) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  cells.forEach(([row, col]) => {
    box[0] = Math.min(box[0], row);
    box[1] = Math.min(box[1], col);
    box[2] = Math.max(box[2], row + 1);
    box[3] = Math.max(box[3], col + 1);
  });
  return box;
}

/** The rows and columns of steps around rings, on a map of units. */
function boxOfUnits(view, rings) {
  const points = rings.flat().map((point) => view.fromMap(point));
  const [left, top, right, bottom] = boxOf([points]);
  return [Math.floor(top), Math.floor(left), Math.ceil(bottom), Math.ceil(right)];
}
