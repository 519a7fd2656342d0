// The released table as a map: sums over squares of cells, true densities, and the levels they are shown at.

const UNTOLD = -1;
const OUTSIDE = -2;

/** Between two settings of the slider. */
const STEP = 0.5;

/** Cells of a square whose error is worked out while the pointer moves. */
const MOST_HOVERED = 1 << 14;

/** The released table, its squares and its levels. */
class Surface {
  constructor(data) {
    Object.assign(this, data);
    const { rows, cols, base } = data.place;
    this.rows = Math.ceil(rows / base);
    this.cols = Math.ceil(cols / base);
    this.parts = data.attributes.map(() => -1);
    this.layer = 0;
    this.units = data.outlines ? new Units(data.outlines) : null;
    if (data.cells) {
      this.order = data.grid.number ? new RegionGrid(data.grid, cols) : new Grid(data.grid);
      this.sums = new Sums(data.cells.key, data.cells.count);
      this.index = this.locate();
    }
    this.form = data.formula ? new ClosedForm(data.formula, this.order, this.sums) : null;
    if (data.totals) {
      const labels = data.attributes.reduce((product, one) => product * one.labels.length, 1);
      this.totals = new Totals(data.totals, this.order, data.place.cols, labels);
    }
    this.levels.forEach((level, number) => Object.assign(level, { number }));
    this.select();
  }

  /** The finest square and the labels of every listed cell. */
  locate() {
    const { base } = this.place;
    const labels = this.attributes.map(() => new Uint16Array(this.cells.key.length));
    const square = new Uint32Array(this.cells.key.length);
    this.cells.key.forEach((key, i) => {
      const index = this.order.decode(key);
      square[i] = Math.floor(index[0] / base) * this.cols + Math.floor(index[1] / base);
      labels.forEach((each, a) => (each[i] = index[2 + a]));
    });
    return { square, labels };
  }

  /** Sum the chosen labels, or the chosen layer, over the finest squares. */
  select() {
    this.levelSums = new Map();
    this.coloured = new Map();
    this.counts = new Float64Array(this.rows * this.cols);
    if (!this.cells) {
      const { square, count } = this.layers[this.layer];
      square.forEach((at, i) => (this.counts[at] += count[i]));
      return;
    }
    const { square, labels } = this.index;
    for (let i = 0; i < square.length; i++) {
      if (this.parts.every((chosen, a) => chosen < 0 || labels[a][i] === chosen)) {
        this.counts[square[i]] += this.cells.count[i];
      }
    }
  }

  /** Area of a finest square, in square kilometres or in cells. */
  area(row, col) {
    if (this.units) return this.units.areas[col];
    const { areas, cols, base } = this.place;
    const wide = col < this.cols - 1 ? 1 : (cols - col * base) / base;
    return (areas.length === 1 ? areas[0] : areas[row]) * wide;
  }

  isInside(square) {
    return !this.inside || this.inside[square] === 1;
  }

  /** The 95 % margin of a square of a level for the chosen labels; null where it is not known. */
  margin(level) {
    const chosen = this.parts.map((label) => (label < 0 ? "1" : "0")).join("");
    return level.margins[chosen || Object.keys(level.margins)[0]];
  }

  /** Levels whose squares lie within one another, from a given one up. */
  chain(level) {
    if (level.nested) return this.levels.filter((each) => each.nested && each.side >= level.side);
    const found = [level];
    this.levels.slice(level.number + 1).forEach((each) => {
      const last = found[found.length - 1];
      const off = each.offset.map((one, axis) => one - last.offset[axis]);
      if ([each.side, ...off].every((one) => one % last.side === 0)) found.push(each);
    });
    return found;
  }

  /** Rows and columns of squares of a level. */
  shape(level) {
    return [0, 1].map((axis) => {
      const size = axis === 0 ? this.place.rows : this.place.cols;
      return Math.ceil((size + level.offset[axis]) / level.side);
    });
  }

  /** The number of the square of a level that holds a finest square. */
  squareOf(level, row, col) {
    const { base } = this.place;
    const down = Math.floor((row * base + level.offset[0]) / level.side);
    const right = Math.floor((col * base + level.offset[1]) / level.side);
    return down * this.shape(level)[1] + right;
  }

  /** Area of a finest square that is land. */
  landArea(row, col) {
    return (this.area(row, col) * (this.land ? this.land[row * this.cols + col] : WHOLE)) / WHOLE;
  }

  /** How many labels of all attributes together are chosen. */
  labelsChosen() {
    const each = this.attributes.map((one, a) => (this.parts[a] < 0 ? one.labels.length : 1));
    return each.reduce((product, one) => product * one, 1);
  }

  /**
   * The sum of the square of a level that holds a cell, its estimate where its error is known, and
   * its rows and columns of cells: [top, left, bottom, right].
   */
  estimateSquare(level, cell) {
    const size = this.units ? [1, this.place.cols] : [this.place.rows, this.place.cols];
    const first = cell.map((at, axis) => {
      const off = level.offset[axis];
      return Math.floor((at + off) / level.side) * level.side - off;
    });
    const low = first.map((at) => Math.max(at, 0));
    const high = first.map((at, axis) => Math.min(at + level.side, size[axis]));
    const box = [...low, ...high];
    const number = (high[0] - low[0]) * (high[1] - low[1]) * this.labelsChosen();
    if (this.form && number <= MOST_HOVERED) {
      const cells = [];
      for (let row = low[0]; row < high[0]; row++) {
        for (let col = low[1]; col < high[1]; col++) cells.push([row, col]);
      }
      const estimate = this.estimate(cells);
      if (estimate) return { count: estimate.count, estimate, box };
    }
    const { base } = this.place;
    const square = this.squareOf(level, Math.floor(cell[0] / base), Math.floor(cell[1] / base));
    const count = this.totalsOf(level)[square];
    const margin = this.margin(level);
    if (margin === null || level.side === 1) return { count, estimate: null, box };
    const least = this.form?.nonnegative ? 0 : -Infinity;
    const estimate = { count, low: Math.max(count - margin, least), high: count + margin };
    return { count, estimate, box };
  }

  /** Sums of all squares of a level. */
  totalsOf(level) {
    if (!this.levelSums.has(level)) this.levelSums.set(level, this.sumSquares(level).count);
    return this.levelSums.get(level);
  }

  /** Counts, areas inside the domain and areas of land there of all squares of a level. */
  sumSquares(level) {
    const [rows, cols] = this.shape(level);
    const count = new Float64Array(rows * cols);
    const area = new Float64Array(rows * cols);
    const land = new Float64Array(rows * cols);
    const { base } = this.place;
    for (let row = 0; row < this.rows; row++) {
      const first = Math.floor((row * base + level.offset[0]) / level.side) * cols;
      for (let col = 0; col < this.cols; col++) {
        const at = first + Math.floor((col * base + level.offset[1]) / level.side);
        const square = row * this.cols + col;
        count[at] += this.counts[square];
        if (!this.isInside(square) && !this.counts[square]) continue;
        area[at] += this.area(row, col);
        land[at] += this.landArea(row, col);
      }
    }
    return { count, area, land, rows, cols };
  }

  /**
   * Densities of the squares of a level: of each on its own, or with `times` margins asked for,
   * of the smallest square around it that has so many, once what is shown below it is taken out. A
   * mean is that of the land, where there is any.
   *
   * What a larger square has left grows where fewer of its squares are shown on their own, so that
   * it alone could reach more margins than fewer. A stricter setting must not colour more land, so
   * a square is shown where it would be at every looser setting, too.
   *
   * @returns density, the count that it is of, the level that each one is of: UNTOLD and OUTSIDE
   * where there is none; and whether what a mean is of has no land.
   */
  densities(level, times) {
    const found = this.addUp(level, times);
    if (times <= 0) return found;
    const looser = this.colouredAt(level, times - STEP);
    found.levelShown.forEach((each, i) => {
      if (each < 0 || !looser || looser[i]) return;
      [found.levelShown[i], found.density[i], found.count[i]] = [UNTOLD, 0, 0];
    });
    return found;
  }

  /** Mark the squares of a level that are shown at a setting and at every looser one; null: all. */
  colouredAt(level, times) {
    if (times <= 0) return null;
    const name = `${level.number} ${times}`;
    if (!this.coloured.has(name)) {
      const { levelShown } = this.densities(level, times);
      this.coloured.set(name, levelShown.map((each) => (each >= 0 ? 1 : 0)));
    }
    return this.coloured.get(name);
  }

  /** Compute `densities` at one setting, whatever is shown at others. */
  addUp(level, times) {
    const chain = this.chain(level);
    const finest = this.sumSquares(level);
    const size = finest.count.length;
    const density = new Float64Array(size);
    const count = new Float64Array(size);
    const levelShown = new Int16Array(size).fill(UNTOLD);
    const landless = new Uint8Array(size);
    const node = Uint32Array.from({ length: size }, (_, i) => i);
    let left = finest;
    let least = 0;
    chain.every((each, number) => {
      const margin = this.margin(each);
      if (times > 0 && margin !== null) least = Math.max(least, times * margin);
      const isShown = left.area.map((area, i) => {
        const most = left.land[i] === 0 ? SURE * least : least;
        return area > 0 && Math.abs(left.count[i]) >= most;
      });
      for (let i = 0; i < size; i++) {
        if (levelShown[i] !== UNTOLD || !isShown[node[i]] || finest.area[i] === 0) continue;
        levelShown[i] = each.number;
        count[i] = left.count[node[i]];
        landless[i] = number > 0 && left.land[node[i]] === 0 ? 1 : 0;
        const areas = number === 0 || landless[i] ? left.area : left.land;
        density[i] = count[i] / areas[node[i]];
      }
      if (times === 0 || number === chain.length - 1) return false;
      left = this.climb(each, chain[number + 1], left, isShown, node);
      return true;
    });
    for (let i = 0; i < size; i++) if (finest.area[i] === 0) levelShown[i] = OUTSIDE;
    return { density, count, levelShown, landless, rows: finest.rows, cols: finest.cols };
  }

  /** Sum what is not shown yet over the squares of the next level; `node` then numbers these. */
  climb(level, above, left, isShown, node) {
    const [rows, cols] = this.shape(above);
    const count = new Float64Array(rows * cols);
    const area = new Float64Array(rows * cols);
    const land = new Float64Array(rows * cols);
    const parent = new Uint32Array(left.count.length);
    const step = above.side / level.side;
    const off = above.offset.map((one, axis) => (one - level.offset[axis]) / level.side);
    for (let at = 0; at < parent.length; at++) {
      const row = Math.floor(at / left.cols) + off[0];
      const col = (at % left.cols) + off[1];
      parent[at] = Math.floor(row / step) * cols + Math.floor(col / step);
      if (isShown[at]) continue;
      count[parent[at]] += left.count[at];
      area[parent[at]] += left.area[at];
      land[parent[at]] += left.land[at];
    }
    node.forEach((at, i) => (node[i] = parent[at]));
    return { count, area, land, rows, cols };
  }

  /** Rows and columns of the cells, or of the units, inside rings; null for too many. */
  cellsInside(rings) {
    if (!this.units) return cellsInside(this.place, rings);
    return this.units.inside(rings.map((ring) => ring.map((point) => toCells(this.place, point))));
  }

  /** Keys of the domain's cells at rows and columns, times the chosen labels, sorted. */
  keysAt(cells) {
    const labels = this.attributes.map((one, a) =>
      this.parts[a] < 0 ? one.labels.map((_, label) => label) : [this.parts[a]],
    );
    const found = [];
    cells.forEach(([row, col]) => {
      let some = [[row, col]];
      labels.forEach((each) => {
        some = some.flatMap((index) => each.map((label) => [...index, label]));
      });
      some.forEach((index) => {
        if (this.order.contains(index)) found.push(this.order.encode(index));
      });
    });
    return Float64Array.from(found).sort();
  }

  /** Estimate of the cells at rows and columns; null where no closed form or no cell is. */
  estimate(cells) {
    if (!this.form) return null;
    const key = this.keysAt(cells);
    if (!key.length) return null;
    if (!this.totals) return this.form.estimate(key);
    const [exact, rest] = this.totals.split(key);
    const known = exact.reduce((sum, one) => sum + this.sums.of(one, 1), 0);
    const nobody = { count: 0, error: 0, low: 0, high: 0 };
    const found = rest.length ? this.form.estimate(rest) : nobody;
    const [count, low, high] = [found.count, found.low, found.high].map((each) => each + known);
    return { cells: key.length, count, error: found.error, low, high };
  }
}
