// What stands under the pointer, what may be quoted of it, and the controls around the map.

const byId = (id) => document.getElementById(id);

/** Times as far as the nearer end is the other one of an interval called longer to one side. */
const LOPSIDED = 1.5;

function addRow(list, term, text) {
  const name = document.createElement("dt");
  const value = document.createElement("dd");
  [name.textContent, value.textContent] = [term, text];
  list.append(name, value);
}

/** Why an interval reaches further to one side; null where it does not, or begins at 0. */
function explainEnds({ count, low, high }) {
  if (low === 0) return null;
  if (high - count > LOPSIDED * (count - low)) return "why_up";
  return count - low > LOPSIDED * (high - count) ? "why_down" : null;
}

/** What is known of a point of the map: pairs of a word's name and text. */
function describe(view, words, who, at) {
  const { surface } = view;
  const found = [["position", words.point(view, at)]];
  const cell = view.cellAt(at);
  if (cell && surface.units) found.push(["unit", surface.units.codes[cell[1]]]);
  if (!cell) return [...found, ["count", words.text("outside_map")]];
  const { base } = surface.place;
  const square = cell.map((each) => Math.floor(each / base));
  const own = square[0] * surface.cols + square[1];
  if (!surface.isInside(own) && !surface.counts[own]) {
    return [...found, ["count", words.text("outside_domain")]];
  }
  const { count, estimate, box } = surface.estimateSquare(view.level, cell);
  found.push(["count", words.count(count)]);
  found.push(["ends", estimate ? words.interval(estimate) : words.text("unknown")]);
  if (estimate && !words.isFew(count) && !isWater(surface, box)) {
    const why = explainEnds(estimate);
    if (why) found.push(["why", words.text(why)]);
    else if (estimate.low <= 0 && estimate.high > estimate.low) {
      found.push(["why", words.text("why_nobody", { who })]);
    }
  }
  return [...found, ...describeDrawn(view, words, square)];
}

/** What the map shows at a finest square. */
function describeDrawn(view, words, [row, col]) {
  const { surface, level } = view;
  const { density, count, levelShown, cover } = view.picture(level);
  const at = surface.squareOf(level, row, col);
  const own = cover ? cover[row * surface.cols + col] : 0;
  if (own === WHOLE) return [["drawn", words.text("water")]];
  if (levelShown[at] < 0) return [["drawn", words.text("untold")]];
  const larger = surface.levels[levelShown[at]];
  const of =
    larger === level
      ? words.text("mean_own")
      : words.text("mean_larger", { name: words.levelInside(larger, surface) });
  if (words.isFew(count[at])) {
    return [["drawn", words.text("few_drawn", { few: words.count(count[at]), of })]];
  }
  const unit = surface.place.kilometres === null ? "per_cell" : "per_km2";
  return [["drawn", words.text(unit, { density: words.few.format(density[at]), of })]];
}

/** The sentence to quote of the square at a point, or why not to; null where nothing is known. */
function pin(view, words, who, at) {
  const { surface, level } = view;
  const cell = view.cellAt(at);
  if (!cell) return null;
  const { estimate, box } = surface.estimateSquare(level, cell);
  if (!estimate) return null;
  const judged = { ...judge(estimate, words), place: words.square(view, level, cell, box) };
  const heading = words.chosen(view, level, cell, box);
  const numbers = ["count", "low", "high"].map((name) => [name, words.number.format(judged[name])]);
  const figures = { who, ...Object.fromEntries(numbers) };
  const unfit = { quote_few: "pin_few", quote_unsure: "pin_unsure" }[judged.sentence];
  if (unfit) {
    const name = isWater(surface, box) ? "pin_water" : unfit;
    return { heading, text: words.text(name, figures), isFit: false };
  }
  const isExact = judged.sentence === "quote_exact";
  return { heading, text: quote(words, who, judged), isFit: true, isExact };
}

/** Describe a point; where it is pinned, also what may be quoted of it. */
function showReadout(view, words, who, at, isPinned) {
  const list = byId("readout");
  byId("readout-hint").hidden = true;
  const rows = describe(view, words, who, at);
  list.replaceChildren();
  rows.forEach(([term, text]) => addRow(list, words.text(`term_${term}`), text));
  const texts = rows.map(([term, text]) => `${words.text(`term_${term}`)}: ${text}`);
  if (!isPinned) return texts.join("; ");
  const found = pin(view, words, who, at);
  showPin(found);
  return found ? `${texts.join("; ")}. ${found.text}` : texts.join("; ");
}

/** Show what may be quoted, or why not to quote it; nothing for null. */
function showPin(found) {
  byId("pin").hidden = !found;
  if (!found) return;
  byId("pin-place").textContent = found.heading;
  byId("pinned").textContent = bind(found.text);
  byId("pin").dataset.exact = found.isExact ? "yes" : "no";
  byId("copy-pinned").hidden = !found.isFit;
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
    surface.levels.map((level) => words.level(level, surface)),
    (number) => {
      view.level = surface.levels[number];
      view.draw();
    },
  );
  surface.attributes.forEach((one, a) => {
    fillSelect(byId(`attribute-${a}`), [words.text("all_labels"), ...one.labels], (number) => {
      surface.parts[a] = number - 1;
      surface.select();
      view.change();
    });
  });
  if (byId("layer")) {
    fillSelect(byId("layer"), [words.text("origins"), words.text("destinations")], (number) => {
      surface.layer = number;
      surface.select();
      view.change();
    });
  }
  const slider = byId("belief");
  const readTimes = () => {
    const times = Number(slider.value);
    const name = times ? "belief_some" : "belief_none";
    byId("belief-value").textContent = words.text(name, { times: words.number.format(times) });
    slider.setAttribute("aria-valuetext", byId("belief-value").textContent);
    return times;
  };
  slider.addEventListener("input", () => {
    view.times = readTimes();
    view.draw();
  });
  view.times = readTimes();
}

/** The scale bar and the name of the level that is drawn. */
function startNotes(view, words) {
  const { kilometres, aspect } = view.surface.place;
  view.onDraw = (level) => {
    byId("drawn-level").textContent = words.text("drawn_level", {
      name: words.level(level, view.surface),
    });
    if (kilometres === null) return;
    const each = (view.scale * aspect) / kilometres / view.ratio;
    const most = 160 / each;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].find((step) => step * power <= most) * power;
    // In parts of the map, whose size on paper is another one.
    byId("scale-bar").style.width = `${(100 * length * each * view.ratio) / view.canvas.width}%`;
    byId("scale-text").textContent = words.text("km", { km: words.few.format(length) });
  };
}
