// What scripts of pages of several numbers share: shapes, texts, and places on a map.

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const language = document.documentElement.lang;

function makeShape(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.textContent = text;
  return made;
}

function fill(name, values) {
  return data.words[name].replace(/\{(\w+)\}/g, (_, field) => String(values[field]));
}

function write(number, signed = false) {
  const signDisplay = signed ? "exceptZero" : "auto";
  return new Intl.NumberFormat(language, { maximumFractionDigits: 6, signDisplay }).format(number);
}

/** A number as tables write it. */
function describe(one) {
  if (one === null) return data.words.unknown;
  if (one === "<") return data.few;
  const [count, low, high] = one.map((each) => each !== null && write(each));
  return fill(low === false ? "figures_hidden" : "figures", { count, low, high });
}

/** The number of the smallest place around a point of a map; null: there is none. */
function findPlace(event, { rows, northwards }) {
  const group = event.currentTarget.querySelector("g");
  const point = new DOMPoint(event.clientX, event.clientY);
  const { x, y } = point.matrixTransform(group.getScreenCTM().inverse());
  const [row, col] = [Math.floor(northwards ? rows - y : y), Math.floor(x)];
  const size = ([top, left, bottom, right]) => (bottom - top) * (right - left);
  const around = (data.boxes || [])
    .map((box, at) => ({ box, at }))
    .filter(({ box }) => box[0] <= row && row < box[2] && box[1] <= col && col < box[3])
    .sort((one, other) => size(one.box) - size(other.box));
  return around.length ? around[0].at : null;
}

/** Mark a place on a map. */
function framePlace(figure, [top, left, bottom, right], { rows, northwards }) {
  const group = figure.querySelector("g");
  group.querySelector(".picked")?.remove();
  const y = northwards ? rows - bottom : top;
  const box = { x: left, y, width: right - left, height: bottom - top, class: "picked" };
  group.append(makeShape("rect", box));
}
