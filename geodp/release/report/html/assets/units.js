// Units with outlines: their rings in steps of the map, and the map that draws them.

/** The box around rings: left, top, right, bottom. */
function boxOf(rings) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  rings.forEach((ring) =>
    ring.forEach(([x, y]) => {
      box[0] = Math.min(box[0], x);
      box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x);
      box[3] = Math.max(box[3], y);
    }),
  );
  return box;
}

/** Whether a point lies inside rings, by the even-odd rule. */
function isInside(rings, [x, y]) {
  return rings.flatMap((ring) => crossAt(ring, y)).filter((at) => at > x).length % 2 === 1;
}

/** Codes, areas, inner points and rings of units. */
class Units {
  constructor({ rows, cols, codes, areas, middles, rings }) {
    Object.assign(this, { rows, cols, codes, areas });
    this.middles = codes.map((_, i) => [middles[2 * i] / 16, middles[2 * i + 1] / 16]);
    let at = 0;
    const read = () => {
      let [x, y] = [0, 0];
      return Array.from({ length: rings[at++] }, () => {
        x += rings[at++];
        y += rings[at++];
        return [x, y];
      });
    };
    this.rings = codes.map(() => Array.from({ length: rings[at++] }, read));
    this.boxes = this.rings.map(boxOf);
  }

  /** The unit at a point in steps; -1 where there is none. */
  at([x, y]) {
    return this.boxes.findIndex(
      ([left, top, right, bottom], i) =>
        x >= left && x <= right && y >= top && y <= bottom && isInside(this.rings[i], [x, y]),
    );
  }

  /** Row and column of the units whose inner point lies inside rings, in steps. */
  inside(rings) {
    return this.middles.flatMap((point, i) => (isInside(rings, point) ? [[0, i]] : []));
  }
}

/** A map whose unit is a step, on which units are polygons. */
class UnitView extends MapView {
  get extent() {
    const { rows, cols } = this.surface.units;
    return [rows, cols];
  }

  /** The unit at a point, as row and column of the table; null outside of all. */
  cellAt(point) {
    const found = this.surface.units.at(point);
    return found < 0 ? null : [0, found];
  }

  /** The colours of all units, as texts. */
  paint(level, { density, count, levelShown }) {
    return Array.from(density, (each, i) => {
      const [red, green, blue] = this.colour(each, count[i], levelShown[i], level);
      return `rgb(${red},${green},${blue})`;
    });
  }

  get paths() {
    this.traced ||= this.surface.units.rings.map((rings) => {
      const path = new Path2D();
      rings.forEach((ring) => {
        ring.forEach(([x, y], i) => path[i ? "lineTo" : "moveTo"](x, y));
        path.closePath();
      });
      return path;
    });
    return this.traced;
  }

  draw() {
    const context = this.canvas.getContext("2d");
    const { image } = this.picture(this.level);
    const [rows, cols] = this.extent;
    const [left, top] = this.toPixels([0, 0]);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.look.around;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const [red, green, blue] = this.look.colours.outside;
    context.fillStyle = `rgb(${red},${green},${blue})`;
    context.fillRect(left, top, cols * this.scale, rows * this.scale);
    context.save();
    context.beginPath();
    context.rect(left, top, cols * this.scale, rows * this.scale);
    context.clip();
    if (this.outline) this.drawCoast(context, left, top);
    this.drawUnits(context, image, left, top);
    context.restore();
    this.drawMarks(context);
    this.onDraw?.(this.level);
  }

  /** Fill what is in sight; a line of its own colour closes the gaps that smoothing leaves. */
  drawUnits(context, image, left, top) {
    context.save();
    context.setTransform(this.scale, 0, 0, this.scale, left, top);
    const { boxes } = this.surface.units;
    const ends = [...this.fromPixels([0, 0]), ...this.fromPixels([this.canvas.width, this.canvas.height])];
    const seen = boxes.flatMap(([west, north, east, south], i) =>
      east >= ends[0] && west <= ends[2] && south >= ends[1] && north <= ends[3] ? [i] : [],
    );
    context.lineJoin = "round";
    context.lineWidth = 0.7 / this.scale;
    seen.forEach((i) => {
      context.fillStyle = image[i];
      context.strokeStyle = image[i];
      context.fill(this.paths[i], "evenodd");
      context.stroke(this.paths[i]);
    });
    const [rows, cols] = this.extent;
    const wide = Math.sqrt((rows * cols) / boxes.length) * this.scale;
    if (wide > 9 * this.ratio) {
      context.lineWidth = (0.5 * this.ratio) / this.scale;
      context.strokeStyle = this.look.border;
      seen.forEach((i) => context.stroke(this.paths[i]));
    }
    context.restore();
  }
}
