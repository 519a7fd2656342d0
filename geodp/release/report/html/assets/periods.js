// The page of a series: the map of a time under the slider, and the curve of a place.

const HEIGHT = 300;
const [TOP, RIGHT, BOTTOM, LEFT] = [12, 36, 34, 84];

/** The ends of an axis and its steps: round numbers around all that is shown. */
function findTicks(low, high) {
  const rough = (high - low || Math.abs(high) || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  return Array.from({ length: Math.max(last - first, 1) + 1 }, (_, i) => (first + i) * step);
}

/** The line of a number over time with the band of its intervals, as wide as the page is. */
class Curve {
  constructor(numbers, label, width) {
    this.points = numbers.map((one, at) => ({ at, one })).filter(({ one }) => Array.isArray(one));
    this.width = width;
    this.last = Math.max(numbers.length - 1, 1);
    const viewBox = `0 0 ${width} ${HEIGHT}`;
    this.drawn = makeShape("svg", { viewBox, role: "img", "aria-label": label });
    if (this.points.length) this.draw();
  }

  x(at) {
    return LEFT + (at / this.last) * (this.width - LEFT - RIGHT);
  }

  y(value) {
    const [low, high] = [this.ticks[0], this.ticks[this.ticks.length - 1]];
    return TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  }

  draw() {
    const every = this.points.flatMap(({ one }) => one.filter((each) => each !== null));
    this.ticks = findTicks(Math.min(...every), Math.max(...every));
    this.ticks.forEach((value) => this.drawTick(value));
    this.drawTimes();
    const told = this.points.filter(({ one }) => one[1] !== null);
    const corner = (side) => ({ at, one }) => `${this.x(at)},${this.y(one[side])}`;
    const around = [...told.map(corner(2)), ...told.map(corner(1)).reverse()];
    this.add("polygon", { points: around.join(" "), class: "band" });
    told.forEach(({ at, one: [, low, high] }) => {
      this.drawLine(this.x(at), this.y(low), this.x(at), this.y(high), "bar");
    });
    this.add("polyline", { points: this.points.map(corner(0)).join(" "), class: "line" });
    this.points.forEach(({ at, one }) => this.add("circle", { cx: this.x(at), cy: this.y(one[0]), r: 3.5 }));
  }

  add(name, attributes, text) {
    this.drawn.append(makeShape(name, attributes, text));
  }

  drawLine(x1, y1, x2, y2, name) {
    this.add("line", { x1, y1, x2, y2, class: name });
  }

  drawTick(value) {
    const y = this.y(value);
    this.drawLine(LEFT, y, this.width - RIGHT, y, "tick");
    this.add("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, write(value));
  }

  /** As many times below the axis as have room, the first and the last among them. */
  drawTimes() {
    const room = Math.max(Math.floor((this.width - LEFT - RIGHT) / 84), 1);
    const step = Math.max(Math.ceil(this.last / room), 1);
    data.times.forEach((time, at) => {
      if (at % step && at !== this.last) return;
      if (at !== this.last && this.last - at < step) return;
      this.add("text", { x: this.x(at), y: HEIGHT - 10, "text-anchor": "middle" }, time);
    });
  }

  /** Mark the time that the slider is at. */
  mark(at) {
    this.drawn.querySelector(".now")?.remove();
    if (this.points.length) this.drawLine(this.x(at), TOP, this.x(at), HEIGHT - BOTTOM, "now");
  }
}

/** What changed from the first time to the last one. */
function describeChange(one) {
  if (!Array.isArray(one) || one[1] === null) return "";
  const [value, low, high] = one.map((each) => write(each, true));
  const name = one[1] > 0 || one[2] < 0 ? "change_told" : "change_untold";
  const [first, last] = [data.labels[0], data.labels[data.labels.length - 1]];
  const said = [fill(name, { first, last, value, low, high })];
  if (data.smoothed) said.push(data.words.change_smoothed);
  return said.join(language === "ja" ? "" : " ");
}

function listNumbers(numbers) {
  const list = document.createElement("dl");
  numbers.forEach((one, at) => {
    const [term, what] = ["dt", "dd"].map((name) => document.createElement(name));
    term.textContent = data.labels[at];
    what.textContent = describe(one);
    list.append(term, what);
  });
  return list;
}

/** The maps, their slider, and the place that is shown: what the reader chooses. */
class Series {
  constructor() {
    this.figures = [...document.querySelectorAll("figure.map")];
    this.slider = byId("time");
    this.place = byId("place");
    if (this.slider) this.startMaps();
    if (this.place) this.startCurves();
    this.show();
  }

  get chosen() {
    return this.slider ? Number(this.slider.value) : data.times.length - 1;
  }

  startMaps() {
    byId("tools").hidden = false;
    this.slider.addEventListener("input", () => this.show());
    const move = (by) => () => {
      this.slider.value = this.chosen + by;
      this.show();
    };
    byId("step-back").addEventListener("click", move(-1));
    byId("step-on").addEventListener("click", move(1));
    byId("table")?.addEventListener("change", ({ target }) => {
      this.figures.forEach((one, at) => (one.hidden = at !== Number(target.value)));
    });
    this.figures.forEach((one, at) => {
      one.querySelector("svg").addEventListener("click", (event) => this.pick(event, data.maps[at]));
    });
  }

  startCurves() {
    ["place", "quantity"].forEach((id) => byId(id)?.addEventListener("change", () => this.trace()));
    new ResizeObserver(() => this.trace()).observe(byId("curve"));
  }

  show() {
    const at = this.chosen;
    this.figures.forEach((one) => {
      one.querySelectorAll("image").forEach((image, number) => {
        image.toggleAttribute("hidden", number !== at);
      });
    });
    if (this.slider) {
      byId("shown").textContent = data.labels[at];
      this.slider.setAttribute("aria-valuetext", data.labels[at]);
    }
    this.curve?.mark(at);
  }

  /** Choose the smallest place around a point of a map. */
  pick(event, map) {
    const at = findPlace(event, map);
    if (at === null) return;
    this.place.value = at;
    this.trace();
  }

  /** Draw the curve of the chosen place, list its numbers, and mark it on the maps. */
  trace() {
    const [at, which] = [Number(this.place.value), Number(byId("quantity")?.value || 0)];
    const numbers = data.numbers[at].map((each) => each[which]);
    const names = { quantity: data.quantities[which], place: data.places[at] };
    this.curve = new Curve(numbers, fill("curve_label", names), byId("curve").clientWidth);
    byId("curve").replaceChildren(this.curve.drawn);
    this.curve.mark(this.chosen);
    byId("change").textContent = describeChange(data.changes[at][which]);
    byId("listed").replaceChildren(listNumbers(numbers));
    this.figures.forEach((one, number) => framePlace(one, data.boxes[at], data.maps[number]));
  }
}

new Series();
document.documentElement.dataset.ready = "yes";
