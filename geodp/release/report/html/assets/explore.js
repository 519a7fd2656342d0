// What stands under the pointer, and the controls around the map.

const byId = (id) => document.getElementById(id);

function addRow(list, term, text) {
  const name = document.createElement("dt");
  const value = document.createElement("dd");
  [name.textContent, value.textContent] = [term, text];
  list.append(name, value);
}

/** What is known of a point of the map: pairs of a word's name and text. */
function describe(view, words, at) {
  const { surface } = view;
  const found = [["position", words.point(view, at)]];
  const cell = view.cellAt(at);
  if (cell && surface.units) found.push(["unit", surface.units.codes[cell[1]]]);
  if (!cell) return [...found, ["count", words.say("outside_map")]];
  const { base } = surface.place;
  const square = cell.map((each) => Math.floor(each / base));
  const own = square[0] * surface.cols + square[1];
  if (!surface.isInside(own) && !surface.counts[own]) {
    return [...found, ["count", words.say("outside_domain")]];
  }
  const estimate = surface.estimate([cell]);
  if (!estimate && base > 1) return [...found, ...describeDrawn(view, words, square)];
  const count = estimate ? estimate.count : surface.counts[own];
  found.push(["count", words.count(count)]);
  const margin = surface.margin(surface.cell);
  found.push(["margin", margin === null ? words.say("unknown") : `±${words.few.format(margin)}`]);
  found.push(["ends", estimate ? words.interval(estimate) : words.say("unknown")]);
  return [...found, ...describeDrawn(view, words, square)];
}

/** What the map shows at a finest square. */
function describeDrawn(view, words, [row, col]) {
  const { surface } = view;
  const level = view.shown;
  const { density, count, told, cover } = view.picture(level);
  const at = surface.squareOf(level, row, col);
  const own = cover ? cover[row * surface.cols + col] : 0;
  if (own === WHOLE) return [["drawn", words.say("water")]];
  if (told[at] < 0 || own === UNSURE) return [["drawn", words.say("untold")]];
  const of = words.level(surface.levels[told[at]], surface.place);
  if (words.isFew(count[at])) {
    return [["drawn", words.say("few_drawn", { few: words.count(count[at]), of })]];
  }
  const unit = surface.place.kilometres === null ? "per_cell" : "per_km2";
  return [["drawn", words.say(unit, { density: words.few.format(density[at]), of })]];
}

function tell(view, words, at) {
  const list = byId("readout");
  const rows = describe(view, words, at);
  list.replaceChildren();
  rows.forEach(([term, text]) => addRow(list, words.say(`term_${term}`), text));
  return rows.map(([term, text]) => `${words.say(`term_${term}`)}: ${text}`).join("; ");
}

function fillSelect(select, names, onChange) {
  names.forEach((name, number) => select.append(new Option(name, String(number))));
  select.addEventListener("change", () => onChange(Number(select.value)));
}

/** The choices of level, labels and layers, and the slider. */
function startControls(view, words) {
  const { surface } = view;
  fillSelect(
    byId("level"),
    surface.levels.map((level) => words.level(level, surface.place)),
    (number) => {
      view.level = surface.levels[number];
      view.draw();
    },
  );
  surface.attributes.forEach((one, a) => {
    fillSelect(byId(`attribute-${a}`), [words.say("all_labels"), ...one.labels], (number) => {
      surface.parts[a] = number - 1;
      surface.select();
      view.change();
    });
  });
  if (byId("layer")) {
    fillSelect(byId("layer"), [words.say("origins"), words.say("destinations")], (number) => {
      surface.layer = number;
      surface.select();
      view.change();
    });
  }
  const slider = byId("belief");
  const say = () => {
    const times = Number(slider.value);
    const name = times ? "belief_some" : "belief_none";
    byId("belief-value").textContent = words.say(name, { times: words.number.format(times) });
    slider.setAttribute("aria-valuetext", byId("belief-value").textContent);
    return times;
  };
  slider.addEventListener("input", () => {
    view.times = say();
    view.draw();
  });
  view.times = say();
}

/** The scale bar and what is said of the level that is drawn. */
function startNotes(view, words) {
  const { kilometres, aspect } = view.surface.place;
  view.onDraw = (level) => {
    const name = words.level(level, view.surface.place);
    const isCoarser = level !== view.level;
    byId("drawn-level").textContent = words.say(isCoarser ? "drawn_coarser" : "drawn_level", {
      name,
    });
    if (kilometres === null) return;
    const each = (view.scale * aspect) / kilometres / view.ratio;
    const most = 160 / each;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].find((step) => step * power <= most) * power;
    // In parts of the map, whose size on paper is another one.
    byId("scale-bar").style.width = `${(100 * length * each * view.ratio) / view.canvas.width}%`;
    byId("scale-text").textContent = words.say("km", { km: words.few.format(length) });
  };
}

/** Pointer and wheel: pan, zoom, and what is under the pointer. */
function startPointer(view, words, onPoint) {
  const { canvas } = view;
  const pixels = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * view.ratio, (event.clientY - box.top) * view.ratio];
  };
  const held = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, pixels(event));
    canvas.setPointerCapture(event.pointerId);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = pixels(event);
    if (!held.has(event.pointerId)) {
      tell(view, words, view.fromPixels(at));
      return;
    }
    const from = held.get(event.pointerId);
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
    held.set(event.pointerId, at);
    moved += Math.abs(at[0] - from[0]) + Math.abs(at[1] - from[1]);
    if (other) {
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
      view.zoom(apart(at) / Math.max(apart(from), 1), other);
    } else if (moved > 4 * view.ratio) {
      view.move(from[0] - at[0], from[1] - at[1]);
    }
  });
  const release = (event) => {
    if (held.delete(event.pointerId) && event.type === "pointerup" && moved <= 4 * view.ratio) {
      onPoint(view.fromPixels(pixels(event)));
    }
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      view.zoom(2 ** (-event.deltaY / 300), pixels(event));
    },
    { passive: false },
  );
}

/** Keys on the map: arrows move the cross, plus and minus zoom. */
function startKeys(view, words, onKey) {
  const [rows, cols] = view.extent;
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  view.canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=")
      view.zoom(1.5, view.toPixels(view.cross || [cols / 2, rows / 2]));
    else if (event.key === "-") view.zoom(1 / 1.5);
    else if (event.key === "0") view.fit();
    else if (steps[event.key]) {
      const far = Math.max(1, Math.round((event.shiftKey ? 80 : 8) / view.scale));
      const [col, down] = view.cross || [Math.floor(cols / 2) + 0.5, Math.floor(rows / 2) + 0.5];
      const [right, below] = steps[event.key].map((step) => step * far);
      view.cross = [
        Math.min(Math.max(col + right, 0.5), cols - 0.5),
        Math.min(Math.max(down + below, 0.5), rows - 0.5),
      ];
      const [x, y] = view.toPixels(view.cross);
      const inside = x > 0 && y > 0 && x < view.canvas.width && y < view.canvas.height;
      view.move(...(inside ? [0, 0] : [x - view.canvas.width / 2, y - view.canvas.height / 2]));
      byId("status").textContent = tell(view, words, view.cross);
    } else if (!onKey(event.key)) return;
    event.preventDefault();
  });
}
