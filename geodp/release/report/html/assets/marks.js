// What lies over the map: names of towns, the border of a place, numbers of areas.

/** Towns that a map has room for, and pixels of the screen that each takes. */
const MOST_NAMES = 14;
const ROOM = 22_000;

/** Kilometres up to which a square is near a town. */
const NEAR_KM = 30;

/** A text with a light edge, so that it is read on light and on dark. */
function drawText(view, context, text, [x, y], font, align = "center") {
  const [weight, size] = font.includes(" ") ? font.split(" ") : ["", font];
  context.font = `${weight} ${Number(size) * view.ratio}px system-ui, sans-serif`;
  context.textAlign = align;
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3.5 * view.ratio;
  context.strokeStyle = view.look.around;
  context.strokeText(text, x, y);
  context.fillStyle = view.look.coast;
  context.fillText(text, x, y);
}

/** Names of the most important towns in sight that have room, each beside its dot. */
function drawNames(view, context) {
  const { width, height } = view.canvas;
  const { ratio } = view;
  const most = Math.min(MOST_NAMES, Math.ceil((width * height) / ratio ** 2 / ROOM));
  const taken = [];
  context.font = `${12 * ratio}px system-ui, sans-serif`;
  for (const [col, down, name] of view.names) {
    if (taken.length >= most) break;
    const [x, y] = view.toPixels([col, down]);
    const wide = context.measureText(name).width;
    const box = [x - 4 * ratio, y - 9 * ratio, x + wide + 12 * ratio, y + 9 * ratio];
    const isIn = box[0] > 0 && box[1] > 0 && box[2] < width && box[3] < height;
    const isFree = taken.every(
      ([left, top, right, bottom]) =>
        box[2] < left || right < box[0] || box[3] < top || bottom < box[1],
    );
    if (!isIn || !isFree) continue;
    taken.push(box);
    context.beginPath();
    context.arc(x, y, 2.5 * ratio, 0, 2 * Math.PI);
    [context.fillStyle, context.strokeStyle] = [view.look.coast, view.look.around];
    context.lineWidth = 2 * ratio;
    context.stroke();
    context.fill();
    drawText(view, context, name, [x + 7 * ratio, y], "12", "left");
    context.font = `${12 * ratio}px system-ui, sans-serif`;
  }
}

/** The name of the nearest town to the middle of a box, if it is near enough; or null. */
function nearestTown({ names, surface }, [top, left, bottom, right]) {
  const { kilometres, aspect, rows, northwards } = surface.place;
  if (!kilometres) return null;
  const down = (top + bottom) / 2;
  const [x, y] = [(left + right) / 2, northwards ? rows - down : down];
  let [best, least] = [null, NEAR_KM];
  for (const [col, row, name] of names) {
    const far = Math.hypot(col - x, (row - y) / aspect) * kilometres;
    if (far <= least) [best, least] = [name, far];
  }
  return best;
}

/** Straight lines of a border, as geodp.release.report.html.outlines.trace_cells states them. */
function readBorder(lines) {
  const found = [];
  let at = 0;
  [true, false].forEach((isAcross) => {
    let [line, begin, end] = [0, 0, 0];
    for (let left = lines[at++]; left > 0; left--) {
      line += lines[at++];
      begin += lines[at++];
      end += lines[at++];
      found.push(isAcross ? [begin, line, end, line] : [line, begin, line, end]);
    }
  });
  return found;
}

/** The border of the place that is shown: its own, or that of its box. */
function drawPlace(view, context) {
  const { box, lines } = view.marked;
  if (view.surface.units && lines) {
    context.save();
    const [left, top] = view.toPixels([0, 0]);
    context.setTransform(view.scale, 0, 0, view.scale, left, top);
    context.lineWidth = (2.5 * view.ratio) / view.scale;
    context.strokeStyle = view.look.line;
    lines.forEach((unit) => context.stroke(view.paths[unit]));
    context.restore();
    return;
  }
  const [top, left, bottom, right] = box;
  const around = [
    [left, top, right, top],
    [left, bottom, right, bottom],
    [left, top, left, bottom],
    [right, top, right, bottom],
  ];
  const [rows] = view.extent;
  const turn = (row) => (view.surface.place.northwards && !view.surface.units ? rows - row : row);
  context.beginPath();
  (lines ? readBorder(lines) : around).forEach(([fromCol, fromRow, toCol, toRow]) => {
    context.moveTo(...view.toPixels([fromCol, turn(fromRow)]));
    context.lineTo(...view.toPixels([toCol, turn(toRow)]));
  });
  context.lineCap = "round";
  view.strokeTwice(context);
}
