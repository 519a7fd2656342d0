// Areas whose totals are public: a region that holds one completely is known there without an error.

/** Which cells lie in which of these areas. */
class Totals {
  constructor(given, grid, cols, labels) {
    Object.assign(this, given);
    this.grid = grid;
    this.cols = cols;
    this.cells = new Float64Array(this.area.reduce((most, one) => Math.max(most, one), -1) + 1);
    this.area.forEach((one) => (this.cells[one] += labels));
  }

  /** The number of the area that holds a cell; -1 where none does. */
  areaOf(key) {
    const [row, col] = this.grid.decode(key);
    const place = row * this.cols + col;
    const at = countBelow(this.place, place, false);
    return this.place[at] === place ? this.area[at] : -1;
  }

  /** Keys of a region in areas that it holds completely, and all others. */
  split(key) {
    const area = Array.from(key, (one) => this.areaOf(one));
    const held = new Float64Array(this.cells.length);
    area.forEach((one) => one >= 0 && held[one]++);
    const isExact = area.map((one) => one >= 0 && held[one] === this.cells[one]);
    return [key.filter((_, i) => isExact[i]), key.filter((_, i) => !isExact[i])];
  }
}
