// Sums over regions, their standard errors and 95 % intervals: what Release.estimate works out,
// from the release and its public parameters, as geodp/accuracy/region_interval.py describes it.

const Z = 1.96;
const LAPLACE_Z = 2.118;
const HIDDEN = 0.35;
const FEW = 0.25;
const ALONE = 6;
const WEAK = 1.5;
const MOVED = 2.1;
const DROPPED = 0.4;
const DROPPED_SQUARE = 0.5;

/** The distance from a number to the next one. */
function spacing(value) {
  const size = Math.abs(value);
  return size < 2 ** -1022 ? 2 ** -1074 : 2 ** (Math.floor(Math.log2(size)) - 52);
}

/** Runs of nodes with one parent: [parent, first, end] each. */
function groupByParent(node, fanout) {
  const found = [];
  for (let i = 0; i < node.length; i++) {
    const parent = Math.floor(node[i] / fanout);
    if (found.length && found[found.length - 1][0] === parent) found[found.length - 1][2] = i + 1;
    else found.push([parent, i, i + 1]);
  }
  return found;
}

function addUp(values, each) {
  return values.reduce((sum, one) => sum + each(one), 0);
}

/** The mean part of some children that is in a region, or another number where there is none. */
function meanPart(children, otherwise) {
  return children.length ? addUp(children, ({ part }) => part) / children.length : otherwise;
}

/** Half a 95 % interval of noise with this variance and fourth cumulant. */
function halfInterval(variance, fourth) {
  const some = Math.max(variance, 1e-12);
  const excess = Math.min(Math.max(fourth / some ** 2 / 3, 0), 1);
  return (Z + (LAPLACE_Z - Z) * excess) * Math.sqrt(some);
}

/** The closed form of a release: its sums, its tree and its grid. */
class ClosedForm {
  constructor(given, grid, sums) {
    Object.assign(this, given);
    this.grid = grid;
    this.sums = sums;
  }

  /**
   * Errors of the sum over cells by their sorted keys: the variance as if nothing had been released
   * as 0; variance and fourth cumulant given what was; the variance of the people in nodes released
   * as 0; people received from elsewhere; and whether a node that is cut has a child of 0.
   */
  errors(key) {
    const found = { variance: 0, kept: 0, fourth: 0, hidden: 0, moved: 0, clamped: false };
    let node = key;
    // The part of each node that is in the region: of all its children, and of those with people.
    let [every, some] = [0, 0].map(() => new Float64Array(key.length).fill(1));
    let stride = 1;
    // A settlement that stands alone: few people in its nodes, or around them. A single cell keeps
    // the interval that files have.
    let [people, around, alone] = [this.countNodes(node, stride), 0, key.length > 1];
    for (let level = this.fanouts.length - 1; level >= 0; level--) {
      const fanout = this.fanouts[level];
      const limit = ALONE * Math.sqrt(this.variances[level + 1]);
      const few = key.length > 1 && people < limit;
      const groups = groupByParent(node, fanout);
      const parts = groups.map(([parent, first, end]) => {
        const all = every.subarray(first, end);
        const held = some.subarray(first, end);
        // Nothing is apportioned between a node's children if all of them are in the region.
        if (all.length === fanout && all.every((part) => part === 1)) return [1, 1];
        const children =
          this.nonnegative || this.skips
            ? this.list(parent * fanout, fanout, stride, node.subarray(first, end), held)
            : null;
        const possible = children ? children.length : fanout;
        const mean = addUp(all, (part) => part) / possible;
        const squares = addUp(all, (part) => (part - mean) ** 2);
        found.variance += this.variances[level + 1] * (squares + (possible - all.length) * mean ** 2);
        return [mean, this.nonnegative ? this.apportion(found, level, children, mean, few) : mean];
      });
      node = Float64Array.from(groups, ([parent]) => parent);
      [every, some] = [0, 1].map((kind) => Float64Array.from(parts, (each) => each[kind]));
      stride *= fanout;
      const above = this.countNodes(node, stride);
      alone &&= above - people < limit;
      if (alone) around += above - people;
      people = above;
    }
    if (around > 0) found.moved = Math.min(found.moved, -around);
    found.variance += this.variances[0] * every[0] ** 2;
    found.kept += this.variances[0] * some[0] ** 2;
    found.fourth += (this.fourths[0] || 0) * some[0] ** 4;
    return found;
  }

  /** People released in nodes of so many keys. */
  countNodes(node, stride) {
    return addUp(node, (one) => this.sums.of(one, stride));
  }

  /**
   * The children of a node that hold cells: the part of each in the region, its people, and whether
   * the region touches it.
   */
  list(start, fanout, stride, touched, parts) {
    const found = [];
    let next = 0;
    for (let child = start; child < start + fanout; child++) {
      const isTouched = touched[next] === child;
      const part = isTouched ? parts[next++] : 0;
      if (this.skips && !this.grid.overlaps(child, stride)) continue;
      found.push({ part, count: this.sums.of(child, stride), isTouched });
    }
    return found;
  }

  /**
   * Add what the children of a node add to the errors; `few`: whether few people were released in
   * the nodes of the region.
   *
   * @returns the part of the node that is in the region, of the children with people.
   */
  apportion(found, level, children, every, few) {
    const own = this.variances[level + 1];
    const [threshold, scale] = this.drops[level] || [0, 0];
    const listed = children.filter(({ count }) => count > 0);
    const mean = meanPart(listed, every);
    if (!listed.length) return mean;
    const zero = children.filter(({ count }) => count <= 0);
    const least = WEAK * Math.sqrt(own) + threshold;
    // What empty children received is missing where there are people beyond doubt.
    const firm = meanPart(listed.filter(({ count }) => count >= least), mean);
    const weak = listed.filter(({ count }) => count < least);
    found.kept += own * addUp(listed, ({ part }) => (part - mean) ** 2);
    found.fourth += (this.fourths[level + 1] || 0) * addUp(listed, ({ part }) => (part - mean) ** 4);
    found.moved += MOVED * addUp(weak, ({ part, count }) => (part - firm) * count);
    // The most people in a dropped child: noise lifts it above the threshold the more often, the
    // more it has.
    const chance = Math.min((listed.length + 1) / (children.length + 2), 0.5);
    const dropped = Math.max(threshold - scale * Math.log(0.5 / chance), 0);
    const share = listed.length / children.length;
    const hidden = HIDDEN * share * Math.min(share / FEW, 1) * own;
    const unseen = hidden + DROPPED_SQUARE * dropped ** 2;
    found.hidden += addUp(zero, ({ part, isTouched }) => {
      const usual = unseen * (part - mean) ** 2;
      // All people who are hidden in the nodes of a settlement are its own.
      return few && isTouched ? Math.max(usual, own) : usual;
    });
    found.moved -= DROPPED * dropped * addUp(zero, ({ part }) => part - mean);
    found.clamped ||= zero.length > 0;
    return mean;
  }

  /** Count, standard error and 95 % interval of cells by their keys, sorted and not empty. */
  estimate(key) {
    const count = addUp(key, (one) => this.sums.of(one, 1));
    const { variance, kept, fourth, hidden, moved, clamped } = this.errors(key);
    const error = Math.sqrt(variance);
    const found = { cells: key.length, count, error };
    if (!this.nonnegative) {
      const tails = this.fanouts.length === 1 ? key.length : 1;
      const margin = (Z + (LAPLACE_Z - Z) / tails) * error + spacing(count);
      return { ...found, low: count - margin, high: count + margin };
    }
    const margin = halfInterval(kept + hidden, fourth) + spacing(count);
    // Where nothing was released as 0, few people are no sign of empty children.
    const received = clamped ? moved : 0;
    const low = Math.max(count - (margin + Math.max(received, 0)), 0);
    return { ...found, low, high: count + margin + Math.max(-received, 0) };
  }
}
