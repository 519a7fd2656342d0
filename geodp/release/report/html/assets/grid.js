// Keys of cells, the domain, and sums of nodes of keys.

/** The number of entries below a value, or not above it. */
function countBelow(sorted, value, orEqual) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (orEqual ? sorted[middle] <= value : sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The order of a grid's keys and which of them are cells. */
class Grid {
  constructor(given) {
    Object.assign(this, given);
    this.offset = given.offset.length ? given.offset : given.shape.map(() => 0);
    this.weights = given.shape.map((size, axis) =>
      Float64Array.from({ length: size }, (_, i) => this.weigh(i, axis)),
    );
    this.forms = new Map();
  }

  /** What an index of an axis adds to a key. */
  weigh(index, axis) {
    let left = index + this.offset[axis];
    let weight = 1;
    let found = 0;
    for (let d = this.radices.length - 1; d >= 0; d--) {
      const radix = this.radices[d];
      if (this.axes[d] === axis) {
        found += (left % radix) * weight;
        left = Math.floor(left / radix);
      }
      weight *= radix;
    }
    return found;
  }

  encode(index) {
    return index.reduce((key, at, axis) => key + this.weights[axis][at], 0);
  }

  decode(key) {
    const index = this.offset.map((first) => -first);
    const place = this.offset.map(() => 1);
    for (let d = this.radices.length - 1; d >= 0; d--) {
      const radix = this.radices[d];
      const axis = this.axes[d];
      const above = Math.floor(key / radix);
      index[axis] += (key - above * radix) * place[axis];
      place[axis] *= radix;
      key = above;
    }
    return index;
  }

  /** Cells along each axis of a block of so many keys. */
  sides(stride) {
    if (!this.forms.has(stride)) {
      const found = this.shape.map(() => 1);
      for (let d = this.radices.length - 1, left = stride; left > 1; d--) {
        found[this.axes[d]] *= this.radices[d];
        left /= this.radices[d];
      }
      this.forms.set(stride, found);
    }
    return this.forms.get(stride);
  }

  /** Whether a node holds a cell of the domain. */
  overlaps(node, stride) {
    const first = node * stride;
    const low = this.decode(first);
    const side = this.sides(stride);
    if (low.some((at, axis) => at >= this.shape[axis] || at + side[axis] <= 0)) return false;
    if (!this.mask) return true;
    const after = countBelow(this.mask.stop, first, true);
    return after < this.mask.start.length && this.mask.start[after] < first + stride;
  }

  contains(index) {
    return !this.mask || this.overlaps(this.encode(index), 1);
  }
}

/** A grid whose cells are numbered by an office's regions: the number is axis 0 of its keys. */
class RegionGrid extends Grid {
  constructor(given, cols) {
    super({ ...given, shape: [0, ...given.shape.slice(1)] });
    this.shape = given.shape;
    this.cols = cols;
    this.places = new Map();
    given.cell.forEach((cell, i) => this.places.set(cell, this.weigh(given.number[i], 0)));
  }

  encode([row, col, ...labels]) {
    const place = this.places.get(row * this.cols + col);
    return labels.reduce((key, at, i) => key + this.weights[i + 1][at], place);
  }

  decode(key) {
    const [number, ...labels] = super.decode(key);
    const cell = this.cell[countBelow(this.number, number, false)];
    return [Math.floor(cell / this.cols), cell % this.cols, ...labels];
  }

  overlaps(node, stride) {
    const [first, ...labels] = super.decode(node * stride);
    const after = first + this.sides(stride)[0];
    if (labels.some((at, i) => at >= this.shape[i + 1])) return false;
    return countBelow(this.number, after, false) > countBelow(this.number, first, false);
  }

  contains([row, col]) {
    return this.places.has(row * this.cols + col);
  }
}

/** Released sums by prefix sums over sorted keys. */
class Sums {
  constructor(key, count) {
    this.key = key;
    this.count = count;
    this.before = new Float64Array(key.length + 1);
    for (let i = 0; i < key.length; i++) this.before[i + 1] = this.before[i] + count[i];
  }

  of(node, stride) {
    const first = node * stride;
    const begin = countBelow(this.key, first, false);
    return this.before[countBelow(this.key, first + stride, false)] - this.before[begin];
  }
}
