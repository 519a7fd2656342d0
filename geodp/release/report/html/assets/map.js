// The map on its canvas: colours, zoom and pan, the coastline, the cross, polygons.

/** Pixels of a cell beyond which nobody is taken who asks for a place: its surroundings count. */
const CLOSE = 24;

/** A colour as red, green and blue. */
function parseColour(text) {
  return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
}

/** A colour with some of another one in it. */
function mix(colour, other, part) {
  return colour.map((each, i) => Math.round(each + (other[i] - each) * part));
}

/** What is drawn, and where: `x` and `y` are the cell in the middle, `scale` pixels to a row. */
class MapView {
  constructor(canvas, surface, look) {
    Object.assign(this, { canvas, surface, look });
    this.pictures = new Map();
    this.level = surface.levels[0];
    this.times = 1;
    this.cross = null;
    this.marked = null;
    this.names = [];
    this.shapes = [];
    this.sketch = [];
    const { aspect } = surface.place;
    const [rows, cols] = this.extent;
    this.size = [cols * aspect, rows];
    const form = Math.min(Math.max(this.size[0] / this.size[1], 0.7), 1.8);
    canvas.style.aspectRatio = String(form);
    this.outline = surface.coast ? this.traceCoast() : null;
    this.fit();
  }

  /** Rows and columns of the whole map. */
  get extent() {
    return [this.surface.place.rows, this.surface.place.cols];
  }

  /** Begin anew with the whole map. */
  fit() {
    this.measure();
    const [wide, high] = this.size;
    this.least = Math.min(this.canvas.width / wide, this.canvas.height / high);
    this.scale = this.least;
    [this.x, this.y] = [wide / 2, high / 2];
    this.draw();
  }

  /** Whether nobody has zoomed or moved. */
  isWhole() {
    const [wide, high] = this.size;
    return this.scale === this.least && this.x === wide / 2 && this.y === high / 2;
  }

  /** Draw what is seen on a canvas that has got another size. */
  resize() {
    this.measure();
    this.draw();
  }

  measure() {
    const ratio = globalThis.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.ratio = ratio;
    const shape = this.canvas.width / this.canvas.height;
    this.canvas.parentElement.style.setProperty("--shape", String(shape));
  }

  /** The coastline as a path whose unit is a row of cells. */
  traceCoast() {
    const { steps, lines } = this.surface.coast;
    const [a, , , , e] = this.surface.place.transform;
    const [west, south, east, north] = this.surface.place.bounds;
    const step = Math.max(east - west, north - south) / steps;
    const across = (step / Math.abs(a)) * this.surface.place.aspect;
    const down = step / Math.abs(e);
    const path = new Path2D();
    for (let at = 0; at < lines.length;) {
      const points = lines[at++];
      let [x, y] = [0, 0];
      for (let i = 0; i < points; i++) {
        x += lines[at++];
        y += lines[at++];
        path[i ? "lineTo" : "moveTo"](x * across, y * down);
      }
    }
    return path;
  }

  /** Forget what was drawn, as other labels were chosen. */
  change() {
    this.pictures.clear();
    this.draw();
  }

  /** What the squares of a level show, and as a picture of a pixel a square. */
  picture(level) {
    const name = `${level.number} ${this.times}`;
    if (!this.pictures.has(name)) {
      if (this.pictures.size > 8) this.pictures.clear();
      const found = this.surface.densities(level, this.times);
      const cover = coverWater(this.surface, level, this.times, found);
      const water = paintWater(this.surface, cover, this.look.colours);
      this.pictures.set(name, { ...found, cover, water, image: this.paint(level, found) });
    }
    return this.pictures.get(name);
  }

  /** The number of a density's class. */
  classOf(density) {
    const nearly = density * (1 + 1e-9);
    return this.look.begins.filter((begin) => nearly >= begin).length;
  }

  colour(density, count, levelShown, level) {
    const { classes, paper, outside, untold, below, few } = this.look.colours;
    if (levelShown === OUTSIDE) return outside;
    if (levelShown === UNTOLD) return untold;
    if (density === 0) return paper;
    const isFew = this.surface.below !== null && count > 0 && count < this.surface.below;
    const own = density < 0 ? below : isFew ? few : classes[this.classOf(density)];
    return levelShown === level.number ? own : mix(own, paper, 1 - this.look.kept);
  }

  paint(level, { density, count, levelShown, rows, cols }) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [cols, rows];
    const context = canvas.getContext("2d");
    const image = context.createImageData(cols, rows);
    const { northwards } = this.surface.place;
    for (let at = 0; at < density.length; at++) {
      const row = Math.floor(at / cols);
      const to = 4 * ((northwards ? rows - 1 - row : row) * cols + (at % cols));
      const colour = this.colour(density[at], count[at], levelShown[at], level);
      for (let i = 0; i < 3; i++) image.data[to + i] = colour[i];
      image.data[to + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  /** Pixels of a point, in columns and in rows from the top. */
  toPixels([col, down]) {
    return [
      (col * this.surface.place.aspect - this.x) * this.scale + this.canvas.width / 2,
      (down - this.y) * this.scale + this.canvas.height / 2,
    ];
  }

  /** Columns and rows from the top, with fractions, of pixels. */
  fromPixels([x, y]) {
    return [
      ((x - this.canvas.width / 2) / this.scale + this.x) / this.surface.place.aspect,
      (y - this.canvas.height / 2) / this.scale + this.y,
    ];
  }

  /** Row and column of a point in columns and rows from the top; null outside the map. */
  cellAt([col, down]) {
    const { rows, cols, northwards } = this.surface.place;
    const cell = [Math.floor(northwards ? rows - down : down), Math.floor(col)];
    return cell[0] >= 0 && cell[0] < rows && cell[1] >= 0 && cell[1] < cols ? cell : null;
  }

  /** Coordinates in the map's CRS of a point, and back. */
  toMap([col, down]) {
    const [a, , c, , e, f] = this.surface.place.transform;
    const row = this.surface.place.northwards ? this.surface.place.rows - down : down;
    return [c + a * col, f + e * row];
  }

  fromMap(point) {
    const [col, row] = toCells(this.surface.place, point);
    return [col, this.surface.place.northwards ? this.surface.place.rows - row : row];
  }

  draw() {
    const context = this.canvas.getContext("2d");
    const { rows, cols } = this.surface.place;
    const { level } = this;
    const { image, water } = this.picture(level);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.look.around;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const [left, top] = this.toPixels([0, 0]);
    const [right, bottom] = this.toPixels([cols, rows]);
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    this.drawSquares(context, image, level);
    if (water) this.drawSquares(context, water, { side: this.surface.place.base, offset: [0, 0] });
    if (this.outline) this.drawCoast(context, left, top);
    context.restore();
    this.drawMarks(context);
    this.onDraw?.(level);
  }

  /** Draw the map's frame, names, the place that is shown, areas that were asked for, the cross. */
  drawMarks(context) {
    const [rows, cols] = this.extent;
    const [left, top] = this.toPixels([0, 0]);
    const [right, bottom] = this.toPixels([cols, rows]);
    context.strokeStyle = this.look.frame;
    context.lineWidth = this.ratio;
    context.strokeRect(left, top, right - left, bottom - top);
    drawNames(this, context);
    if (this.marked) drawPlace(this, context);
    this.shapes.forEach(({ rings, number }) => {
      this.drawRings(context, rings, true);
      const points = rings.flat().map((point) => this.toPixels(this.fromMap(point)));
      // Beside the first corner from the north, where the cross in the middle does not hide it.
      const [x, y] = points.reduce((one, other) => (other[1] < one[1] ? other : one));
      drawText(this, context, String(number), [x, y - 11 * this.ratio], "bold 15");
    });
    if (this.sketch.length) this.drawRings(context, [this.sketch], false);
    if (this.cross) this.drawCross(context);
  }

  /** Draw a picture of a pixel a square; squares below a pixel of the screen are averaged. */
  drawSquares(context, image, { side, offset }) {
    const { rows, aspect, northwards } = this.surface.place;
    const over = image.height * side - offset[0] - rows;
    const from = this.toPixels([-offset[1], northwards ? -over : -offset[0]]);
    const wide = image.width * side * aspect * this.scale;
    context.imageSmoothingEnabled = side * this.scale < 0.999;
    context.imageSmoothingQuality = "high";
    context.drawImage(image, ...from, wide, image.height * side * this.scale);
  }

  drawCoast(context, left, top) {
    context.save();
    context.setTransform(this.scale, 0, 0, this.scale, left, top);
    context.lineWidth = this.ratio / this.scale;
    context.strokeStyle = this.look.coast;
    context.stroke(this.outline);
    context.restore();
  }

  drawRings(context, rings, isClosed) {
    context.beginPath();
    rings.forEach((ring) => {
      ring.forEach((point, i) => {
        context[i ? "lineTo" : "moveTo"](...this.toPixels(this.fromMap(point)));
      });
      if (isClosed) context.closePath();
    });
    this.strokeTwice(context);
    if (isClosed) return;
    rings[0].forEach((point) => {
      const [x, y] = this.toPixels(this.fromMap(point));
      context.fillStyle = this.look.line;
      context.fillRect(x - 3 * this.ratio, y - 3 * this.ratio, 6 * this.ratio, 6 * this.ratio);
    });
  }

  drawCross(context) {
    const [x, y] = this.toPixels(this.cross);
    const arm = 9 * this.ratio;
    context.beginPath();
    [
      [x - arm, y, x + arm, y],
      [x, y - arm, x, y + arm],
    ].forEach(([a, b, c, d]) => {
      context.moveTo(a, b);
      context.lineTo(c, d);
    });
    this.strokeTwice(context);
  }

  /** A line that is seen on light and on dark. */
  strokeTwice(context) {
    for (const [colour, width] of [
      [this.look.around, 5],
      [this.look.line, 2],
    ]) {
      context.strokeStyle = colour;
      context.lineWidth = width * this.ratio;
      context.stroke();
    }
  }

  /** Zoom by a factor; the point under the given pixels stays where it is. */
  zoom(factor, pixels = [this.canvas.width / 2, this.canvas.height / 2]) {
    const { aspect } = this.surface.place;
    const [col, down] = this.fromPixels(pixels);
    const most = Math.max(64 * this.ratio, 4 * this.least);
    this.scale = Math.min(Math.max(this.scale * factor, this.least / 2), most);
    this.x = col * aspect - (pixels[0] - this.canvas.width / 2) / this.scale;
    this.y = down - (pixels[1] - this.canvas.height / 2) / this.scale;
    this.move(0, 0);
  }

  /**
   * Put a box of rows and columns into the middle, with as much again around it, and the cross.
   * Its border is drawn: `lines` are those of a place, and without them that of the box; that of
   * an area is on the map already.
   */
  show([top, left, bottom, right], lines = null, isArea = false) {
    this.marked = isArea ? null : { box: [top, left, bottom, right], lines };
    const { aspect, rows, northwards } = this.surface.place;
    const down = (top + bottom) / 2;
    this.cross = [(left + right) / 2, northwards ? rows - down : down];
    const wide = this.canvas.width / ((right - left) * aspect);
    const most = Math.max(this.least, Math.min(wide, this.canvas.height / (bottom - top)) / 2);
    this.scale = Math.max(this.least, Math.min(most, CLOSE * this.ratio));
    [this.x, this.y] = [this.cross[0] * aspect, this.cross[1]];
    this.draw();
  }

  /** Move what is seen by so many pixels; some of the map stays in sight. */
  move(x, y) {
    this.x = Math.min(Math.max(this.x + x / this.scale, 0), this.size[0]);
    this.y = Math.min(Math.max(this.y + y / this.scale, 0), this.size[1]);
    this.draw();
  }
}
