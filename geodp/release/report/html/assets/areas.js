// Estimates of areas that the reader draws, types or loads.

/** The table of estimates, and the polygon that is being drawn. */
class Areas {
  constructor(view, words) {
    Object.assign(this, { view, words });
    this.isDrawing = false;
    byId("draw").addEventListener("click", () => (this.isDrawing ? this.finish() : this.begin()));
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
    byId("area-status").textContent = this.words.say("draw_help");
    this.view.canvas.focus();
  }

  label(name) {
    byId("draw").textContent = this.words.say(name);
    byId("draw").setAttribute("aria-pressed", String(this.isDrawing));
  }

  /** A corner of the polygon that is being drawn, in columns and rows from the top. */
  add(at) {
    if (!this.isDrawing) return false;
    this.view.sketch.push(this.view.toMap(at));
    byId("area-status").textContent = this.words.say("corners", { n: this.view.sketch.length });
    this.view.draw();
    return true;
  }

  finish() {
    const ring = this.view.sketch;
    this.stop();
    if (ring.length < 3) byId("area-status").textContent = this.words.say("few_corners");
    else
      this.estimate([
        { name: this.words.say("drawn_name", { n: this.number + 1 }), rings: [ring] },
      ]);
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

  get number() {
    return byId("estimates").tBodies[0].rows.length;
  }

  /** Polygons of a text: GeoJSON, or two numbers a line, in degrees where these are known. */
  readTyped(text) {
    if (text.trim().startsWith("{")) return this.moveAll(readGeoJSON(text));
    const name = this.words.say("drawn_name", { n: this.number + 1 });
    const typed = [{ name, rings: [readPoints(text)] }];
    return this.view.projection.isKnown ? this.moveAll(typed) : typed;
  }

  moveAll(polygons) {
    const { projection } = this.view;
    if (!projection.isKnown) throw new Error("projection");
    return polygons.map(({ name, rings }) => ({
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
    let polygons = null;
    try {
      polygons = read();
    } catch {
      byId("area-status").textContent = this.words.say("no_polygons");
      return;
    }
    this.estimate(polygons);
  }

  estimate(polygons) {
    const { surface } = this.view;
    polygons.forEach(({ name, rings }) => {
      const cells = surface.cellsInside(rings);
      const found = cells && surface.estimate(cells);
      this.view.shapes.push(rings);
      this.addRow(name, cells, found);
    });
    byId("area-status").textContent = this.words.say("estimated", { n: polygons.length });
    byId("estimates").hidden = false;
    this.view.draw();
  }

  addRow(name, cells, found) {
    const { number } = this.words;
    const row = byId("estimates").tBodies[0].insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    row.append(head);
    if (!found) {
      const cell = row.insertCell();
      cell.colSpan = 4;
      cell.textContent = this.words.say(cells ? "no_cells_inside" : "too_many_cells");
      return;
    }
    const [size, error] = [found.cells, found.error].map((each) => number.format(each));
    const texts = [size, this.words.count(found.count), error, this.words.interval(found)];
    texts.forEach((text) => (row.insertCell().textContent = text));
  }

  clear() {
    byId("estimates").tBodies[0].replaceChildren();
    byId("estimates").hidden = true;
    byId("area-status").textContent = "";
    this.view.shapes = [];
    this.stop();
  }
}
