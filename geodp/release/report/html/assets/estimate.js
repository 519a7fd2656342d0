// Sums over regions, their standard errors and 95 % intervals in closed form: what
// Release.estimate works out, from the release and its public parameters.

const Z = 1.96;
const LAPLACE_Z = 2.118;
const SKEWED_Z = 2.33;
const RISK = 0.1;
const FEW = 3;
const SHARES = [0, 0.25, 0.5, 0.75, 1];
const CHILDREN = [2, 4, 16];
const AROUND = 16;
const PLAIN = 0;
const OUTER = 1;
const INNER = 2;
const ALL = [PLAIN, OUTER, INNER];

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

/** The closed form of a release: its sums, its tree and its grid. */
class ClosedForm {
  constructor(given, grid, sums) {
    Object.assign(this, given);
    this.grid = grid;
    this.sums = sums;
  }

  /** How many children of a node overlap the domain. */
  possible(parent, fanout, stride, limited) {
    if (!limited) return fanout;
    let found = 0;
    for (let i = 0; i < fanout; i++) found += this.grid.overlaps(parent * fanout + i, stride);
    return found;
  }

  /** Variance of the sum over cells, where nothing is clamped. */
  variance(key) {
    let node = key;
    let part = new Float64Array(key.length).fill(1);
    let found = 0;
    let stride = 1;
    for (let level = this.fanouts.length - 1; level >= 0; level--) {
      const fanout = this.fanouts[level];
      const groups = groupByParent(node, fanout);
      const next = new Float64Array(groups.length);
      groups.forEach(([parent, first, end], g) => {
        let total = 0;
        let squares = 0;
        for (let i = first; i < end; i++) {
          total += part[i];
          squares += part[i] * part[i];
        }
        const possible = this.possible(parent, fanout, stride, this.skips);
        found += this.variances[level + 1] * (squares - (total * total) / possible);
        next[g] = total / possible;
      });
      node = Float64Array.from(groups, (each) => each[0]);
      part = next;
      stride *= fanout;
    }
    return found + this.variances[0] * part.reduce((sum, each) => sum + each * each, 0);
  }

  /** Standard deviations that noise alone does not reach in any child around a region. */
  strength(key) {
    let node = key;
    let children = 1;
    for (let level = this.fanouts.length - 1; level >= 0; level--) {
      node = groupByParent(node, this.fanouts[level]).map((each) => each[0]);
      children += this.fanouts[level] * node.length;
    }
    const chance = RISK / children;
    return this.gaussian ? normalAbove(chance) : Math.log(0.5 / chance) / Math.SQRT2;
  }

  /** Sums over a region, its outer and its inner approximation; `limited` by the domain. */
  reach(key, limited) {
    const strong = this.strength(key);
    const held = Float64Array.from(key, (one) => this.sums.of(one, 1));
    const state = {
      node: key,
      whole: new Uint8Array(key.length).fill(1),
      part: ALL.map(() => new Float64Array(key.length).fill(1)),
      count: ALL.map(() => held.slice()),
      variance: [0, 0, 0],
      fourth: [0, 0, 0],
      losing: [],
      gaining: [],
      isPath: true,
      stride: 1,
      limited,
      inside: held.reduce((sum, each) => sum + each, 0),
      alone: held.some((each) => each > 0),
      depth: 0,
      nodes: key.length,
    };
    for (let level = this.fanouts.length - 1; level >= 0; level--) this.climb(state, level, strong);
    const nobody = this.sums.key.length === 0 && !state.whole[0];
    if (nobody) state.part[OUTER][0] = 1;
    const root = state.part.map((part) => part[0]);
    const fourth = this.fourths[0] || 0;
    return {
      count: state.count.map((count) => count[0]),
      variance: state.variance.map((v, i) => v + this.variances[0] * root[i] ** 2),
      fourth: state.fourth.map((f, i) => f + fourth * root[i] ** 4),
      losing: state.losing.reverse(),
      gaining: state.gaining.reverse(),
      isPath: state.isPath,
      depth: state.depth,
      nodes: state.nodes,
      nobody,
    };
  }

  /** Carry the state of a walk from the children of a level to their parents. */
  climb(state, level, strong) {
    const fanout = this.fanouts[level];
    const own = this.variances[level + 1];
    const tail = this.fourths[level + 1] || 0;
    const least = strong * Math.sqrt(own);
    const { node, whole, stride } = state;
    const here = Float64Array.from(node, (one) => this.sums.of(one, stride));
    here.forEach((people, i) => {
      if (people >= least) return;
      state.part[OUTER][i] = 1;
      state.count[OUTER][i] = people;
      state.part[INNER][i] = 0;
      state.count[INNER][i] = 0;
    });
    const groups = groupByParent(node, fanout);
    const part = ALL.map(() => new Float64Array(groups.length));
    const count = ALL.map(() => new Float64Array(groups.length));
    const above = new Uint8Array(groups.length);
    let losing = 0;
    let gaining = 0;
    let together = 0;
    groups.forEach(([parent, first, end], g) => {
      const around = this.lookAround(parent, fanout, state, node.subarray(first, end), least);
      const held = this.sums.of(parent, stride * fanout);
      together += held;
      let touched = 0;
      let zero = false;
      for (let i = first; i < end; i++) {
        touched += whole[i];
        zero = zero || here[i] === 0;
      }
      const cut = touched < around.possible;
      above[g] = cut ? 0 : 1;
      if (cut && end - first !== 1) state.isPath = false;
      if (cut && held > 0 && around.empty) losing++;
      if (cut && held > 0 && zero) gaining++;
      for (const kind of ALL) {
        const added = kind === OUTER ? around.weak : 0;
        const [total, squares, sum] = this.add(state, kind, first, end, added);
        const mean = total / around.possible;
        part[kind][g] = cut ? mean : 1;
        count[kind][g] = cut ? sum + (kind === OUTER ? around.count : 0) : held;
        if (!cut) continue;
        state.variance[kind] += own * (squares - total * mean);
        let powers = added * (1 - mean) ** 4;
        powers += (around.possible - (end - first) - added) * mean ** 4;
        for (let i = first; i < end; i++) powers += (state.part[kind][i] - mean) ** 4;
        state.fourth[kind] += tail * powers;
      }
    });
    state.losing.push(losing);
    state.gaining.push(gaining);
    state.alone = state.alone && together - state.inside < FEW * Math.sqrt(own);
    if (state.alone) {
      state.depth++;
      state.nodes = groups.length;
    }
    state.inside = together;
    Object.assign(state, { part, count, whole: above, stride: stride * fanout });
    state.node = Float64Array.from(groups, (each) => each[0]);
  }

  /** Sums of parts, of their squares and of counts of some children. */
  add(state, kind, first, end, added) {
    let total = added;
    let squares = added;
    let sum = 0;
    for (let i = first; i < end; i++) {
      const part = state.part[kind][i];
      total += part;
      squares += part * part;
      sum += state.count[kind][i];
    }
    return [total, squares, sum];
  }

  /** Children of a node that a region does not touch; `touched` are those that it does. */
  lookAround(parent, fanout, { stride, limited }, touched, least) {
    const found = { possible: 0, weak: 0, count: 0, empty: false };
    let next = 0;
    for (let i = 0; i < fanout; i++) {
      const child = parent * fanout + i;
      const inside = !limited || this.grid.overlaps(child, stride);
      found.possible += inside;
      if (next < touched.length && touched[next] === child) {
        next++;
        continue;
      }
      if (!inside) continue;
      const held = this.sums.of(child, stride);
      if (held === 0) found.empty = true;
      if (held < least) {
        found.weak++;
        found.count += held;
      }
    }
    return found;
  }

  /** How far the clamp at some nodes and the noise together move a region's sum. */
  move(found, nodes, margin, alone) {
    let far = Infinity;
    if (alone && found.isPath) {
      const around = Math.sqrt(Math.max(alone.rmse ** 2 - alone.bias ** 2, 0));
      far = Math.max(margin, SKEWED_Z * around) - alone.bias;
    }
    if (this.losses && !found.nobody) {
      const lost = this.losses.reduce((sum, [, spread], i) => sum + spread ** 2 * nodes[i], 0);
      const mean = this.losses.reduce((sum, [each], i) => sum + each * nodes[i], 0);
      far = Math.min(far, mean + Math.hypot(margin, Math.sqrt(lost) * SKEWED_Z));
    }
    return far;
  }

  /** Half a 95 % interval of noise with this variance and fourth cumulant. */
  half(variance, fourth) {
    const some = Math.max(variance, 1e-12);
    const excess = Math.min(Math.max(fourth / some ** 2 / 3, 0), 1);
    return (Z + (LAPLACE_Z - Z) * excess) * Math.sqrt(some);
  }

  /** Half the interval of a node without a clamp, so many levels above the cells. */
  halfOfNode(depth) {
    let part = 1;
    let variance = 0;
    let fourth = 0;
    for (let i = this.fanouts.length - depth; i > 0; i--) {
      const children = this.fanouts[i - 1];
      const mean = part / children;
      const tails = (part - mean) ** 4 + (children - 1) * mean ** 4;
      variance += this.variances[i] * (part ** 2 - children * mean ** 2);
      fourth += (this.fourths[i] || 0) * tails;
      part = mean;
    }
    const tail = this.fourths[0] || 0;
    return this.half(variance + this.variances[0] * part ** 2, fourth + tail * part ** 4);
  }

  /** The ends of a 95 % interval of what was reached; of one cell, before its class narrows it. */
  interval(found, isCell) {
    const margin = ALL.map(
      (kind) => this.half(found.variance[kind], found.fourth[kind]) + spacing(found.count[kind]),
    );
    const [count] = found.count;
    let low = count - margin[PLAIN];
    let high = count + margin[PLAIN];
    if (found.gaining.some(Boolean)) {
      const down = count - this.move(found, found.gaining, margin[PLAIN], null);
      low = Math.max(found.count[INNER] - margin[INNER], down);
    }
    if (found.losing.some(Boolean) || found.nobody) {
      const up = count + this.move(found, found.losing, margin[PLAIN], this.isolated);
      high = Math.min(found.count[OUTER] + margin[OUTER], up);
    }
    // A region that is alone in its nodes was given all that is estimated of these.
    const clamped = found.nobody || [...found.losing, ...found.gaining].some(Boolean);
    if (!isCell && clamped && found.depth > 0) {
      const nodes = this.halfOfNode(found.depth) * Math.sqrt(found.nodes);
      low = Math.min(low, count - (nodes + spacing(count)));
    }
    return [Math.max(low, 0), high];
  }

  /** The class of a cell by what was released around it; -1 alone. */
  classify(key) {
    const fanout = this.fanouts.length ? this.fanouts[this.fanouts.length - 1] : 1;
    let span = 1;
    for (let i = this.fanouts.length - 1; i >= 0 && span < AROUND; i--) span *= this.fanouts[i];
    const count = (parent, size) => this.possible(parent, size, 1, this.padded);
    const node = Math.floor(key / span);
    const cells = count(node, span);
    const own = this.sums.of(key, 1);
    const least = FEW * Math.sqrt(this.variances[this.variances.length - 1]);
    const company = this.sums.listed(node, span, least) > (own >= least ? 1 : 0);
    const children = fanout < span ? count(Math.floor(key / fanout), fanout) : cells;
    const zeros = cells - this.sums.listed(node, span) - (own === 0 ? 1 : 0);
    if (!company || zeros >= cells - 1) return -1;
    const share = countBelow(SHARES, zeros / Math.max(cells - 1, 1), false);
    return countBelow(CHILDREN, children, false) * SHARES.length + share;
  }

  /** Over how many levels a cell stands alone. */
  depth(key) {
    let found = 0;
    let node = key;
    let stride = 1;
    let here = this.sums.of(node, stride);
    for (let level = this.fanouts.length - 1; level >= 0; level--) {
      node = Math.floor(node / this.fanouts[level]);
      stride *= this.fanouts[level];
      const held = this.sums.of(node, stride);
      if (held - here >= FEW * Math.sqrt(this.variances[level + 1])) break;
      found++;
      here = held;
    }
    return found;
  }

  /** The interval of a cell, which its class narrows. */
  narrow(key, found, [low, high]) {
    const place = this.classify(key);
    const [count] = found.count;
    const error = Math.sqrt(Math.max(found.variance[PLAIN], 0));
    const [down, up] = [this.margins.down, this.margins.up].map((side) => {
      const factor = place < 0 || side[place] === null ? Infinity : side[place];
      return factor * error + spacing(count);
    });
    if (up !== Infinity) return [Math.max(low, count - down), Math.min(high, count + up)];
    // An isolated cell was given all that is estimated of the node that holds hardly anybody else.
    const depth = this.depth(key);
    const bottom = Math.max(Math.min(low, count - (this.halfOfNode(depth) + spacing(count))), 0);
    const { alone } = this.margins;
    if (!alone.length) return [bottom, high];
    const lost = alone[Math.min(depth, alone.length - 1)];
    return [bottom, Math.min(high, count + lost + spacing(count))];
  }

  /** Count, standard error and 95 % interval of cells by their keys, sorted and not empty. */
  estimate(key) {
    const count = key.reduce((sum, one) => sum + this.sums.of(one, 1), 0);
    const error = Math.sqrt(Math.max(this.variance(key), 0));
    if (!this.nonnegative) {
      const tails = this.fanouts.length === 1 ? key.length : 1;
      const margin = (Z + (LAPLACE_Z - Z) / tails) * error + spacing(count);
      return { cells: key.length, count, error, low: count - margin, high: count + margin };
    }
    const isCell = key.length === 1;
    const found = this.reach(key, isCell ? this.padded : this.skips);
    let ends = this.interval(found, isCell);
    if (isCell) ends = this.narrow(key[0], found, ends);
    return { cells: key.length, count, error, low: ends[0], high: ends[1] };
  }
}
